use super::{Direction, Reader, Row};
use crate::fio::log::{Columns, LogError};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use std::io::{self, Read};
use std::path::Path;

fn reader(text: &[u8]) -> Reader<&[u8]> {
    Reader::new(text, Path::new("x_clat.1.log"))
}

fn rows<R: Read>(mut reader: Reader<R>) -> Result<Vec<Row>, LogError> {
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row()? {
        rows.push(row);
    }
    Ok(rows)
}

#[test]
fn rows_of_real_logs() {
    let of_333 = "3, 85422, 0, 4096, 6819840, 0\n3, 101234, 1, 4096, 65536, 0x4004\n";
    let found = rows(reader(of_333.as_bytes())).unwrap();
    assert_eq!(found.len(), 2);
    let first = Row {
        time_ms: 3,
        value: 85422,
        highest: None,
        direction: Direction::Read,
        bytes: 4096,
        offset_bytes: Some(6_819_840),
        priority: Some(0),
        issued_ns: None,
    };
    assert_eq!(found[0], first);
    assert_eq!((found[1].direction, found[1].priority), (Direction::Write, Some(0x4004)));
    let newer = rows(reader(b"3, 85422, 2, 4096, 0, 0, 1234567\n")).unwrap();
    assert_eq!((newer[0].issued_ns, newer[0].direction), (Some(1_234_567), Direction::Trim));
    let old = rows(reader(b"3, 85422, 0, 4096")).unwrap();
    assert_eq!((old[0].offset_bytes, old[0].priority), (None, None));
    let both = Columns { highest: true, priority: true, ..Columns::default() };
    let both = rows(reader(b"3, 85422, 90000, 0, 4096, 0\n").with_columns(both)).unwrap();
    assert_eq!((both[0].value, both[0].highest), (85422, Some(90000)));
}

#[test]
fn empty_logs_and_lines() {
    assert!(rows(reader(b"")).unwrap().is_empty());
    assert!(rows(reader(b"\n\n")).unwrap().is_empty());
    assert_eq!(rows(reader(b"\n1, 2, 0, 4, 0\r\n\n2, 2, 0, 4, 0")).unwrap().len(), 2);
}

#[test]
fn errors_name_the_line() {
    for (text, line, expected) in [
        ("1, 2, 0, 4, 0\n2, x, 0, 4, 0\n", 2, "value second"),
        ("1, 2, 0, 4, 0\n\n\n2, 3, 0, 4\n", 4, "a priority"),
        ("1, 2, 0, 4, 0\n2, 3, 0, 4, 0, 7\n", 2, "as many columns"),
        ("1, 2, 7, 4, 0\n", 1, "0, 1 or 2"),
        ("1, -2, 0, 4, 0\n", 1, "value second"),
        ("1, 99999999999999999999, 0, 4, 0\n", 1, "value second"),
        ("fio: terminating on signal 2\n", 1, "4 to 7 numbers"),
        ("1, 2, 0, 4, 0\n1, 2, 0, 4, 0x\n", 2, "a priority"),
        ("1, 2, 0, 4, 0\n1, 2, 0,", 2, "block size"),
        ("1, 2, 0, 4, 0\n, 2, 0, 4, 0\n", 2, "milliseconds first"),
    ] {
        let error = rows(reader(text.as_bytes())).unwrap_err();
        let LogError::Malformed { line: found, .. } = &error else { panic!("{error}") };
        assert_eq!(*found, line, "{text:?}: {error}");
        assert!(error.to_string().contains(expected), "{text:?}: {error}");
        assert!(error.to_string().starts_with(&format!("x_clat.1.log, line {line}: ")), "{error}");
    }
}

#[test]
fn an_endless_line_is_an_error_in_fixed_memory() {
    let mut text = b"1, 2, 0, 4, 0\n".to_vec();
    text.extend(std::iter::repeat_n(b'1', 10 << 20));
    let error = rows(reader(&text)).unwrap_err();
    assert!(matches!(error, LogError::Malformed { line: 2, .. }), "{error}");
    assert!(error.to_string().len() < 300);
}

#[test]
fn a_failing_disk_is_reported() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::from_raw_os_error(5))
        }
    }
    let error = rows(Reader::new(Failing, Path::new("x"))).unwrap_err();
    assert_eq!(error.to_string(), "cannot read x");
    assert!(Reader::open(Path::new("/nonexistent.log")).is_err());
}

/// Returns its bytes in pieces of the given sizes.
struct Dribble<'a>(&'a [u8], Vec<usize>);

impl Read for Dribble<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self
            .1
            .pop()
            .unwrap_or(usize::MAX)
            .clamp(1, self.0.len().max(1))
            .min(into.len())
            .min(self.0.len());
        let (now, later) = self.0.split_at(count);
        into[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        (0_u64..1 << 40, any::<u32>(), 0..4, any::<u32>(), "(0|1|0x[0-9a-f]{4})")
            .prop_map(|(t, v, d, b, p)| format!("{t}, {v}, {d}, {b}, {p}")),
        "[0-9, x-]{0,40}",
        any::<String>(),
        Just(String::new()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn how_it_is_read_makes_no_difference(
        lines in prop::collection::vec((0_u64..1 << 50, any::<u32>(), 0_u8..3, any::<u32>()), 0..200),
        pieces in prop::collection::vec(1_usize..50, 0..400),
    ) {
        let text: String = lines.iter().map(|(t, v, d, b)| format!("{t}, {v}, {d}, {b}, 0\n")).collect();
        let found = rows(Reader::new(Dribble(text.as_bytes(), pieces), Path::new("x"))).unwrap();
        assert_eq!(found.len(), lines.len());
        for (row, (t, v, d, b)) in found.iter().zip(&lines) {
            let same = (row.time_ms, row.value, row.direction as u8, row.bytes);
            assert_eq!(same, (*t, u64::from(*v), *d, u64::from(*b)));
        }
    }

    #[test]
    fn garbage_never_panics_and_errors_name_a_line(lines in prop::collection::vec(line(), 0..8)) {
        let text = lines.join("\n");
        match rows(reader(text.as_bytes())) {
            Ok(found) => assert!(found.len() <= text.lines().count()),
            Err(LogError::Malformed { line, .. }) => {
                let count = text.split('\n').count() as u64;
                assert!((1..=count).contains(&line), "line {line} of {count}");
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = rows(reader(&bytes));
    }
}
