//! Counts completions inside the measured time exactly.
//!
//! fio's totals can't be cut to a time window: they either leave out the I/Os in flight at the end of the ramp, or include the
//! wait for I/Os at the end, and the mix of reads and writes in the queue differs between the two. Its histogram log gives the
//! number of I/Os of each direction that completed up to each row, on CLOCK_MONOTONIC. So fio runs ramp and trial in one go, and
//! we count from the first row after the ramp to the last row before the time is up (docs/decisions/0001). The ramp begins with the
//! load, or at the moment that several machines agreed on.

use super::histlog::{self, HistLogError, HistRow};
use super::output::{float, proportion};
use super::series::{self, Course};
use super::times::Times;
use record::fio_json::{JobDirection, JobReport, Report};
use record::latency::LatencyHistogram;
use record::trial::{Phase, Series, Totals, Window};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The beginning of fio's log file names, in the scratch directory.
pub(super) const LOG_PREFIX: &str = "hist";

/// Why the logs aren't enough to count from.
#[derive(Debug, Error)]
pub(super) enum CountError {
    /// A log can't be read.
    #[error(transparent)]
    Log(#[from] HistLogError),
    #[error("{job} completed too few I/Os in {seconds} s to count between two of fio's log rows")]
    TooFew { job: String, seconds: f64 },
}

/// The counts of a trial.
#[derive(Debug, PartialEq)]
pub(super) struct Counted {
    pub(super) read: Option<Totals>,
    pub(super) write: Option<Totals>,
    pub(super) trim: Option<Totals>,
    pub(super) phases: Vec<Phase>,
    pub(super) series: Option<Series>,
    pub(super) window: Window,
}

/// One direction of one job, summed from its rows.
#[derive(Debug, Default, PartialEq)]
struct Side {
    /// The time of the row that begins the count; that row and earlier ones don't count.
    start_ms: Option<u64>,
    /// The time of the last row that counts.
    end_ms: Option<u64>,
    counted: BTreeMap<u64, u64>,
    before: BTreeMap<u64, u64>,
    /// The time and the I/Os of each row that counts.
    rows: Vec<(u64, u64)>,
    /// Their latencies, row by row.
    latencies: Vec<LatencyHistogram>,
}

/// The sums of one job.
#[derive(Debug, Default, PartialEq)]
struct JobCount {
    /// The beginning of its load, to within one completion.
    began_ms: Option<u64>,
    /// Reads, writes, trims.
    sides: [Side; 3],
}

/// The path of the histogram log of fio's n-th job, from 0.
pub(super) fn log_path(scratch: &Path, job: usize) -> PathBuf {
    scratch.join(format!("{LOG_PREFIX}_clat_hist.{}.log", job + 1))
}

/// Counts the I/Os of all jobs.
///
/// # Errors
/// When the logs aren't enough; then only fio's own totals are left.
pub(super) fn count(report: &Report, scratch: &Path, times: Times) -> Result<Counted, CountError> {
    let mut sums = [None, None, None];
    let mut spans = Vec::new();
    let mut courses: [Vec<Course>; 3] = Default::default();
    for (index, job) in report.jobs.iter().enumerate() {
        let mut found = JobCount::default();
        histlog::read(&log_path(scratch, index), &mut |row| found.add(&row, times))?;
        let JobCount { began_ms, sides } = found;
        let directions = [&job.read, &job.write, &job.trim];
        let sums = sums.iter_mut().zip(&mut courses);
        for (((sum, courses), side), direction) in sums.zip(sides).zip(directions) {
            let Some(direction) = direction else { continue };
            let (totals, from, to) =
                side.totals(direction, times, began_ms).ok_or_else(|| too_few(job, times))?;
            add(sum, &totals);
            spans.push((from, to));
            let Side { rows, latencies, .. } = side;
            courses.push(Course { start_ms: from, rows, latencies, ios: totals.ios, bytes: totals.bytes });
        }
    }
    sums.iter_mut().flatten().for_each(set_mean);
    let [read, write, trim] = sums;
    let window = common(&spans);
    let series = series::of(&courses, window, times);
    Ok(Counted { read, write, trim, phases: Vec::new(), series, window })
}

/// A common window. Jobs and directions begin and end at rows of their own, a few milliseconds apart. With the mean of the begins
/// and of the ends, it counts as much too much of some as too little of others.
fn common(spans_ms: &[(u64, u64)]) -> Window {
    let count = u64::try_from(spans_ms.len()).unwrap_or(u64::MAX).max(1);
    let mean_ns =
        |sum_ms: u64| u64::try_from(u128::from(sum_ms) * 1_000_000 / u128::from(count)).unwrap_or(u64::MAX);
    Window {
        start_ns: mean_ns(spans_ms.iter().map(|s| s.0).fold(0, u64::saturating_add)),
        end_ns: mean_ns(spans_ms.iter().map(|s| s.1).fold(0, u64::saturating_add)),
    }
}

fn too_few(job: &JobReport, times: Times) -> CountError {
    let name = job.name.clone().unwrap_or_else(|| "a job".to_owned());
    CountError::TooFew { job: name, seconds: float(times.trial_ms) / 1e3 }
}

impl JobCount {
    fn add(&mut self, row: &HistRow<'_>, times: Times) {
        let began = *self.began_ms.get_or_insert(row.time_ms.saturating_sub(times.row_ms));
        // Machines that load together are measured at the same time, although each fio begins some milliseconds late in its own way.
        let begin = times.agreed_ms.unwrap_or(began).saturating_add(times.ramp_ms);
        let finish = begin.saturating_add(times.trial_ms);
        let side = usize::try_from(row.direction).ok().and_then(|n| self.sides.get_mut(n));
        if let Some(side) = side {
            side.add(row, begin, finish);
        }
    }
}

impl Side {
    fn add(&mut self, row: &HistRow<'_>, begin: u64, finish: u64) {
        let target = if self.start_ms.is_none() {
            if row.time_ms >= begin {
                self.start_ms = Some(row.time_ms);
            }
            &mut self.before
        } else if row.time_ms <= finish {
            self.end_ms = Some(row.time_ms);
            &mut self.counted
        } else {
            return;
        };
        let latency = LatencyHistogram { bins_ns: row.bins().collect() };
        for (ns, count) in &latency.bins_ns {
            *target.entry(*ns).or_default() += count;
        }
        if self.end_ms == Some(row.time_ms) {
            self.rows.push((row.time_ms, latency.count()));
            self.latencies.push(latency);
        }
    }

    /// The totals, and the begin and end of their time in ms.
    fn totals(
        &self,
        direction: &JobDirection,
        times: Times,
        began_ms: Option<u64>,
    ) -> Option<(Totals, u64, u64)> {
        let start = self.start_ms?;
        let (bins, end) = if times.final_flush {
            // All data that were written after the ramp, over the time until they were durable.
            let end = began_ms?.checked_add(direction.runtime_ms?)?;
            (difference(&direction.latency.bins_ns, &self.before), end)
        } else {
            (self.counted.clone(), self.end_ms?)
        };
        let latency = LatencyHistogram { bins_ns: bins };
        let (ios, all) = (latency.count(), direction.completed?);
        let seconds = float(end.checked_sub(start).filter(|ms| *ms > 0)?) / 1e3;
        let bytes = proportion(direction.bytes?, ios, all);
        let totals = Totals {
            ios,
            bytes,
            seconds,
            iops: float(ios) / seconds,
            bytes_per_second: float(bytes) / seconds,
            latency,
            latency_mean_ns: None,
        };
        Some((totals, start, end))
    }
}

fn difference(all: &BTreeMap<u64, u64>, before: &BTreeMap<u64, u64>) -> BTreeMap<u64, u64> {
    let left = |(ns, count): (&u64, &u64)| (*ns, count.saturating_sub(before.get(ns).copied().unwrap_or(0)));
    all.iter().map(left).filter(|(_, count)| *count > 0).collect()
}

fn add(sum: &mut Option<Totals>, one: &Totals) {
    let sum = sum.get_or_insert_default();
    sum.ios += one.ios;
    sum.bytes = sum.bytes.saturating_add(one.bytes);
    sum.seconds = sum.seconds.max(one.seconds);
    sum.iops += one.iops;
    sum.bytes_per_second += one.bytes_per_second;
    sum.latency.merge(&one.latency);
}

/// Sets the mean latency from the bins, to within their width: fio's own mean includes the ramp.
fn set_mean(totals: &mut Totals) {
    let sum: f64 = totals.latency.bins_ns.iter().map(|(ns, n)| float(*ns) * float(*n)).sum();
    totals.latency_mean_ns = (totals.ios > 0).then(|| sum / float(totals.ios));
}

#[cfg(test)]
mod tests;
