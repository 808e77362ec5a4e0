//! Judges a run's records and makes one view.

use crate::cell::{self, CellJudgement};
use crate::choose::choose;
use crate::compare::judged::Judged;
use crate::input::Input;
use crate::sequential::{self, Means};
use crate::{
    answer, contrast, course, effect, emulated, expect, front, limit, mixed_rounds, model, outrank, reached,
    sweep,
};
use record::finding::{Finding, Severity};
use record::id::CellId;
use record::judged::{RUN_FORMAT, RunView};
use record::plan::Plan;
use record::trial::TrialRecord;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Name and version of these rules; a stored judgement of another version is made again.
pub const JUDGE: &str = concat!("diskproof ", env!("CARGO_PKG_VERSION"), ", judge 21");

/// Judges a run. Ignores trials of cells that aren't in the plan.
#[must_use]
pub fn judge(input: &Input<'_>) -> RunView {
    let plan = input.plan;
    let mut by_cell: BTreeMap<&CellId, Vec<&TrialRecord>> = BTreeMap::new();
    for trial in input.trials {
        by_cell.entry(&trial.id.cell).or_default().push(trial);
    }
    for trials in by_cell.values_mut() {
        trials.sort_by_key(|t| t.id.round);
    }
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
        cells.push(view);
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
