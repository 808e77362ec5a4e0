//! Totals of fio's own figures.

use record::fio_json::JobDirection;
use record::latency::LatencyHistogram;
use record::trial::Totals;

/// The percentiles that diskproof shows: the share of I/Os and the end of the metric's name.
const PERCENTILES: [(f64, &str); 3] = [(0.5, "p50"), (0.99, "p99"), (0.999, "p999")];

/// The totals of one direction over jobs that ran at the same time; `None`: there were no I/Os.
///
/// Rates are fio's own, added over the jobs. Histograms merge. Means are weighted by the I/Os.
pub(super) fn totals(parts: &[&JobDirection]) -> Option<Totals> {
    let mut sum = Totals::default();
    let mut mean = Mean::default();
    for part in parts {
        let one = single(part);
        mean.add(one.latency_mean_ns, one.ios);
        sum.ios = sum.ios.saturating_add(one.ios);
        sum.bytes = sum.bytes.saturating_add(one.bytes);
        sum.seconds = sum.seconds.max(one.seconds);
        sum.iops += one.iops;
        sum.bytes_per_second += one.bytes_per_second;
        sum.latency.merge(&one.latency);
    }
    // A part without bins would be missing from the percentiles of the others.
    if parts.iter().any(|part| part.latency.bins_ns.is_empty()) {
        sum.latency = LatencyHistogram::default();
    }
    sum.latency_mean_ns = mean.of_all();
    (sum.ios > 0).then_some(sum)
}

/// One job's figures. What minimal files leave out is computed from the rest.
fn single(part: &JobDirection) -> Totals {
    let given = part.iops.filter(|iops| *iops > 0.0);
    let runtime = part.runtime_ms.filter(|ms| *ms > 0).map(|ms| float(ms) / 1e3);
    let counted = part.completed.filter(|n| *n > 0).or(part.issued).filter(|n| *n > 0);
    // Old versions give rates and no counts.
    let ios = counted.or_else(|| Some(whole(given? * runtime?))).unwrap_or(0);
    let seconds = runtime.or_else(|| given.map(|iops| float(ios) / iops)).unwrap_or(0.0);
    let per_second = |n: u64| if seconds > 0.0 { float(n) / seconds } else { 0.0 };
    let bytes_per_second =
        part.bytes.map(per_second).filter(|rate| *rate > 0.0).or(part.bytes_per_second).unwrap_or(0.0);
    Totals {
        ios,
        bytes: part.bytes.unwrap_or_else(|| whole(bytes_per_second * seconds)),
        seconds,
        iops: given.unwrap_or_else(|| per_second(ios)),
        bytes_per_second,
        latency: part.latency.clone(),
        latency_mean_ns: part.latency_mean_ns.filter(|mean| *mean > 0.0),
    }
}

/// The percentiles that fio gives of the only job of a direction, by metric and in microseconds. Those of several jobs don't merge.
pub(super) fn given<'p>(
    side: &'p str,
    parts: &'p [&JobDirection],
) -> impl Iterator<Item = (String, f64)> + 'p {
    let only = match parts {
        [only] if only.latency.bins_ns.is_empty() => Some(*only),
        _ => None,
    };
    only.into_iter().flat_map(move |part| {
        let ios = float(single(part).ios);
        PERCENTILES.into_iter().filter(move |(q, _)| ios * (1.0 - q) >= 1.0 - 1e-9).filter_map(
            move |(q, end)| {
                let (_, ns) = part.percentiles_ns.iter().find(|(share, _)| (share - q).abs() < 1e-9)?;
                Some((format!("{side}_lat_{end}"), float(*ns) / 1e3))
            },
        )
    })
}

/// A mean of means, weighted by their counts; `None` if one is missing.
#[derive(Default)]
struct Mean {
    sum: f64,
    count: f64,
    is_missing: bool,
}

impl Mean {
    fn add(&mut self, mean: Option<f64>, count: u64) {
        match mean {
            Some(mean) => {
                (self.sum, self.count) = (self.sum + mean * float(count), self.count + float(count))
            }
            None => self.is_missing |= count > 0,
        }
    }

    fn of_all(&self) -> Option<f64> {
        (self.count > 0.0 && !self.is_missing).then(|| self.sum / self.count)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts, bytes and milliseconds are far below 2^52")]
pub(super) fn float(n: u64) -> f64 {
    n as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value isn't negative, and large ones are cut"
)]
pub(super) fn whole(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::{given, totals};
    use record::fio_json::JobDirection;
    use record::latency::LatencyHistogram;

    fn job(ios: u64, ms: u64, mean_ns: f64) -> JobDirection {
        JobDirection {
            issued: Some(ios),
            bytes: Some(ios * 4096),
            runtime_ms: Some(ms),
            latency_mean_ns: Some(mean_ns),
            percentiles_ns: vec![(0.5, 10_000), (0.99, 90_000), (0.999, 99_000)],
            ..JobDirection::default()
        }
    }

    #[test]
    fn rates_add_and_means_are_weighted() {
        let (a, b) = (job(1000, 1000, 100.0), job(3000, 2000, 300.0));
        let sum = totals(&[&a, &b]).unwrap();
        assert_eq!((sum.ios, sum.iops, sum.seconds), (4000, 1000.0 + 1500.0, 2.0));
        assert_eq!(sum.bytes_per_second, 2500.0 * 4096.0);
        assert_eq!(sum.latency_mean_ns, Some(250.0));
        let unknown = JobDirection { latency_mean_ns: None, ..b };
        assert_eq!(
            totals(&[&a, &unknown]).unwrap().latency_mean_ns,
            None,
            "a mean of some is no mean of all"
        );
        assert_eq!(totals(&[]), None);
    }

    #[test]
    fn minimal_files_are_filled_in_from_what_they_have() {
        let part = JobDirection {
            issued: Some(5000),
            iops: Some(9000.0),
            bytes_per_second: Some(40_960.0 * 1024.0),
            ..JobDirection::default()
        };
        let sum = totals(&[&part]).unwrap();
        assert_eq!((sum.iops, sum.bytes_per_second), (9000.0, 41_943_040.0));
        assert!((sum.seconds - 5.0 / 9.0).abs() < 1e-12 && sum.bytes == 23_301_689, "{sum:?}");
        // fio 2.1: a rate and a time, and no counts
        let old = JobDirection {
            bytes: Some(36_244 << 10),
            iops: Some(1610.0),
            runtime_ms: Some(5625),
            percentiles_ns: vec![(0.99, 1_688_000)],
            ..JobDirection::default()
        };
        let sum = totals(&[&old]).unwrap();
        assert_eq!((sum.ios, sum.iops, sum.seconds), (9056, 1610.0, 5.625));
        assert_eq!(given("write", &[&old]).next(), Some(("write_lat_p99".to_owned(), 1688.0)));
    }

    #[test]
    fn percentiles_are_those_of_one_job_and_never_merged() {
        let (a, b) = (job(500, 1000, 100.0), job(500, 1000, 100.0));
        let names = |parts: &[&JobDirection]| given("read", parts).map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(&[&a]), ["read_lat_p50", "read_lat_p99"], "no I/O lies beyond the 99.9th of 500");
        assert_eq!(given("read", &[&a]).next(), Some(("read_lat_p50".to_owned(), 10.0)));
        assert!(names(&[&a, &b]).is_empty());
        let bins = JobDirection { latency: LatencyHistogram { bins_ns: [(10, 500)].into() }, ..a.clone() };
        assert!(names(&[&bins]).is_empty(), "the histogram has them");
        assert_eq!(totals(&[&bins, &b]).unwrap().latency.count(), 0, "half a histogram is none");
        assert_eq!(totals(&[&bins, &bins]).unwrap().latency.count(), 1000);
    }
}
