//! Compares cells: those of one run, paired within rounds, or those of two runs.

mod environment;
pub(crate) mod gate;
pub(crate) mod history;
pub(crate) mod judged;
pub(crate) mod margins;
mod matching;
mod plans;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod usual;

use crate::direction::Direction;
use crate::effect::placed;
use crate::factors::Shared;
use crate::judge::JUDGE;
use crate::pairing::{FamilyMember, Level, Rivals, family, most_trials};
use judged::{Judged, Usual, Wanted, name};
use record::comparison::{
    Absence, COMPARISON_FORMAT, ComparedRun, Comparison, ComparisonLine, DifferenceOf, LeftOut,
};
use record::finding::Severity;
use record::id::CellId;
use record::judged::{CellView, RunView};
use record::plan::Plan;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use usual::Figures;

/// Two cells and the compared metrics.
struct Pair<'a> {
    a: &'a CellView,
    b: &'a CellView,
    metrics: Vec<String>,
}

/// The levels of each cell, with the names of stack and workload as factors.
type Levels<'a> = BTreeMap<&'a CellId, BTreeMap<&'a str, String>>;

fn factors<'a>(run: &Judged<'a>) -> Levels<'a> {
    let cells = placed(run.plan, &Shared::among(run.plan), &run.view.cells);
    cells.into_iter().map(|cell| (&cell.view.id, cell.levels)).collect()
}

fn differ_only_in(
    factor: &str,
    a: Option<&BTreeMap<&str, String>>,
    b: Option<&BTreeMap<&str, String>>,
) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let names: BTreeSet<&str> = a.keys().chain(b.keys()).copied().collect();
    let differ: Vec<&str> = names.into_iter().filter(|name| a.get(name) != b.get(name)).collect();
    differ == [factor] && a.contains_key(factor) && b.contains_key(factor)
}

/// Returns the factors along which the cells of a run can be compared, with `stack` and `workload`.
#[must_use]
pub fn factors_of(run: &Judged<'_>) -> BTreeSet<String> {
    factors(run).into_values().flat_map(BTreeMap::into_keys).map(str::to_owned).collect()
}

/// Compares the cells of one run: every two of a workload, or every two that differ in one factor.
#[must_use]
pub fn within(run: &Judged<'_>, wanted: &Wanted) -> Comparison {
    let view = run.view;
    let (cells, mut left_out) = usable(run, wanted);
    let mut pairs = Vec::new();
    let along = wanted.along.as_deref().map(|factor| (factor, factors(run)));
    let are_rivals = |a: &CellView, b: &CellView| match &along {
        None => a.workload == b.workload,
        Some((factor, levels)) => differ_only_in(factor, levels.get(&a.id), levels.get(&b.id)),
    };
    for (i, a) in cells.iter().enumerate() {
        for b in cells.iter().skip(i + 1).filter(|b| are_rivals(a, b)) {
            pairs.push(Pair { a, b, metrics: Figures::beside(run, a, &[*b], wanted).common(b) });
        }
    }
    let alone = |c: &&CellView| !pairs.iter().any(|p| p.a.id == c.id || p.b.id == c.id);
    left_out.extend(cells.iter().copied().filter(alone).map(|c| LeftOut {
        run: view.run.clone(),
        cell: name(c),
        why: Absence::Alone,
        is_missing: false,
        text: match &along {
            None => "no other cell of this workload".to_owned(),
            Some((factor, _)) => format!("no other cell differs from it in {factor} alone"),
        },
    }));
    let level = Level::of([(&view.measure, most_trials(&view.cells))]);
    let seconds = view.measure.trial_seconds;
    let rivals = |p: &Pair<'_>, metric: &str| Rivals::paired(p.a, p.b, metric, seconds);
    let lines = lines(run.plan, &pairs, &level, rivals, None);
    Comparison {
        format: COMPARISON_FORMAT.to_owned(),
        run: compared(view),
        baseline: None,
        paired: true,
        confidence: level.confidence,
        lines: lines.into_iter().map(|(line, _)| line).collect(),
        differences: Vec::new(),
        left_out,
        gate: None,
        judged_by: JUDGE.to_owned(),
    }
}

/// Compares a run with a baseline, cell by cell.
#[must_use]
pub fn between(run: &Judged<'_>, baseline: &Judged<'_>, wanted: &Wanted) -> Comparison {
    measured_between(run, baseline, wanted).0
}

/// The same, with the statistics of each line.
fn measured_between(
    run: &Judged<'_>,
    baseline: &Judged<'_>,
    wanted: &Wanted,
) -> (Comparison, Vec<FamilyMember>, Level) {
    let ((above, left_above), (below, left_below)) = (usable(run, wanted), usable(baseline, wanted));
    let matched = matching::pairs(&above, &below);
    let mut left_out: Vec<LeftOut> = left_above.into_iter().chain(left_below).collect();
    left_out.extend(matching::unmatched(run.view, &above, baseline.view, &below, &matched));
    let mut differences = environment::differences(run.view, baseline.view);
    differences.extend(plans::of_runs(run.plan, baseline.plan));
    differences.extend(environment::course(run.view, baseline.view));
    let mut pairs = Vec::new();
    for (a, b) in matched {
        let own = plans::of_cells(run, a, baseline, b);
        match own.iter().find(|d| d.severity == Severity::Void) {
            Some(first) => left_out.push(LeftOut {
                run: run.view.run.clone(),
                cell: name(a),
                why: Absence::NotComparable,
                is_missing: false,
                text: format!("not comparable: {}", first.text),
            }),
            None => {
                let (metrics, absent) = figures(run, a, baseline, b, wanted);
                left_out.extend(absent);
                pairs.push(Pair { a, b, metrics });
            }
        }
        differences.extend(own);
    }
    let mut differences = plans::summed_up(differences);
    differences.sort_by_key(|d| (Reverse(d.severity), d.of, d.cell.is_some()));
    let measures = [run, baseline].map(|r| (&r.view.measure, most_trials(&r.view.cells)));
    let level = Level::of(measures);
    let seconds = (run.view.measure.trial_seconds, baseline.view.measure.trial_seconds);
    let rivals = |p: &Pair<'_>, metric: &str| Rivals::apart(p.a, p.b, metric, seconds);
    let (lines, told) = lines(run.plan, &pairs, &level, rivals, Some("the baseline")).into_iter().unzip();
    let comparison = Comparison {
        format: COMPARISON_FORMAT.to_owned(),
        run: compared(run.view),
        baseline: Some(compared(baseline.view)),
        paired: false,
        confidence: level.confidence,
        lines,
        differences,
        left_out,
        gate: None,
        judged_by: JUDGE.to_owned(),
    };
    (comparison, told, level)
}

fn lines(
    plan: &Plan,
    pairs: &[Pair<'_>],
    level: &Level,
    rivals: impl Fn(&Pair<'_>, &str) -> Rivals,
    other: Option<&str>,
) -> Vec<(ComparisonLine, FamilyMember)> {
    let asked: Vec<(&Pair<'_>, &String)> =
        pairs.iter().flat_map(|p| p.metrics.iter().map(move |m| (p, m))).collect();
    let figures: Vec<Rivals> = asked.iter().map(|(p, m)| rivals(p, m)).collect();
    let told = family(&figures, level);
    let one = |((pair, metric), told): ((&Pair<'_>, &String), FamilyMember)| {
        let (a, b) = (pair.a.metrics.get(metric)?, pair.b.metrics.get(metric)?);
        let above = if pair.a.target == pair.b.target {
            pair.a.stack.clone()
        } else {
            format!("{} on {}", pair.a.stack, pair.a.target)
        };
        let below = other.map_or_else(|| pair.b.stack.clone(), str::to_owned);
        let same_workload = pair.a.workload == pair.b.workload;
        let [above, below] = match other {
            None if !same_workload => {
                [format!("{above} {}", pair.a.workload), format!("{below} {}", pair.b.workload)]
            }
            _ => [above, below],
        };
        let line = ComparisonLine {
            a: name(pair.a),
            b: name(pair.b),
            metric: metric.clone(),
            unit: a.unit.clone(),
            lower_is_better: !Direction::of(plan, metric).is_higher(),
            a_estimate: a.estimate,
            b_estimate: b.estimate,
            ratio: told.view(),
            relation: told.relation,
            excluded_difference: told.excluded(),
            gate: None,
            margin: None,
            more_rounds: None,
            text: told.text(&above, &below, ""),
        };
        Some((line, told))
    };
    asked.into_iter().zip(told).filter_map(one).collect()
}

/// The selected cells with storage figures, and those without.
fn usable<'a>(run: &Judged<'a>, wanted: &Wanted) -> (Vec<&'a CellView>, Vec<LeftOut>) {
    let asked = |names: &[String], name: &String| names.is_empty() || names.contains(name);
    let cells = run.view.cells.iter();
    let mut cells: Vec<&CellView> =
        cells.filter(|c| asked(&wanted.stacks, &c.stack) && asked(&wanted.workloads, &c.workload)).collect();
    // In the order of the named stacks: the first is the numerator.
    cells.sort_by_key(|c| wanted.stacks.iter().position(|s| *s == c.stack));
    let (sound, unsound): (Vec<&CellView>, Vec<&CellView>) =
        cells.into_iter().partition(|c| !c.void && !c.metrics.is_empty());
    let left_out = unsound.into_iter().map(|c| {
        let (why, text) = if c.metrics.is_empty() {
            (Absence::NotMeasured, "nothing was measured")
        } else {
            (Absence::Void, "its figures are not storage figures; its findings say why")
        };
        LeftOut { run: run.view.run.clone(), cell: name(c), why, is_missing: false, text: text.to_owned() }
    });
    (sound, left_out.collect())
}

/// The compared figures of the same cell in two runs, and those that are left out.
fn figures(
    run: &Judged<'_>,
    a: &CellView,
    baseline: &Judged<'_>,
    b: &CellView,
    wanted: &Wanted,
) -> (Vec<String>, Vec<LeftOut>) {
    match wanted.usual {
        Usual::Compared => (Figures::beside(run, a, &[b], wanted).common(b), Vec::new()),
        Usual::Gated => usual::gated(run, a, baseline, b, wanted),
    }
}

fn compared(view: &RunView) -> ComparedRun {
    ComparedRun { run: view.run.clone(), experiment: view.experiment.clone() }
}

/// Whether the machines differ so much that figures can't be compared.
#[must_use]
pub fn other_machine(comparison: &Comparison) -> bool {
    comparison.differences.iter().any(|d| d.of == DifferenceOf::Machine && d.severity == Severity::Void)
}
