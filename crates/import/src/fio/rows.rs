//! Rows of fio's logs.
//!
//! A row is `time in ms, value, direction, block size`, and further columns that aren't needed here. With `log_avg_msec` a row is the mean of
//! an interval that ends at its time, and its block size is 0; without it a row is one I/O. A row of a `_clat_hist` log is `time, direction,
//! block size` and the number of I/Os in each latency bin since the row before.

use crate::error::ReadError;

/// Reads, writes, trims.
pub(super) const DIRECTIONS: usize = 3;

/// A row of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// Time since the job's start in ms.
    pub(super) time_ms: u64,
    /// The value: a latency in the unit of its fio, KiB/s or I/Os per second; 0 in a row of bins.
    pub(super) value: u64,
    /// 0: read, 1: write, 2: trim.
    pub(super) direction: usize,
    /// Block size in bytes; 0 in a mean.
    pub(super) bytes: u64,
    /// Latency in ns and number of I/Os; empty in other logs.
    pub(super) bins_ns: Vec<(u64, u64)>,
}

/// Reads all rows of a log, with times from its begin: a log with the time of day (`log_unix_epoch`) begins one interval before its first row.
pub(super) fn rows(text: &str, has_bins: bool) -> Result<Vec<Row>, ReadError> {
    /// Milliseconds after which a time can only be one of the day: three years of load.
    const EPOCH_MS: u64 = 100_000_000_000;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parsed = lines.map(|(number, line)| {
        let bad = || ReadError::LogRow { line: number + 1, found: line.chars().take(60).collect() };
        row(line, has_bins).ok_or_else(bad)
    });
    let mut rows: Vec<Row> = parsed.collect::<Result<_, _>>()?;
    let first = rows.first().ok_or(ReadError::EmptyLog)?.time_ms;
    if first >= EPOCH_MS {
        let next = rows.iter().map(|row| row.time_ms).find(|time_ms| *time_ms > first);
        let begin = first.saturating_sub(next.map_or(0, |next| next - first));
        rows.iter_mut().for_each(|row| row.time_ms = row.time_ms.saturating_sub(begin));
    }
    Ok(rows)
}

/// Whether the rows of single I/Os are those of fio 3.19 and later, whose latencies are nanoseconds: a priority follows the block size (and
/// the offset), as a flag or in hexadecimal. Before that an offset follows, or nothing, and offsets of several I/Os are not all 0 and 1.
pub(super) fn is_of_fio_3(text: &str) -> bool {
    let mut count = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut more = line.split(',').skip(4).map(str::trim);
        match (more.next(), more.next()) {
            (Some(_), Some(_)) => return true,
            (Some(priority), None) if priority.starts_with("0x") => return true,
            (Some("0" | "1"), None) => count += 1,
            _ => return false,
        }
    }
    count > 1
}

fn row(line: &str, has_bins: bool) -> Option<Row> {
    let mut fields = line.split(',').map(str::trim);
    let mut number = || fields.next()?.parse::<u64>().ok();
    let time_ms = number()?;
    let value = if has_bins { 0 } else { number()? };
    let direction = usize::try_from(number()?).ok().filter(|direction| *direction < DIRECTIONS)?;
    let bytes = number()?;
    let bins_ns = if has_bins { bins(fields)? } else { Vec::new() };
    Some(Row { time_ms, value, direction, bytes, bins_ns })
}

/// The bins that hold I/Os. fio has 64 bins per power of two; since 3.0 they are of nanoseconds, before that (1216 bins) of microseconds.
fn bins<'t>(fields: impl Iterator<Item = &'t str>) -> Option<Vec<(u64, u64)>> {
    const OLD_BINS: usize = 1216;
    let counts: Vec<u64> =
        fields.filter(|field| !field.is_empty()).map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let ns_per_unit = if counts.len() <= OLD_BINS { 1000 } else { 1 };
    let filled = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
    Some(filled.map(|(index, count)| (representative(index).saturating_mul(ns_per_unit), count)).collect())
}

/// The value in the middle of a bin (fio's stat.c, `plat_idx_to_val`).
fn representative(index: usize) -> u64 {
    let index = u64::try_from(index).unwrap_or(u64::MAX);
    if index < 128 {
        return index;
    }
    let shift = u32::try_from((index >> 6) - 1).unwrap_or(u32::MAX).min(57);
    (1_u64 << (shift + 6)) + (index % 64) * (1 << shift) + (1 << shift) / 2
}

/// The middle of the bin that a latency belongs to.
pub(super) fn binned(ns: u64) -> u64 {
    if ns < 128 {
        return ns;
    }
    let shift = 57 - ns.leading_zeros();
    (ns >> shift << shift) + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::{Row, binned, is_of_fio_3, representative, rows};
    use crate::error::ReadError;

    #[test]
    fn rows_are_read_with_what_follows_them() {
        let log =
            rows("500, 1024, 0, 4096\n1000,2048,1,0, 0\n\n1500, 7, 0, 4096, 8192, 0x0000\n", false).unwrap();
        let row =
            |time_ms, value, direction, bytes| Row { time_ms, value, direction, bytes, bins_ns: Vec::new() };
        assert_eq!(log, [row(500, 1024, 0, 4096), row(1000, 2048, 1, 0), row(1500, 7, 0, 4096)]);
        assert_eq!(rows("1700000000500, 1, 0, 0\n1700000001500, 1, 0, 0\n", false).unwrap()[1].time_ms, 2000);
        assert_eq!(rows("\n", false), Err(ReadError::EmptyLog));
        let error = rows("500, 1, 0, 4096\nbroken\n", false).unwrap_err();
        assert_eq!(error.to_string(), "line 2: \"broken\" is not a row of a log of fio");
        assert!(rows("5, 1, 3, 4096\n", false).is_err(), "there are three directions");
    }

    #[test]
    fn only_a_priority_shows_fio_3() {
        for text in
            ["1, 9, 0, 4096, 0\n2, 9, 0, 4096, 1\n", "1, 9, 0, 4096, 0x0000\n", "1, 9, 0, 4096, 8192, 0\n"]
        {
            assert!(is_of_fio_3(text), "{text}");
        }
        let offsets = "1, 9, 0, 4096, 0\n2, 9, 0, 4096, 8192\n";
        for text in ["1, 9, 0, 4096\n2, 9, 0, 4096\n", offsets, "1, 9, 0, 4096, 0\n", ""] {
            assert!(!is_of_fio_3(text), "{text}");
        }
    }

    #[test]
    fn bins_are_of_nanoseconds_and_before_fio_3_of_microseconds() {
        let line = |bins: usize, at: usize| {
            let counts = (0..bins).map(|bin| if bin == at { "5" } else { "0" });
            format!("1000, 0, 4096, {}", counts.collect::<Vec<_>>().join(", "))
        };
        assert_eq!(rows(&line(1856, 100), true).unwrap()[0].bins_ns, [(100, 5)]);
        assert_eq!(rows(&line(1216, 100), true).unwrap()[0].bins_ns, [(100_000, 5)]);
        // bin 130: the third of those that are two wide, from 128
        assert_eq!((representative(128), representative(130), representative(192)), (129, 133, 258));
    }

    #[test]
    fn a_latency_and_its_bin_differ_by_less_than_a_hundredth() {
        for ns in [0, 127, 128, 129, 255, 256, 1000, 123_456_789, u64::MAX / 2] {
            let bin = binned(ns);
            assert!(bin.abs_diff(ns) as f64 <= ns as f64 / 128.0, "{ns}: {bin}");
        }
        for index in [0, 127, 128, 500, 1855] {
            assert_eq!(binned(representative(index)), representative(index), "{index}");
        }
    }
}
