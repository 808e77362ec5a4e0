//! The cheapest measured cell that does what is wanted: what `choose` reports.
//!
//! In JSON this is the format [`CHOICE_FORMAT`], documented in docs/formats.md.

use crate::id::RunId;
use crate::named::{CellName, ComparedRun};
pub use crate::want::Want;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of this document. Within a major version, fields are only added.
pub const CHOICE_FORMAT: &str = "diskproof.choice/1.0";

/// The cheapest cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "diskproof.choice/1.0")]
pub struct Choice {
    /// Name and version of this document: [`CHOICE_FORMAT`] if this build wrote it.
    pub format: String,
    /// What is wanted.
    pub wants: Vec<Want>,
    /// The runs that the cells were measured in.
    pub runs: Vec<ComparedRun>,
    /// Currency of all prices; `None`: the experiments don't say.
    pub currency: Option<String>,
    /// Confidence of each answer, with all its statements together, e.g. 0.95.
    pub confidence: f64,
    /// One answer per workload.
    pub answers: Vec<ChoiceAnswer>,
    /// Whether a run looked for this answer while it measured (`until: { best: price }`): then the intervals hold at any number of trials.
    #[serde(default)]
    pub sequential: bool,
    /// Cells that were not considered.
    pub left_out: Vec<ChoiceLeftOut>,
    /// Version of diskproof and of its judge.
    pub judged_by: String,
}

/// The answer for one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChoiceAnswer {
    /// Name of the workload.
    pub workload: String,
    /// The answer.
    pub outcome: ChoiceOutcome,
    /// All cells, the cheapest first.
    pub candidates: Vec<Candidate>,
    /// The answer in words.
    pub text: String,
}

/// Whether there is a cheapest cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceOutcome {
    /// There is one, and each cheaper cell is shown not to do.
    Chosen,
    /// No cell does.
    NoneDoes,
    /// A cell is shown to do, and a cheaper one may do, too.
    ChosenSoFar,
    /// No cell is shown to do, and at least one may do.
    Open,
}

/// A cell that may be chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// The run.
    pub run: RunId,
    /// The cell.
    pub cell: CellName,
    /// Price of all its volumes in a month of 730 hours.
    pub per_month: f64,
    /// Whether it does what is wanted.
    pub does: Does,
    /// Whether it is the answer.
    pub chosen: bool,
    /// The wanted figures, in the order of the limits.
    pub figures: Vec<CandidateFigure>,
}

/// A wanted figure of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateFigure {
    /// Name of the metric.
    pub of: String,
    /// The metric's unit.
    pub unit: String,
    /// The mean over trials; `None`: the cell doesn't have the metric.
    pub estimate: Option<f64>,
    /// Lower end of the interval that decides; null when there is none.
    pub low: Option<f64>,
    /// Upper end of the interval that decides; null when there is none.
    pub high: Option<f64>,
    /// Whether the limit is kept.
    pub does: Does,
}

/// Whether a cell or a figure does what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// It is shown to do.
    Yes,
    /// It is shown not to do.
    No,
    /// The data show neither.
    Open,
}

/// A cell that was not considered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChoiceLeftOut {
    /// The run.
    pub run: RunId,
    /// The cell.
    pub cell: CellName,
    /// Why.
    pub text: String,
}
