//! The time series of a trial, from the rows of fio's histogram logs.
//!
//! fio writes a row with the first I/O that completes after its due time, so rows have uneven lengths. Between two rows, I/Os
//! count as completed evenly; the steps are at least twice as long as the row interval. Where a row comes much too late, nothing
//! completed between its due time and the I/O that caused it: an outage is not spread over its whole time.

use super::output::proportion;
use super::times::Times;
use record::latency::{LatencyHistogram, LatencySteps};
use record::trial::{Series, Window};

/// The shortest step, which is also that of the native engine.
const SHORTEST_MS: u64 = 100;

/// The largest number of steps.
const MOST: u64 = 3000;

/// A row is late if it takes more than this many row intervals.
const LATE: u64 = 4;

/// The time series of one direction of one job.
#[derive(Debug)]
pub(super) struct Course {
    /// The time of the row that begins the count.
    pub(super) start_ms: u64,
    /// The time of each row that counts, and the I/Os since the one before.
    pub(super) rows: Vec<(u64, u64)>,
    /// The latencies of these I/Os, row by row.
    pub(super) latencies: Vec<LatencyHistogram>,
    /// The totals of this direction and job: every I/O gets their mean size.
    pub(super) ios: u64,
    pub(super) bytes: u64,
}

/// Reads, writes and trims of all jobs in equal steps from the window's begin; `None` when not even one step fits. I/Os that a
/// job counted before the common begin are in the first step. The steps end with the rows: a flush after them is part of the
/// window, but not of the series.
pub(super) fn of(courses: &[Vec<Course>; 3], window: Window, times: Times) -> Option<Series> {
    let step_ns = step_ms(times).checked_mul(1_000_000)?;
    let ends: Vec<u64> = courses.iter().flatten().filter_map(|c| Some(c.rows.last()?.0)).collect();
    let sum = ends.iter().fold(0_u64, |sum, end| sum.saturating_add(*end));
    let rows_end_ms = sum.checked_div(u64::try_from(ends.len()).ok()?)?;
    let end_ns = window.end_ns.min(rows_end_ms.saturating_mul(1_000_000));
    let count = end_ns.saturating_sub(window.start_ns) / step_ns;
    let borders: Vec<u64> = (1..=count).map(|n| window.start_ns.saturating_add(n * step_ns)).collect();
    if borders.is_empty() {
        return None;
    }
    let [reads, writes, trims] = courses;
    let row_ns = ns(times.row_ms);
    let ios = |course: &Course, done: u64| course.ios.min(done);
    let bytes = |course: &Course, done: u64| proportion(course.bytes, done.min(course.ios), course.ios);
    let moved = [steps(reads, &borders, row_ns, bytes), steps(writes, &borders, row_ns, bytes)];
    Some(Series {
        start_ns: window.start_ns,
        step_ns,
        read_ios: steps(reads, &borders, row_ns, ios),
        write_ios: steps(writes, &borders, row_ns, ios),
        trim_ios: steps(trims, &borders, row_ns, ios),
        bytes: moved[0].iter().zip(&moved[1]).map(|(read, write)| read.saturating_add(*write)).collect(),
        read_latency: latencies(reads, (window.start_ns, step_ns, borders.len()), row_ns),
        write_latency: latencies(writes, (window.start_ns, step_ns, borders.len()), row_ns),
    })
}

/// The latencies of one direction in these steps (begin, length and number) or longer ones. A row's latencies can't be split: they
/// belong to the step that its middle lies in. The I/O that causes a late row is its slowest one, and belongs to the step of its end.
fn latencies(
    courses: &[Course],
    (start_ns, step_ns, count): (u64, u64, usize),
    row_ns: u64,
) -> Option<LatencySteps> {
    let mut steps = vec![LatencyHistogram::default(); count];
    let mut add = |time_ns: u64, histogram: &LatencyHistogram| {
        let step = usize::try_from(time_ns.saturating_sub(start_ns).checked_div(step_ns)?).ok()?;
        steps.get_mut(step)?.merge(histogram);
        Some(())
    };
    for course in courses {
        let mut since_ns = ns(course.start_ms);
        for ((time_ms, _), histogram) in course.rows.iter().zip(&course.latencies) {
            let end_ns = ns(*time_ms);
            let length = end_ns.saturating_sub(since_ns);
            if is_late(length, row_ns) {
                let (others, slowest) = without_slowest(histogram);
                add(since_ns.saturating_add(row_ns / 2), &others);
                add(end_ns.saturating_sub(1), &slowest);
            } else {
                add(since_ns.saturating_add(length / 2), histogram);
            }
            since_ns = end_ns;
        }
    }
    LatencySteps::of(step_ns, &steps)
}

/// A histogram without its slowest I/O, and that I/O.
fn without_slowest(histogram: &LatencyHistogram) -> (LatencyHistogram, LatencyHistogram) {
    let mut others = histogram.clone();
    let mut slowest = LatencyHistogram::default();
    if let Some(mut last) = others.bins_ns.last_entry() {
        slowest.bins_ns.insert(*last.key(), 1);
        *last.get_mut() = last.get().saturating_sub(1);
    }
    others.bins_ns.retain(|_, count| *count > 0);
    (others, slowest)
}

/// Whether so much time since the row before makes a row late.
fn is_late(length_ns: u64, row_ns: u64) -> bool {
    row_ns > 0 && length_ns > LATE.saturating_mul(row_ns)
}

fn step_ms(times: Times) -> u64 {
    let rows = times.row_ms.saturating_mul(2).div_ceil(SHORTEST_MS).saturating_mul(SHORTEST_MS);
    rows.max(SHORTEST_MS).max(times.trial_ms.div_ceil(MOST))
}

/// The differences between what was done up to each border and up to the one before.
fn steps(courses: &[Course], borders: &[u64], row_ns: u64, what: impl Fn(&Course, u64) -> u64) -> Vec<u64> {
    let mut sums = vec![0_u64; borders.len()];
    for course in courses {
        let mut before = 0;
        let done = course.done(borders, row_ns);
        for (sum, done) in sums.iter_mut().zip(done) {
            let now = what(course, done);
            *sum = sum.saturating_add(now.saturating_sub(before));
            before = now;
        }
    }
    sums
}

impl Course {
    /// The I/Os up to each border.
    fn done(&self, borders: &[u64], row_ns: u64) -> Vec<u64> {
        let mut rows = self.rows.iter().peekable();
        let (mut since_ns, mut counted) = (ns(self.start_ms), 0_u64);
        let mut done = Vec::with_capacity(borders.len());
        for &border in borders {
            while let Some((time_ms, ios)) = rows.next_if(|(time_ms, _)| ns(*time_ms) <= border) {
                (since_ns, counted) = (ns(*time_ms), counted.saturating_add(*ios));
            }
            let part = rows.peek().map_or(0, |(time_ms, ios)| {
                let length = ns(*time_ms).saturating_sub(since_ns);
                // All I/Os but the one that causes a late row completed before its due time.
                let (ios, length) =
                    if is_late(length, row_ns) { (ios.saturating_sub(1), row_ns) } else { (*ios, length) };
                proportion(ios, border.saturating_sub(since_ns).min(length), length)
            });
            done.push(counted.saturating_add(part));
        }
        done
    }
}

fn ns(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::{Course, Times, of, step_ms};
    use proptest::prelude::{prop, proptest};
    use record::latency::LatencyHistogram;
    use record::trial::Window;

    const TIMES: Times =
        Times { ramp_ms: 0, trial_ms: 1000, row_ms: 50, final_flush: false, agreed_ms: None };

    fn window(start_ms: u64, end_ms: u64) -> Window {
        Window { start_ns: start_ms * 1_000_000, end_ns: end_ms * 1_000_000 }
    }

    fn course(start_ms: u64, rows: &[(u64, u64)]) -> Course {
        let ios = rows.iter().map(|(_, n)| n).sum();
        let latencies = rows.iter().map(|(_, n)| LatencyHistogram { bins_ns: [(1000, *n)].into() }).collect();
        Course { start_ms, rows: rows.to_vec(), latencies, ios, bytes: ios * 4096 }
    }

    #[test]
    fn rows_are_spread_over_the_steps_they_lie_in() {
        // 10 until 1050, 20 until 1150 (half of them in the first step), nothing until 1250, where 7 complete; 9 in the rest of a
        // step.
        let reads = course(1000, &[(1050, 10), (1150, 20), (1250, 7), (1340, 9)]);
        let series = of(&[vec![reads], vec![], vec![]], window(1000, 1340), TIMES).unwrap();
        assert_eq!((series.start_ns, series.step_ns), (1_000_000_000, 100_000_000));
        assert_eq!(series.read_ios, [20, 13, 9], "4 of the last 9 come after the last whole step");
        assert_eq!(series.bytes, [20 * 4096, 13 * 4096, 9 * 4096]);
        assert_eq!((series.write_ios, series.trim_ios), (vec![0; 3], vec![0; 3]));
    }

    #[test]
    fn an_outage_is_not_spread_over_the_time_that_it_took() {
        // 50 ms at 200 I/Os per second, then nothing until one of the 11 completes 1 s later.
        let reads = course(1000, &[(1050, 10), (2100, 11), (2150, 10), (2200, 10)]);
        let series = of(&[vec![reads], vec![], vec![]], window(1000, 2200), TIMES).unwrap();
        assert_eq!(series.read_ios, [20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 20]);
    }

    #[test]
    fn latencies_lie_in_the_step_of_their_row_and_an_outage_where_it_ended() {
        // 20 rows of 200 I/Os, then none for 600 ms until 8 end together: the first of them with the row that it causes.
        let mut rows: Vec<(u64, u64)> = (1..=20).map(|n| (1000 + n * 50, 200)).collect();
        rows.extend([(2600, 1), (2650, 207)]);
        rows.extend((1..=7).map(|n| (2650 + n * 50, 200)));
        let mut reads = course(1000, &rows);
        reads.latencies[20].bins_ns = [(600_000_000, 1)].into();
        reads.latencies[21].bins_ns = [(1000, 200), (600_000_000, 7)].into();
        let series = of(&[vec![reads], vec![], vec![]], window(1000, 3000), TIMES).unwrap();
        let latency = series.read_latency.unwrap();
        assert_eq!((series.write_latency, latency.step_ns), (None, 100_000_000));
        let stalled: Vec<usize> = (0..20).filter(|at| latency.max_ns[*at] > Some(1000)).collect();
        assert_eq!(stalled, [15, 16], "the first one ended at the end of a step, the others in the next");
        assert_eq!(latency.p99_ns[16], Some(600_000_000));
        let silent: Vec<usize> = (0..20).filter(|at| latency.p50_ns[*at].is_none()).collect();
        assert_eq!(silent, [10, 11, 12, 13, 14], "nothing completed in the outage");
        assert!((0..10).chain(17..20).all(|at| latency.p99_ns[at] == Some(1000)));
    }

    #[test]
    fn steps_are_never_shorter_than_two_rows_and_never_too_many() {
        let of = |row_ms, trial_ms| step_ms(Times { row_ms, trial_ms, ..TIMES });
        assert_eq!([of(10, 1000), of(50, 60_000), of(51, 60_000), of(320, 60_000)], [100, 100, 200, 700]);
        assert_eq!(of(50, 3_600_000), 1200);
    }

    #[test]
    fn a_flush_after_the_rows_is_not_in_the_course() {
        let writes = course(1000, &[(1100, 5), (1200, 5)]);
        let series = of(&[vec![], vec![writes], vec![]], window(1000, 9000), TIMES).unwrap();
        assert_eq!(series.write_ios, [5, 5]);
        assert_eq!(of(&[vec![], vec![course(1000, &[])], vec![]], window(1000, 9000), TIMES), None);
        assert_eq!(of(&Default::default(), window(1000, 9000), TIMES), None);
    }

    proptest! {
        /// For any rows, no I/O is in two steps, and only those of the last, partial step are in none.
        #[test]
        fn the_steps_add_up_to_what_was_counted(
            rows in prop::collection::vec((1_u64..200, 0_u64..50), 1..60), late_ms in 0_u64..60,
        ) {
            let mut time = 1000 + late_ms;
            let rows: Vec<(u64, u64)> = rows.into_iter().map(|(gap, ios)| { time += gap; (time, ios) }).collect();
            let reads = course(1000 + late_ms, &rows);
            let whole = (time - 1000) / 100 * 100 + 1000;
            let inside: u64 = rows.iter().filter(|(t, _)| *t <= whole).map(|(_, n)| n).sum();
            let (ios, bytes) = (reads.ios, reads.bytes);
            if let Some(series) = of(&[vec![reads], vec![], vec![]], window(1000, time), TIMES) {
                let sum: u64 = series.read_ios.iter().sum();
                assert!(sum >= inside && sum <= ios, "{inside} <= {sum} <= {ios}");
                assert_eq!(series.bytes.iter().sum::<u64>(), sum * (bytes / ios.max(1)));
                assert_eq!(series.read_ios.len() as u64, (time - 1000) / 100);
            }
        }
    }
}
