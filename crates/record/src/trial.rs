//! The record of one trial.

use crate::counter::Evidence;
use crate::extents::{FileExtents, Residency};
use crate::id::TrialId;
use crate::latency::LatencyHistogram;
use crate::topology::Topology;
use crate::version::FormatVersion;
use serde::{Deserialize, Serialize};

/// Everything one trial left behind: raw counters and raw engine output, nothing judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Version of this format.
    pub format: FormatVersion,
    /// Cell and round.
    pub id: TrialId,
    /// Seed of this trial's random offsets and data.
    pub seed: u64,
    /// Start, UTC, milliseconds since the epoch.
    pub started_unix_ms: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// How long each step took.
    pub steps: Vec<StepTime>,
    /// What was really built: arguments of mkfs and mount, in order.
    pub built: Vec<Vec<String>>,
    /// Devices under the ground.
    pub topology: Topology,
    /// The data files just before the trial.
    pub files_before: Vec<FileExtents>,
    /// The data files just after it.
    pub files_after: Vec<FileExtents>,
    /// Page cache just before the trial, after dropping or warming it.
    pub cache_before: Vec<Residency>,
    /// Page cache just after.
    pub cache_after: Vec<Residency>,
    /// What the engine did and said; `None` if it never ran.
    pub engine: Option<EngineOutput>,
    /// Kernel counters around it.
    pub evidence: Evidence,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Measured in full.
    Measured,
    /// Failed; the reason, with its chain. Its figures are kept but not used.
    Failed(String),
}

/// How long one step of a trial took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// `build`, `prepare`, `settle`, `measure`, `undo`.
    pub step: String,
    /// Seconds.
    pub seconds: f64,
}

/// What an engine did and said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineOutput {
    /// Engine and version, e.g. `fio-3.33`.
    pub engine: String,
    /// The exact command.
    pub argv: Vec<String>,
    /// The exact input, e.g. fio's job file.
    pub input: String,
    /// The engine's own output, unchanged.
    pub raw: String,
    /// What it said beside its document, e.g. fio's error text.
    pub messages: Vec<String>,
    /// Measured time, CLOCK_MONOTONIC: totals below count only I/O inside it.
    pub window: Window,
    /// Totals over all jobs.
    pub read: Option<Totals>,
    /// Totals over all jobs.
    pub write: Option<Totals>,
    /// Errors by errno name, and how often.
    pub errors: Vec<ErrorCount>,
    /// CPU of the engine in the measured time, share of one core; as the engine reports it.
    pub cpu_user_share: Option<f64>,
    /// The same, system.
    pub cpu_system_share: Option<f64>,
    /// Whether several jobs used the same file or region.
    pub shared_files: bool,
}

/// A span of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Begin.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
}

impl Window {
    /// Length in seconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "spans are far below 2^52 ns")]
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

/// Totals of one direction over the measured time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Seconds this direction ran: the longest job.
    pub seconds: f64,
    /// I/Os per second: the sum over jobs of their own I/Os by their own time.
    pub iops: f64,
    /// Bytes per second, likewise.
    pub bytes_per_second: f64,
    /// Completion latency.
    pub latency: LatencyHistogram,
    /// Mean completion latency: of the bins, or as the engine computed it where it gave no bins.
    pub latency_mean_ns: Option<f64>,
}

/// How often one error was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// e.g. `EIO`.
    pub errno: String,
    /// How often.
    pub count: u64,
    /// The job or file it was seen on, if known.
    pub place: Option<String>,
}
