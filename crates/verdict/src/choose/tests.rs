use super::{NoChoice, choose};
use crate::compare::judged::Judged;
use crate::input::Input;
use crate::judge::judge;
use crate::run_tests::cell;
use crate::testing::measure;
use record::choice::{Choice, ChoiceOutcome, Want};
use record::environment::Environment;
use record::event::Stopped;
use record::finding::Claim;
use record::id::RunId;
use record::judged::RunView;
use record::plan::{Bound, Cell, Plan};
use record::trial::TrialRecord;
use record::volume::{Limits, Volume, VolumeKind};

/// A run with its plan. Each cell stands on volumes of its own, at its price in EUR a month; 20 reads are 1 IOPS.
struct Run {
    plan: Plan,
    view: RunView,
}

impl Run {
    fn of(name: &str, cells: &[(&str, f64, &[u64])]) -> Self {
        let made: Vec<(Cell, Vec<TrialRecord>)> =
            cells.iter().map(|(stack, _, ios)| on_its_own(stack, ios)).collect();
        let all = made.iter().map(|(cell, _)| cell.clone()).collect();
        let mut plan = Plan { seed: 1, ..Plan::new("test".to_owned(), all, measure(3)) };
        plan.prices.currency = Some("EUR".to_owned());
        plan.prices.per_hour = cells
            .iter()
            .filter(|(_, price, _)| *price > 0.0)
            .map(|(stack, price, _)| ((*stack).to_owned(), price / 730.0))
            .collect();
        let trials: Vec<TrialRecord> = made.into_iter().flat_map(|(_, trials)| trials).collect();
        let view = judge(&Input {
            run: &RunId(name.to_owned()),
            plan: &plan,
            environment: &Environment::default(),
            volumes: &[],
            trials: &trials,
            stopped: &Stopped::RoundsDone { rounds: 3 },
        });
        Self { plan, view }
    }

    fn judged(&self) -> Judged<'_> {
        Judged { plan: &self.plan, view: &self.view }
    }
}

fn on_its_own(stack: &str, ios: &[u64]) -> (Cell, Vec<TrialRecord>) {
    let (mut cell, trials) = cell(stack, ios);
    let kind = VolumeKind::Emulate { size_bytes: 1 << 30, limits: Limits::default() };
    cell.stack.volumes = vec![Volume { name: stack.to_owned(), kind }];
    (cell, trials)
}

fn want(of: &str, bound: Bound, value: f64) -> Want {
    Want { of: of.to_owned(), bound, value, written: String::new() }
}

fn at_least(iops: f64) -> Vec<Want> {
    vec![want("iops", Bound::AtLeast, iops)]
}

fn told(choice: &Choice) -> (ChoiceOutcome, &str) {
    let [answer] = &choice.answers[..] else { panic!("{:?}", choice.answers) };
    let text = answer.text.strip_suffix(
        " (prices and limits of the volumes come from the experiment file: this compares what the file declares, and measures no provider)",
    );
    (answer.outcome, text.unwrap())
}

const MARKET: [(&str, f64, &[u64]); 4] = [
    ("large", 14.0, &[6400, 6410, 6390]),
    ("small", 4.0, &[3200, 3210, 3190]),
    ("middle", 8.0, &[6380, 6400, 6390]),
    ("unpriced", 0.0, &[9000, 9010, 8990]),
];

#[test]
fn the_cheapest_that_does_is_chosen_and_the_rest_is_told() {
    let run = Run::of("r", &MARKET);
    let choice = choose(&[run.judged()], &at_least(300.0), &[]).unwrap();
    let (outcome, text) = told(&choice);
    assert_eq!(outcome, ChoiceOutcome::Chosen);
    assert_eq!(
        text,
        "middle (8.00 EUR a month) is the cheapest that meets the limits; the cheaper one is shown not to meet them"
    );
    let order: Vec<(&str, bool)> =
        choice.answers[0].candidates.iter().map(|one| (one.cell.stack.as_str(), one.chosen)).collect();
    assert_eq!(order, [("small", false), ("middle", true), ("large", false)]);
    assert_eq!((choice.left_out.len(), choice.left_out[0].text.as_str()), (1, "a volume has no price"));
    let choice = choose(&[run.judged()], &at_least(100.0), &[]).unwrap();
    assert_eq!(
        told(&choice).1,
        "small (4.00 EUR a month) is the cheapest that meets the limits; no measured stack is cheaper"
    );
}

#[test]
fn what_is_in_the_figures_that_decided_is_told() {
    let falling: [(&str, f64, &[u64]); 2] =
        [("falling", 4.0, &[9000, 8600, 8200, 7800, 7400, 7000]), ("dear", 8.0, &[6400; 6])];
    let run = Run::of("r", &falling);
    assert!(run.view.findings.iter().any(|finding| finding.claim == Claim::Trend), "{:?}", run.view.findings);
    let choice = choose(&[run.judged()], &at_least(300.0), &[]).unwrap();
    assert!(told(&choice).1.ends_with(" (not a lasting rate: falling)"), "{}", told(&choice).1);
}

#[test]
fn where_none_does_the_nearest_is_named() {
    let run = Run::of("r", &MARKET);
    let choice = choose(&[run.judged()], &at_least(400.0), &[]).unwrap();
    let (outcome, text) = told(&choice);
    assert_eq!(outcome, ChoiceOutcome::NoneDoes);
    assert_eq!(
        text,
        "no measured stack meets the limits; the nearest is large (14.00 EUR a month): iops 320 IOPS, 20 % below the limit"
    );
}

#[test]
fn what_the_rounds_leave_open_is_no_answer() {
    let unsure: [(&str, f64, &[u64]); 2] =
        [("wild", 4.0, &[5000, 7000, 6600]), ("sure", 8.0, &[6400, 6410, 6390])];
    let run = Run::of("r", &unsure);
    let choice = choose(&[run.judged()], &at_least(300.0), &[]).unwrap();
    let (outcome, text) = told(&choice);
    assert_eq!(outcome, ChoiceOutcome::ChosenSoFar);
    assert_eq!(
        text,
        "sure (8.00 EUR a month) meets the limits; wild costs less and is undecided; more rounds would decide"
    );
    let alone = Run::of("r", &unsure[..1]);
    let choice = choose(&[alone.judged()], &at_least(300.0), &[]).unwrap();
    assert_eq!(told(&choice).0, ChoiceOutcome::Open);
    assert!(
        told(&choice).1.starts_with("no stack is shown to meet the limits; undecided: wild; "),
        "{}",
        told(&choice).1
    );
}

#[test]
fn cells_of_several_runs_compete_and_are_told_apart() {
    let first = Run::of("r1", &MARKET[..1]);
    let second = Run::of("r2", &MARKET[1..]);
    let choice = choose(&[first.judged(), second.judged()], &at_least(300.0), &[]).unwrap();
    assert!(told(&choice).1.starts_with("middle of run r2 (8.00 EUR a month)"), "{}", told(&choice).1);
    let mut dollars = Run::of("r3", &MARKET[..1]);
    dollars.plan.prices.currency = Some("USD".to_owned());
    assert_eq!(
        choose(&[first.judged(), dollars.judged()], &at_least(1.0), &[]),
        Err(NoChoice::Currencies("EUR".to_owned(), "USD".to_owned()))
    );
}

#[test]
fn without_prices_or_figures_there_is_no_answer() {
    let free = Run::of("r", &[("free", 0.0, &[3200, 3210, 3190])]);
    assert_eq!(choose(&[free.judged()], &at_least(1.0), &[]), Err(NoChoice::NoPrices));
    let run = Run::of("r", &MARKET);
    let unknown = choose(&[run.judged()], &[want("seeks", Bound::AtLeast, 1.0)], &[]).unwrap_err();
    assert!(unknown.to_string().starts_with("no cell with a price has `seeks`; they have "), "{unknown}");
    assert_eq!(choose(&[run.judged()], &at_least(1.0), &["other".to_owned()]), Err(NoChoice::NoPrices));
}

#[test]
fn all_limits_must_be_kept() {
    let run = Run::of("r", &MARKET);
    let both = [want("iops", Bound::AtLeast, 100.0), want("bw", Bound::AtMost, 1e6)];
    let choice = choose(&[run.judged()], &both, &[]).unwrap();
    assert!(told(&choice).1.starts_with("small "), "{}", told(&choice).1);
    let none = [want("iops", Bound::AtLeast, 300.0), want("bw", Bound::AtMost, 1e6)];
    let choice = choose(&[run.judged()], &none, &[]).unwrap();
    assert_eq!(told(&choice).0, ChoiceOutcome::NoneDoes);
}
