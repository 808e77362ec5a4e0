//! Searches with scripted trials: queues whose latency follows from the load.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small scripted numbers")]

use crate::error::RunError;
use crate::ledger::{Earlier, ended};
use crate::protocol::TrialRequest;
use crate::rounds::{Ended, Hands, conduct};
use crate::wishes::Wishes;
use record::event::{Event, Stopped};
use record::find::{Find, FindBy, FindLimit, TriedWhy};
use record::latency::LatencyHistogram;
use record::plan::{Cell, Measure, Plan};
use record::trial::{EngineOutput, Outcome, StepTime, Totals, TrialRecord, TrialStep, Window};
use record::workload::{Ask, Options, Rw};
use std::collections::BTreeMap;

const SECONDS: f64 = 10.0;

fn cell(id: &str, limit_us: Option<f64>) -> Cell {
    let find = |at_most| Find {
        most: "iops".to_owned(),
        limits: vec![FindLimit { of: "read_lat_p99".to_owned(), at_most, written: "10ms".to_owned() }],
        by: FindBy::RateIops,
        from: 1,
        to: 1_000_000,
        within: 0.05,
    };
    let options = Options { find: limit_us.map(find), ..Options::new(Rw::Randread, 4096, 1 << 20) };
    let mut cell = crate::testing::cell(id, "local", id);
    "w".clone_into(&mut cell.workload.name);
    cell.workload.ask = Ask::Options(options);
    cell
}

/// Queues by their cell: their capacity in I/Os per second.
struct Queues<'a> {
    capacity: &'a BTreeMap<&'a str, f64>,
    records: Vec<TrialRecord>,
    levels: Vec<(String, u32, Option<u64>)>,
    patience: usize,
    wishes: Wishes,
    under_way: Option<Box<TrialRecord>>,
    /// Whether the p99 rises slowly up to the capacity, where it is still within the limit.
    abrupt: bool,
}

impl Hands for Queues<'_> {
    fn is_free(&self, _: &Cell) -> bool {
        self.under_way.is_none()
    }

    fn ended(&mut self) -> Result<Ended, RunError> {
        Ok(Ended::Done(self.under_way.take().unwrap()))
    }

    fn begin(&mut self, request: TrialRequest) -> Result<(), RunError> {
        let capacity = self.capacity[request.id.cell.0.as_str()] * wobble(request.id.round);
        let asked = request.cell.options().and_then(|options| options.rate_iops);
        assert!(request.cell.find().is_none(), "a trial performs one level");
        let rate = asked.map_or(capacity, |rate| (rate as f64).min(capacity));
        let load = asked.map_or(1.0, |rate| rate as f64 / capacity);
        // 1 ms of an idle device; the p99 of a queue grows with 1 / (1 - load).
        let queues = if self.abrupt { 4.0 * (1.0 + load) } else { 1.0 / (1.0 - load) };
        let p99_us = if load < 0.995 { 1000.0 * queues } else { 1e6 * SECONDS };
        let ios = (rate * SECONDS) as u64;
        let totals = Totals {
            ios,
            iops: rate,
            latency: LatencyHistogram { bins_ns: [((p99_us * 1000.0) as u64, ios)].into() },
            ..Totals::default()
        };
        let window = Window { start_ns: 0, end_ns: (SECONDS * 1e9) as u64 };
        let record = TrialRecord {
            steps: vec![StepTime { step: TrialStep::Measure, seconds: SECONDS }],
            engine: Some(EngineOutput {
                read: Some(totals),
                ..EngineOutput::new("scripted".to_owned(), window)
            }),
            ..TrialRecord::new(request.id.clone(), request.seed, 0, Outcome::Measured)
        };
        self.levels.push((request.id.cell.0.clone(), request.id.round, asked));
        self.under_way = Some(Box::new(record));
        Ok(())
    }

    fn tell(&mut self, event: Event) -> Result<(), RunError> {
        if let Event::TrialFinished { record } = event {
            self.records.push(*record);
        }
        Ok(())
    }

    fn is_cancelled(&self) -> bool {
        self.levels.len() >= self.patience
    }

    fn seconds(&self) -> f64 {
        SECONDS * self.levels.len() as f64
    }

    fn wishes(&self) -> &Wishes {
        &self.wishes
    }
}

/// Trials differ by up to 1 %.
fn wobble(round: u32) -> f64 {
    1.0 + [0.0, 0.01, -0.01, 0.005, -0.005, 0.01, -0.01][round as usize % 7]
}

fn plan(cells: Vec<Cell>, rounds: u32) -> Plan {
    Plan { seed: 7, ..Plan::new("e".to_owned(), cells, Measure::new(SECONDS, 0.0, rounds)) }
}

fn queues<'a>(capacity: &'a BTreeMap<&'a str, f64>, patience: usize) -> Queues<'a> {
    let (records, levels, wishes) = (Vec::new(), Vec::new(), Wishes::default());
    Queues { capacity, records, levels, patience, wishes, under_way: None, abrupt: false }
}

fn run<'a>(
    plan: &Plan,
    capacity: &'a BTreeMap<&'a str, f64>,
    earlier: &Earlier,
    patience: usize,
) -> (Stopped, Queues<'a>) {
    let mut queues = queues(capacity, patience);
    let stopped = conduct(plan, earlier, &mut queues).unwrap().stopped;
    (stopped, queues)
}

#[test]
fn searches_interleave_and_each_ends_by_itself() {
    let capacity = BTreeMap::from([("fast", 5000.0), ("slow", 200.0), ("plain", 300.0)]);
    let cells = vec![cell("fast", Some(10_000.0)), cell("slow", Some(10_000.0)), cell("plain", None)];
    let plan = plan(cells, 40);
    let (stopped, queues) = run(&plan, &capacity, &Earlier::default(), usize::MAX);
    let rounds = |name: &str| queues.levels.iter().filter(|(id, ..)| id == name).count();
    assert!(matches!(stopped, Stopped::Enough { rounds: 8..=25 }), "{stopped:?}");
    assert_eq!(rounds("plain"), rounds("fast").max(rounds("slow")), "as long as any search goes on");
    // 10 ms is ten times an idle device's millisecond: the limit is at 90 % of the capacity.
    for (name, truth) in [("fast", 4500.0), ("slow", 180.0)] {
        let levels: Vec<u64> = queues.levels.iter().filter(|l| l.0 == name).filter_map(|l| l.2).collect();
        assert_eq!(levels[0], 1_000_000, "first what it reaches at most");
        let last = *levels.last().unwrap() as f64;
        assert!((last / truth - 1.0).abs() < 0.05, "{name}: {levels:?}");
    }
    let first: Vec<u32> = queues.levels.iter().take(6).map(|l| l.1).collect();
    assert_eq!(first, [0, 0, 0, 1, 1, 1], "one step of each in a round");
}

/// The line through trials that keep the limit reaches it at a level where the load always falls behind. The search leaves such a level.
#[test]
fn a_level_at_which_the_load_falls_behind_is_left() {
    let capacity = BTreeMap::from([("slow", 200.0)]);
    let mut queues = Queues { abrupt: true, ..queues(&capacity, usize::MAX) };
    let plan = plan(vec![cell("slow", Some(10_000.0))], 40);
    let stopped = conduct(&plan, &Earlier::default(), &mut queues).unwrap().stopped;
    let levels: Vec<u64> = queues.levels.iter().filter_map(|level| level.2).collect();
    assert!(matches!(stopped, Stopped::Enough { .. }), "{stopped:?}: {levels:?}");
    assert!(levels.windows(4).all(|four| four.iter().any(|level| *level != four[0])), "{levels:?}");
}

#[test]
fn each_record_keeps_its_level_and_the_reason() {
    let capacity = BTreeMap::from([("fast", 5000.0)]);
    let (_, queues) =
        run(&plan(vec![cell("fast", Some(10_000.0))], 40), &capacity, &Earlier::default(), usize::MAX);
    let whys: Vec<TriedWhy> = queues.records.iter().map(|record| record.tried.unwrap().why).collect();
    assert_eq!(whys[0], TriedWhy::Highest);
    assert_eq!(whys[1], TriedWhy::Lower);
    assert_eq!(*whys.last().unwrap(), TriedWhy::Near);
    for (record, level) in queues.records.iter().zip(&queues.levels) {
        assert_eq!(record.tried.map(|tried| tried.level), level.2);
    }
}

#[test]
fn a_resumed_search_goes_on_as_if_it_had_never_stopped() {
    let capacity = BTreeMap::from([("fast", 5000.0)]);
    let plan = plan(vec![cell("fast", Some(10_000.0))], 40);
    let (stopped, whole) = run(&plan, &capacity, &Earlier::default(), usize::MAX);
    for patience in [1, 3, 7] {
        let (interrupted, first) = run(&plan, &capacity, &Earlier::default(), patience);
        assert_eq!(interrupted, Stopped::Interrupted);
        let mut earlier = Earlier::default();
        first.records.iter().for_each(|record| earlier.add(&plan, record));
        assert_eq!(ended(&plan, &earlier), None);
        let (end, rest) = run(&plan, &capacity, &earlier, usize::MAX);
        let both: Vec<_> = first.levels.into_iter().chain(rest.levels).collect();
        assert_eq!((end, both), (stopped.clone(), whole.levels.clone()), "{patience}");
    }
    let mut earlier = Earlier::default();
    whole.records.iter().for_each(|record| earlier.add(&plan, record));
    assert_eq!(ended(&plan, &earlier), Some(stopped));
}

#[test]
fn a_limit_outside_the_levels_ends_a_search_after_three_trials_there() {
    let capacity = BTreeMap::from([("fast", 5000.0)]);
    let hopeless = plan(vec![cell("fast", Some(500.0))], 60);
    let (stopped, queues) = run(&hopeless, &capacity, &Earlier::default(), usize::MAX);
    assert!(matches!(stopped, Stopped::Enough { .. }), "{stopped:?}");
    // An idle device breaks 0.5 ms. Below 10 I/Os per second a trial has no p99, so the search ends above.
    let last: Vec<u64> = queues.levels.iter().rev().take(3).filter_map(|l| l.2).collect();
    assert!(last[0] <= 40 && last.iter().all(|level| *level == last[0]), "{:?}", queues.levels);
    let mut easy = cell("fast", Some(10_000.0));
    if let Ask::Options(options) = &mut easy.workload.ask {
        options.find.as_mut().unwrap().to = 1000;
    }
    let (stopped, queues) = run(&plan(vec![easy], 60), &capacity, &Earlier::default(), usize::MAX);
    assert_eq!(stopped, Stopped::Enough { rounds: 3 });
    assert!(queues.levels.iter().all(|l| l.2 == Some(1000)));
}

#[test]
fn a_search_that_has_no_more_rounds_is_open() {
    let capacity = BTreeMap::from([("fast", 5000.0)]);
    let (stopped, queues) =
        run(&plan(vec![cell("fast", Some(10_000.0))], 4), &capacity, &Earlier::default(), usize::MAX);
    assert_eq!((stopped, queues.levels.len()), (Stopped::RoundsDone { rounds: 4 }, 4));
}
