//! A judged run: what `show`, `--json` and `--csv` report. `verdict` makes it, `report` renders it, and anybody may parse it.
//!
//! In JSON this is the format [`RUN_FORMAT`], documented in docs/formats.md. JSON has no infinities, so an estimate without an
//! interval (from one trial) has null for both `low` and `high`.

mod answers;
mod front;

pub use answers::{
    Answer, ComparisonView, ContrastView, EffectView, Found, InteractionView, Interval, LevelView, RatioView,
    Relation, SearchView, SweepView, TriedView,
};

pub use front::{FrontCell, FrontPlace, FrontView, PriceFigure};

use crate::choice::Choice;
use crate::emulated::Guest;
use crate::environment::Environment;
use crate::event::Stopped;
use crate::finding::{Finding, Served};
use crate::id::{CellId, RunId};
use crate::plan::{Bound, Measure, Prices};
use crate::volume::VolumeFacts;
use crate::workload::{CacheStart, Layout, Rw};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Name and version of the output format. Within a major version, fields are only added; a reader ignores fields that it doesn't know.
///
/// * 1.0: first.
/// * 1.3: `contrasts`, `sweeps`, `effects`, `searches`; `options`, `layers`, `phases`, `too_fast` and `paired_rounds` of a cell; metrics of copies, of Bonnie++, of syncs
///   and durable writes; `tags`; `provision` of the environment; `emulated`; `fronts`, `list` of `prices`; `choice`; `rounds` of a finding;
///   the reason `requested` and the claims `skipped` and `trials_cut_off`; `cut_off` of a cell's trials.
/// * 1.2: `limited_by`, `model`, `leaves` of a cell; `rounds` of a cell and `comparisons` of an answer; `prices`, `reached`; median and trimmed mean of a
///   metric; reasons of stopping and claims were added.
/// * 1.1: `engines` and `verified` of a cell, `native_ceiling` of the environment; metrics of trims and of the generator's cost.
pub const RUN_FORMAT: &str = "diskproof.run/1.3";

/// One run, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "diskproof.run/1.3")]
pub struct RunView {
    /// Name and version of this document: [`RUN_FORMAT`] if this build wrote it.
    pub format: String,
    /// Identity of the run.
    pub run: RunId,
    /// The experiment's name.
    pub experiment: String,
    /// Its tags. The store has them, and no judgement depends on them.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The question that the experiment asks, if it has one.
    pub question: Option<String>,
    /// Parameters with their values.
    pub parameters: BTreeMap<String, String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// How it was measured.
    pub measure: Measure,
    /// All cells, in the order of the experiment file, measured or not.
    pub cells: Vec<CellView>,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// Results of the user's expectations, per cell.
    pub expectations: Vec<ExpectationView>,
    /// The stack that delivers most, per workload.
    pub answers: Vec<Answer>,
    /// The ratios that the experiment requests.
    #[serde(default)]
    pub contrasts: Vec<ContrastView>,
    /// How far the figures scale along the factors with numbers as levels.
    #[serde(default)]
    pub sweeps: Vec<SweepView>,
    /// What the levels of the factors without an order make of the figures, over all levels of the others.
    #[serde(default)]
    pub effects: Vec<EffectView>,
    /// The highest loads within limits, for cells that search them (`find`).
    #[serde(default)]
    pub searches: Vec<SearchView>,
    /// Why the run ended.
    pub stopped: Stopped,
    /// Whether the goal for the intervals (`measure.until`) was reached; `None` when the experiment has no goal.
    #[serde(default)]
    pub reached: Option<Reached>,
    /// The cheapest cells, if the run looked for them (`measure.until.best`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// Prices of the volumes.
    #[serde(default)]
    pub prices: Prices,
    /// The cells with prices by price and performance, per workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fronts: Vec<FrontView>,
    /// The machine that the run ran on.
    pub environment: Environment,
    /// Lab guests that cells were measured on, and the range in which their figures are valid.
    #[serde(default)]
    pub emulated: Vec<Guest>,
    /// The volumes, as found on their machines.
    pub volumes: Vec<VolumeFacts>,
    /// Version of diskproof and of its judge, e.g. `diskproof 0.1.0, judge 1`.
    pub judged_by: String,
}

/// One cell, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellView {
    /// Identity of the cell: the same cell of the same experiment has the same id in every run.
    pub id: CellId,
    /// Machine that the cell ran on.
    pub target: String,
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// Levels of all factors, as written in the experiment.
    pub levels: BTreeMap<String, String>,
    /// The main options of the workload; `None` for a user's own job file.
    pub asked: Option<Asked>,
    /// The options of the workload that differ from fio's defaults, by fio's names; empty for other engines and for a job file.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// The layers of the stack in words, from the bottom up; empty: the volume itself.
    #[serde(default)]
    pub layers: Vec<String>,
    /// Engines that ran the workload, with their versions, e.g. `native-0.1.0`.
    #[serde(default)]
    pub engines: BTreeSet<String>,
    /// Number of finished, failed and planned trials.
    pub trials: TrialCount,
    /// Whether a finding of severity `void` says that the metrics are not storage figures. If so, don't quote them.
    pub void: bool,
    /// The round, from 0, of each measured trial, in the order of a metric's `values`.
    #[serde(default)]
    pub rounds: Vec<u32>,
    /// The number by which each of these trials is paired with those of other cells, if a block of a queued run was begun on one machine
    /// and finished on another: the round, or else a number of its own for the trials of that round on another machine. Empty: the rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paired_rounds: Vec<u32>,
    /// Metrics by name (docs/metrics.md), including those that the experiment derives. Empty when no trial was measured.
    pub metrics: BTreeMap<String, Metric>,
    /// Metrics whose tests ended too quickly in some trials (Bonnie++ prints `+++++`), with the number of these trials. Such a
    /// metric has no estimate, even where other trials have a value: only the slow trials would count.
    #[serde(default)]
    pub too_fast: BTreeMap<String, u32>,
    /// Where the bytes came from or went to, reads and writes together, mean over trials; `None` when no trial was measured, or
    /// when all I/O was trims, which move no bytes.
    pub served: Option<Served>,
    /// The same for reads only; `None` when the workload has no reads.
    pub served_read: Option<Served>,
    /// The same for writes only; `None` when the workload has no writes.
    pub served_write: Option<Served>,
    /// Results of checking the content of blocks, all trials together; `None` when no trial checked any.
    #[serde(default)]
    pub verified: Option<Checked>,
    /// What limited the cell; `None` when no trial was measured.
    #[serde(default)]
    pub limited_by: Option<Limit>,
    /// What the stack should deliver; `None` when nothing is known of its volumes, or when there is no model for it.
    #[serde(default)]
    pub model: Option<ModelView>,
    /// Devices below the load, topmost first, and the I/O that reached them.
    #[serde(default)]
    pub leaves: Vec<NodeView>,
    /// Phases of a job file with sections that wait for others, in their order; else empty. `metrics` has then all I/Os over the
    /// time of all phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseView>,
    /// How the machines ran together, if several ran the workload at the same time; else `None`. `metrics` has then the sums over all
    /// of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<TogetherView>,
}

impl CellView {
    /// The number by which each trial is paired with those of other cells, in the order of `rounds`.
    #[must_use]
    pub fn paired_by(&self) -> &[u32] {
        if self.paired_rounds.is_empty() { &self.rounds } else { &self.paired_rounds }
    }
}

/// One phase of a job file: sections that ran at the same time, after those of the phase before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseView {
    /// Names of its sections.
    pub sections: Vec<String>,
    /// Its own rates and latencies by name (docs/metrics.md).
    pub metrics: BTreeMap<String, Metric>,
}

/// How the machines of a cell ran together. The cell's own metrics are the sums over all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TogetherView {
    /// Each machine, in the order of the experiment.
    pub machines: Vec<MachineView>,
    /// Of the time in which any machine ran, the share in which all of them did; of the trial in which it was smallest. `None` when no
    /// trial was measured.
    pub overlap: Option<f64>,
    /// From the first to the last start, in seconds, in the trial in which it was longest.
    pub start_spread_seconds: Option<f64>,
    /// The largest error of these times, in seconds, from the comparison of the clocks.
    pub uncertain_seconds: Option<f64>,
    /// Name of the metric by which the machines are compared.
    pub metric: String,
    /// The machine with the lowest figure.
    pub slowest: Option<String>,
    /// The highest figure of a machine over the lowest.
    pub max_over_min: Option<f64>,
    /// Jain's fairness index: 1 if all machines have the same figure, 1 over their number if one has everything.
    pub jain: Option<f64>,
    /// The same in sentences.
    pub text: String,
}

/// What one machine measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineView {
    /// Name of the machine.
    pub target: String,
    /// Its own metrics by name (docs/metrics.md), over the trials.
    pub metrics: BTreeMap<String, Metric>,
}

/// What limited a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The kind of limit.
    pub by: LimitKind,
    /// Whether counters show the limit. If false, it is only that nothing speaks against it.
    pub shown: bool,
    /// Counters that support it, with units in their names.
    pub evidence: BTreeMap<String, f64>,
    /// Counters that contradict it, with units in their names.
    pub against: BTreeMap<String, f64>,
    /// The same in one sentence.
    pub text: String,
}

/// The kinds of limits of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// The devices worked as fast as they can.
    Device,
    /// A limit that the kernel or the provider of the volume sets.
    Throttle,
    /// Too few I/Os in flight for the latency (Little's law).
    QueueDepth,
    /// The workload requested no more: its rate, its thinktime.
    AskedRate,
    /// The load generator's own thread.
    Generator,
    /// The machine's CPUs.
    Cpu,
    /// A CPU quota of a cgroup.
    CpuQuota,
    /// The network.
    Network,
    /// A lock above the device.
    Lock,
    /// The journal, or flushes.
    Journal,
    /// Memory: no device took part.
    Memory,
    /// What the machine passes on for all its volumes together, as the experiment declares it.
    Machine,
    /// The I/O of other processes on a device that is shared with them.
    Others,
    /// No counter shows the limit.
    Unknown,
}

impl LimitKind {
    /// Returns the name in one or two words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Throttle => "throttle",
            Self::QueueDepth => "queue depth",
            Self::AskedRate => "asked rate",
            Self::Generator => "generator",
            Self::Cpu => "CPU",
            Self::CpuQuota => "CPU quota",
            Self::Network => "network",
            Self::Lock => "lock",
            Self::Journal => "journal",
            Self::Memory => "memory",
            Self::Machine => "machine",
            Self::Others => "I/O of others",
            Self::Unknown => "unknown",
        }
    }
}

/// What a stack should deliver, computed from its volumes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelView {
    /// Name of the metric.
    pub of: String,
    /// The expected value, in the metric's unit; equal to `at_most` where only that is known.
    pub expected: f64,
    /// The lowest expected value; 0 where it is not known.
    #[serde(default)]
    pub at_least: f64,
    /// The highest possible value.
    #[serde(default)]
    pub at_most: f64,
    /// The source of the volumes' rates.
    pub from: ModelSource,
    /// Device I/Os per request of the workload; `None` when the model doesn't count them.
    pub device_ios_per_request: Option<f64>,
    /// Measured over expected.
    pub ratio: Option<RatioView>,
    /// The steps of the calculation, in words.
    pub steps: Vec<String>,
    /// The reason why measured and expected values differ, if evidence shows one.
    pub reason: Option<String>,
}

/// The source of a model's rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// The limits of the volumes.
    Provisioned,
    /// A cell of this run that measures a single volume.
    Measured,
}

/// One device below the load, over all measured trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    /// Kernel name of the device in the first trial.
    pub name: String,
    /// What the device is, in words, e.g. `loop device over a file on ext4`.
    pub kind: String,
    /// Number of devices between it and the load: 0 for the devices that lie directly under the load.
    pub depth: u32,
    /// Bytes read from the device per byte that the workload read; `None` when nothing was read, or when the counter is missing.
    pub read_per_asked: Option<f64>,
    /// Bytes written to the device per byte that the workload wrote; `None` likewise.
    pub write_per_asked: Option<f64>,
    /// I/Os per second of the device, reads and writes.
    pub iops: Option<f64>,
    /// Share of the time in which at least one I/O was in flight.
    pub busy_share: Option<f64>,
}

/// Whether the goal for the intervals was reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reached {
    /// Whether all cells and comparisons reached it.
    pub all: bool,
    /// About how many more rounds it would take; `None` when the goal was reached, or when the trials give no estimate.
    pub more_rounds: Option<u32>,
    /// About how many seconds these rounds would take.
    pub more_seconds: Option<f64>,
    /// Cells, or both cells of a comparison, that have not reached it.
    pub open: Vec<CellId>,
    /// The same in words.
    pub text: String,
}

/// Results of checking the content of blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Number of trials that checked content, including failed ones.
    pub trials: u32,
    /// Bytes of checked content, during the trials and after them.
    pub bytes: u64,
    /// Number of blocks with wrong content.
    pub wrong_blocks: u64,
}

/// The main options of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// Access pattern.
    pub rw: Rw,
    /// Block size in bytes.
    pub bs_bytes: u64,
    /// I/Os in flight per job.
    pub iodepth: u32,
    /// Number of jobs.
    pub numjobs: u32,
    /// Size of each job's file or region, in bytes.
    pub size_bytes: u64,
    /// Whether O_DIRECT is used.
    pub direct: bool,
    /// How the data was laid out before the trial.
    pub layout: Layout,
    /// What the page cache held when the trial began.
    pub cache: CacheStart,
}

/// Number of trials of one cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialCount {
    /// Measured trials.
    pub done: u32,
    /// Failed trials. Among them are those that were cut off, e.g. by the loss of their machine, until a resumed run has made them again.
    pub failed: u32,
    /// Trials that were cut off and have been made again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_off: u32,
    /// Planned trials; in a run that stops when its goal is reached, the trials that ran.
    pub planned: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One metric of one cell. It always has its interval and its number of trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Mean over trials: the trimmed mean where `measure.trim` is set; for a derived quotient, the ratio of the means.
    pub estimate: f64,
    /// Lower end of the interval, never below 0; null when there is only one trial.
    pub low: Option<f64>,
    /// Upper end of the interval; null when there is only one trial.
    pub high: Option<f64>,
    /// Confidence of the interval, e.g. 0.95.
    pub confidence: f64,
    /// Number of trials.
    pub n: u32,
    /// `1/s`, `B/s`, `us`, `ns`, `cores`, `1`, or the unit of a derived metric.
    pub unit: String,
    /// The value of each measured trial, in order of rounds.
    pub values: Vec<f64>,
    /// Median over trials; `None` when there are too few trials for an interval.
    #[serde(default)]
    pub median: Option<Interval>,
    /// Mean without the highest and the lowest tenth of the trials; `None` when there are too few trials.
    #[serde(default)]
    pub trimmed: Option<Interval>,
}

impl Metric {
    /// Returns the distance from the estimate to the upper end of the interval, in the metric's unit; `None` when there is no
    /// interval. The lower side may be cut off at 0.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        Some(self.high? - self.estimate)
    }

    /// Whether the interval is wider than the estimate itself: then the rounds are too few for a figure. False without an interval.
    #[must_use]
    pub fn is_too_wide(&self) -> bool {
        self.low.zip(self.high).is_some_and(|(low, high)| high - low > self.estimate)
    }
}

/// The result of one expectation for one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectationView {
    /// The cell.
    pub cell: CellId,
    /// Name of the metric.
    pub of: String,
    /// The expression as written.
    pub expression: String,
    /// The expected value for this cell, in the metric's unit.
    pub expected: f64,
    /// Which values meet it.
    #[serde(default)]
    pub bound: Bound,
    /// Allowed relative deviation, e.g. 0.05; 0 for a bound on one side.
    pub within: f64,
    /// The measured value; `None` when there is none.
    pub estimate: Option<f64>,
    /// Lower end of the measured value's interval.
    pub low: Option<f64>,
    /// Upper end of the measured value's interval.
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
    /// The interval crosses an edge of the band, or there is no interval, or the figure is not a storage figure.
    Undecided,
}
