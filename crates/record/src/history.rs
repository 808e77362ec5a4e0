//! The history of an experiment: its figures run after run, and where their level changed. What `diskproof history` reports.
//!
//! In JSON this is the format [`HISTORY_FORMAT`], documented in docs/formats.md.

use crate::comparison::{CellName, Difference};
use crate::id::RunId;
use crate::judged::RatioView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of this document. Within a major version, fields are only added.
///
/// * 1.0: first.
pub const HISTORY_FORMAT: &str = "diskproof.history/1.0";

/// The history of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "diskproof.history/1.0")]
pub struct History {
    /// Name and version of this document: [`HISTORY_FORMAT`] if this build wrote it.
    pub format: String,
    /// The experiment's name.
    pub experiment: String,
    /// The runs, oldest first.
    pub runs: Vec<HistoryRun>,
    /// Runs that are not part of it, and why.
    pub left_out: Vec<RunLeftOut>,
    /// The figures of all cells.
    pub lines: Vec<HistoryLine>,
    /// Confidence of all changes together, and of each interval.
    pub confidence: f64,
    /// The fewest runs in which a change of level can show.
    pub fewest_runs: u32,
    /// Version of diskproof and of its judge.
    pub judged_by: String,
}

/// A run of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryRun {
    /// The run.
    pub run: RunId,
    /// Start time, UTC, milliseconds since the epoch.
    pub started_unix_ms: u64,
    /// Its tags.
    pub tags: Vec<String>,
}

/// A run that is not part of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunLeftOut {
    /// The run.
    pub run: RunId,
    /// The reason.
    pub text: String,
}

/// One figure of one cell over the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryLine {
    /// The cell, as the latest run names it.
    pub cell: CellName,
    /// Name of the metric (docs/metrics.md).
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// Whether a lower value is better.
    pub lower_is_better: bool,
    /// The value in each run that has it, oldest first.
    pub points: Vec<HistoryPoint>,
    /// Where its level changed, oldest first.
    pub changes: Vec<HistoryChange>,
}

/// The value of a figure in one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryPoint {
    /// Index of the run in [`History::runs`].
    pub run: u32,
    /// Geometric mean over the rounds of that run.
    pub value: f64,
}

/// A change of level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryChange {
    /// The first run at the new level.
    pub run: RunId,
    /// The run before it that has the figure, at the old level.
    pub after_run: RunId,
    /// Level from this run on / level before it, over the runs up to the neighbouring changes.
    pub ratio: RatioView,
    /// Whether the new level is worse.
    pub is_worse: bool,
    /// P-value against "the runs come in any order", adjusted for all figures.
    pub p_adjusted: f64,
    /// What else differs between the two runs, worst first.
    pub differences: Vec<Difference>,
    /// The same in words.
    pub text: String,
}
