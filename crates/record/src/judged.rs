//! A judged run: what `show`, `--json` and `--csv` say. `verdict` makes it, `report` renders it, anybody may parse it.
//!
//! In JSON this is the format [`RUN_FORMAT`], documented in docs/formats.md. Infinities can't be written in JSON, so an
//! estimate without an interval (one trial) has neither `low` nor `high`: both are null.

use crate::environment::Environment;
use crate::event::Stopped;
use crate::finding::{Finding, Served};
use crate::id::{CellId, RunId};
use crate::plan::Measure;
use crate::volume::VolumeFacts;
use crate::workload::{CacheStart, Layout, Rw};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Name and version of the output format. Fields are only added within a major; a reader ignores what it doesn't know.
///
/// * 1.0: first.
/// * 1.1: `engines` and `verified` of a cell, `native_ceiling` of the environment; metrics of trims and of the generator's cost.
pub const RUN_FORMAT: &str = "diskproof.run/1.1";

/// One run, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "diskproof.run/1.1")]
pub struct RunView {
    /// Always [`RUN_FORMAT`] when this build wrote it.
    pub format: String,
    /// The run.
    pub run: RunId,
    /// The experiment's name.
    pub experiment: String,
    /// The question it asks, if it says.
    pub question: Option<String>,
    /// Parameters and the values they were given.
    pub parameters: BTreeMap<String, String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// How it was measured.
    pub measure: Measure,
    /// All cells, in the order of the experiment file, measured or not.
    pub cells: Vec<CellView>,
    /// What was found, worst first.
    pub findings: Vec<Finding>,
    /// The user's expectations, cell by cell.
    pub expectations: Vec<ExpectationView>,
    /// Which stack delivers most, workload by workload.
    pub answers: Vec<Answer>,
    /// Why the run ended.
    pub stopped: Stopped,
    /// The machine.
    pub environment: Environment,
    /// The volumes as they were found.
    pub volumes: Vec<VolumeFacts>,
    /// Who judged, e.g. `diskproof 0.1.0, judge 1`.
    pub judged_by: String,
}

/// One cell, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellView {
    /// Its identity: the same cell of the same experiment has the same id in every run.
    pub id: CellId,
    /// Machine it ran on.
    pub target: String,
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// Levels of all factors, as written in the experiment.
    pub levels: BTreeMap<String, String>,
    /// What the workload asked; `None` for a user's own job file.
    pub asked: Option<Asked>,
    /// Engines that performed it, with their versions, e.g. `native-0.1.0`.
    #[serde(default)]
    pub engines: BTreeSet<String>,
    /// Trials done, failed, planned.
    pub trials: TrialCount,
    /// True when a finding of severity `void` says that the metrics are not storage figures. Don't quote them.
    pub void: bool,
    /// Metrics by name (docs/metrics.md). Empty when no trial was measured.
    pub metrics: BTreeMap<String, Metric>,
    /// Where the bytes came from or went to, both directions, mean over trials; `None` when no trial was measured, or
    /// when all were trims, which move no bytes.
    pub served: Option<Served>,
    /// The same, reads only; `None` when none were asked.
    pub served_read: Option<Served>,
    /// The same, writes only; `None` when none were asked.
    pub served_write: Option<Served>,
    /// What checking the content of blocks found, all trials together; `None` when no trial checked any.
    #[serde(default)]
    pub verified: Option<Checked>,
}

/// What checking the content of blocks found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Trials that checked, failed ones included.
    pub trials: u32,
    /// Bytes whose content was checked, during the trials and after them.
    pub bytes: u64,
    /// Blocks whose content was wrong.
    pub wrong_blocks: u64,
}

/// What a workload asked, in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// Access pattern.
    pub rw: Rw,
    /// Block size.
    pub bs_bytes: u64,
    /// I/Os in flight per job.
    pub iodepth: u32,
    /// Jobs.
    pub numjobs: u32,
    /// Size of each job's file or region.
    pub size_bytes: u64,
    /// O_DIRECT.
    pub direct: bool,
    /// How the data was laid out before the trial.
    pub layout: Layout,
    /// What the page cache held when the trial began.
    pub cache: CacheStart,
}

/// Trials of one cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialCount {
    /// Measured.
    pub done: u32,
    /// Failed.
    pub failed: u32,
    /// Planned.
    pub planned: u32,
}

/// One metric of one cell: never without its interval and the number of trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Mean over trials.
    pub estimate: f64,
    /// Lower end of the interval, never below 0; null when one trial gives none.
    pub low: Option<f64>,
    /// Upper end of the interval; null when one trial gives none.
    pub high: Option<f64>,
    /// Confidence of the interval, e.g. 0.95.
    pub confidence: f64,
    /// Number of trials.
    pub n: u32,
    /// `1/s`, `B/s`, `us`, `ns`, `cores` or `1`.
    pub unit: String,
    /// The value of each measured trial, in order of rounds.
    pub values: Vec<f64>,
}

impl Metric {
    /// How far the interval reaches from the estimate, in the metric's unit; `None` when there is no interval. The upper
    /// side: the lower one may be cut off at 0.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        Some(self.high? - self.estimate)
    }
}

/// One expectation of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectationView {
    /// Which cell.
    pub cell: CellId,
    /// Metric name.
    pub of: String,
    /// The expression as written.
    pub expression: String,
    /// Its value for this cell, in the metric's unit.
    pub expected: f64,
    /// Allowed relative deviation, e.g. 0.05.
    pub within: f64,
    /// What was measured; `None` when it was not.
    pub estimate: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The verdict.
    pub status: Status,
    /// The verdict in words, with its figures.
    pub text: String,
}

/// Whether an expectation holds (docs/statistics.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The whole interval lies inside the band.
    Met,
    /// The whole interval lies outside the band.
    Missed,
    /// The interval crosses an edge of the band, or there is no interval, or the figure is no storage figure.
    Undecided,
}

/// Which stack delivers most for one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Name of the workload.
    pub workload: String,
    /// Metric compared.
    pub metric: String,
    /// The cell with the best estimate.
    pub best: CellId,
    /// Cells whose interval overlaps the best one's: can't be told apart by this simple rule.
    pub tied: Vec<CellId>,
    /// The answer in words.
    pub text: String,
}
