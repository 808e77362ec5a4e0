//! Whether two engines say the same of the same ground: what `calibrate` judges and prints.

use crate::id::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of this document.
pub const AGREEMENT_FORMAT: &str = "diskproof.agreement/1.0";

/// The native engine against fio, from the trials of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agreement {
    /// [`AGREEMENT_FORMAT`].
    pub format: String,
    /// The run whose trials were compared.
    pub run: RunId,
    /// The native engine's version; `None` when it never measured.
    pub native: Option<String>,
    /// fio's version; `None` when it never measured.
    pub fio: Option<String>,
    /// From when fio's latencies count here.
    pub fio_latency: Definition,
    /// Confidence of the intervals, and of all "differ" together.
    pub confidence: f64,
    /// What still counts as the same.
    pub margins: Margins,
    /// All comparisons.
    pub lines: Vec<MetricAgreement>,
    /// What the engines did beside their figures, per workload.
    pub evidence: Vec<Evidence>,
    /// What explains the differences.
    pub explanations: Vec<Explanation>,
    /// What could not be compared, in words.
    pub missing: Vec<String>,
}

impl Agreement {
    /// How many comparisons came out so.
    #[must_use]
    pub fn count(&self, standing: AgreementStatus) -> usize {
        self.lines.iter().filter(|line| line.standing == standing).count()
    }
}

/// From when a latency counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Definition {
    /// From before the call that submits: fio's `lat`, and what native measures. fio's are over the ramp too.
    Total,
    /// From when the call that submits has returned: fio's `clat`.
    AfterSubmission,
}

/// Relative differences that still count as the same, e.g. 0.01.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Margins {
    /// Of IOPS and bandwidth.
    pub rate: f64,
    /// Of latencies.
    pub latency: f64,
}

/// One comparison: one metric of one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricAgreement {
    /// Name of the workload, without its engine.
    pub workload: String,
    /// Metric name (docs/metrics.md).
    pub metric: String,
    /// `1/s`, `B/s` or `us`.
    pub unit: String,
    /// Rounds in which both engines measured it.
    pub rounds: u32,
    /// Native's mean over those rounds.
    pub native: f64,
    /// fio's mean over those rounds.
    pub fio: f64,
    /// native / fio, paired by round.
    pub ratio: f64,
    /// Lower end of the ratio's interval, the histograms' resolution included; null when there is no interval.
    pub low: Option<f64>,
    /// Upper end; null when there is no interval.
    pub high: Option<f64>,
    /// Relative difference that the histograms' bins can't tell from none; 0 for what isn't taken from bins.
    pub resolution: f64,
    /// Relative difference that still counts as the same.
    pub margin: f64,
    /// Probability of so large a difference if there were none, corrected for all comparisons (Holm).
    pub p_differ: f64,
    /// The same if the true difference were as large as the margin.
    pub p_beyond: f64,
    /// The verdict.
    pub standing: AgreementStatus,
    /// Whether they differ at all, by however little.
    pub differ: bool,
    /// Where it is undecided: about how many rounds in all would decide it; null when no number would.
    pub rounds_needed: Option<u32>,
}

/// How a comparison came out (docs/calibrate.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgreementStatus {
    /// The interval lies inside the margin, and no difference was shown.
    Agree,
    /// The interval lies inside the margin, and a difference was shown: real, but small.
    Within,
    /// Neither inside nor shown to be beyond the margin.
    Undecided,
    /// Shown to differ by more than the margin.
    Beyond,
}

/// What both engines did in one workload; means over the compared rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Name of the workload, without its engine.
    pub workload: String,
    /// Native's.
    pub native: Conduct,
    /// fio's.
    pub fio: Conduct,
}

/// What an engine did beside its figures. What no counter tells is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conduct {
    /// I/Os on the ground's devices per I/O of the engine.
    pub device_ios_per_io: Option<f64>,
    /// Mean bytes of an I/O on the ground's devices.
    pub device_io_bytes: Option<f64>,
    /// Mean number of I/Os in flight on the ground's devices.
    pub device_depth: Option<f64>,
    /// Mean number of I/Os in flight as the engine saw it: its rate times its mean latency.
    pub engine_depth: Option<f64>,
    /// CPU time of the engine per I/O, user and system.
    pub cpu_ns_per_io: Option<f64>,
    /// CPU time of its busiest thread per second.
    pub busiest_thread: Option<f64>,
    /// Share of the bytes from or to the page cache.
    pub page_cache: Option<f64>,
    /// From being prepared to being handed to the kernel, mean: fio's `slat`, which its `clat` leaves out.
    pub submission_us: Option<f64>,
    /// By name of a latency percentile: how much longer, relatively, the I/O at a slightly higher rank took than the one at a
    /// slightly lower rank (p45 and p55 around p50, p98.9 and p99.1 around p99), all rounds merged.
    pub spread: BTreeMap<String, f64>,
    /// How it issued I/O, in its own words.
    pub issued_by: Option<String>,
}

/// A sentence about why a workload's figures differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Name of the workload, without its engine.
    pub workload: String,
    /// The metrics it speaks of.
    pub metrics: Vec<String>,
    /// What could explain the difference; null when no counter does.
    pub cause: Option<Cause>,
    /// In words, with the figures.
    pub text: String,
}

/// What can make two engines' figures differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// They didn't issue I/O by the same means.
    Means,
    /// They count latency from different moments.
    Definition,
    /// One kept fewer I/Os in flight.
    Depth,
    /// Their I/Os reached the device in other numbers or sizes.
    Requests,
    /// The page cache served one more than the other.
    PageCache,
    /// One ran out of CPU.
    Cpu,
    /// The percentile lies where the distribution has a gap: a shift of few I/Os moves it far.
    Gap,
}
