//! The plan: what a run will do, resolved to the last value.

use crate::id::CellId;
use crate::stack::Stack;
use crate::version::FormatVersion;
use crate::workload::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a run will do. Pure data: `spec` makes it, `run` follows it, `store` keeps it, `verdict` judges against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this format.
    pub format: FormatVersion,
    /// The experiment's name.
    pub experiment: String,
    /// The question it asks, if it says.
    pub question: Option<String>,
    /// Parameters and the values they were given, in text.
    pub parameters: BTreeMap<String, String>,
    /// All cells, in the order of the file.
    pub cells: Vec<Cell>,
    /// How to measure.
    pub measure: Measure,
    /// What the user expects.
    pub expectations: Vec<Expectation>,
    /// The experiment file's text, as read.
    pub source: String,
    /// Seed of every random choice of the run: order of cells, offsets.
    pub seed: u64,
}

/// One combination: target x stack x workload x levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Its identity.
    pub id: CellId,
    /// Machine it runs on; `local` for now.
    pub target: String,
    /// What is built.
    pub stack: Stack,
    /// What is asked of it.
    pub workload: Workload,
    /// Levels of all factors, by factor name, in text as written.
    pub levels: BTreeMap<String, String>,
}

/// How to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// Measured seconds per trial, ramp not included.
    pub trial_seconds: f64,
    /// Seconds of load before measuring begins.
    pub ramp_seconds: f64,
    /// Number of rounds.
    pub rounds: u32,
    /// Confidence of every interval, e.g. 0.95.
    pub confidence: f64,
    /// Relative half-width wanted, e.g. 0.05; reported against, not yet a stop rule.
    pub interval: Option<f64>,
    /// Samples of kernel counters per second.
    pub sample_hz: f64,
    /// Wall-clock budget for the whole run.
    pub max_seconds: Option<f64>,
}

/// What the user expects of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// Metric name, e.g. `iops`, `read_iops` (docs/metrics.md).
    pub of: String,
    /// The expression as written, e.g. `80 * n`.
    pub expression: String,
    /// Allowed relative deviation, e.g. 0.05.
    pub within: f64,
    /// The expected value per cell; cells the expectation does not speak of are absent.
    pub values: BTreeMap<CellId, f64>,
}
