//! Whether a run is worse than its baseline by more than a margin.

use super::judged::{Judged, Wanted};
use super::measured_between;
use crate::figures::{counted, percent};
use crate::pairing::{FamilyMember, Level};
use record::comparison::{Absence, Comparison, ComparisonLine, Gate, LeftOut, Passage};
use record::judged::RunView;
use stats::{RatioEstimate, holm};

/// Checks a run against its baseline: which figures are worse by more than `margin` (0.05: 5 %), corrected for all figures.
///
/// *Regression*: a figure's whole interval lies beyond the margin on the bad side, with Holm's adjustment over all figures. *Pass*: for
/// every figure the interval excludes a regression beyond the margin (an intersection-union test, so no adjustment: Berger 1982,
/// Technometrics 24:295-300).
#[must_use]
pub fn gate(run: &Judged<'_>, baseline: &Judged<'_>, wanted: &Wanted, margin: f64) -> Comparison {
    let (mut comparison, told, level) = measured_between(run, baseline, wanted);
    let tests: Vec<Option<Test>> = comparison
        .lines
        .iter()
        .zip(&told)
        .map(|(line, told)| told.estimate.map(|e| Test::new(line, told, e, margin)))
        .collect();
    let p_values: Vec<f64> = tests.iter().flatten().map(Test::p_worse).collect();
    let mut adjusted = holm(&p_values).into_iter();
    for (line, test) in comparison.lines.iter_mut().zip(&tests) {
        let p = test.as_ref().and_then(|_| adjusted.next());
        let passage = passage(test.as_ref(), p, &level);
        line.gate = Some(passage);
        line.more_rounds =
            test.as_ref().filter(|_| passage == Passage::Undecided).and_then(Test::more_rounds);
    }
    comparison.gate = Some(all(&comparison, run.view, margin));
    comparison
}

/// The test of one figure against the margin.
struct Test {
    estimate: RatioEstimate,
    /// The margin as a logarithm of the ratio.
    edge: f64,
    lower_is_better: bool,
    resolution: f64,
}

impl Test {
    fn new(line: &ComparisonLine, told: &FamilyMember, estimate: RatioEstimate, margin: f64) -> Self {
        let edge = if line.lower_is_better { margin.ln_1p() } else { (-margin).ln_1p() };
        Self { estimate, edge, lower_is_better: line.lower_is_better, resolution: told.resolution }
    }

    /// The p-value of the hypothesis "it isn't worse by more than the margin".
    fn p_worse(&self) -> f64 {
        if self.lower_is_better {
            self.estimate.p_above(self.edge + self.resolution)
        } else {
            self.estimate.p_below(self.edge - self.resolution)
        }
    }

    /// The p-value of the hypothesis "it is worse by the margin or more".
    fn p_not_worse(&self) -> f64 {
        if self.lower_is_better {
            self.estimate.p_below(self.edge - self.resolution)
        } else {
            self.estimate.p_above(self.edge + self.resolution)
        }
    }

    fn more_rounds(&self) -> Option<u32> {
        let distance = (self.estimate.log_mean - self.edge).abs() - self.resolution;
        let all = self.estimate.rounds_to_tell(distance.max(0.0))?;
        let have = u32::try_from(self.estimate.n).unwrap_or(u32::MAX);
        Some(all.saturating_sub(have).max(1))
    }
}

/// Decides one figure; each side of a two-sided interval has half of the error.
fn passage(test: Option<&Test>, p_adjusted: Option<f64>, level: &Level) -> Passage {
    let half = level.error() / 2.0;
    match (test, p_adjusted) {
        (Some(_), Some(p)) if p <= half => Passage::Regression,
        (Some(test), _) if test.p_not_worse() <= half => Passage::Pass,
        _ => Passage::Undecided,
    }
}

fn all(comparison: &Comparison, run: &RunView, margin: f64) -> Gate {
    let count = |p: Passage| comparison.lines.iter().filter(|l| l.gate == Some(p)).count() as u64;
    let (worse, open, lines) =
        (count(Passage::Regression), count(Passage::Undecided), comparison.lines.len() as u64);
    let lost = lost(comparison, run);
    let beyond = percent(margin);
    let figures = counted(lines, "figure");
    let (passage, text) = if worse > 0 {
        (Passage::Regression, format!("{worse} of {figures} got worse by more than {beyond}"))
    } else if lines == 0 {
        (Passage::Undecided, "no figure could be compared".to_owned())
    } else if open > 0 {
        (
            Passage::Undecided,
            format!("{open} of {figures} may be worse by more than {beyond}{}", rounds(comparison)),
        )
    } else if lost > 0 {
        let cells = counted(lost, "cell");
        (
            Passage::Undecided,
            format!(
                "{cells} of the run could not be compared; {figures} did not get worse by more than {beyond}"
            ),
        )
    } else {
        (Passage::Pass, format!("it is excluded that any of {figures} got worse by more than {beyond}"))
    };
    Gate { margin, passage, text }
}

/// The number of cells that could not be compared although the baseline has figures of them.
fn lost(comparison: &Comparison, run: &RunView) -> u64 {
    let (own, others): (Vec<&LeftOut>, Vec<&LeftOut>) =
        comparison.left_out.iter().filter(|l| l.why != Absence::Alone).partition(|l| l.run == run.run);
    let name = |l: &LeftOut| (l.cell.target.clone(), l.cell.stack.clone(), l.cell.workload.clone());
    own.iter().filter(|l| !others.iter().any(|o| name(o) == name(l))).count() as u64
}

/// The number of rounds that would decide the open figures, in words.
fn rounds(comparison: &Comparison) -> String {
    let open = || comparison.lines.iter().filter(|l| l.gate == Some(Passage::Undecided));
    let most = open().filter_map(|l| l.more_rounds).max();
    let never = open().any(|l| l.more_rounds.is_none());
    match most {
        Some(rounds) => {
            let all = if never { ", and some lie on the margin or have one round only" } else { "" };
            format!("; about {} in each run would decide{all}", counted(u64::from(rounds), "more round"))
        }
        None => "; it lies on the margin, or there is one round only".to_owned(),
    }
}
