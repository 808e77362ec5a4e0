use super::{Tracker, found};
use record::event::{Event, Widest};
use record::id::{CellId, RunId, TrialId};
use record::plan::{Cell, Goal, Measure, Plan, Until};
use record::stack::{Rebuild, Stack};
use record::trial::{EngineOutput, Outcome, Totals, TrialRecord, Window};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Workload};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub(crate) fn plan() -> Plan {
    let cell = |id: &str, stack: &str| Cell {
        id: CellId(id.to_owned()),
        target: "local".to_owned(),
        stack: Stack {
            name: stack.to_owned(),
            volumes: vec![],
            beside: vec![],
            layers: vec![],
            rebuild: Rebuild::Trial,
        },
        workload: Workload {
            name: "randread-4k".to_owned(),
            engine: EngineKind::Fio,
            ask: Ask::JobFile { path: "x".to_owned(), text: String::new(), size_bytes: 0, jobs: Vec::new() },
            layout: Layout::Written,
            cache: CacheStart::Cold,
            on: Vec::new(),
        },
        levels: BTreeMap::new(),
    };
    Plan {
        seed: 0,
        ..Plan::new("e".to_owned(), vec![cell("a", "xfs"), cell("b", "ext4")], Measure::new(10.0, 0.0, 2))
    }
}

fn record(outcome: Outcome, engine: Option<EngineOutput>) -> TrialRecord {
    TrialRecord {
        engine,
        ..TrialRecord::new(TrialId { cell: CellId("a".to_owned()), round: 0 }, 0, 0, outcome)
    }
}

pub(crate) fn started(cell: &str, round: u32) -> Event {
    Event::TrialStarted { cell: CellId(cell.to_owned()), round, index: 0, tried: None }
}

fn finished() -> Event {
    Event::TrialFinished { record: Box::new(record(Outcome::Measured, None)) }
}

#[test]
fn time_left_comes_from_the_forecast_then_from_trials() {
    let begin = Instant::now();
    let mut tracker = Tracker::new(&plan(), 0);
    let run = RunId("r".to_owned());
    tracker.take(&Event::RunStarted { run, trials: 4, forecast_seconds: 60.0 }, begin);
    assert_eq!(tracker.left(begin).map(|s| s.0), Some(60.0));
    tracker.take(&started("b", 0), begin);
    assert_eq!(tracker.doing(None), "ext4 randread-4k, round 1/2: build");
    tracker.take(&finished(), begin + Duration::from_secs(20));
    assert_eq!(tracker.count(), (1, 4));
    assert_eq!(tracker.left(begin + Duration::from_secs(20)).map(|s| s.0), Some(60.0));
    for _ in 0..3 {
        tracker.take(&finished(), begin + Duration::from_secs(80));
    }
    assert_eq!(tracker.left(begin + Duration::from_secs(80)), None);
}

#[test]
fn trials_of_earlier_sittings_take_no_time_of_this_one() {
    let begin = Instant::now();
    let mut tracker = Tracker::new(&plan(), 2);
    tracker.take(&started("a", 1), begin);
    tracker.take(&finished(), begin + Duration::from_secs(10));
    assert_eq!(tracker.count(), (3, 4));
    assert_eq!(tracker.left(begin + Duration::from_secs(10)).map(|s| s.0), Some(10.0));
}

#[test]
fn a_round_is_reported_with_the_widest_interval_and_what_is_missing() {
    let now = Instant::now();
    let mut plan = plan();
    plan.measure.until = Some(Until::new(Goal::Interval(0.05), None));
    let mut tracker = Tracker::new(&plan, 0);
    let widest = |cell: &str, against: Option<&str>, width| {
        let id = |id: &str| CellId(id.to_owned());
        Some(Widest { cell: id(cell), against: against.map(id), width })
    };
    let event = |widest, open, more_rounds| Event::RoundFinished {
        rounds: 7,
        most_rounds: 30,
        asked: 2,
        open,
        widest,
        more_rounds,
    };
    let open = event(widest("b", None, Some(0.0612)), 1, Some(3));
    tracker.take(&open, now);
    assert_eq!(
        tracker.standing(None).as_deref(),
        Some("round 7 of at most 30: ext4 randread-4k ±6.1 %, asked ±5 %; about 3 more rounds")
    );
    let pair = event(widest("b", Some("a"), None), 2, None);
    assert_eq!(
        tracker.reported(&pair, None).as_deref(),
        Some(
            "round 7 of at most 30: ext4 randread-4k against xfs randread-4k no interval yet, asked ±5 %, and 1 more"
        )
    );
    let narrow = tracker.reported(&pair, Some(24)).unwrap();
    assert!(narrow.contains(": ext4 r…ad-4k against xfs ra…ad-4k no interval"), "{narrow}");
    let done = event(None, 0, None);
    assert_eq!(tracker.reported(&done, None).as_deref(), Some("round 7 of at most 30: all 2 are as asked"));
    plan.measure.until = Some(Until::new(Goal::Cheapest, None));
    let tracker = Tracker::new(&plan, 0);
    let hunting = event(widest("b", None, None), 2, Some(1));
    assert_eq!(
        tracker.reported(&hunting, None).as_deref(),
        Some(
            "round 7 of at most 30: 2 of 2 cells may still be the answer, ext4 randread-4k the cheapest; about 1 more round"
        )
    );
    assert_eq!(tracker.reported(&done, None).as_deref(), Some("round 7 of at most 30: the answer is known"));
}

#[test]
fn a_cell_s_figure_so_far_is_told_beside_what_is_asked() {
    let mut plan = plan();
    let event = |of: &str, unit: &str, estimate: f64, half: f64| Event::CellEstimated {
        cell: CellId("b".to_owned()),
        of: of.to_owned(),
        unit: unit.to_owned(),
        estimate,
        low: estimate - half,
        high: estimate + half,
        confidence: 0.95,
        trials: 3,
    };
    let told = |plan: &Plan, event: &Event| Tracker::new(plan, 0).estimated(event).unwrap();
    let iops = event("iops", "1/s", 1243.0, 75.3);
    assert_eq!(told(&plan, &iops), "1,240 IOPS ± 6.1 % after 3 rounds");
    plan.measure.until = Some(Until::new(Goal::Interval(0.05), None));
    assert_eq!(told(&plan, &iops), "1,240 IOPS ± 6.1 % after 3 rounds, asked ±5 %");
    let latency = event("read_lat_p99", "us", 9_400.0, 200.0);
    assert_eq!(told(&plan, &latency), "read_lat_p99 9.4 ms ± 2.2 % after 3 rounds, asked ±5 %");
    let wild = event("bw", "B/s", 2e6, 1.9e6);
    assert_eq!(told(&plan, &wild), "too few rounds: 0.10 to 3.9 MB/s after 3 rounds, asked ±5 %");
    plan.measure.until = Some(Until::new(Goal::Ratios(0.05), None));
    assert_eq!(told(&plan, &iops), "1,240 IOPS ± 6.1 % after 3 rounds", "its own width isn't asked for");
}

#[test]
fn steps_are_shown_with_their_share() {
    let now = Instant::now();
    let mut tracker = Tracker::new(&plan(), 0);
    tracker.take(&Event::Step { cell: None, step: "writing vol[2]".to_owned(), done: Some(0.416) }, now);
    assert_eq!(tracker.doing(None), "writing vol[2] 42 %");
}

#[test]
fn what_a_trial_found_is_told_per_direction() {
    let totals = |iops: f64| Totals { ios: 1, iops, bytes_per_second: iops * 4096.0, ..Totals::default() };
    let mut engine = EngineOutput {
        read: Some(totals(256.0)),
        write: Some(totals(128.4)),
        ..EngineOutput::new("fio-3.33".to_owned(), Window::default())
    };
    let text = found(&record(Outcome::Measured, Some(engine.clone())));
    assert_eq!(text, "read 256 IOPS, 1.05 MB/s; write 128 IOPS, 526 kB/s");
    engine.read = None;
    engine.write = None;
    assert_eq!(found(&record(Outcome::Measured, Some(engine))), "no I/O completed");
    assert_eq!(found(&record(Outcome::Failed("mkfs".to_owned()), None)), "failed: mkfs");
}

#[test]
fn trials_of_several_machines_are_told_apart() {
    let now = Instant::now();
    let mut plan = plan();
    for (cell, target) in plan.cells.iter_mut().zip(["near", "far"]) {
        target.clone_into(&mut cell.target);
    }
    let mut tracker = Tracker::new(&plan, 0);
    tracker.take(&started("a", 0), now);
    assert_eq!(tracker.doing(None), "near: xfs randread-4k, round 1/2: build");
    tracker.take(&started("b", 0), now);
    assert_eq!((tracker.begun(), tracker.count()), (2, (0, 4)));
    assert_eq!(tracker.doing(None), "2 trials at once; far: ext4 randread-4k, round 1/2: build");
    let step =
        Event::Step { cell: Some(CellId("a".to_owned())), step: "measure".to_owned(), done: Some(0.5) };
    tracker.take(&step, now);
    assert_eq!(tracker.doing(None), "2 trials at once; near: xfs randread-4k, round 1/2: measure 50 %");
    tracker.take(&finished(), now);
    assert_eq!(tracker.doing(None), "far: ext4 randread-4k, round 1/2: build");
    assert_eq!(tracker.of(&CellId("a".to_owned())), "near: xfs randread-4k: ");
    assert_eq!(Tracker::new(&self::plan(), 0).of(&CellId("a".to_owned())), "", "one machine needs no name");
}
