use super::{merged, overlap};
use crate::clock::{ClockOffset, Reading};
use crate::id::{CellId, TrialId};
use crate::latency::LatencyHistogram;
use crate::trial::{EngineOutput, Outcome, Part, Series, Totals, TrialRecord, Window};

const MS: u64 = 1_000_000;

fn totals(ios: u64, ns: u64) -> Totals {
    Totals {
        ios,
        bytes: ios * 4096,
        seconds: 1.0,
        iops: ios as f64,
        bytes_per_second: (ios * 4096) as f64,
        latency: LatencyHistogram { bins_ns: [(ns, ios)].into() },
        latency_mean_ns: Some(ns as f64),
    }
}

/// A machine with a clock that is `ahead` of the controller's; it ran from `start` to `end` by the controller's clock, in ms.
fn part(target: &str, ahead: u64, (start, end): (u64, u64), read: Totals) -> Part {
    let clock =
        ClockOffset { ahead_ns: i64::try_from(ahead * MS).unwrap(), uncertain_ns: 10, ..Default::default() };
    let window = Window { start_ns: (start + ahead) * MS, end_ns: (end + ahead) * MS };
    let series = Series { step_ns: 100, read_ios: vec![1, 2, 3], bytes: vec![1, 2, 3], ..Series::default() };
    let mut record =
        TrialRecord::new(TrialId { cell: CellId("c".to_owned()), round: 0 }, 7, 1, Outcome::Measured);
    record.engine = Some(EngineOutput {
        read: Some(read),
        series: Some(series),
        ..EngineOutput::new("native-1".to_owned(), window)
    });
    Part {
        target: target.to_owned(),
        clock_before: Some(clock),
        clock_after: Some(clock),
        agreed_ns: Some((start + ahead) * MS),
        began: Some(Reading { monotonic_ns: (start + ahead) * MS, realtime_ns: 1_000_000 * MS }),
        ended: Some(Reading {
            monotonic_ns: (end + ahead) * MS,
            realtime_ns: (1_000_000 + end - start) * MS,
        }),
        record: Box::new(record),
    }
}

#[test]
fn sums_are_exact_and_times_are_the_controllers() {
    let parts =
        [part("a", 0, (100, 1100), totals(10, 1000)), part("b", 50_000, (110, 1110), totals(30, 5000))];
    let sum = merged(&parts).unwrap();
    let read = sum.read.unwrap();
    assert_eq!((read.ios, read.bytes, read.iops), (40, 40 * 4096, 40.0));
    assert_eq!(read.latency.count(), 40, "the histogram has every I/O");
    assert_eq!(read.latency_mean_ns, Some(4000.0));
    assert_eq!(sum.window, Window { start_ns: 100 * MS, end_ns: 1110 * MS });
    assert_eq!(sum.series.unwrap().read_ios, [2, 4, 6]);
    assert_eq!(sum.write, None, "nobody wrote");
    let ran = overlap(&parts).unwrap();
    assert_eq!((ran.any_ns, ran.all_ns, ran.start_spread_ns), (1010 * MS, 990 * MS, 10 * MS));
    assert_eq!(ran.uncertain_ns, 20);
}

#[test]
fn machines_that_ran_one_after_the_other_never_ran_together() {
    let parts = [part("a", 0, (0, 100), totals(1, 1)), part("b", 3, (200, 300), totals(1, 1))];
    assert_eq!(overlap(&parts).unwrap().share(), 0.0);
}

#[test]
fn without_a_clock_or_a_result_nothing_is_claimed() {
    let whole = part("a", 0, (0, 100), totals(1, 1));
    let blind = Part { clock_before: None, ..part("b", 0, (0, 100), totals(1, 1)) };
    assert!(overlap(&[whole.clone(), blind.clone()]).is_none() && merged(&[whole.clone(), blind]).is_none());
    let mut failed = part("b", 0, (0, 100), totals(1, 1));
    failed.record.engine = None;
    assert!(merged(&[whole, failed]).is_none(), "a sum without a machine is no sum");
}

#[test]
fn a_step_of_the_clock_shows() {
    let steady = part("a", 7, (0, 1000), totals(1, 1));
    assert_eq!(steady.clock_step_ns(), Some(0));
    let mut stepped = steady;
    stepped.ended = stepped.ended.map(|r| Reading { realtime_ns: r.realtime_ns - 300 * MS, ..r });
    assert_eq!(stepped.clock_step_ns(), Some(-300_000_000));
}

#[test]
fn records_of_one_machine_are_written_as_before() {
    let record =
        TrialRecord::new(TrialId { cell: CellId("c".to_owned()), round: 0 }, 7, 1, Outcome::Measured);
    let text = serde_json::to_string(&record).unwrap();
    assert!(!text.contains("parts"), "{text}");
    let together = TrialRecord { parts: vec![part("a", 0, (0, 100), totals(1, 1))], ..record.clone() };
    let text = serde_json::to_string(&together).unwrap();
    assert_eq!(serde_json::from_str::<TrialRecord>(&text).unwrap(), together);
    let old = serde_json::to_string(&record).unwrap().replace(r#""minor":4"#, r#""minor":3"#);
    assert!(serde_json::from_str::<TrialRecord>(&old).unwrap().parts.is_empty());
}
