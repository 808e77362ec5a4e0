//! Sums rows into time intervals.

use super::bins::Bins;
use super::error::LogError;
use super::reader::{Direction, Reader, Row};
use record::latency::LatencyHistogram;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;

/// A time interval over all logs. Empty intervals are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Its begin in ms, on the logs' clock.
    pub start_ms: u64,
    /// Reads, if any.
    pub read: Option<DirectionStats>,
    /// Writes, if any.
    pub write: Option<DirectionStats>,
    /// Trims, if any.
    pub trim: Option<DirectionStats>,
}

/// The sums of one direction in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DirectionStats {
    /// The I/Os that completed.
    pub ios: u64,
    /// I/Os per second.
    pub iops: f64,
    /// The bytes moved.
    pub bytes: u64,
    /// The mean of the logged value (ns in latency logs).
    pub mean: f64,
    /// The smallest value, exactly.
    pub min: u64,
    /// The median, from the histogram: an error of at most 0.78 %.
    pub p50: u64,
    /// The 99th percentile, likewise.
    pub p99: u64,
    /// The 99.9th percentile, likewise.
    pub p999: u64,
    /// The largest value, exactly.
    pub max: u64,
}

/// The sums over whole logs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// The rows that were read.
    pub rows: u64,
    /// The rows that came after a row of a later interval; they count in that later one.
    pub late_rows: u64,
    /// The intervals that were returned.
    pub intervals: u64,
    /// The values of all reads.
    pub read: LatencyHistogram,
    /// The values of all writes.
    pub write: LatencyHistogram,
    /// The values of all trims.
    pub trim: LatencyHistogram,
}

/// Sums logs, merged by time, into intervals of `length_ms`, and passes each one to `each` as soon as it is complete. Memory: one
/// buffer per log and a fixed number of histograms, however long the logs are.
///
/// # Errors
/// When a log can't be read; intervals that were passed before stay valid.
pub fn intervals<R: Read>(
    logs: &mut [Reader<R>],
    length_ms: u64,
    mut each: impl FnMut(Interval),
) -> Result<Summary, LogError> {
    let mut open = Open::new(length_ms.max(1));
    if let [log] = logs {
        while let Some(row) = log.next_row()? {
            open.add(&row, &mut each);
        }
        return Ok(open.finish(&mut each));
    }
    let mut heads: Vec<Option<Row>> = Vec::with_capacity(logs.len());
    let mut earliest = BinaryHeap::with_capacity(logs.len());
    for (index, log) in logs.iter_mut().enumerate() {
        let row = log.next_row()?;
        earliest.extend(row.map(|r| Reverse((r.time_ms, index))));
        heads.push(row);
    }
    while let Some(Reverse((_, index))) = earliest.pop() {
        let (Some(head), Some(log)) = (heads.get_mut(index), logs.get_mut(index)) else { continue };
        if let Some(row) = head.take() {
            open.add(&row, &mut each);
        }
        *head = log.next_row()?;
        earliest.extend(head.map(|r| Reverse((r.time_ms, index))));
    }
    Ok(open.finish(&mut each))
}

/// The current interval, and the sums over all.
struct Open {
    length_ms: u64,
    end_ms: u64,
    start_ms: u64,
    began: bool,
    now: [Tally; 3],
    all: [Bins; 3],
    summary: Summary,
}

impl Open {
    fn new(length_ms: u64) -> Self {
        Self {
            length_ms,
            end_ms: 0,
            start_ms: 0,
            began: false,
            now: Default::default(),
            all: Default::default(),
            summary: Summary::default(),
        }
    }

    #[inline]
    fn add(&mut self, row: &Row, each: &mut impl FnMut(Interval)) {
        if row.time_ms >= self.end_ms {
            self.close(each);
            self.began = true;
            self.start_ms = row.time_ms - row.time_ms % self.length_ms;
            self.end_ms = self.start_ms.saturating_add(self.length_ms);
        } else if row.time_ms < self.start_ms {
            self.summary.late_rows += 1;
        }
        self.summary.rows += 1;
        let [read, write, trim] = &mut self.now;
        let tally = match row.direction {
            Direction::Read => read,
            Direction::Write => write,
            Direction::Trim => trim,
        };
        tally.add(row.value, row.bytes);
    }

    fn close(&mut self, each: &mut impl FnMut(Interval)) {
        if !self.began {
            return;
        }
        self.summary.intervals += 1;
        let [read, write, trim] = &mut self.now;
        let [all_read, all_write, all_trim] = &mut self.all;
        each(Interval {
            start_ms: self.start_ms,
            read: read.close(self.length_ms, all_read),
            write: write.close(self.length_ms, all_write),
            trim: trim.close(self.length_ms, all_trim),
        });
    }

    fn finish(mut self, each: &mut impl FnMut(Interval)) -> Summary {
        self.close(each);
        let [read, write, trim] = &self.all;
        self.summary.read = read.histogram();
        self.summary.write = write.histogram();
        self.summary.trim = trim.histogram();
        self.summary
    }
}

/// One direction of the current interval.
#[derive(Default)]
struct Tally {
    bins: Bins,
    bytes: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Tally {
    #[inline]
    fn add(&mut self, value: u64, bytes: u64) {
        self.min = if self.bins.total() == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.sum += u128::from(value);
        self.bytes = self.bytes.saturating_add(bytes);
        self.bins.add(value);
    }

    #[expect(clippy::cast_precision_loss, reason = "means and rates are shown with far fewer digits")]
    fn close(&mut self, length_ms: u64, all: &mut Bins) -> Option<DirectionStats> {
        let ios = self.bins.total();
        if ios == 0 {
            return None;
        }
        let [p50, p99, p999] = self.bins.percentiles([0.5, 0.99, 0.999]);
        let stats = DirectionStats {
            ios,
            iops: ios as f64 * 1e3 / length_ms as f64,
            bytes: self.bytes,
            mean: self.sum as f64 / ios as f64,
            min: self.min,
            p50,
            p99,
            p999,
            max: self.max,
        };
        all.merge(&self.bins);
        self.bins.clear();
        (self.bytes, self.sum, self.min, self.max) = (0, 0, 0, 0);
        Some(stats)
    }
}

#[cfg(test)]
mod tests;
