//! fio's histogram log (`write_hist_log`): each row has a time, a direction, a block size, and a count per latency bin of the
//! I/Os that completed since the row before.

use super::log::representative;
use record::printable::Shown as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The largest size of a row: 1856 counts of at most 20 digits.
const MAX_ROW_BYTES: u64 = 64 << 10;

/// Why a log could not be read.
#[derive(Debug, Error)]
pub(super) enum HistLogError {
    #[error("{} can't be read", .path.shown())]
    Open { path: PathBuf, source: io::Error },
    #[error("{}, line {line}", .path.shown())]
    Read { path: PathBuf, line: u64, source: io::Error },
    #[error("{}, line {line} is cut off or too long", .path.shown())]
    CutOff { path: PathBuf, line: u64 },
    #[error("{}, line {line} is not a row of a histogram log", .path.shown())]
    NoRow { path: PathBuf, line: u64 },
}

/// One row.
#[derive(Debug)]
pub(super) struct HistRow<'a> {
    /// The time at which its last I/O completed.
    pub(super) time_ms: u64,
    /// 0: read, 1: write, 2: trim.
    pub(super) direction: u64,
    counts: &'a str,
}

impl HistRow<'_> {
    /// The latency and the number of I/Os of every non-empty bin.
    pub(super) fn bins(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.counts.split(',').map(|field| field.trim().parse::<u64>().unwrap_or(0));
        counts
            .enumerate()
            .filter(|(_, count)| *count > 0)
            .map(|(index, count)| (representative(index), count))
    }
}

/// Reads a log, row by row.
///
/// # Errors
/// When a line can't be read, or is no row.
pub(super) fn read(path: &Path, each: &mut dyn FnMut(HistRow<'_>)) -> Result<(), HistLogError> {
    let log = || path.to_owned();
    let file = File::open(path).map_err(|source| HistLogError::Open { path: log(), source })?;
    let mut input = BufReader::with_capacity(256 << 10, file);
    let mut text = String::new();
    for line in 1_u64.. {
        text.clear();
        let read = input.by_ref().take(MAX_ROW_BYTES).read_line(&mut text);
        if read.map_err(|source| HistLogError::Read { path: log(), line, source })? == 0 {
            return Ok(());
        }
        if !text.ends_with('\n') {
            return Err(HistLogError::CutOff { path: log(), line });
        }
        each(row(text.trim_end()).ok_or_else(|| HistLogError::NoRow { path: log(), line })?);
    }
    Ok(())
}

fn row(line: &str) -> Option<HistRow<'_>> {
    let mut fields = line.splitn(4, ',');
    let mut number = || fields.next()?.trim().parse::<u64>().ok();
    let (time_ms, direction, _block) = (number()?, number()?, number()?);
    let counts = fields.next()?;
    let plausible = counts.bytes().all(|b| b.is_ascii_digit() || matches!(b, b',' | b' '));
    plausible.then_some(HistRow { time_ms, direction, counts })
}

#[cfg(test)]
mod tests {
    use super::{read, row};
    use proptest::prelude::{any, proptest};
    use record::printable::chain;
    use std::io::Write;

    #[test]
    fn a_row() {
        let text = format!("3618639, 1, 4096, {}5, 0, 7", "0, ".repeat(126));
        let row = row(&text).unwrap();
        assert_eq!((row.time_ms, row.direction), (3_618_639, 1));
        assert_eq!(row.bins().collect::<Vec<_>>(), [(126, 5), (129, 7)]);
    }

    #[test]
    fn errors_name_the_line() {
        let file = |text: &str| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let mut rows = 0;
            read(file.path(), &mut |_| rows += 1).map(|()| rows).map_err(|error| chain(&error))
        };
        assert_eq!(file("1, 0, 4096, 1, 2\n2, 1, 4096, 0, 0\n"), Ok(2));
        assert_eq!(file(""), Ok(0));
        for (text, what) in [
            ("1, 0, 4096, 1, 2\nx\n", "line 2 is not a row"),
            ("1, 0, 4096, 1, 2\n2, 0, 40", "line 2 is cut off"),
            ("1, 0, 4096, 1, -2\n", "line 1 is not a row"),
        ] {
            let error = file(text).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
        assert!(file(&"1".repeat(1 << 20)).unwrap_err().contains("too long"));
        assert!(
            read(std::path::Path::new("/nonexistent"), &mut |_| ())
                .unwrap_err()
                .to_string()
                .contains("/nonexistent")
        );
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in any::<String>(), rest in "[0-9, ]{0,60}") {
            for line in [text, format!("1, 1, 1,{rest}")] {
                if let Some(row) = row(&line) {
                    assert!(row.bins().all(|(_, count)| count > 0));
                }
            }
        }
    }
}
