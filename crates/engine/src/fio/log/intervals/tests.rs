use super::{Interval, Summary, intervals};
use crate::fio::log::{LogError, Reader};
use proptest::prelude::{ProptestConfig, prop, proptest};
use std::path::Path;

fn fold(logs: &[&str], length_ms: u64) -> Result<(Vec<Interval>, Summary), LogError> {
    let mut readers: Vec<_> = logs.iter().map(|l| Reader::new(l.as_bytes(), Path::new("x"))).collect();
    let mut found = Vec::new();
    let summary = intervals(&mut readers, length_ms, |i| found.push(i))?;
    Ok((found, summary))
}

#[test]
fn spans_of_one_log() {
    let log = "0, 100, 0, 4096, 0\n999, 300, 0, 4096, 0\n999, 7, 1, 8192, 0\n1000, 50, 0, 512, 0\n5000, 60, 2, 512, 0\n";
    let (found, summary) = fold(&[log], 1000).unwrap();
    assert_eq!(
        found.iter().map(|i| i.start_ms).collect::<Vec<_>>(),
        [0, 1000, 5000],
        "empty spans are left out"
    );
    let read = found[0].read.unwrap();
    assert_eq!((read.ios, read.bytes, read.min, read.max), (2, 8192, 100, 300));
    assert!((read.mean - 200.0).abs() < 1e-9 && (read.iops - 2.0).abs() < 1e-9);
    assert_eq!((read.p50, read.p999), (100, 302), "off by at most 0.78 %");
    assert_eq!(found[0].write.unwrap().bytes, 8192);
    assert_eq!((found[1].write, found[2].read), (None, None));
    assert_eq!(found[1].read.unwrap().min, 50, "each span begins anew");
    assert_eq!((summary.rows, summary.late_rows, summary.intervals), (5, 0, 3));
    assert_eq!((summary.read.count(), summary.write.count(), summary.trim.count()), (3, 1, 1));
}

#[test]
fn late_rows_are_counted_and_said() {
    let (found, summary) = fold(&["1500, 1, 0, 1, 0\n900, 2, 0, 1, 0\n1600, 3, 0, 1, 0\n"], 1000).unwrap();
    assert_eq!((found.len(), summary.late_rows, found[0].read.unwrap().ios), (1, 1, 3));
}

#[test]
fn odd_times_and_lengths() {
    let (found, _) = fold(&["9223372036854775807, 1, 0, 1, 0\n"], u64::MAX).unwrap();
    assert_eq!(found[0].start_ms, 0);
    let (found, _) = fold(&["9223372036854775807, 1, 0, 1, 0\n"], 0).unwrap();
    assert_eq!(found.len(), 1);
    assert!(fold(&[], 1000).unwrap().0.is_empty());
    assert!(fold(&["", ""], 1000).unwrap().0.is_empty());
    assert!(fold(&["1, 1, 0, 1, 0\n", "bad"], 1000).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn several_logs_are_as_one(
        rows in prop::collection::vec((0_u64..10_000, 0_u64..1 << 33, 0_usize..4), 0..300),
    ) {
        let mut rows = rows;
        rows.sort_unstable();
        let text = |keep: &dyn Fn(usize) -> bool| -> String {
            let kept = rows.iter().filter(|r| keep(r.2));
            kept.map(|(t, v, _)| format!("{t}, {v}, 0, 4096, 0\n")).collect()
        };
        let whole = text(&|_| true);
        let parts: Vec<String> = (0..4).map(|i| text(&move |job| job == i)).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (one, many) = (fold(&[&whole], 500).unwrap(), fold(&parts, 500).unwrap());
        assert_eq!(one, many);
        assert_eq!(one.1.late_rows, 0);
        assert_eq!(one.0.iter().map(|i| i.read.unwrap().ios).sum::<u64>(), rows.len() as u64);
    }
}
