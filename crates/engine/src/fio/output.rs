//! From fio's report to the record's totals.

use super::errno;
use super::json::{Direction, JobReport, Report};
use record::trial::{ErrorCount, Totals};
use std::collections::BTreeMap;

/// Totals of one direction over all jobs; `None` when no job did any.
pub(super) fn totals(report: &Report, of: impl Fn(&JobReport) -> Option<&Direction>) -> Option<Totals> {
    let mut sum: Option<Totals> = None;
    let mut mean_weight = (0.0, 0.0);
    for direction in report.jobs.iter().filter_map(of) {
        let total = sum.get_or_insert_default();
        let one = single(direction);
        total.ios = total.ios.saturating_add(one.ios);
        total.bytes = total.bytes.saturating_add(one.bytes);
        total.seconds = total.seconds.max(one.seconds);
        total.iops += one.iops;
        total.bytes_per_second += one.bytes_per_second;
        total.latency.merge(&one.latency);
        if let Some(mean) = one.latency_mean_ns {
            let weight = float(one.ios);
            mean_weight = (mean_weight.0 + mean * weight, mean_weight.1 + weight);
        }
    }
    if let Some(total) = &mut sum {
        total.latency_mean_ns = (mean_weight.1 > 0.0).then(|| mean_weight.0 / mean_weight.1);
    }
    sum
}

/// One job's direction. I/Os are those completed: fio's `total_ios` are those issued, which leaves out what was in flight
/// when the ramp ended and is completed, and counted in bytes, afterwards.
fn single(direction: &Direction) -> Totals {
    let ios = direction.completed.filter(|n| *n > 0).or(direction.issued).unwrap_or(0);
    let bytes = direction.bytes.unwrap_or(0);
    let seconds = float(direction.runtime_ms.unwrap_or(0)) / 1e3;
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

/// How long load was measured: within a group the longest job, groups one after the other.
pub(super) fn measured_seconds(report: &Report) -> f64 {
    let mut groups: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    for job in &report.jobs {
        let longest = [&job.read, &job.write].into_iter().flatten().filter_map(|d| d.runtime_ms).max();
        let group = groups.entry(job.group).or_default();
        *group = (*group).max(longest.unwrap_or(0));
    }
    float(groups.values().fold(0, |sum: u64, ms| sum.saturating_add(*ms))) / 1e3
}

/// Errors by job: what ended it, and what it survived.
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

/// The sum over jobs of a CPU share, 1.0 for one core; `None` when no job tells.
pub(super) fn cpu_share(report: &Report, of: impl Fn(&JobReport) -> Option<f64>) -> Option<f64> {
    let told: Vec<f64> = report.jobs.iter().filter_map(of).collect();
    (!told.is_empty()).then(|| told.iter().sum::<f64>() / 100.0)
}

#[expect(clippy::cast_precision_loss, reason = "counts, bytes and milliseconds are far below 2^52")]
fn float(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::{cpu_share, errors, measured_seconds, totals};
    use crate::fio::json::{Direction, JobReport, Report};
    use record::latency::LatencyHistogram;

    fn reads(issued: u64, completed: u64, ms: u64, bin_ns: u64) -> Direction {
        Direction {
            issued: Some(issued),
            bytes: Some(completed * 4096),
            runtime_ms: Some(ms),
            completed: Some(completed),
            latency_mean_ns: Some(bin_ns as f64),
            latency: LatencyHistogram { bins_ns: [(bin_ns, completed)].into() },
        }
    }

    fn report(jobs: Vec<JobReport>) -> Report {
        Report { version: None, jobs }
    }

    #[test]
    fn rates_are_summed_over_each_jobs_own_time() {
        let job = |d| JobReport { read: Some(d), group: Some(0), ..JobReport::default() };
        let r = report(vec![job(reads(90, 100, 1000, 10)), job(reads(300, 300, 2000, 30))]);
        let t = totals(&r, |j| j.read.as_ref()).unwrap();
        assert_eq!((t.ios, t.bytes), (400, 400 * 4096));
        assert!((t.iops - (100.0 + 150.0)).abs() < 1e-9, "completed, not issued: {}", t.iops);
        assert!((t.seconds - 2.0).abs() < 1e-9);
        assert_eq!(t.latency.count(), 400);
        assert!((t.latency_mean_ns.unwrap() - (10.0 * 100.0 + 30.0 * 300.0) / 400.0).abs() < 1e-9);
        assert_eq!(totals(&r, |j| j.write.as_ref()), None);
        assert!((measured_seconds(&r) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn groups_run_one_after_the_other() {
        let job = |group, ms| JobReport {
            read: Some(reads(1, 1, ms, 1)),
            group: Some(group),
            ..JobReport::default()
        };
        let r = report(vec![job(0, 1000), job(0, 1500), job(1, 2000)]);
        assert!((measured_seconds(&r) - 3.5).abs() < 1e-9);
    }

    #[test]
    fn without_latencies_the_issued_count_is_all_there_is() {
        let d = Direction { completed: Some(0), ..reads(7, 7, 1000, 1) };
        let r = report(vec![JobReport { read: Some(d), ..JobReport::default() }]);
        assert_eq!(totals(&r, |j| j.read.as_ref()).unwrap().ios, 7);
    }

    #[test]
    fn errors_are_named_and_placed() {
        let fatal = JobReport { name: Some("job0".into()), error: Some(28), ..JobReport::default() };
        let survived = JobReport {
            name: Some("job1".into()),
            error: Some(0),
            total_errors: Some(3),
            first_error: Some(5),
            ..JobReport::default()
        };
        let fine =
            JobReport { error: Some(0), total_errors: Some(0), first_error: Some(0), ..JobReport::default() };
        let e = errors(&report(vec![fatal, survived, fine]));
        assert_eq!(e.len(), 2);
        assert_eq!((e[0].errno.as_str(), e[0].count, e[0].place.as_deref()), ("ENOSPC", 1, Some("job0")));
        assert_eq!((e[1].errno.as_str(), e[1].count, e[1].place.as_deref()), ("EIO", 3, Some("job1")));
    }

    #[test]
    fn cpu_is_summed() {
        let job = |cpu| JobReport { user_cpu_percent: cpu, ..JobReport::default() };
        let share =
            cpu_share(&report(vec![job(Some(50.0)), job(Some(75.0)), job(None)]), |j| j.user_cpu_percent);
        assert!((share.unwrap() - 1.25).abs() < 1e-9);
        assert_eq!(cpu_share(&report(vec![job(None)]), |j| j.user_cpu_percent), None);
    }
}
