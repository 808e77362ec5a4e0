//! Syncs, and the time until writes are durable, as far as fio tells.

use super::output::float;
use record::fio_json::{JobReport, Report};
use record::latency::Latencies;
use record::trial::Totals;
use record::workload::{Options, SyncMode};

/// The syncs of all jobs; `None` when there were none. fio counts them over its whole run, also before the measured time.
pub(super) fn syncs(report: &Report) -> Option<Latencies> {
    let all: Vec<&Latencies> = report.jobs.iter().filter_map(|job| job.sync.as_ref()).collect();
    if all.is_empty() {
        return None;
    }
    let mut histogram = record::latency::LatencyHistogram::default();
    all.iter().for_each(|one| histogram.merge(&one.histogram));
    Some(Latencies {
        count: all.iter().map(|one| one.count).sum(),
        mean_ns: mean(all.iter().map(|one| (one.count, one.mean_ns))),
        max_ns: all
            .iter()
            .map(|one| one.max_ns)
            .collect::<Option<Vec<_>>>()
            .and_then(|ns| ns.into_iter().max()),
        histogram,
    })
}

/// The time until writes are durable; `None` where fio's figures don't tell it.
///
/// With O_SYNC and O_DSYNC it is the writes' own latency. With a sync after each write and nothing else in flight, its mean is the sum of
/// two means: of the write, from its submission, and of the sync. Its percentiles are not the sum of percentiles, so there are none.
pub(super) fn writes(report: &Report, options: &Options, write: Option<&Totals>) -> Option<Latencies> {
    if options.rw.writes() && options.sync != SyncMode::None {
        let write = write.filter(|write| write.ios > 0)?;
        return Some(Latencies {
            count: write.ios,
            mean_ns: write.latency_mean_ns,
            max_ns: None,
            histogram: write.latency.clone(),
        });
    }
    if !options.syncs_each_write() {
        return None;
    }
    let writing = || report.jobs.iter().filter_map(|job: &JobReport| job.write.as_ref());
    let written = mean(
        writing().map(|write| (write.completed.unwrap_or(0), write.whole_mean_ns.or(write.latency_mean_ns))),
    )?;
    let syncs = syncs(report)?;
    Some(Latencies { count: syncs.count, mean_ns: Some(written + syncs.mean_ns?), ..Latencies::default() })
}

/// The mean of several means with their counts; `None` when one is missing, or nothing is counted.
fn mean(parts: impl Iterator<Item = (u64, Option<f64>)>) -> Option<f64> {
    let (mut count, mut sum) = (0, 0.0);
    for (n, mean) in parts.filter(|(n, _)| *n > 0) {
        count += n;
        sum += mean? * float(n);
    }
    (count > 0).then(|| sum / float(count))
}

#[cfg(test)]
mod tests {
    use super::{syncs, writes};
    use crate::fio::output::{self, Asked};
    use record::fio_json as json;
    use record::workload::{Options, Rw, SyncMode};

    /// fio 3.33, two jobs with `fdatasync=1` on an ext4 on a virtual disk: 12 and 9 writes, and no sync after the last of each.
    const SYNCED: &str = include_str!("../../tests/fixtures/fio-3.33/synced.txt");
    const TWO_JOBS: &str = include_str!("../../tests/fixtures/fio-3.33/two-jobs.txt");

    fn options() -> Options {
        Options { ioengine: "psync".to_owned(), fdatasync: 1, ..Options::new(Rw::Randwrite, 4096, 65_536) }
    }

    #[test]
    fn syncs_of_all_jobs_are_merged() {
        let report = json::read(SYNCED).report.unwrap();
        let all = syncs(&report).unwrap();
        assert_eq!((all.count, all.histogram.count()), (19, 19));
        assert_eq!(all.max_ns, Some(12_426_819));
        let wanted = (8_420_441.818182 * 11.0 + 8_039_003.375 * 8.0) / 19.0;
        assert!((all.mean_ns.unwrap() - wanted).abs() < 1e-3, "{all:?}");
        assert_eq!(syncs(&json::read(TWO_JOBS).report.unwrap()), None, "no syncs are none, not 0");
    }

    #[test]
    fn means_are_added_and_percentiles_never() {
        let report = json::read(SYNCED).report.unwrap();
        let durable = writes(&report, &options(), None).unwrap();
        let write = (8312.5 * 12.0 + 8_689.888889 * 9.0) / 21.0;
        let sync = syncs(&report).unwrap().mean_ns.unwrap();
        assert!((durable.mean_ns.unwrap() - write - sync).abs() < 1e-3, "{durable:?}");
        assert_eq!((durable.histogram.count(), durable.max_ns), (0, None));
    }

    #[test]
    fn what_fio_does_not_tell_is_absent() {
        let report = json::read(SYNCED).report.unwrap();
        let none = |options: Options| assert_eq!(writes(&report, &options, None), None, "{options:?}");
        none(Options { fdatasync: 0, ..options() });
        none(Options { fdatasync: 8, ..options() });
        none(Options { ioengine: "libaio".to_owned(), iodepth: 4, ..options() });
        none(Options { fdatasync: 1, rw: Rw::Read, ..options() });
    }

    #[test]
    fn with_o_dsync_a_write_is_durable_at_its_end() {
        let report = json::read(SYNCED).report.unwrap();
        let write = output::totals(&report, &|_| Asked::default(), |j| j.write.as_ref()).unwrap();
        let dsync = Options { fdatasync: 0, sync: SyncMode::Dsync, ..options() };
        let durable = writes(&report, &dsync, Some(&write)).unwrap();
        assert_eq!((durable.count, &durable.histogram), (21, &write.latency));
    }
}
