//! Turns fio's report into the record's totals.

use crate::errno;
use record::fio_json::{JobDirection, JobReport, Report};
use record::trial::{ErrorCount, GeneratorCost, Totals, Window};
use std::collections::BTreeMap;

/// The request of one job, as far as it decides what its counts mean.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Asked {
    /// The requested time in seconds; `None` when the job runs until its data are finished.
    pub(super) seconds: Option<f64>,
    /// Whether load ran before the measured time.
    pub(super) ramp: bool,
    /// Whether written data are flushed at the end, inside the measured time.
    pub(super) final_flush: bool,
}

/// The totals of one direction over all jobs; `None` when no job has any.
pub(super) fn totals(
    report: &Report,
    asked: &dyn Fn(&JobReport) -> Asked,
    of: impl Fn(&JobReport) -> Option<&JobDirection>,
) -> Option<Totals> {
    let mut sum: Option<Totals> = None;
    let mut mean_weight = (0.0, 0.0);
    for (job, direction) in report.jobs.iter().filter_map(|job| Some((job, of(job)?))) {
        let total = sum.get_or_insert_default();
        let one = single(direction, asked(job));
        total.ios = total.ios.saturating_add(one.ios);
        total.bytes = total.bytes.saturating_add(one.bytes);
        total.seconds = total.seconds.max(one.seconds);
        total.iops += one.iops;
        total.bytes_per_second += one.bytes_per_second;
        total.latency.merge(&one.latency);
        if let Some(mean) = one.latency_mean_ns {
            let weight = float(one.latency.count());
            mean_weight = (mean_weight.0 + mean * weight, mean_weight.1 + weight);
        }
    }
    if let Some(total) = &mut sum {
        total.latency_mean_ns = (mean_weight.1 > 0.0).then(|| mean_weight.0 / mean_weight.1);
    }
    sum
}

/// The totals of one job's direction.
///
/// When the time is up, fio waits for the I/Os in flight and counts that wait as runtime. With a full queue at both ends of the
/// requested time, as many I/Os complete in it as are issued in it. So after a ramp the count is the I/Os issued, over the
/// requested time, and bytes are in proportion (docs/decisions/0001). Without a ramp, the wait at the end makes up for the burst
/// at the start, and with a flush at the end the wait is part of the work: then the count is the I/Os completed, over the whole
/// runtime.
fn single(direction: &JobDirection, asked: Asked) -> Totals {
    let completed = direction.completed.filter(|n| *n > 0).or(direction.issued).unwrap_or(0);
    let bytes = direction.bytes.unwrap_or(0);
    let (seconds, waited) = own_seconds(direction, asked);
    let issued = direction.issued.filter(|n| *n > 0 && waited);
    let ios = issued.unwrap_or(completed);
    let bytes = if ios == completed { bytes } else { proportion(bytes, ios, completed) };
    let rate = |n: u64| if seconds > 0.0 { float(n) / seconds } else { 0.0 };
    Totals {
        ios,
        bytes,
        seconds,
        iops: rate(ios),
        bytes_per_second: rate(bytes),
        latency: direction.latency.clone(),
        latency_mean_ns: direction.latency_mean_ns,
    }
}

/// The time of a direction's count, and whether fio's runtime was longer.
fn own_seconds(direction: &JobDirection, asked: Asked) -> (f64, bool) {
    let runtime = float(direction.runtime_ms.unwrap_or(0)) / 1e3;
    match asked.seconds {
        Some(seconds) if asked.ramp && !asked.final_flush && seconds < runtime => (seconds, true),
        _ => (runtime, false),
    }
}

/// The bytes of a part of the I/Os; exact when all have one size.
pub(super) fn proportion(bytes: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(bytes) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// The position of the measured time before the end of I/O.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Span {
    /// The time from its begin to the end of I/O, in seconds.
    pub(super) begin_before_end_seconds: f64,
    /// Its length in seconds; in the rest fio waits for the I/Os in flight.
    pub(super) length_seconds: f64,
}

/// The measured time: the longest job of each group, and groups one after the other.
pub(super) fn span(report: &Report, asked: &dyn Fn(&JobReport) -> Asked) -> Span {
    let mut groups: BTreeMap<Option<u64>, (f64, f64)> = BTreeMap::new();
    for job in &report.jobs {
        let group = groups.entry(job.group).or_default();
        for direction in [&job.read, &job.write, &job.trim].into_iter().flatten() {
            let runtime = float(direction.runtime_ms.unwrap_or(0)) / 1e3;
            let (own, _) = own_seconds(direction, asked(job));
            *group = (group.0.max(runtime), group.1.max(own));
        }
    }
    let all: f64 = groups.values().map(|g| g.0).sum();
    let last_wait = groups.values().next_back().map_or(0.0, |g| g.0 - g.1);
    Span { begin_before_end_seconds: all, length_seconds: all - last_wait }
}

/// The errors by job: the one that ended it, and those that didn't.
pub(super) fn errors(report: &Report) -> Vec<ErrorCount> {
    let mut found = Vec::new();
    for job in &report.jobs {
        let survived = job.total_errors.unwrap_or(0);
        let number = job.first_error.filter(|_| survived > 0).or(job.error).unwrap_or(0);
        if number != 0 || survived > 0 {
            found.push(ErrorCount {
                errno: errno::name(number),
                count: survived.max(1),
                place: job.name.clone(),
            });
        }
    }
    found
}

/// The sum of a CPU share over all jobs, 1.0 for one core; `None` when no job reports it.
pub(super) fn cpu_share(report: &Report, of: impl Fn(&JobReport) -> Option<f64>) -> Option<f64> {
    let told: Vec<f64> = report.jobs.iter().filter_map(of).collect();
    (!told.is_empty()).then(|| told.iter().sum::<f64>() / 100.0)
}

/// The cost of generating the load, from fio's CPU shares. They are means over its whole run, including the ramp. `None` where
/// fio reports none, or where groups of jobs ran one after the other, because their shares are of different times.
pub(super) fn generator(report: &Report, window: Window, ios: u64) -> Option<GeneratorCost> {
    let first = report.jobs.first()?.group;
    if report.jobs.iter().any(|job| job.group != first) {
        return None;
    }
    let user_seconds = cpu_share(report, |j| j.user_cpu_percent)? * window.seconds();
    let system_seconds = cpu_share(report, |j| j.system_cpu_percent)? * window.seconds();
    let cpu_ns_per_io = (ios > 0).then(|| (user_seconds + system_seconds) * 1e9 / float(ios));
    Some(GeneratorCost { user_seconds, system_seconds, cpu_ns_per_io, ..GeneratorCost::default() })
}

#[expect(clippy::cast_precision_loss, reason = "counts, bytes and milliseconds are far below 2^52")]
pub(super) fn float(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests;
