//! Runs with `measure: until`: their intervals and their texts.

use crate::input::Input;
use crate::judge::judge;
use crate::testing::{Truth, filesystem};
use record::environment::Environment;
use record::event::Stopped;
use record::id::{CellId, RunId};
use record::judged::RunView;
use record::plan::{Cell, Goal, Measure, Plan, Prices, Until};
use record::stack::FsKind;
use record::trial::{Outcome, StepTime, TrialRecord, TrialStep, Window};
use record::workload::Rw;

const QUIET: [u64; 6] = [2000, 2020, 1980, 2010, 1990, 2000];
const NOISY: [u64; 7] = [1600, 2400, 1900, 2100, 2200, 1800, 2000];

/// A cell with the given reads in 20 s, by round; each trial takes 30 s.
fn cell(name: &str, ios: &[u64]) -> (Cell, Vec<TrialRecord>) {
    let truth = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    let trial = |(round, ios): (u32, &u64)| {
        let mut truth = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
        truth.asked(ios * 4096, 0);
        truth.device_read = ios * 4096;
        let mut record = truth.record();
        (record.id.cell, record.id.round) = (CellId(name.to_owned()), round);
        record.steps = vec![StepTime { step: TrialStep::Measure, seconds: 30.0 }];
        record
    };
    let mut cell = truth.cell;
    cell.id = CellId(name.to_owned());
    name.clone_into(&mut cell.stack.name);
    (cell, (0..).zip(ios).map(trial).collect())
}

fn plan(cells: &[(Cell, Vec<TrialRecord>)], goal: Option<Goal>) -> Plan {
    Plan {
        seed: 1,
        prices: Prices { currency: Some("EUR".to_owned()), ..Prices::default() },
        ..Plan::new(
            "test".to_owned(),
            cells.iter().map(|(c, _)| c.clone()).collect(),
            Measure {
                until: goal.map(|goal| Until::new(goal, None)),
                max_seconds: Some(3600.0),
                max_written_bytes: Some(10 << 30),
                max_cost: Some(2.5),
                ..Measure::new(20.0, 2.0, 30)
            },
        )
    }
}

fn judged(plan: &Plan, cells: &[(Cell, Vec<TrialRecord>)], stopped: &Stopped) -> RunView {
    let trials: Vec<TrialRecord> = cells.iter().flat_map(|(_, t)| t.clone()).rev().collect();
    judge(&Input {
        run: &RunId("r".to_owned()),
        plan,
        environment: &Environment::default(),
        volumes: &[],
        trials: &trials,
        stopped,
    })
}

fn view(cells: &[(Cell, Vec<TrialRecord>)], goal: Goal, stopped: &Stopped) -> RunView {
    judged(&plan(cells, Some(goal)), cells, stopped)
}

fn text(cells: &[(Cell, Vec<TrialRecord>)], goal: Goal, stopped: &Stopped) -> String {
    view(cells, goal, stopped).reached.unwrap().text
}

const FIVE: Goal = Goal::Interval(0.05);

#[test]
fn a_run_that_asks_nothing_of_its_intervals_reaches_nothing() {
    let cells = [cell("a", &QUIET)];
    let view = judged(&plan(&cells, None), &cells, &Stopped::RoundsDone { rounds: 6 });
    assert_eq!(view.reached, None);
    assert_eq!(view.prices.currency.as_deref(), Some("EUR"));
}

#[test]
fn the_interval_shown_is_the_one_the_run_was_stopped_by() {
    let cells = [cell("a", &QUIET)];
    let view = view(&cells, FIVE, &Stopped::Enough { rounds: 6 });
    let figures: Vec<f64> = QUIET.iter().map(|&n| n as f64 / 20.0).collect();
    let rule = stats::StopRule::new(stats::Asked::HalfWidth(0.05), 0.95).unwrap();
    let look = rule.look(&figures, &[]).unwrap();
    for name in ["iops", "read_iops"] {
        let metric = &view.cells[0].metrics[name];
        assert_eq!((metric.low, metric.high), (Some(look.interval.low), Some(look.interval.high)), "{name}");
    }
    let plain = stats::mean_t(&figures, 0.95).unwrap();
    assert!(look.interval.half_width() > plain.half_width() * 1.1);
    assert_eq!((view.cells[0].trials.done, view.cells[0].trials.planned), (6, 6));
    let reached = view.reached.unwrap();
    assert!(reached.all && reached.open.is_empty() && reached.more_rounds.is_none());
    assert_eq!(reached.text, "the one cell is known to ±5 % or better after 6 rounds");
}

/// If the budget ends the run at the stop rule's first decision, the data didn't influence its end. A cell that dropped out was decided
/// before.
#[test]
fn a_budget_that_ends_at_the_first_look_leaves_the_plain_interval_and_one_that_ends_later_does_not() {
    let half = |stopped: Stopped, cells: &[(Cell, Vec<TrialRecord>)]| {
        view(cells, FIVE, &stopped).cells[0].metrics["iops"].half_width().unwrap()
    };
    let alone = [cell("a", &QUIET)];
    let plain = half(Stopped::RoundsDone { rounds: 6 }, &alone);
    assert!(half(Stopped::Enough { rounds: 6 }, &alone) > plain * 1.1);
    let both = [cell("a", &QUIET), cell("b", &NOISY)];
    assert!(half(Stopped::RoundsDone { rounds: 7 }, &both) > plain * 1.1);
}

#[test]
fn a_spent_budget_says_what_is_missing_and_what_it_would_take() {
    let cells = [cell("a", &QUIET), cell("b", &NOISY)];
    let reached = view(&cells, FIVE, &Stopped::RoundsDone { rounds: 7 }).reached.unwrap();
    let more = reached.more_rounds.unwrap();
    assert!(!reached.all && more > 3, "{more}");
    assert_eq!(reached.open, [CellId("b".to_owned())]);
    assert_eq!(reached.more_seconds, Some(f64::from(more) * 30.0), "of the open cell alone");
    let begin = "the budget of 7 rounds was spent: 1 of 2 cells is not known to ±5 % yet; about ";
    assert!(
        reached.text.starts_with(begin) && reached.text.ends_with(") would be enough"),
        "{}",
        reached.text
    );
    let of = |stopped| text(&cells, FIVE, &stopped);
    assert!(of(Stopped::TimeSpent).starts_with("the budget of 1 h 0 min was spent in 7 rounds: "));
    assert!(of(Stopped::WrittenSpent).starts_with("the budget of 10 GiB written was spent in 7 rounds: "));
    assert!(of(Stopped::CostSpent).starts_with("the budget of 2.5 EUR was spent in 7 rounds: "));
    assert!(of(Stopped::Interrupted).starts_with("interrupted in 7 rounds: "));
}

#[test]
fn ratios_and_decisions_are_counted_by_pairs() {
    let faster: Vec<u64> = QUIET.iter().map(|n| n * 2 + 7).collect();
    let cells = [cell("a", &QUIET), cell("b", &faster), cell("c", &NOISY[..6])];
    let enough = Stopped::Enough { rounds: 6 };
    assert_eq!(
        text(&cells[..2], Goal::Ratios(0.05), &enough),
        "the one ratio is known to ±5 % or better after 6 rounds"
    );
    let told = text(&cells[..2], Goal::Told(0.02), &enough);
    assert_eq!(told, "the one pair is told apart after 6 rounds");
    let both = [cell("a", &QUIET), cell("b", &faster), cell("c", &QUIET)];
    assert_eq!(
        text(&both, Goal::Told(0.05), &enough),
        "2 of 3 pairs are told apart, and 1 is shown to be within 5 % of each other after 6 rounds"
    );
    let open = view(&cells, Goal::Ratios(0.05), &Stopped::TimeSpent).reached.unwrap();
    assert_eq!(open.open.len(), 3, "all three are needed for two open ratios");
    assert!(open.text.contains(": 2 of 3 ratios are not known to ±5 % yet; about "), "{}", open.text);
    let one = text(&cells[..1], Goal::Ratios(0.05), &enough);
    assert_eq!(one, "there are no two cells to compare, so there are no ratios after 6 rounds");
}

#[test]
fn a_cell_that_could_not_be_measured_is_open() {
    let mut cells = [cell("a", &QUIET), cell("b", &QUIET[..2])];
    cells[1].1.iter_mut().for_each(|t| t.outcome = Outcome::Failed("mkfs".to_owned()));
    let reached = view(&cells, FIVE, &Stopped::Enough { rounds: 6 }).reached.unwrap();
    assert_eq!((reached.all, reached.more_rounds), (false, None));
    assert_eq!(
        reached.text,
        "after 6 rounds nothing more could be measured: 1 of 2 cells is not known to ±5 % yet; it is not known yet how many \
         more rounds are needed"
    );
}

#[test]
fn a_cell_without_the_figure_does_not_decide() {
    let cells = [cell("a", &QUIET), cell("b", &NOISY[..6])];
    let mut plan = plan(&cells, Some(FIVE));
    plan.measure.until = Some(Until::new(FIVE, Some("write_iops".to_owned())));
    let mut with_writes = cells.clone();
    for trial in &mut with_writes[0].1 {
        let engine = trial.engine.as_mut().unwrap();
        engine.write = engine.read.take();
    }
    let reached = judged(&plan, &with_writes, &Stopped::Enough { rounds: 6 }).reached.unwrap();
    assert_eq!(reached.text, "the one cell is known to ±5 % or better after 6 rounds");
}

#[test]
fn pilot_rounds_are_left_out_of_every_figure_once_longer_trials_followed() {
    let mut cells = [cell("a", &[1000, 3000, 2500, 2000, 2020, 1980, 2010, 1990, 2000])];
    for trial in &mut cells[0].1[..3] {
        let window = &mut trial.engine.as_mut().unwrap().window;
        *window = Window { end_ns: window.start_ns + 5_000_000_000, ..*window };
    }
    let mut plan = plan(&cells, Some(FIVE));
    (plan.measure.trial_seconds, plan.measure.max_trial_seconds) = (5.0, Some(60.0));
    let view = judged(&plan, &cells, &Stopped::Enough { rounds: 9 });
    assert_eq!(view.cells[0].metrics["iops"].n, 6);
    assert_eq!(view.cells[0].metrics["iops"].estimate, 100.0);
    assert!(view.reached.unwrap().all);
    plan.measure.max_trial_seconds = None;
    assert_eq!(judged(&plan, &cells, &Stopped::Enough { rounds: 9 }).cells[0].metrics["iops"].n, 9);
}

/// A run of three cells, half a percent and 8 % apart, with 1.5 % noise, that continues until all pairs are decided: its figures, or `None`
/// after 60 rounds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "I/Os of some thousand")]
fn until_told(trim: Option<f64>, wild: bool, random: &mut impl FnMut() -> f64) -> Option<Vec<Vec<u64>>> {
    let mut rounds: Vec<Vec<Option<f64>>> = vec![Vec::new(); 3];
    let question = stats::Question::Told(0.03);
    let terms = stats::Terms { confidence: 0.95, trim };
    for made in 1..=60 {
        for (cell, factor) in rounds.iter_mut().zip([1.0, 1.075, 1.08]) {
            let far = if wild && random() > 0.97 { 10.0 } else { 1.0 };
            // The sum of twelve uniform numbers is nearly normal.
            let normal: f64 = (0..12).map(|_| random()).sum::<f64>() - 6.0;
            cell.push(Some((20_000.0 * factor * (1.0 + far * 0.015 * normal)).round() / 20.0));
        }
        let contenders: Vec<stats::Contender<'_>> = rounds
            .iter()
            .map(|rounds| stats::Contender { group: 0, family: 0, rounds, alive: true })
            .collect();
        let survey = question.survey(terms, &contenders, &[])?;
        if made >= 6 && !survey.needed.contains(&true) {
            let ios =
                |cell: &Vec<Option<f64>>| cell.iter().flatten().map(|x| (x * 20.0).round() as u64).collect();
            return Some(rounds.iter().map(ios).collect());
        }
    }
    None
}

/// The answer contains the reason for the run's end: pairs that differ for the stop rule also differ there, and the others differ or are
/// shown to be within the margin.
#[test]
fn a_run_that_stopped_because_all_was_told_says_so_in_its_answer() {
    for (trim, wild) in [(None, false), (Some(0.1), true)] {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut runs, mut apart, mut equal) = (0, 0, 0);
        for _ in 0..8 {
            let Some(figures) = until_told(trim, wild, &mut random) else { continue };
            runs += 1;
            let cells: Vec<_> = ["a", "b", "c"].into_iter().zip(&figures).map(|(n, f)| cell(n, f)).collect();
            let mut plan = plan(&cells, Some(Goal::Told(0.03)));
            plan.measure.trim = trim;
            let made = u32::try_from(figures[0].len()).unwrap();
            let view = judged(&plan, &cells, &Stopped::Enough { rounds: made });
            assert!(view.reached.as_ref().unwrap().all, "{:?}", view.reached);
            let answer = &view.answers[0];

            for comparison in &answer.comparisons {
                let within = comparison.excluded_difference.is_some_and(|x| x <= 0.03);
                let told = comparison.relation == record::judged::Relation::Apart;
                assert!(told || within, "{trim:?}: {comparison:?}");
                apart += u32::from(told);
                equal += u32::from(!told);
            }
            let says = answer.text.contains(" is 1.") || answer.text.contains("can't be told");
            assert!(says, "{}", answer.text);
        }
        assert!(runs >= 7 && apart >= 7 && equal >= 2, "{trim:?}: {runs} runs, {apart} apart, {equal} equal");
    }
}
