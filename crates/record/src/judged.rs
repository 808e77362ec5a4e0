//! A judged run: what `show`, `--json` and `--csv` say. `verdict` makes it, `report` renders it, anybody may parse it.
//!
//! In JSON this is the format [`RUN_FORMAT`], documented in docs/formats.md. Infinities can't be written in JSON, so an
//! estimate without an interval (one trial) has neither `low` nor `high`: both are null.

use crate::emulated::Guest;
use crate::environment::Environment;
use crate::event::Stopped;
use crate::finding::{Finding, Served};
use crate::id::{CellId, RunId};
use crate::plan::{Measure, Prices};
use crate::volume::VolumeFacts;
use crate::workload::{CacheStart, Layout, Rw};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Name and version of the output format. Fields are only added within a major; a reader ignores what it doesn't know.
///
/// * 1.0: first.
/// * 1.3: `contrasts`; `too_fast` of a cell; metrics of copies and of Bonnie++; `provision` of the environment; `emulated`.
/// * 1.2: `limited_by`, `model`, `leaves` of a cell; `rounds` of a cell and `comparisons` of an answer; `prices`, `reached`; median and trimmed mean of a
///   metric; reasons of stopping and claims were added.
/// * 1.1: `engines` and `verified` of a cell, `native_ceiling` of the environment; metrics of trims and of the generator's cost.
pub const RUN_FORMAT: &str = "diskproof.run/1.3";

/// One run, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "diskproof.run/1.3")]
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
    /// The ratios that the experiment asks for.
    #[serde(default)]
    pub contrasts: Vec<ContrastView>,
    /// Why the run ended.
    pub stopped: Stopped,
    /// How far what was asked of the intervals was reached; `None` when nothing was asked (`measure.until`).
    #[serde(default)]
    pub reached: Option<Reached>,
    /// What volumes cost.
    #[serde(default)]
    pub prices: Prices,
    /// The machine.
    pub environment: Environment,
    /// Lab guests that cells are measured on, and what figures of them may claim.
    #[serde(default)]
    pub emulated: Vec<Guest>,
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
    /// Round, from 0, of each measured trial, in the order of a metric's `values`.
    #[serde(default)]
    pub rounds: Vec<u32>,
    /// Metrics by name (docs/metrics.md), and those that the experiment derives. Empty when no trial was measured.
    pub metrics: BTreeMap<String, Metric>,
    /// Metrics that trials were too fast for (Bonnie++ prints `+++++`), with the number of these trials. Such a metric has no estimate, also
    /// where other trials have a value: these would be the slow ones alone.
    #[serde(default)]
    pub too_fast: BTreeMap<String, u32>,
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
    /// What limited it; `None` when no trial was measured.
    #[serde(default)]
    pub limited_by: Option<Limit>,
    /// What the stack should give; `None` when nothing is known of its volumes, or there is no model for it.
    #[serde(default)]
    pub model: Option<ModelView>,
    /// Devices under the ground, shallow first, and what reached them.
    #[serde(default)]
    pub leaves: Vec<NodeView>,
}

/// What limited a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// What.
    pub by: LimitKind,
    /// Whether the counters show it, or only nothing speaks against it.
    pub shown: bool,
    /// Counters that speak for it, with units in their names.
    pub evidence: BTreeMap<String, f64>,
    /// Counters that speak against it.
    pub against: BTreeMap<String, f64>,
    /// One sentence.
    pub text: String,
}

/// What may limit a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// The devices gave all they have.
    Device,
    /// A limit set by the kernel or by whoever sells the volume.
    Throttle,
    /// Too few I/Os in flight for the latency there is (Little's law).
    QueueDepth,
    /// The workload asked for no more: its rate, its thinktime.
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
    /// Memory: no device was asked.
    Memory,
    /// The I/O of others on a device that is shared with them.
    Others,
    /// Nobody can tell.
    Unknown,
}

impl LimitKind {
    /// In a word or two.
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
            Self::Others => "I/O of others",
            Self::Unknown => "unknown",
        }
    }
}

/// What a stack should give, from its volumes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelView {
    /// Metric name.
    pub of: String,
    /// What it should be, in the metric's unit; the same as `at_most` where only that is known.
    pub expected: f64,
    /// The least it should be; 0 where nothing is known.
    #[serde(default)]
    pub at_least: f64,
    /// The most it can be.
    #[serde(default)]
    pub at_most: f64,
    /// Where the volumes' rates come from.
    pub from: ModelSource,
    /// Device I/Os per request of the workload; `None` when the model doesn't count them.
    pub device_ios_per_request: Option<f64>,
    /// Measured over expected.
    pub ratio: Option<RatioView>,
    /// The steps of the calculation, in words.
    pub steps: Vec<String>,
    /// Why measured and expected differ, when evidence names a reason.
    pub reason: Option<String>,
}

/// Where a model's rates come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// The limits that the volumes are provided with.
    Provisioned,
    /// A cell of this run that measured a single volume.
    Measured,
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatioView {
    /// The ratio.
    pub ratio: f64,
    /// Lower end; null when there is no interval.
    pub low: Option<f64>,
    /// Upper end; null when there is no interval.
    pub high: Option<f64>,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Pairs, or trials, it rests on.
    pub n: u32,
}

/// One device under a ground, over all measured trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    /// Kernel name in the first trial.
    pub name: String,
    /// What it is, in words, e.g. `loop device over a file on ext4`.
    pub kind: String,
    /// Distance from the ground: 0 for the devices it uses directly.
    pub depth: u32,
    /// Bytes read per byte that the workload read; `None` when nothing was read, or the counter is missing.
    pub read_per_asked: Option<f64>,
    /// Bytes written per byte that the workload wrote.
    pub write_per_asked: Option<f64>,
    /// I/Os per second, reads and writes.
    pub iops: Option<f64>,
    /// Share of the time with at least one I/O in flight.
    pub busy_share: Option<f64>,
}

/// How far what was asked of the intervals was reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reached {
    /// Whether all of it was.
    pub all: bool,
    /// About how many more rounds it would take; `None` when it was reached, or when the trials don't tell.
    pub more_rounds: Option<u32>,
    /// About how many seconds these would take.
    pub more_seconds: Option<f64>,
    /// Cells, or both cells of a comparison, that are still open.
    pub open: Vec<CellId>,
    /// The same in words.
    pub text: String,
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
    /// Planned; in a run that stops when it is enough, those that were made.
    pub planned: u32,
}

/// One metric of one cell: never without its interval and the number of trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Mean over trials; the trimmed one where `measure.trim` asks for it; of a derived quotient, the ratio of the means.
    pub estimate: f64,
    /// Lower end of the interval, never below 0; null when one trial gives none.
    pub low: Option<f64>,
    /// Upper end of the interval; null when one trial gives none.
    pub high: Option<f64>,
    /// Confidence of the interval, e.g. 0.95.
    pub confidence: f64,
    /// Number of trials.
    pub n: u32,
    /// `1/s`, `B/s`, `us`, `ns`, `cores`, `1`, or what a derived metric makes of them.
    pub unit: String,
    /// The value of each measured trial, in order of rounds.
    pub values: Vec<f64>,
    /// Median over trials; `None` when there are too few for an interval.
    #[serde(default)]
    pub median: Option<Interval>,
    /// Mean without the tenth of the trials at each end; `None` when there are too few.
    #[serde(default)]
    pub trimmed: Option<Interval>,
}

/// A figure with its interval, of the confidence and number of trials of its metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The figure.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
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

/// Two cells compared: `a` over `b`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonView {
    /// The cell above the line.
    pub a: CellId,
    /// The cell below the line.
    pub b: CellId,
    /// Metric compared.
    pub metric: String,
    /// The ratio; `None` when they have no common round.
    pub ratio: Option<RatioView>,
    /// What can be said.
    pub relation: Relation,
    /// A difference above this is excluded, e.g. 0.03; `None` when nothing is.
    pub excluded_difference: Option<f64>,
    /// The same in words.
    pub text: String,
}

/// What can be said of two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// They differ; the family of comparisons it belongs to is accounted for.
    Apart,
    /// They can't be told apart.
    NotApart,
    /// There is nothing to compare.
    Nothing,
}

/// Which stack is best for one workload, by one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Name of the workload.
    pub workload: String,
    /// Metric compared; `iops/price_per_month`: by what it gives for its price.
    pub metric: String,
    /// The cell with the best estimate of those that no other is shown to beat.
    pub best: CellId,
    /// Cells that can't be told from the best.
    pub tied: Vec<CellId>,
    /// The best against each other cell, paired within rounds.
    #[serde(default)]
    pub comparisons: Vec<ComparisonView>,
    /// The answer in words.
    pub text: String,
}

/// The ratio of one group of cells over another: of their geometric means, paired within rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContrastView {
    /// Its name in the experiment file.
    pub name: String,
    /// Metric compared.
    pub metric: String,
    /// What is divided, without cells that have no storage figure.
    pub a: Vec<CellId>,
    /// By what, likewise.
    pub b: Vec<CellId>,
    /// The ratio; `None` where no round has all of both sides.
    pub ratio: Option<RatioView>,
    /// Whether both are told apart, all contrasts of the run accounted for.
    pub relation: Relation,
    /// In words.
    pub text: String,
}
