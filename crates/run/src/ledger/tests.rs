//! Runs with scripted trials: a seeded distribution gives the results, and a counter gives the time.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small scripted numbers")]

use super::{Earlier, Ledger, ended};
use crate::error::RunError;
use crate::protocol::TrialRequest;
use crate::rounds::{Ended, Hands, conduct};
use crate::wishes::Wishes;
use record::event::{Event, Stopped};
use record::id::{CellId, TrialId};
use record::plan::{Cell, Goal, Measure, Plan, Until};
use record::trial::{EngineOutput, Outcome, Series, StepTime, Totals, TrialRecord, TrialStep, Window};
use record::workload::{Ask, Options, Rw};
use std::collections::BTreeMap;

mod block;
mod hunt;

const DATA: u64 = 8 << 20;

fn cell(id: &str, workload: &str) -> Cell {
    let mut cell = crate::testing::cell(id, "local", id);
    workload.clone_into(&mut cell.workload.name);
    cell.workload.ask = Ask::Options(Options { time_based: true, ..Options::new(Rw::Randread, 4096, DATA) });
    cell
}

fn plan(cells: &[&str], goal: Option<Goal>, rounds: u32) -> Plan {
    Plan {
        seed: 7,
        ..Plan::new(
            "e".to_owned(),
            cells.iter().map(|id| cell(id, "randread")).collect(),
            Measure { until: goal.map(|goal| Until::new(goal, None)), ..Measure::new(10.0, 0.0, rounds) },
        )
    }
}

/// Pseudo-random numbers from the seed alone, about normal with standard deviation 1.
fn noise(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..n).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect()
}

/// A cell's behaviour: IOPS, relative spread between trials and between half seconds, overhead of a trial in seconds, bytes
/// written.
#[derive(Clone, Copy)]
struct Storage {
    iops: f64,
    between: f64,
    within: f64,
    beside: f64,
    writes: bool,
    fails: bool,
}

const QUIET: Storage =
    Storage { iops: 500.0, between: 0.01, within: 0.0, beside: 10.0, writes: false, fails: false };
const NOISY: Storage = Storage { between: 0.10, ..QUIET };
const BROKEN: Storage = Storage { fails: true, ..QUIET };

fn record(storage: Storage, request: &TrialRequest) -> TrialRecord {
    let seconds = request.measure.trial_seconds;
    let noise = noise(request.seed, 1 + seconds as usize * 2);
    let level = storage.iops * (1.0 + storage.between * noise[0]);
    let steps: Vec<f64> =
        noise[1..].iter().map(|z| (level + storage.iops * storage.within * z).max(0.0) / 2.0).collect();
    let ios: f64 = steps.iter().sum();
    let totals = |ios: f64| Totals {
        ios: ios as u64,
        bytes: ios as u64 * 4096,
        seconds,
        iops: ios / seconds,
        bytes_per_second: ios / seconds * 4096.0,
        ..Totals::default()
    };
    let counts: Vec<u64> = steps.iter().map(|x| x.round() as u64).collect();
    let none = vec![0; counts.len()];
    let engine = EngineOutput {
        read: Some(totals(ios)),
        write: storage.writes.then(|| totals(ios)),
        series: Some(Series {
            start_ns: 0,
            step_ns: 500_000_000,
            read_ios: counts,
            write_ios: none.clone(),
            trim_ios: none.clone(),
            bytes: none,
            ..Series::default()
        }),
        ..EngineOutput::new("scripted".to_owned(), Window { start_ns: 0, end_ns: (seconds * 1e9) as u64 })
    };
    let outcome = if storage.fails { Outcome::Failed("mkfs".to_owned()) } else { Outcome::Measured };
    TrialRecord {
        steps: vec![
            StepTime { step: TrialStep::Prepare, seconds: storage.beside },
            StepTime { step: TrialStep::Measure, seconds },
        ],
        engine: (!storage.fails).then_some(engine),
        ..TrialRecord::new(request.id.clone(), request.seed, 0, outcome)
    }
}

/// A fake node without storage, with a clock that trials advance.
struct Script<'a> {
    storages: &'a BTreeMap<CellId, Storage>,
    seconds: f64,
    /// The user stops after this many trials.
    patience: usize,
    records: Vec<TrialRecord>,
    asked_seconds: Vec<f64>,
    events: Vec<Event>,
    wishes: Wishes,
    under_way: Option<Box<TrialRecord>>,
    /// What the user says during each trial; the number of trials before it is passed in.
    says: fn(&Wishes, usize),
}

impl Hands for Script<'_> {
    fn is_free(&self, _: &Cell) -> bool {
        self.under_way.is_none()
    }

    fn ended(&mut self) -> Result<Ended, RunError> {
        Ok(Ended::Done(self.under_way.take().unwrap()))
    }

    fn begin(&mut self, request: TrialRequest) -> Result<(), RunError> {
        let record = record(self.storages[&request.id.cell], &request);
        (self.says)(&self.wishes, self.records.len());
        self.seconds += record.steps.iter().map(|s| s.seconds).sum::<f64>();
        self.records.push(record.clone());
        self.asked_seconds.push(request.measure.trial_seconds);
        self.under_way = Some(Box::new(record));
        Ok(())
    }

    fn tell(&mut self, event: Event) -> Result<(), RunError> {
        self.events.push(event);
        Ok(())
    }

    fn is_cancelled(&self) -> bool {
        self.records.len() >= self.patience
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }

    fn wishes(&self) -> &Wishes {
        &self.wishes
    }
}

/// The result of a run.
struct Ran {
    stopped: Stopped,
    records: Vec<TrialRecord>,
    asked_seconds: Vec<f64>,
    events: Vec<Event>,
}

impl Ran {
    fn ids(&self) -> Vec<TrialId> {
        self.records.iter().map(|r| r.id.clone()).collect()
    }

    fn rounds_of(&self, cell: &str) -> usize {
        self.records.iter().filter(|r| r.id.cell.0 == cell).count()
    }

    fn figures_of(&self, cell: &str) -> Vec<f64> {
        let own = self.records.iter().filter(|r| r.id.cell.0 == cell);
        own.map(|r| r.engine.as_ref().unwrap().metrics()["iops"]).collect()
    }
}

fn sit(plan: &Plan, storages: &[Storage], before: &[TrialRecord], patience: usize) -> Ran {
    sit_and_say(plan, storages, before, patience, |_, _| {})
}

fn sit_and_say(
    plan: &Plan,
    storages: &[Storage],
    before: &[TrialRecord],
    patience: usize,
    says: fn(&Wishes, usize),
) -> Ran {
    let storages = plan.cells.iter().zip(storages).map(|(c, s)| (c.id.clone(), *s)).collect();
    let mut earlier = Earlier::default();
    for record in before {
        earlier.add(plan, record);
    }
    let mut script = Script {
        storages: &storages,
        seconds: 0.0,
        patience,
        records: Vec::new(),
        asked_seconds: Vec::new(),
        events: Vec::new(),
        wishes: Wishes::default(),
        under_way: None,
        says,
    };
    let stopped = conduct(plan, &earlier, &mut script).unwrap().stopped;
    let Script { records, asked_seconds, events, .. } = script;
    Ran { stopped, records, asked_seconds, events }
}

fn run(plan: &Plan, storages: &[Storage]) -> Ran {
    sit(plan, storages, &[], usize::MAX)
}

const FIVE: Option<Goal> = Some(Goal::Interval(0.05));

#[test]
fn quiet_storage_is_enough_at_the_first_look() {
    let ran = run(&plan(&["a", "b"], FIVE, 30), &[QUIET, QUIET]);
    assert_eq!((ran.stopped.clone(), ran.records.len()), (Stopped::Enough { rounds: 6 }, 12));
}

#[test]
fn noise_goes_on_until_the_interval_is_as_narrow_as_asked() {
    let plan = plan(&["a"], FIVE, 100);
    let ran = run(&plan, &[NOISY]);
    let Stopped::Enough { rounds } = ran.stopped else { panic!("{:?}", ran.stopped) };
    assert!(rounds > 8, "{rounds}");
    let rule = stats::StopRule::new(stats::Asked::HalfWidth(0.05), 0.95).unwrap();
    let figures = ran.figures_of("a");
    let enough =
        |n: usize| matches!(rule.look(&figures[..n], &[]).unwrap().decision, stats::Decision::Enough(_));
    assert_eq!((6..=figures.len()).find(|&n| enough(n)), Some(rounds as usize));
}

#[test]
fn decided_cells_drop_out_and_the_others_go_on() {
    let ran = run(&plan(&["quiet", "noisy", "calm"], FIVE, 100), &[QUIET, NOISY, QUIET]);
    assert!(matches!(ran.stopped, Stopped::Enough { rounds } if rounds > 8), "{:?}", ran.stopped);
    assert_eq!((ran.rounds_of("quiet"), ran.rounds_of("calm")), (6, 6));
    assert!(ran.rounds_of("noisy") > 8);
}

#[test]
fn an_open_comparison_keeps_both_its_cells() {
    let mut plan = plan(&["quiet", "noisy", "other"], Some(Goal::Ratios(0.05)), 200);
    plan.cells[2].workload.name = "write".to_owned();
    let ran = run(&plan, &[QUIET, NOISY, NOISY]);
    assert!(matches!(ran.stopped, Stopped::Enough { rounds } if rounds > 8), "{:?}", ran.stopped);
    assert_eq!(ran.rounds_of("quiet"), ran.rounds_of("noisy"));
    assert_eq!(ran.rounds_of("other"), 6, "it is compared with nothing");
}

#[test]
fn cells_that_differ_enough_are_told_apart() {
    let faster = Storage { iops: 600.0, ..QUIET };
    let ran = run(&plan(&["a", "b"], Some(Goal::Told(0.02)), 100), &[QUIET, faster]);
    assert_eq!(ran.stopped, Stopped::Enough { rounds: 6 });
}

#[test]
fn each_budget_ends_a_run_before_the_round_that_would_go_beyond_it() {
    // A round of two cells: 2 x (10 + 10) s, 2 x 8 MiB laid out, 0.001 of money a second.
    let of = |budget: fn(&mut Measure)| {
        let mut plan = plan(&["a", "b"], FIVE, 100);
        plan.prices.per_hour = BTreeMap::from([("vol[0]".to_owned(), 1.2), ("vol[1]".to_owned(), 2.4)]);
        budget(&mut plan.measure);
        let ran = run(&plan, &[NOISY, NOISY]);
        (ran.stopped, ran.records.len())
    };
    assert_eq!(of(|m| m.rounds = 7), (Stopped::RoundsDone { rounds: 7 }, 14));
    assert_eq!(of(|m| m.max_seconds = Some(170.0)), (Stopped::TimeSpent, 8));
    assert_eq!(of(|m| m.max_written_bytes = Some(7 * 2 * DATA + 1)), (Stopped::WrittenSpent, 14));
    assert_eq!(of(|m| m.max_cost = Some(0.17)), (Stopped::CostSpent, 8));
    let two: fn(&mut Measure) = |m| (m.max_seconds, m.max_cost) = (Some(170.0), Some(0.13));
    assert_eq!(of(two), (Stopped::CostSpent, 6));
    // A cost that can't be predicted ends the run after the trial in which the budget is spent.
    assert_eq!(of(|m| m.max_seconds = Some(15.0)), (Stopped::TimeSpent, 1));
}

#[test]
fn what_the_load_writes_is_counted_without_device_counters_too() {
    let mut plan = plan(&["a"], FIVE, 100);
    // 500 writes of 4 KiB per second for 10 s, and 8 MiB before.
    plan.measure.max_written_bytes = Some(3 * (DATA + 500 * 4096 * 11));
    let ran = run(&plan, &[Storage { writes: true, ..NOISY }]);
    assert_eq!(ran.stopped, Stopped::WrittenSpent);
    assert!((2..=4).contains(&ran.records.len()), "{}", ran.records.len());
}

#[test]
fn a_fixed_number_of_rounds_is_made_in_the_order_it_always_was() {
    let plan = plan(&["a", "b", "c"], None, 4);
    let ran = run(&plan, &[QUIET, NOISY, QUIET]);
    assert_eq!(ran.stopped, Stopped::RoundsDone { rounds: 4 });
    let order = (0..4).flat_map(|round| spec::order(&plan, round).into_iter().map(move |i| (i, round)));
    let planned: Vec<TrialId> =
        order.map(|(i, round)| TrialId { cell: plan.cells[i].id.clone(), round }).collect();
    assert_eq!(ran.ids(), planned);
    assert!(!ran.events.iter().any(|e| matches!(e, Event::RoundFinished { .. })));
}

/// Interrupted after any trial and resumed, a run makes the same trials and ends for the same reason.
#[test]
fn interrupted_and_resumed_is_the_same_as_uninterrupted() {
    let noisy = Storage { between: 0.06, ..QUIET };
    for goal in [Goal::Interval(0.05), Goal::Ratios(0.06), Goal::Told(0.04)] {
        let plan = plan(&["a", "b", "c"], Some(goal), 25);
        let storages = [QUIET, noisy, QUIET];
        let whole = run(&plan, &storages);
        for patience in 0..whole.records.len() {
            let first = sit(&plan, &storages, &[], patience);
            assert_eq!(first.stopped, Stopped::Interrupted);
            let rest = sit(&plan, &storages, &first.records, usize::MAX);
            let ids: Vec<TrialId> = first.ids().into_iter().chain(rest.ids()).collect();
            assert_eq!(
                (ids, rest.stopped),
                (whole.ids(), whole.stopped.clone()),
                "{goal:?} after {patience}"
            );
        }
    }
}

#[test]
fn a_budget_counts_what_earlier_sittings_spent() {
    let mut plan = plan(&["a", "b"], FIVE, 100);
    plan.measure.max_seconds = Some(170.0);
    let first = sit(&plan, &[NOISY, NOISY], &[], 5);
    let rest = sit(&plan, &[NOISY, NOISY], &first.records, usize::MAX);
    assert_eq!((rest.stopped, rest.records.len()), (Stopped::TimeSpent, 3));
}

#[test]
fn a_budget_of_rounds_that_is_raised_goes_on_where_it_ended() {
    let short = plan(&["a", "b"], FIVE, 7);
    let long = plan(&["a", "b"], FIVE, 100);
    let storages = [NOISY, QUIET];
    let whole = run(&long, &storages);
    let first = run(&short, &storages);
    assert_eq!(first.stopped, Stopped::RoundsDone { rounds: 7 });
    let mut earlier = Earlier::default();
    first.records.iter().for_each(|r| earlier.add(&short, r));
    assert_eq!(ended(&short, &earlier), Some(Stopped::RoundsDone { rounds: 7 }));
    assert_eq!(ended(&long, &earlier), None);
    let rest = sit(&long, &storages, &first.records, usize::MAX);
    let ids: Vec<TrialId> = first.ids().into_iter().chain(rest.ids()).collect();
    assert_eq!((ids, rest.stopped), (whole.ids(), whole.stopped.clone()));
    let all: Vec<TrialRecord> = first.records.into_iter().chain(rest.records).collect();
    let again = sit(&long, &storages, &all, usize::MAX);
    assert_eq!((again.stopped, again.records.len()), (whole.stopped, 0), "enough stays enough");
}

#[test]
fn a_cell_that_fails_holds_nobody_up() {
    let ran = run(&plan(&["a", "broken"], FIVE, 100), &[QUIET, BROKEN]);
    assert_eq!((ran.stopped.clone(), ran.rounds_of("broken")), (Stopped::Enough { rounds: 6 }, 2));
    let warned = ran.events.iter().filter(|e| matches!(e, Event::Warning { .. })).count();
    assert_eq!(warned, 2);
    let ran = run(&plan(&["a", "broken", "b"], Some(Goal::Ratios(0.05)), 100), &[QUIET, BROKEN, QUIET]);
    assert_eq!(ran.stopped, Stopped::Enough { rounds: 6 });
    let ran = run(&plan(&["broken"], FIVE, 9), &[BROKEN]);
    assert_eq!((ran.stopped.clone(), ran.records.len()), (Stopped::RoundsDone { rounds: 9 }, 2));
}

#[test]
fn a_cell_without_the_figure_does_not_decide_and_goes_on_with_those_that_do() {
    let mut plan = plan(&["reader", "writer"], FIVE, 40);
    plan.measure.until = Some(Until::new(Goal::Interval(0.05), Some("write_iops".to_owned())));
    let ran = run(&plan, &[NOISY, Storage { writes: true, ..QUIET }]);
    assert_eq!((ran.stopped.clone(), ran.rounds_of("reader")), (Stopped::Enough { rounds: 6 }, 6));
    let said = |e: &&Event| matches!(e, Event::Warning { text } if text.contains("`write_iops`"));
    assert_eq!(ran.events.iter().filter(said).count(), 1, "{:?}", ran.events);
    let ran = run(&plan, &[NOISY, QUIET]);
    assert_eq!((ran.stopped.clone(), ran.records.len()), (Stopped::RoundsDone { rounds: 40 }, 80));
}

#[test]
fn each_round_is_reported_with_what_is_still_open() {
    let ran = run(&plan(&["quiet", "noisy"], FIVE, 9), &[QUIET, NOISY]);
    let reports: Vec<_> = ran
        .events
        .iter()
        .filter_map(|e| match e {
            Event::RoundFinished { rounds, most_rounds, asked, open, widest, more_rounds } => {
                Some((*rounds, *most_rounds, *asked, *open, widest.clone(), *more_rounds))
            }
            _ => None,
        })
        .collect();
    assert_eq!(reports.iter().map(|r| r.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let (_, most, asked, open, widest, more) = reports[6].clone();
    let widest = widest.unwrap();
    assert_eq!((most, asked, open, widest.cell.0.as_str(), widest.against), (9, 2, 1, "noisy", None));
    assert!(widest.width > Some(0.05) && more > Some(0), "{more:?}");
    assert_eq!(reports[0].4.as_ref().and_then(|w| w.width), None, "one trial has no width");
}

#[test]
fn trials_are_made_longer_where_seconds_vary_more_than_trials() {
    let mut plan = plan(&["a", "b"], FIVE, 100);
    (plan.measure.trial_seconds, plan.measure.max_trial_seconds) = (5.0, Some(120.0));
    let restless = Storage { between: 0.0, within: 0.5, beside: 200.0, ..QUIET };
    let ran = run(&plan, &[restless, restless]);
    let chosen = ran.events.iter().find_map(|e| match e {
        Event::LengthChosen { trial_seconds, pilot_seconds, .. } => Some((*trial_seconds, *pilot_seconds)),
        _ => None,
    });
    let (seconds, pilot) = chosen.unwrap();
    assert!(seconds >= 6.25 && pilot == 5.0, "{seconds}");
    assert!(ran.asked_seconds[..6].iter().all(|s| *s == 5.0));
    assert!(ran.asked_seconds[6..].iter().all(|s| *s == seconds), "{:?}", ran.asked_seconds);
    assert!(matches!(ran.stopped, Stopped::Enough { rounds } if rounds >= 9), "pilots don't count");
    for patience in [5, 6, 7, 13] {
        let first = sit(&plan, &[restless, restless], &[], patience);
        let rest = sit(&plan, &[restless, restless], &first.records, usize::MAX);
        let all: Vec<f64> = first.asked_seconds.into_iter().chain(rest.asked_seconds).collect();
        assert_eq!((all, rest.stopped), (ran.asked_seconds.clone(), ran.stopped.clone()), "after {patience}");
    }
}

#[test]
fn trials_stay_short_where_longer_ones_would_not_help() {
    let mut of = plan(&["a"], FIVE, 100);
    of.measure.max_trial_seconds = Some(120.0);
    for storage in [QUIET, NOISY] {
        let ran = run(&of, &[storage]);
        assert!(ran.asked_seconds.iter().all(|s| *s == 10.0));
    }
    let mut own = of.clone();
    let Ask::Options(options) = &mut own.cells[0].workload.ask else { panic!() };
    options.runtime_ms = Some(10_000);
    let ran = run(&own, &[Storage { between: 0.0, within: 0.7, ..QUIET }]);
    assert!(ran.asked_seconds.iter().all(|s| *s == 10.0), "the workload says how long it lasts");
}

#[test]
fn each_cell_is_told_with_the_interval_that_its_result_would_have() {
    let told = |ran: &Ran, cell: &str| -> Vec<(f64, f64, u32)> {
        let of_cell = |event: &Event| match event {
            Event::CellEstimated { cell: id, low, high, trials, .. } if id.0 == cell => {
                Some((*low, *high, *trials))
            }
            _ => None,
        };
        ran.events.iter().filter_map(of_cell).collect()
    };
    let expected =
        |figures: &[f64], mean: &dyn Fn(&[f64]) -> Option<stats::Estimate>| -> Vec<(f64, f64, u32)> {
            let of_first = |n: usize| mean(&figures[..n]).map(|e| (e.low, e.high, n as u32)).unwrap();
            (2..=figures.len()).map(of_first).collect()
        };
    let rule = stats::StopRule::new(stats::Asked::HalfWidth(0.05), 0.95).unwrap();
    let until = run(&plan(&["noisy", "quiet"], FIVE, 9), &[NOISY, QUIET]);
    let by_rule = expected(&until.figures_of("noisy"), &|figures| rule.mean(figures, &[]));
    assert_eq!(told(&until, "noisy"), by_rule);
    assert_eq!(by_rule.len(), 8, "from the second trial on");
    let fixed = run(&plan(&["noisy"], None, 4), &[NOISY]);
    let plain = expected(&fixed.figures_of("noisy"), &|figures| stats::mean_t(figures, 0.95));
    assert_eq!(told(&fixed, "noisy"), plain);
    let broken = run(&plan(&["broken", "quiet"], None, 4), &[BROKEN, QUIET]);
    assert!(told(&broken, "broken").is_empty(), "a failed trial has no figure");
}

#[test]
fn a_skipped_cell_takes_no_more_rounds_also_after_a_resume_and_the_others_go_on() {
    let mut plan = plan(&["a", "b"], None, 4);
    let storages = [QUIET, QUIET];
    // in the third trial: the first one of the second round
    let says = |wishes: &Wishes, before: usize| {
        if before == 2 {
            wishes.skip(CellId("b".to_owned()));
            wishes.skip(CellId("b".to_owned()));
            wishes.skip(CellId("no such cell".to_owned()));
        }
    };
    let ran = sit_and_say(&plan, &storages, &[], usize::MAX, says);
    assert_eq!((ran.stopped.clone(), ran.rounds_of("a")), (Stopped::RoundsDone { rounds: 4 }, 4));
    assert!(ran.rounds_of("b") <= 2, "{}", ran.rounds_of("b"));
    let skips: Vec<&Event> = ran.events.iter().filter(|e| matches!(e, Event::CellSkipped { .. })).collect();
    let told = Event::CellSkipped { cell: CellId("b".to_owned()), round: 1 };
    assert_eq!(skips, [&told], "once");

    plan.skipped.insert(CellId("b".to_owned()), 1);
    let resumed = sit(&plan, &storages, &ran.records[..3], usize::MAX);
    assert_eq!(resumed.rounds_of("b"), 0, "a resumed run leaves it out, too");
    plan.skipped.insert(CellId("a".to_owned()), 1);
    assert_eq!(
        ended(&plan, &Earlier::default()),
        Some(Stopped::Requested { rounds: 1 }),
        "no cell is left, so nothing is measured"
    );
}

#[test]
fn a_run_ends_after_the_round_in_which_the_user_asks_for_it() {
    let plan = plan(&["a", "b"], None, 4);
    let asks = |wishes: &Wishes, before: usize| wishes.end_after_round(before == 2);
    let says_and_takes_back = sit_and_say(&plan, &[QUIET, QUIET], &[], usize::MAX, asks);
    assert_eq!(says_and_takes_back.stopped, Stopped::RoundsDone { rounds: 4 });
    let asks = |wishes: &Wishes, before: usize| wishes.end_after_round(before >= 2);
    let ran = sit_and_say(&plan, &[QUIET, QUIET], &[], usize::MAX, asks);
    assert_eq!((ran.stopped.clone(), ran.records.len()), (Stopped::Requested { rounds: 2 }, 4));
    let in_the_last = |wishes: &Wishes, before: usize| wishes.end_after_round(before >= 7);
    let ran = sit_and_say(&plan, &[QUIET, QUIET], &[], usize::MAX, in_the_last);
    assert_eq!(ran.stopped, Stopped::RoundsDone { rounds: 4 }, "it is over anyway");
}

#[test]
fn what_is_spent_is_told_after_each_trial() {
    let mut plan = plan(&["a"], None, 3);
    plan.prices.per_hour.insert("vol".to_owned(), 3600.0);
    let ran = run(&plan, &[QUIET]);
    let spent: Vec<(f64, Option<f64>)> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Spent { seconds, cost, .. } => Some((*seconds, *cost)),
            _ => None,
        })
        .collect();
    assert_eq!(spent.len(), 3);
    assert!(spent.windows(2).all(|two| two[1].0 > two[0].0), "{spent:?}");
    assert!(
        spent.iter().all(|(seconds, cost)| cost.is_some_and(|cost| (cost - seconds).abs() < 1e-9)),
        "{spent:?}"
    );
}

#[test]
fn machines_that_are_found_to_share_one_take_turns_in_the_budget_of_time() {
    let mut plan = plan(&["a", "b"], None, 2);
    let mut earlier = Earlier::default();
    for (cell, target) in plan.cells.iter_mut().zip(["here", "there"]) {
        target.clone_into(&mut cell.target);
    }
    for cell in &plan.cells {
        let id = TrialId { cell: cell.id.clone(), round: 0 };
        let steps = vec![StepTime { step: TrialStep::Measure, seconds: 10.0 }];
        earlier.add(&plan, &TrialRecord { steps, ..TrialRecord::new(id, 0, 0, Outcome::Measured) });
    }
    let seconds = |lanes: &[&[&str]]| {
        let targets = lanes.iter().map(|lane| lane.iter().map(|&name| name.to_owned()).collect()).collect();
        let lanes = spec::Lanes { targets, at_once: lanes.len() };
        match Ledger::new(&plan, &earlier, Some(&lanes)).spent(0.0) {
            Event::Spent { seconds, .. } => seconds,
            other => panic!("{other:?}"),
        }
    };
    assert!((seconds(&[&["here"], &["there"]]) - 10.0).abs() < 1e-9);
    assert!((seconds(&[&["here", "there"]]) - 20.0).abs() < 1e-9);
}
