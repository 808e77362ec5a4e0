//! Phases of a user's job file: sections that wait for others run after them, so their rates can't be added.

use super::output::{Asked, float, totals};
use record::fio_json::{JobDirection, JobReport, Report};
use record::trial::{Phase, Totals};
use std::collections::BTreeMap;

/// Replaces fio's groups by our phases. fio's groups are those of its report: `new_group` begins one, but its jobs run beside the others.
pub(super) fn as_groups(report: &mut Report, phases: &[Vec<String>]) {
    for job in &mut report.jobs {
        let of = |names: &Vec<String>| job.name.as_ref().is_some_and(|name| names.contains(name));
        job.group = phases.iter().position(of).and_then(|phase| u64::try_from(phase).ok());
    }
}

/// The totals of each phase, by the groups of the report; empty if all jobs ran at the same time.
pub(super) fn of(report: &Report, asked: &dyn Fn(&JobReport) -> Asked) -> Vec<Phase> {
    let mut groups: BTreeMap<u64, Vec<JobReport>> = BTreeMap::new();
    for job in &report.jobs {
        groups.entry(job.group.unwrap_or(0)).or_default().push(job.clone());
    }
    if groups.len() < 2 {
        return Vec::new();
    }
    let phase = |jobs: Vec<JobReport>| {
        let mut names: Vec<String> = jobs.iter().filter_map(|job| job.name.clone()).collect();
        names.dedup();
        let part = Report { jobs, ..Report::default() };
        let total = |of: fn(&JobReport) -> Option<&JobDirection>| totals(&part, asked, of);
        let sides = [total(|j| j.read.as_ref()), total(|j| j.write.as_ref()), total(|j| j.trim.as_ref())];
        let seconds = sides.iter().flatten().map(|side| side.seconds).fold(0.0, f64::max);
        let [read, write, trim] = sides;
        Phase { jobs: names, seconds, read, write, trim }
    };
    groups.into_values().map(phase).collect()
}

/// One direction over all phases: all its I/Os over the time of all phases together. A rate that only held in one phase counts with
/// that phase's share of the time.
pub(super) fn together(phases: &[Phase], of: impl Fn(&Phase) -> Option<&Totals>) -> Option<Totals> {
    let seconds: f64 = phases.iter().map(|phase| phase.seconds).sum();
    let mut sum: Option<Totals> = None;
    let mut weighted = (0.0, 0.0);
    for part in phases.iter().filter_map(of) {
        let all = sum.get_or_insert_default();
        all.ios = all.ios.saturating_add(part.ios);
        all.bytes = all.bytes.saturating_add(part.bytes);
        all.latency.merge(&part.latency);
        if let Some(mean) = part.latency_mean_ns {
            let weight = float(part.latency.count());
            weighted = (weighted.0 + mean * weight, weighted.1 + weight);
        }
    }
    let all = sum.as_mut()?;
    all.seconds = seconds;
    if seconds > 0.0 {
        all.iops = float(all.ios) / seconds;
        all.bytes_per_second = float(all.bytes) / seconds;
    }
    all.latency_mean_ns = (weighted.1 > 0.0).then(|| weighted.0 / weighted.1);
    sum
}

#[cfg(test)]
mod tests {
    use super::{as_groups, of, together};
    use crate::fio::output::Asked;
    use record::fio_json::{JobDirection, JobReport, Report};

    fn job(name: &str, group: u64, rate: u64, seconds: u64) -> JobReport {
        let side = JobDirection {
            issued: Some(rate * seconds),
            bytes: Some(rate * seconds * 4096),
            runtime_ms: Some(seconds * 1000),
            ..JobDirection::default()
        };
        JobReport {
            name: Some(name.to_owned()),
            group: Some(group),
            read: Some(side),
            ..JobReport::default()
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn rates_of_phases_are_not_added() {
        let mut report =
            Report { jobs: vec![job("slow", 0, 200, 10), job("fast", 1, 400, 10)], ..Report::default() };
        as_groups(&mut report, &[vec!["slow".to_owned()], vec!["fast".to_owned()]]);
        let phases = of(&report, &|_| Asked::default());
        let rates: Vec<f64> = phases.iter().map(|phase| phase.read.as_ref().unwrap().iops).collect();
        assert!(near(rates[0], 200.0) && near(rates[1], 400.0), "{rates:?}");
        let all = together(&phases, |phase| phase.read.as_ref()).unwrap();
        assert!(near(all.iops, 300.0) && near(all.seconds, 20.0), "{all:?}");
        assert_eq!(all.ios, 6000);
        assert_eq!(together(&phases, |phase| phase.write.as_ref()), None);
    }

    #[test]
    fn groups_of_the_report_that_run_side_by_side_are_one_phase() {
        let mut report =
            Report { jobs: vec![job("a", 0, 200, 10), job("b", 1, 400, 10)], ..Report::default() };
        as_groups(&mut report, &[vec!["a".to_owned(), "b".to_owned()]]);
        assert_eq!(of(&report, &|_| Asked::default()), []);
    }
}
