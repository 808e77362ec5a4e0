use super::{clock_stepped, looks, not_simultaneous, of_cell, shares};
use crate::sequential::Means;
use crate::testing::{self, GIB, SECOND, Truth, filesystem};
use record::clock::{ClockOffset, Reading};
use record::finding::{Claim, Severity};
use record::plan::Cell;
use record::stack::FsKind;
use record::together::merged;
use record::trial::{Part, TrialRecord};
use record::workload::Rw;

/// A machine that begins so many milliseconds after the controller's clock says 100 s, and reads so many bytes in 20 s: `device` of them
/// from its device.
fn part(target: &str, late_ms: u64, asked: u64, device: u64) -> (Part, Cell) {
    let mut truth = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    truth.asked(asked, 0);
    truth.device_read = device;
    truth.cell.workload.on = ["a", "b", "c"].map(str::to_owned).to_vec();
    // Its own clock says 100 s when it begins; the controller's says more.
    let clock = ClockOffset {
        ahead_ns: -i64::try_from(late_ms * 1_000_000).unwrap(),
        uncertain_ns: 100_000,
        ..ClockOffset::default()
    };
    let at = |seconds: u64| Reading {
        monotonic_ns: seconds * SECOND,
        realtime_ns: (seconds + 1_700_000_000) * SECOND,
    };
    let part = Part {
        target: target.to_owned(),
        clock_before: Some(clock),
        clock_after: Some(clock),
        agreed_ns: Some(100 * SECOND),
        began: Some(at(98)),
        ended: Some(at(120)),
        record: Box::new(truth.record()),
    };
    (part, truth.cell)
}

fn trial(parts: [(Part, Cell); 3]) -> (TrialRecord, Cell) {
    let cell = parts[0].1.clone();
    let parts: Vec<Part> = parts.into_iter().map(|(part, _)| part).collect();
    let first = (*parts[0].record).clone();
    let engine = merged(&parts);
    (TrialRecord { engine, evidence: Default::default(), parts, ..first }, cell)
}

fn three(late: [u64; 3]) -> (TrialRecord, Cell) {
    let [a, b, c] = late;
    trial([part("a", a, GIB, GIB), part("b", b, GIB, GIB), part("c", c, GIB, GIB)])
}

#[test]
fn machines_that_start_together_have_no_finding() {
    let (trial, _) = three([0, 3, 12]);
    assert!(not_simultaneous(&trial).is_none() && clock_stepped(&trial).is_none());
}

#[test]
fn a_late_machine_is_named_with_its_delay() {
    let (trial, _) = three([0, 0, 2000]);
    let found = not_simultaneous(&trial).unwrap();
    assert_eq!((found.claim, found.severity), (Claim::NotSimultaneous, Severity::Caveat));
    assert!(
        found.text.contains("only 82 % of the 22.00 s") && found.text.contains("c began 2.00 s after"),
        "{}",
        found.text
    );
    assert!((found.evidence["overlap_share"] - 18.0 / 22.0).abs() < 1e-9);
    let (trial, _) = three([0, 0, 15_000]);
    assert_eq!(not_simultaneous(&trial).unwrap().severity, Severity::Void, "5 s of 35 s");
}

/// The bound is 95 %: a delay of d in trials of 20 s leaves (20 - d) / (20 + d).
#[test]
fn the_bound_is_95_percent() {
    assert!(not_simultaneous(&three([0, 0, 500]).0).is_none(), "95.1 %");
    assert!(not_simultaneous(&three([0, 0, 530]).0).is_some(), "94.8 %");
}

#[test]
fn clocks_that_are_too_uncertain_are_a_note() {
    let (mut trial, _) = three([0, 0, 0]);
    trial.parts[1].clock_before.as_mut().unwrap().uncertain_ns = SECOND;
    let found = not_simultaneous(&trial).unwrap();
    assert_eq!(found.severity, Severity::Note);
    assert!(found.text.contains("isn't certain") && found.text.contains("2.00 s"), "{}", found.text);
}

#[test]
fn a_clock_that_was_set_is_a_note_and_a_slow_reading_is_not() {
    let (mut trial, _) = three([0, 0, 0]);
    let mut shift = |ns: i64| {
        let ended = trial.parts[2].ended.as_mut().unwrap();
        ended.realtime_ns = ended.realtime_ns.checked_add_signed(ns).unwrap();
        clock_stepped(&trial)
    };
    assert!(shift(2_000_000).is_none());
    let found = shift(-302_000_000).unwrap();
    assert_eq!((found.claim, found.severity), (Claim::ClockStepped, Severity::Note));
    assert!(found.text.contains("of c was set back by 300 ms"), "{}", found.text);
}

#[test]
fn each_machine_is_attributed_by_its_own_counters() {
    let (trial, cell) = trial([part("a", 0, GIB, GIB), part("b", 0, GIB, GIB), part("c", 0, 2 * GIB, 0)]);
    let looks = looks(&trial, &cell).unwrap();
    assert_eq!(looks.iter().map(|look| look.machine).collect::<Vec<_>>(), [Some("a"), Some("b"), Some("c")]);
    let all = shares(&looks).unwrap();
    assert!((all.both.device - 0.5).abs() < 0.01, "half of the bytes came from devices: {all:?}");
}

#[test]
fn the_slowest_machine_and_the_unfairness_are_said() {
    let (trial, cell) =
        trial([part("a", 0, GIB, GIB), part("b", 0, 2 * GIB, 2 * GIB), part("c", 4, 4 * GIB, 4 * GIB)]);
    let means = Means::plain(&testing::measure(1));
    let view = of_cell(&cell, &[&trial], "iops", &means).unwrap();
    assert_eq!((view.slowest.as_deref(), view.max_over_min.map(|x| x.round())), (Some("a"), Some(4.0)));
    // (1 + 2 + 4)^2 / (3 * (1 + 4 + 16))
    assert!((view.jain.unwrap() - 49.0 / 63.0).abs() < 1e-3, "{view:?}");
    for said in [
        "3 machines ran together in 100 % of the time",
        "within 4 ms",
        "a is the slowest",
        "c the fastest",
        "0.778",
    ] {
        assert!(view.text.contains(said), "{said}: {}", view.text);
    }
    let total = trial.metrics()["iops"];
    let each: f64 = view.machines.iter().map(|machine| machine.metrics["iops"].estimate).sum();
    assert!((total - each).abs() < 1e-6 * total, "the cell's figure is the sum");
    let alone =
        Cell { workload: record::workload::Workload { on: Vec::new(), ..cell.workload.clone() }, ..cell };
    assert!(of_cell(&alone, &[&trial], "iops", &means).is_none());
}
