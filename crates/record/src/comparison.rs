//! Comparisons of cells, within one run or between two runs, and whether one run is worse than another: what `compare` and `gate` report.
//!
//! In JSON this is the format [`COMPARISON_FORMAT`], documented in docs/formats.md.

use crate::finding::Severity;
use crate::id::{CellId, RunId};
use crate::judged::{RatioView, Relation};
pub use crate::named::{CellName, ComparedRun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of this document. Within a major version, fields are only added.
///
/// * 1.0: first.
/// * 1.1: `margin` of a line; `margins` and `missing` of the gate; `is_missing` of what was left out; the reason `unresolved`.
pub const COMPARISON_FORMAT: &str = "diskproof.comparison/1.1";

/// A comparison of cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "diskproof.comparison/1.1")]
pub struct Comparison {
    /// Name and version of this document: [`COMPARISON_FORMAT`] if this build wrote it.
    pub format: String,
    /// The run that is compared. Its cells are the numerators of the ratios.
    pub run: ComparedRun,
    /// The run that it is compared with. Its cells are the denominators; `None`: the cells of one run are compared with each other.
    pub baseline: Option<ComparedRun>,
    /// Whether the ratios are paired within rounds. Between two runs they are not.
    pub paired: bool,
    /// Confidence of every interval, and of all statements that cells differ together (Holm).
    pub confidence: f64,
    /// All comparisons.
    pub lines: Vec<ComparisonLine>,
    /// Differences between the runs besides the figures, most severe first; empty within one run.
    pub differences: Vec<Difference>,
    /// Cells that could not be compared, and why.
    pub left_out: Vec<LeftOut>,
    /// Whether the run is worse than its baseline; `None` when no gate was requested.
    pub gate: Option<Gate>,
    /// Version of diskproof and of its judge.
    pub judged_by: String,
}

/// One metric of two cells: the ratio `a` / `b`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonLine {
    /// The cell in the numerator: of the run that is compared.
    pub a: CellName,
    /// The cell in the denominator: of the baseline, or another cell of the same run.
    pub b: CellName,
    /// Name of the metric (docs/metrics.md).
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// Whether a lower value is better: latencies, costs.
    pub lower_is_better: bool,
    /// Estimate for `a`.
    pub a_estimate: f64,
    /// Estimate for `b`.
    pub b_estimate: f64,
    /// a / b; `None` when the cells have no common round.
    pub ratio: Option<RatioView>,
    /// Whether the cells differ, with all comparisons taken into account.
    pub relation: Relation,
    /// A difference above this is excluded, e.g. 0.03; `None` when none is excluded.
    pub excluded_difference: Option<f64>,
    /// The gate's result for this line; `None` when no gate was requested.
    pub gate: Option<Passage>,
    /// How much worse the figure may be, e.g. 0.05; `None` when no gate was requested.
    #[serde(default)]
    pub margin: Option<f64>,
    /// About how many more rounds, in each run, would decide; `None` when it is decided, or when no number would decide it.
    pub more_rounds: Option<u32>,
    /// The same in words.
    pub text: String,
}

/// A difference between the two runs besides the figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What differs, e.g. `kernel`, `workload.iodepth`.
    pub what: String,
    /// Where the difference lies: the machine, the plan, or the course of the runs.
    pub of: DifferenceOf,
    /// How much it matters: `void`: the figures can't be compared; `caveat`: this may explain a difference between the figures;
    /// `note`: worth knowing.
    pub severity: Severity,
    /// The cell, of the run that is compared; `None`: the difference concerns the whole run.
    pub cell: Option<CellId>,
    /// The baseline's value; `None`: not known.
    pub before: Option<String>,
    /// The run's value; `None`: not known.
    pub after: Option<String>,
    /// What the difference means.
    pub text: String,
}

/// Where a difference between two runs lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceOf {
    /// The machine and its software.
    Machine,
    /// What was built, which workloads ran, and how they were measured.
    Plan,
    /// The time of the runs, and how each of them went.
    Course,
}

/// A cell that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The run that the cell belongs to.
    pub run: RunId,
    /// The cell.
    pub cell: CellName,
    /// The reason.
    pub why: Absence,
    /// Whether a gate counts it as missing: the baseline has it, and the run hasn't.
    #[serde(default)]
    pub is_missing: bool,
    /// The same in words.
    pub text: String,
}

/// Why a cell could not be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// The cell has no measured trial.
    NotMeasured,
    /// The cell's figures are not storage figures.
    Void,
    /// There is no other cell to compare it with.
    Alone,
    /// The other run's cell has a different workload or stack.
    NotComparable,
    /// Too few I/Os of a trial lie beyond a percentile, so it isn't judged. The cell's other figures are compared.
    Unresolved,
}

/// Whether a run is worse than its baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// The margin of rates, e.g. 0.05: they may fall to 0.95 times those of the baseline.
    pub margin: f64,
    /// All margins, by the figures that they hold for: `rate`, `latency`, `cpu`, `other`, or the name of a metric.
    #[serde(default)]
    pub margins: BTreeMap<String, f64>,
    /// Number of cells that the baseline has figures of and the run hasn't, and of single figures that are missing from a cell. If there are
    /// any, the gate doesn't pass, unless it was asked to allow that.
    #[serde(default)]
    pub missing: u64,
    /// The result of all lines together.
    pub passage: Passage,
    /// The same in words.
    pub text: String,
}

/// The result of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Passage {
    /// No regression, and one of twice the margin is excluded.
    Pass,
    /// No regression is shown, and one of twice the margin isn't excluded.
    Undecided,
    /// Shown to be worse, with all comparisons taken into account, and the estimate is worse by more than the margin.
    Regression,
}
