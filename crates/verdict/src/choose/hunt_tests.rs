//! Runs with `until: { best: price }`: their answer, and what they say of it.

use crate::input::Input;
use crate::judge::judge;
use crate::run_tests::cell;
use crate::testing::measure;
use record::choice::ChoiceOutcome;
use record::environment::Environment;
use record::event::Stopped;
use record::id::RunId;
use record::judged::RunView;
use record::plan::{Bound, Goal, Plan, Until, Want};
use record::volume::{Limits, Volume, VolumeKind};

const FEW: [u64; 4] = [3200, 3210, 3190, 3205];
const ENOUGH: [u64; 6] = [6400, 6410, 6390, 6405, 6400, 6395];

/// Judges a run that looked for the cheapest cell with this many IOPS. Each cell stands on a volume of its own, at its price in EUR a
/// month; 20 reads are 1 IOPS.
fn judged(cells: &[(&str, f64, &[u64])], iops: f64, stopped: &Stopped) -> RunView {
    let mut all = Vec::new();
    let mut trials = Vec::new();
    for (name, _, ios) in cells {
        let (mut cell, made) = cell(name, ios);
        let kind = VolumeKind::Emulate { size_bytes: 1 << 30, limits: Limits::default() };
        cell.stack.volumes = vec![Volume { name: (*name).to_owned(), kind }];
        all.push(cell);
        trials.extend(made);
    }
    let mut plan = Plan { seed: 1, ..Plan::new("test".to_owned(), all, measure(30)) };
    let want = Want {
        of: "iops".to_owned(),
        bound: Bound::AtLeast,
        value: iops,
        written: format!("iops >= {iops}"),
    };
    plan.measure.until =
        Some(Until { wants: vec![want], ..Until::new(Goal::Cheapest, Some("iops".to_owned())) });
    plan.prices.currency = Some("EUR".to_owned());
    plan.prices.per_hour = cells.iter().map(|(name, price, _)| ((*name).to_owned(), price / 730.0)).collect();
    judge(&Input {
        run: &RunId("r".to_owned()),
        plan: &plan,
        environment: &Environment::default(),
        volumes: &[],
        trials: &trials,
        stopped,
    })
}

#[test]
fn the_answer_and_what_it_took_are_told() {
    let market: [(&str, f64, &[u64]); 3] =
        [("small", 4.0, &FEW), ("middle", 8.0, &ENOUGH), ("large", 14.0, &[])];
    let view = judged(&market, 300.0, &Stopped::Enough { rounds: 7 });
    let choice = view.choice.as_ref().unwrap();
    let answer = &choice.answers[0];
    assert_eq!(answer.outcome, ChoiceOutcome::Chosen, "{}", answer.text);
    assert!(
        answer.text.starts_with(
            "middle (8.00 EUR a month) is the cheapest that meets the limits; the cheaper one is shown not to meet them"
        ),
        "{}",
        answer.text
    );
    assert_eq!(choice.left_out[0].text, "not measured: no cheaper than the answer");
    assert!(choice.sequential);
    let reached = view.reached.as_ref().unwrap();
    assert!(reached.all);
    assert_eq!(
        reached.text,
        "the answer took 6 rounds with 10 trials of the 18 trials of all cells in all rounds"
    );
    // The interval of the figure is wider than Student's, which doesn't hold when the figure itself ends the run.
    let metric = &view.cells[1].metrics["iops"];
    let plain = stats::mean_t(&metric.values, 0.95).unwrap();
    assert!(metric.low.unwrap() < plain.low && metric.high.unwrap() > plain.high);
}

/// Four trials show that a limit is broken, and not that it is kept: the answer looks with the rule of the run.
#[test]
fn the_answer_agrees_with_the_rule_that_ended_the_run() {
    let early: [(&str, f64, &[u64]); 2] = [("small", 4.0, &FEW), ("middle", 8.0, &ENOUGH[..5])];
    let view = judged(&early, 300.0, &Stopped::RoundsDone { rounds: 5 });
    assert_eq!(view.choice.as_ref().unwrap().answers[0].outcome, ChoiceOutcome::Open);
    let reached = view.reached.unwrap();
    assert!(!reached.all && reached.text.ends_with("undecided for randread"), "{}", reached.text);
    assert_eq!(reached.open.len(), 1);
}

#[test]
fn where_none_does_the_nearest_is_named_and_the_run_is_done() {
    let view = judged(&[("small", 4.0, &FEW)], 300.0, &Stopped::Enough { rounds: 4 });
    let answer = &view.choice.as_ref().unwrap().answers[0];
    assert_eq!(answer.outcome, ChoiceOutcome::NoneDoes);
    assert!(answer.text.contains("the nearest is small"), "{}", answer.text);
    assert!(view.reached.unwrap().all);
}
