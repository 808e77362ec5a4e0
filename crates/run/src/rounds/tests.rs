//! Machines side by side: fake ones, with a clock that their trials advance.

use super::{Conducted, Ended, Hands, conduct};
use crate::error::RunError;
use crate::ledger::Earlier;
use crate::protocol::TrialRequest;
use crate::wishes::Wishes;
use record::event::{Event, Stopped};
use record::id::{CellId, TrialId};
use record::plan::{Cell, Goal, Measure, Plan, Until};
use record::target::{Target, TargetKind};
use record::trial::{EngineOutput, Outcome, StepTime, Totals, TrialRecord, TrialStep, Window};
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::{Ask, Options, Rw};
use std::collections::{BTreeMap, BTreeSet};

fn cell(target: &str, stack: &str) -> Cell {
    let mut cell = crate::testing::cell(&format!("{target}-{stack}"), target, stack);
    cell.workload.ask =
        Ask::Options(Options { time_based: true, ..Options::new(Rw::Randread, 4096, 1 << 20) });
    cell
}

fn plan(targets: &[&str], rounds: u32, goal: Option<Goal>) -> Plan {
    let cells = targets.iter().flat_map(|target| ["x", "y", "z"].map(|stack| cell(target, stack)));
    let until = goal.map(|goal| Until::new(goal, None));
    let measure = Measure { until, ..Measure::new(10.0, 0.0, rounds) };
    Plan { seed: 7, ..Plan::new("e".to_owned(), cells.collect(), measure) }
}

/// A figure that depends on the trial's seed alone.
fn record(request: &TrialRequest) -> TrialRecord {
    let spread = ((request.seed >> 20) % 1000) as f64 / 1000.0;
    let iops = if request.cell.stack.name == "x" { 500.0 * (0.8 + 0.4 * spread) } else { 500.0 + spread };
    let totals = Totals { ios: 10, seconds: 10.0, iops, ..Totals::default() };
    let window = Window { start_ns: 0, end_ns: 10_000_000_000 };
    TrialRecord {
        steps: vec![StepTime { step: TrialStep::Measure, seconds: 10.0 }],
        engine: Some(EngineOutput { read: Some(totals), ..EngineOutput::new("f".to_owned(), window) }),
        ..TrialRecord::new(request.id.clone(), request.seed, 0, Outcome::Measured)
    }
}

#[derive(Default)]
struct Machines {
    /// Seconds that a trial takes on each machine; 10 by default.
    slow: BTreeMap<&'static str, f64>,
    at_once: usize,
    seconds: f64,
    under_way: Vec<(f64, Cell, TrialRecord)>,
    most: usize,
    /// In the order of their beginning.
    begun: Vec<(String, TrialId)>,
    /// Whether the record before was passed on when a trial began on its machine.
    told: BTreeSet<TrialId>,
    /// The trials that were cut off.
    cut_off: BTreeSet<TrialId>,
    /// The machine that is lost in its trial of this round.
    dies: Option<(&'static str, u32)>,
    /// The user stops after so many trials.
    patience: Option<usize>,
    events: Vec<Event>,
    wishes: Wishes,
    /// The volumes of each trial's request.
    built: BTreeMap<(CellId, u32), Vec<String>>,
}

impl Hands for Machines {
    fn is_free(&self, cell: &Cell) -> bool {
        self.under_way.len() < self.at_once
            && self.under_way.iter().all(|(_, other, _)| other.target != cell.target)
    }

    fn begin(&mut self, request: TrialRequest) -> Result<(), RunError> {
        assert!(self.is_free(&request.cell), "a machine makes one trial at a time");
        let target = request.cell.target.clone();
        let volumes = request.cell.stack.volumes.iter().map(|volume| volume.name.clone()).collect();
        self.built.insert((request.id.cell.clone(), request.id.round), volumes);
        assert!(
            self.begun.iter().filter(|(on, _)| *on == target).all(|(_, id)| self.told.contains(id)),
            "the record before is passed on"
        );
        let takes = self.slow.get(target.as_str()).copied().unwrap_or(10.0);
        self.under_way.push((self.seconds + takes, request.cell.clone(), record(&request)));
        self.most = self.most.max(self.under_way.len());
        self.begun.push((target, request.id));
        Ok(())
    }

    fn ended(&mut self) -> Result<Ended, RunError> {
        let first = (0..self.under_way.len())
            .min_by(|a, b| self.under_way[*a].0.total_cmp(&self.under_way[*b].0))
            .expect("something is under way");
        let (at, cell, record) = self.under_way.remove(first);
        self.seconds = self.seconds.max(at);
        if self.dies.is_some_and(|(target, round)| cell.target == target && record.id.round == round) {
            let outcome = Outcome::Failed("it is lost".to_owned());
            let record =
                TrialRecord { cut_off: true, ..TrialRecord::new(record.id, record.seed, 0, outcome) };
            return Ok(Ended::Lost { record: Box::new(record), targets: vec![cell.target], ends: None });
        }
        Ok(Ended::Done(Box::new(record)))
    }

    fn tell(&mut self, event: Event) -> Result<(), RunError> {
        if let Event::TrialFinished { record } = &event {
            let of_kind = if record.cut_off { &mut self.cut_off } else { &mut self.told };
            of_kind.insert(record.id.clone());
        }
        self.events.push(event);
        Ok(())
    }

    fn is_cancelled(&self) -> bool {
        self.patience.is_some_and(|most| self.begun.len() >= most)
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }

    fn wishes(&self) -> &Wishes {
        &self.wishes
    }
}

impl Machines {
    fn new(at_once: usize) -> Self {
        Self { at_once, ..Self::default() }
    }

    fn run(mut self, plan: &Plan) -> (Self, Conducted) {
        let conducted = conduct(plan, &Earlier::default(), &mut self).unwrap();
        (self, conducted)
    }

    fn of(&self, target: &str) -> Vec<TrialId> {
        self.begun.iter().filter(|(on, _)| on == target).map(|(_, id)| id.clone()).collect()
    }
}

/// A machine's trials: each round's order, without the cells of other machines.
fn expected(plan: &Plan, target: &str, rounds: u32) -> Vec<TrialId> {
    let of_round = |round| {
        let cells = spec::order(plan, round).into_iter().map(|place| &plan.cells[place]);
        cells.filter(|cell| cell.target == target).map(move |cell| TrialId { cell: cell.id.clone(), round })
    };
    (0..rounds).flat_map(of_round).collect()
}

const THREE: [&str; 3] = ["a", "b", "c"];

#[test]
fn each_machine_keeps_to_the_order_of_the_rounds_and_all_work_at_the_same_time() {
    let plan = plan(&THREE, 4, None);
    let (machines, ended) = Machines::new(3).run(&plan);
    for target in THREE {
        assert_eq!(machines.of(target), expected(&plan, target, 4));
    }
    assert_eq!((ended.stopped, machines.most), (Stopped::RoundsDone { rounds: 4 }, 3));
    assert_eq!(machines.seconds.to_bits(), 120.0_f64.to_bits(), "the time of one machine");
    let (slow, _) = Machines { slow: [("b", 40.0)].into(), ..Machines::new(3) }.run(&plan);
    assert_eq!(slow.seconds.to_bits(), 480.0_f64.to_bits(), "the time of the slowest machine");
    let (two, _) = Machines::new(2).run(&plan);
    assert_eq!((two.most, two.told.len()), (2, 36));
    let (one, _) = Machines::new(1).run(&plan);
    let alone: Vec<TrialId> = one.begun.into_iter().map(|(_, id)| id).collect();
    let all = (0..4).flat_map(|round| {
        spec::order(&plan, round).into_iter().map(move |place| (round, place)).collect::<Vec<_>>()
    });
    let all: Vec<TrialId> =
        all.map(|(round, place)| TrialId { cell: plan.cells[place].id.clone(), round }).collect();
    assert_eq!(alone, all, "one at a time is the order of the rounds");
}

#[test]
fn what_the_run_decides_depends_on_the_results_and_not_on_who_is_faster() {
    let plan = plan(&THREE, 60, Some(Goal::Interval(0.05)));
    let (equal, one) = Machines::new(3).run(&plan);
    let (slow, other) = Machines { slow: [("a", 33.0), ("c", 17.0)].into(), ..Machines::new(3) }.run(&plan);
    let (turns, last) = Machines::new(1).run(&plan);
    assert!(matches!(one.stopped, Stopped::Enough { rounds } if rounds > 8), "{:?}", one.stopped);
    assert_eq!((&other.stopped, &last.stopped), (&one.stopped, &one.stopped));
    assert_eq!((&slow.told, &turns.told), (&equal.told, &equal.told));
}

fn ssh(name: &str) -> Target {
    let kind = TargetKind::Ssh { destination: name.to_owned() };
    Target { name: name.to_owned(), kind, address: None, ceiling: None, shares: Vec::new(), hosted_by: None }
}

/// A round takes 30 s, not the 90 s that its trials take together.
#[test]
fn a_budget_of_time_is_that_of_the_clock() {
    let mut plan = plan(&THREE, 4, None);
    plan.targets = THREE.map(ssh).into();
    plan.measure.max_seconds = Some(125.0);
    let (machines, ended) = Machines::new(3).run(&plan);
    assert_eq!((ended.stopped, machines.told.len()), (Stopped::RoundsDone { rounds: 4 }, 36));
    let mut earlier = Earlier::default();
    for event in &machines.events {
        if let Event::TrialFinished { record } = event {
            earlier.add(&plan, record);
        }
    }
    assert!((earlier.seconds(&plan) - 120.0).abs() < 1e-6, "{}", earlier.seconds(&plan));
}

#[test]
fn a_lost_machine_is_missed_and_the_others_go_on() {
    let plan = plan(&THREE, 4, None);
    let (machines, ended) = Machines { dies: Some(("b", 1)), ..Machines::new(3) }.run(&plan);
    let told = |target: &str| machines.told.iter().filter(|id| id.cell.0.starts_with(target)).count();
    assert_eq!((told("a"), told("b"), told("c")), (12, 3, 12));
    let cut_off: Vec<TrialId> = machines.cut_off.iter().cloned().collect();
    assert_eq!(cut_off, machines.of("b")[3..], "the trial in which it was lost");
    assert_eq!(machines.of("b").len(), 4, "nothing begins on it after its loss");
    assert_eq!((ended.stopped, ended.missing), (Stopped::RoundsDone { rounds: 4 }, Some(9)));
}

#[test]
fn who_stops_gets_the_records_of_trials_that_end_meanwhile_and_no_new_ones() {
    let plan = plan(&THREE, 4, None);
    let (machines, ended) = Machines { patience: Some(7), ..Machines::new(3) }.run(&plan);
    assert_eq!(ended.stopped, Stopped::Interrupted);
    assert_eq!((machines.begun.len(), machines.told.len()), (7, 7));
}

#[test]
fn shuffled_volumes_change_from_round_to_round_and_the_record_names_them() {
    let kind = VolumeKind::Emulate { size_bytes: 1 << 30, limits: Limits::default() };
    let volumes: Vec<Volume> =
        (0..4).map(|i| Volume { name: format!("vol[{i}]"), kind: kind.clone() }).collect();
    let mut plan = plan(&["a"], 20, None);
    plan.cells[0].stack.volumes = volumes[..2].to_vec();
    plan.cells[1].stack.volumes = volumes.clone();
    plan.shuffled = vec![volumes];
    let mut machines = Machines { at_once: 1, ..Machines::default() };
    conduct(&plan, &Earlier::default(), &mut machines).unwrap();
    let records: Vec<&TrialRecord> = machines
        .events
        .iter()
        .filter_map(|event| match event {
            Event::TrialFinished { record } => Some(record.as_ref()),
            _ => None,
        })
        .collect();
    let drawn = |cell: usize, round| {
        let of = |record: &&&TrialRecord| record.id == TrialId { cell: plan.cells[cell].id.clone(), round };
        records.iter().find(of).unwrap().drawn.clone()
    };
    let orders: BTreeSet<Vec<String>> = (0..20).map(|round| drawn(1, round)).collect();
    assert!(orders.len() > 5, "{orders:?}");
    for round in 0..20 {
        assert_eq!(drawn(0, round), drawn(1, round)[..2]);
        assert_eq!(drawn(2, round), Vec::<String>::new(), "it has no volumes of the group");
        let built = machines.built[&(plan.cells[1].id.clone(), round)].clone();
        assert_eq!(built, drawn(1, round), "what is built is what is recorded");
    }
}
