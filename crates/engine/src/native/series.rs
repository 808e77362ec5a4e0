//! The time series of a trial in the record's form: equal steps over all jobs, from the worker's intervals.

use super::tally::Span;
use super::task::{Point, Report, Task};
use record::latency::{LatencyHistogram, LatencySteps};
use record::trial::{Series, Window};

/// The steps that lie completely in the measured time. A flush at the end belongs to the measured time but not to the series:
/// nothing completes in it, and I/Os that complete after the load's own end have no interval. `None` when not even one step fits.
pub(crate) fn series(report: &Report, task: &Task) -> Option<Series> {
    let load_ends_ns = report.start_ns.saturating_add(task.trial_ns);
    let load = Window { start_ns: report.start_ns, end_ns: report.end_ns.min(load_ends_ns) };
    let counts =
        steps(load, task.interval_ns(), [&report.read_series, &report.write_series, &report.trim_series])?;
    Some(Series {
        read_latency: report.read_latency.clone(),
        write_latency: report.write_latency.clone(),
        ..counts
    })
}

/// The latencies of one kind of I/O in the same steps, or in longer ones: from the histogram of each interval with its number, for a
/// load that ended at `end_ns`.
pub(crate) fn latencies(
    intervals: Vec<(u64, LatencyHistogram)>,
    span: Span,
    end_ns: u64,
) -> Option<LatencySteps> {
    let length = end_ns.min(span.end_ns).saturating_sub(span.start_ns);
    let count = usize::try_from(length.checked_div(span.interval_ns)?).ok()?;
    let mut histograms = vec![LatencyHistogram::default(); count];
    for (interval, histogram) in intervals {
        if let Some(step) = usize::try_from(interval).ok().and_then(|step| histograms.get_mut(step)) {
            *step = histogram;
        }
    }
    LatencySteps::of(span.interval_ns, &histograms)
}

fn steps(load: Window, step_ns: u64, [reads, writes, trims]: [&[Point]; 3]) -> Option<Series> {
    let count = load.end_ns.saturating_sub(load.start_ns).checked_div(step_ns)?;
    let count = usize::try_from(count).ok().filter(|n| *n > 0)?;
    let in_steps = |points: &[Point], value: fn(&Point) -> u64| {
        let mut list = vec![0; count];
        for point in points {
            if let Some(step) = place(point, step_ns).and_then(|n| list.get_mut(n)) {
                *step += value(point);
            }
        }
        list
    };
    let (read_bytes, write_bytes) = (in_steps(reads, |p| p.bytes), in_steps(writes, |p| p.bytes));
    Some(Series {
        start_ns: load.start_ns,
        step_ns,
        read_ios: in_steps(reads, |p| p.ios),
        write_ios: in_steps(writes, |p| p.ios),
        trim_ios: in_steps(trims, |p| p.ios),
        bytes: read_bytes.iter().zip(&write_bytes).map(|(read, write)| read + write).collect(),
        read_latency: None,
        write_latency: None,
    })
}

/// The step of a point. Its begin was cut to whole milliseconds, so it is rounded up again.
fn place(point: &Point, step_ns: u64) -> Option<usize> {
    usize::try_from(point.start_ms.saturating_mul(1_000_000).div_ceil(step_ns)).ok()
}

#[cfg(test)]
mod tests {
    use super::{latencies, place, steps};
    use crate::native::histogram::{Histogram, fold};
    use crate::native::kind::KINDS;
    use crate::native::tally::{Span, Tally, sum};
    use crate::native::task::Point;
    use proptest::prelude::{prop, proptest};
    use record::latency::LatencyHistogram;
    use record::trial::Window;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_step_is_found_again_from_whole_milliseconds() {
        // Ten minutes: steps of a little over 200 ms, which begin between milliseconds.
        for step_ns in [100 * MS, 200_000_001, 100_333_334] {
            for number in 0..3000_usize {
                let start_ms = number as u64 * step_ns / MS;
                let point = Point { start_ms, ios: 1, bytes: 1, p50_ns: 0, p99_ns: 0, p999_ns: 0, max_ns: 0 };
                assert_eq!(place(&point, step_ns), Some(number), "{step_ns}");
            }
        }
    }

    #[test]
    fn no_course_without_a_whole_step() {
        let load = Window { start_ns: 0, end_ns: 99 * MS };
        assert_eq!(steps(load, 100 * MS, [&[], &[], &[]]), None);
        let one = steps(Window { start_ns: 5, end_ns: 5 + 199 * MS }, 100 * MS, [&[], &[], &[]]).unwrap();
        assert_eq!((one.start_ns, one.read_ios.len(), one.bytes), (5, 1, vec![0]));
    }

    proptest! {
        /// The steps contain what completed in them, for any number of jobs; only the rest of the last step is left out.
        #[test]
        fn the_steps_add_up_to_the_totals(
            completions in prop::collection::vec((900_u64..2500, 0_usize..3), 0..300), lanes in 1_usize..4, length_ms in 100_u64..1300,
        ) {
            let span = Span { start_ns: 1000 * MS, end_ns: (1000 + length_ms) * MS, interval_ns: 100 * MS, open_end: false };
            let mut completions: Vec<(u64, usize)> = completions.into_iter().map(|(ms, kind)| (ms * MS, kind)).collect();
            completions.sort_unstable();
            let tallies = (0..lanes).map(|lane| {
                let mut tally = Tally::new(span);
                for &(now, kind) in completions.iter().skip(lane).step_by(lanes) {
                    if tally.is_over(now) {
                        tally.roll(now);
                    }
                    tally.add(KINDS[kind], 10, 4096);
                }
                tally
            });
            let all = sum(tallies.collect());
            let load = Window { start_ns: span.start_ns, end_ns: span.end_ns };
            let series = steps(load, span.interval_ns, [&all.series[0], &all.series[1], &all.series[2]]).unwrap();
            assert_eq!(series.read_ios.len() as u64, length_ms / 100);
            let whole_until = span.start_ns + length_ms / 100 * 100 * MS;
            for (kind, list) in [&series.read_ios, &series.write_ios, &series.trim_ios].into_iter().enumerate() {
                let rest = completions.iter().filter(|(t, k)| *k == kind && (whole_until..span.end_ns).contains(t)).count() as u64;
                assert_eq!(list.iter().sum::<u64>() + rest, all.sides[kind].ios);
                let third = completions.iter().filter(|(t, k)| *k == kind && (1200 * MS..1300 * MS).contains(t)).count() as u64;
                assert!(list.get(2).is_none_or(|n| *n == third));
            }
            let moved: u64 = series.read_ios.iter().chain(&series.write_ios).sum();
            assert_eq!(series.bytes.iter().sum::<u64>(), moved * 4096);
        }

        /// The histograms of the intervals, merged, are that of the trial, for any number of jobs; and each has the latencies of its time.
        #[test]
        fn the_latencies_of_the_steps_are_those_of_the_trial(
            completions in prop::collection::vec((900_u64..2500, 1_u64..1 << 40), 0..400), lanes in 1_usize..4,
        ) {
            let span = Span { start_ns: 1000 * MS, end_ns: 2000 * MS, interval_ns: 100 * MS, open_end: false };
            let mut completions: Vec<(u64, u64)> = completions.into_iter().map(|(ms, latency)| (ms * MS, latency)).collect();
            completions.sort_unstable();
            let of = |from: u64, to: u64| {
                let mut all = Histogram::new();
                completions.iter().filter(|(t, _)| (from * MS..to * MS).contains(t)).for_each(|(_, latency)| all.add(*latency));
                let (mut bins, mut record) = (Vec::new(), LatencyHistogram::default());
                all.drain(|bin, count| bins.push((bin, count)));
                fold(&mut record, &bins);
                record
            };
            let tallies = (0..lanes).map(|lane| {
                let mut tally = Tally::new(span);
                for &(now, latency) in completions.iter().skip(lane).step_by(lanes) {
                    if tally.is_over(now) {
                        tally.roll(now);
                    }
                    tally.add(KINDS[0], latency, 4096);
                }
                tally
            });
            let mut all = sum(tallies.collect());
            let intervals = std::mem::take(&mut all.latencies[0]);
            let mut merged = LatencyHistogram::default();
            for (interval, histogram) in &intervals {
                assert_eq!(*histogram, of(1000 + interval * 100, 1100 + interval * 100));
                merged.merge(histogram);
            }
            assert_eq!(merged, all.sides[0].latency);
            assert_eq!(merged, of(1000, 2000));
            let found = latencies(intervals, span, u64::MAX);
            assert_eq!(found.is_some(), merged.count() > 0);
            if let Some(found) = found {
                let slowest = merged.bins_ns.keys().next_back().copied();
                assert_eq!((found.max_ns.iter().max().copied().flatten(), found.p50_ns.len()), (slowest, 10));
            }
        }
    }
}
