//! Judges a run's records and makes one view.

use crate::cell::{self, CellJudgement};
use crate::choose::choose;
use crate::compare::judged::Judged;
use crate::input::Input;
use crate::sequential::{self, Means};
use crate::span::number;
use crate::{
    answer, contrast, course, detect, effect, emulated, expect, front, limit, mixed_rounds, model, outrank,
    reached, sweep,
};
use record::finding::{Finding, Severity};
use record::id::CellId;
use record::judged::{CellView, RUN_FORMAT, RunView, TrialCount};
use record::plan::Plan;
use record::trial::TrialRecord;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Name and version of these rules; a stored judgement of another version is made again.
pub const JUDGE: &str = concat!("diskproof ", env!("CARGO_PKG_VERSION"), ", judge 23");

/// Judges a run. Ignores trials of cells that aren't in the plan.
#[must_use]
pub fn judge(input: &Input<'_>) -> RunView {
    let plan = input.plan;
    let mut by_cell: BTreeMap<&CellId, Vec<&TrialRecord>> = BTreeMap::new();
    for trial in input.trials {
        by_cell.entry(&trial.id.cell).or_default().push(trial);
    }
    let mut made_again: BTreeMap<&CellId, Vec<&TrialRecord>> =
        by_cell.iter_mut().map(|(cell, trials)| (*cell, take_made_again(trials))).collect();
    let reached = reached::of(input, &by_cell);
    let made = sequential::rounds_made(input.trials);
    let mut cells = Vec::new();
    let mut findings = Vec::new();
    let mut rounds = Vec::new();
    let mut searches = Vec::new();
    for planned in &plan.cells {
        let trials = by_cell.remove(&planned.id).unwrap_or_default();
        let trials = sequential::without_pilots(plan, trials);
        let means = Means::of(plan, input.stopped, made, &trials);
        let CellJudgement { view, findings: found, rounds: own, search } =
            cell::judge(planned, &trials, input, &means);
        let again = made_again.remove(&planned.id).unwrap_or_default();
        let count = TrialCount { cut_off: number(again.len()), ..view.trials };
        findings.extend(detect::cut_off(planned, &again, count.done as usize));
        cells.push(CellView { trials: count, ..view });
        findings.extend(found);
        rounds.push(own);
        searches.extend(search);
    }
    mixed_rounds::apply(input, &mut cells, &mut findings);
    limit::resolve(plan, &mut cells);
    findings.extend(course::over_rounds(&rounds, &plan.measure));
    outrank::by_interference(&mut findings);
    model::name_limits(plan, &mut cells);
    let off_model = model::apply(input, &mut cells, &findings);
    findings.extend(off_model);
    let expectations = expect::check(plan, &cells);
    findings.extend(expect::findings(&expectations));
    sort(&mut findings, plan);
    let answers = answer::of(plan, &cells, &findings);
    let contrasts = contrast::of(plan, &cells, &findings);
    let sweeps = sweep::of(plan, &cells);
    let effects = effect::of(plan, &cells);
    let fronts = front::of(plan, &cells);
    let mut view = RunView {
        reached,
        choice: None,
        prices: plan.prices.clone(),
        fronts,
        format: RUN_FORMAT.to_owned(),
        run: input.run.clone(),
        experiment: plan.experiment.clone(),
        tags: Vec::new(),
        question: plan.question.clone(),
        parameters: plan.parameters.clone(),
        seed: plan.seed,
        measure: plan.measure.clone(),
        cells,
        findings,
        expectations,
        answers,
        contrasts,
        sweeps,
        effects,
        searches,
        stopped: input.stopped.clone(),
        environment: input.environment.clone(),
        emulated: emulated::guests(input),
        volumes: input.volumes.to_vec(),
        judged_by: JUDGE.to_owned(),
    };
    look_for_the_cheapest(input, &mut view);
    view
}

/// Takes out of a cell's trials, in the order of their rounds, those that were cut off and made again: one of each round is left.
fn take_made_again<'a>(trials: &mut Vec<&'a TrialRecord>) -> Vec<&'a TrialRecord> {
    // The order of measurement: a trial that was not cut off is the last one of its round.
    trials.sort_by_key(|trial| (trial.id.round, !trial.cut_off, trial.started_unix_ms));
    let rounds: Vec<u32> = trials.iter().map(|trial| trial.id.round).collect();
    let is_last = |place: usize| rounds.get(place + 1) != rounds.get(place);
    let all = std::mem::take(trials).into_iter().enumerate();
    let (left, again): (Vec<_>, Vec<_>) = all.partition(|(place, trial)| !trial.cut_off || is_last(*place));
    trials.extend(left.into_iter().map(|(_, trial)| trial));
    again.into_iter().map(|(_, trial)| trial).collect()
}

/// Adds the answer of a run that looked for the cheapest cell that keeps limits.
fn look_for_the_cheapest(input: &Input<'_>, view: &mut RunView) {
    let wants = input.plan.measure.until.as_ref().and_then(|until| until.cheapest_with());
    let Some(wants) = wants.filter(|_| !input.trials.is_empty()) else { return };
    match choose(&[Judged { plan: input.plan, view }], wants, &[]) {
        Ok(found) => {
            view.reached = Some(reached::of_cheapest(input, &found));
            view.choice = Some(found);
        }
        Err(why) => view.reached = Some(reached::without_answer(input, &why)),
    }
}

/// Sorts findings: the worst first, then by claim, then in the order of the plan's cells.
fn sort(findings: &mut [Finding], plan: &Plan) {
    let place: BTreeMap<&CellId, usize> = plan.cells.iter().enumerate().map(|(i, c)| (&c.id, i)).collect();
    findings.sort_by_key(|f: &Finding| -> (Reverse<Severity>, _, _) {
        (Reverse(f.severity), f.claim, place.get(&f.cell).copied())
    });
}
