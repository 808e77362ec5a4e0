//! Whether a run is worse than its baseline by more than a margin.

use super::judged::{Judged, Wanted};
use super::margins::{Margins, weight};
use super::measured_between;
use crate::figures::{counted, percent};
use crate::pairing::FamilyMember;
use record::comparison::{Absence, Comparison, ComparisonLine, Gate, LeftOut, Passage};
use record::id::RunId;
use stats::{GateOutcome, GatedFigure};

/// How a run is checked.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// How much worse a figure may be.
    pub margins: Margins,
    /// Whether a run passes although figures of the baseline are missing from it.
    pub allows_missing: bool,
}

/// Checks a run against its baseline: which figures are worse by more than their margin, corrected for all figures. The rule is
/// [`stats::gate`]; figures that are missing leave it undecided.
#[must_use]
pub fn gate(run: &Judged<'_>, baseline: &Judged<'_>, wanted: &Wanted, rules: &Rules) -> Comparison {
    let (mut comparison, told, level) = measured_between(run, baseline, wanted);
    let figures: Vec<Option<GatedFigure>> =
        comparison.lines.iter().zip(&told).map(|(line, told)| figure(line, told, &rules.margins)).collect();
    let known: Vec<GatedFigure> = figures.iter().flatten().copied().collect();
    let mut outcomes = stats::gate(&known, level.error()).into_iter();
    for (line, figure) in comparison.lines.iter_mut().zip(&figures) {
        let passage = figure.and_then(|_| outcomes.next()).map_or(Passage::Undecided, passage);
        line.gate = Some(passage);
        line.margin = Some(rules.margins.of(&line.metric));
        let open = figure.filter(|_| passage == Passage::Undecided);
        line.more_rounds = open.and_then(|figure| figure.more_rounds());
    }
    mark_missing(&mut comparison.left_out, &run.view.run);
    comparison.gate = Some(all(&comparison, rules));
    comparison
}

/// A line as the rule takes it; `None` if there is nothing to compare.
fn figure(line: &ComparisonLine, told: &FamilyMember, margins: &Margins) -> Option<GatedFigure> {
    let estimate = told.estimate?;
    let margin = margins.of(&line.metric);
    let (worse, margin) = if line.lower_is_better {
        (estimate, margin.ln_1p())
    } else {
        (estimate.turned(), -(-margin).ln_1p())
    };
    Some(GatedFigure { worse, margin, resolution: told.resolution, weight: weight(&line.metric) })
}

fn passage(outcome: GateOutcome) -> Passage {
    match outcome {
        GateOutcome::Pass => Passage::Pass,
        GateOutcome::Undecided => Passage::Undecided,
        GateOutcome::Regression => Passage::Regression,
    }
}

fn all(comparison: &Comparison, rules: &Rules) -> Gate {
    let count = |p: Passage| comparison.lines.iter().filter(|l| l.gate == Some(p)).count() as u64;
    let (worse, open, lines) =
        (count(Passage::Regression), count(Passage::Undecided), comparison.lines.len() as u64);
    let missing = comparison.left_out.iter().filter(|left| left.is_missing).count() as u64;
    let figures = counted(lines, "figure");
    let beyond = beyond(comparison);
    let (passage, text) = if worse > 0 {
        (Passage::Regression, format!("{worse} of {figures} got worse by more than {beyond}"))
    } else if lines == 0 {
        (Passage::Undecided, "no figure could be compared".to_owned())
    } else if missing > 0 && !rules.allows_missing {
        let lacks =
            if missing == 1 { "1 cell or figure".to_owned() } else { format!("{missing} cells or figures") };
        let text = format!(
            "the run lacks {lacks} of the baseline (--allow-missing accepts that); none of the other {figures} is shown to be worse by more than {beyond}"
        );
        (Passage::Undecided, text)
    } else if open > 0 {
        let text = format!(
            "none of {figures} is shown to be worse by more than {beyond}, but the rounds can't exclude twice that for {open} of them{}",
            rounds(comparison)
        );
        (Passage::Undecided, text)
    } else {
        (
            Passage::Pass,
            format!("none of {figures} got worse by more than {beyond}, and twice that is excluded"),
        )
    };
    Gate { margin: rules.margins.of("iops"), margins: rules.margins.all(), missing, passage, text }
}

/// The margin in words: one figure, if all lines have the same.
fn beyond(comparison: &Comparison) -> String {
    let mut margins: Vec<f64> = comparison.lines.iter().filter_map(|l| l.margin).collect();
    margins.sort_by(f64::total_cmp);
    margins.dedup();
    match margins[..] {
        [one] => percent(one),
        _ => "its margin".to_owned(),
    }
}

/// Marks the cells and figures that the baseline has and the run hasn't. What only this run has is no loss, and neither is a cell without storage
/// figures in both.
fn mark_missing(left_out: &mut [LeftOut], run: &RunId) {
    let name = |l: &LeftOut| (l.cell.target.clone(), l.cell.stack.clone(), l.cell.workload.clone());
    let others: Vec<_> = left_out.iter().filter(|l| l.run != *run).map(name).collect();
    for left in left_out.iter_mut().filter(|l| l.why != Absence::Unresolved) {
        let is_alone = left.why == Absence::Alone;
        left.is_missing =
            if left.run == *run { !is_alone && !others.contains(&name(left)) } else { is_alone };
    }
}

/// The number of rounds that would decide the open figures, in words.
fn rounds(comparison: &Comparison) -> String {
    let open = || comparison.lines.iter().filter(|l| l.gate == Some(Passage::Undecided));
    let most = open().filter_map(|l| l.more_rounds).max();
    let never = open().any(|l| l.more_rounds.is_none());
    match most {
        Some(rounds) => {
            let all = if never { ", and some have one round only, or lie on a margin" } else { "" };
            format!("; about {} in each run would decide{all}", counted(u64::from(rounds), "more round"))
        }
        None => "; there is one round only, or they lie on a margin".to_owned(),
    }
}
