//! Cells side by side, of one run or of two, and whether one run is worse than another: what `compare` and `gate` say.
//!
//! In JSON this is the format [`COMPARISON_FORMAT`], documented in docs/formats.md.

use crate::finding::Severity;
use crate::id::{CellId, RunId};
use crate::judged::{RatioView, Relation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of this document. Fields are only added within a major.
///
/// * 1.0: first.
pub const COMPARISON_FORMAT: &str = "diskproof.comparison/1.0";

/// Cells compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "diskproof.comparison/1.0")]
pub struct Comparison {
    /// Always [`COMPARISON_FORMAT`] when this build wrote it.
    pub format: String,
    /// The run that is compared: its cells stand above the line.
    pub run: ComparedRun,
    /// The run it is compared with: its cells stand below the line; `None`: cells of one run are compared.
    pub baseline: Option<ComparedRun>,
    /// Whether the ratios are paired within rounds; between two runs they can't be.
    pub paired: bool,
    /// Confidence of every interval, and of all that are told apart together (Holm).
    pub confidence: f64,
    /// All comparisons.
    pub lines: Vec<ComparisonLine>,
    /// What differs between the runs beside what was measured, the most grave first; empty within one run.
    pub differences: Vec<Difference>,
    /// Cells that could not be compared, and why.
    pub left_out: Vec<LeftOut>,
    /// Whether the run is worse than its baseline; `None` when that wasn't asked.
    pub gate: Option<Gate>,
    /// Who judged.
    pub judged_by: String,
}

/// A run that takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// The run.
    pub run: RunId,
    /// Its experiment's name.
    pub experiment: String,
}

/// A cell by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellName {
    /// Its identity.
    pub id: CellId,
    /// Machine it ran on.
    pub target: String,
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// Levels of all factors.
    pub levels: BTreeMap<String, String>,
}

/// One metric of two cells: `a` over `b`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonLine {
    /// The cell above the line: of the run that is compared.
    pub a: CellName,
    /// The cell below the line: of the baseline, or another one of the same run.
    pub b: CellName,
    /// Metric compared.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Whether less of it is better: latencies, costs.
    pub lower_is_better: bool,
    /// Estimate of `a`.
    pub a_estimate: f64,
    /// Estimate of `b`.
    pub b_estimate: f64,
    /// a / b; `None` when they have no common round.
    pub ratio: Option<RatioView>,
    /// What can be said, all comparisons together.
    pub relation: Relation,
    /// A difference above this is excluded, e.g. 0.03; `None` when nothing is.
    pub excluded_difference: Option<f64>,
    /// What the gate makes of it; `None` when nobody asked.
    pub gate: Option<Passage>,
    /// About how many more rounds, in each run, would decide; `None` when it is decided, or no number would.
    pub more_rounds: Option<u32>,
    /// The same in words.
    pub text: String,
}

/// Something that isn't the same in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What differs, e.g. `kernel`, `workload.iodepth`.
    pub what: String,
    /// Whether it is of the machine, or of what was to be measured.
    pub of: DifferenceOf,
    /// How much it matters: `void`, the figures can't be compared; `caveat`, a difference between them may come from this; `note`, worth
    /// knowing.
    pub severity: Severity,
    /// The cell of the run that is compared; `None`: it is the whole run's.
    pub cell: Option<CellId>,
    /// As the baseline has it; `None`: not known there.
    pub before: Option<String>,
    /// As the run has it; `None`: not known there.
    pub after: Option<String>,
    /// What that means.
    pub text: String,
}

/// What a difference is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceOf {
    /// The machine and its software.
    Machine,
    /// What was built and asked, and how it was measured.
    Plan,
    /// That the runs were made at different times, and how each went.
    Course,
}

/// A cell that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The run it is of.
    pub run: RunId,
    /// The cell.
    pub cell: CellName,
    /// Why.
    pub why: Absence,
    /// The same in words.
    pub text: String,
}

/// Why a cell could not be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// Nothing of it was measured.
    NotMeasured,
    /// Its figures are no storage figures.
    Void,
    /// There is no other cell to compare it with.
    Alone,
    /// The other run's cell was asked something else.
    NotComparable,
}

/// Whether a run is worse than its baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// What still counts as no regression, e.g. 0.05: rates down to 0.95 times the baseline's, latencies up to 1.05 times.
    pub margin: f64,
    /// All lines together.
    pub passage: Passage,
    /// The same in words.
    pub text: String,
}

/// What a gate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Passage {
    /// A regression beyond the margin is excluded.
    Pass,
    /// The data exclude neither.
    Undecided,
    /// Worse by more than the margin, all comparisons accounted for.
    Regression,
}
