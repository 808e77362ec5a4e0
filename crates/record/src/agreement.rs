//! The comparison of two engines on the same device or file system: what `calibrate` judges and prints.

use crate::id::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of this document.
pub const AGREEMENT_FORMAT: &str = "diskproof.agreement/1.0";

/// The native engine against fio, from the trials of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agreement {
    /// Name and version of this document: [`AGREEMENT_FORMAT`].
    pub format: String,
    /// The run whose trials were compared.
    pub run: RunId,
    /// The native engine's version; `None` when it never measured.
    pub native: Option<String>,
    /// fio's version; `None` when it never measured.
    pub fio: Option<String>,
    /// The moment from which fio's latencies count here.
    pub fio_latency: Definition,
    /// Confidence of the intervals, and of all "differ" statements together (Holm).
    pub confidence: f64,
    /// Differences that still count as agreement.
    pub margins: Margins,
    /// All comparisons, one per metric and workload.
    pub lines: Vec<MetricAgreement>,
    /// What each engine did besides its figures, per workload: device I/Os, depth, CPU, page cache.
    pub evidence: Vec<Evidence>,
    /// Possible causes of the differences.
    pub explanations: Vec<Explanation>,
    /// What could not be compared, in words.
    pub missing: Vec<String>,
}

impl Agreement {
    /// Returns how many comparisons have this status.
    #[must_use]
    pub fn count(&self, standing: AgreementStatus) -> usize {
        self.lines.iter().filter(|line| line.standing == standing).count()
    }
}

/// The moment from which a latency counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Definition {
    /// From before the submitting call: fio's `lat`, and what native measures. fio's percentiles include the ramp.
    Total,
    /// From the return of the submitting call: fio's `clat`.
    AfterSubmission,
}

/// Relative differences that still count as agreement, e.g. 0.01.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Margins {
    /// For IOPS and bandwidth.
    pub rate: f64,
    /// For latencies.
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
    /// Number of rounds in which both engines measured it.
    pub rounds: u32,
    /// Native's mean over those rounds.
    pub native: f64,
    /// fio's mean over those rounds.
    pub fio: f64,
    /// native / fio, paired by round.
    pub ratio: f64,
    /// Lower end of the ratio's interval, widened by the resolution of the histograms; null when there is no interval.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval, widened likewise; null when there is no interval.
    pub high: Option<f64>,
    /// Relative difference that the width of the histogram bins can hide; 0 for metrics that do not come from bins.
    pub resolution: f64,
    /// Relative difference that still counts as agreement.
    pub margin: f64,
    /// Probability of a difference at least this large if the engines were equal, corrected for all comparisons (Holm).
    pub p_differ: f64,
    /// Probability of a difference at least this large if the true difference were exactly the margin, corrected likewise.
    pub p_beyond: f64,
    /// The verdict.
    pub standing: AgreementStatus,
    /// Whether any difference is shown, however small.
    pub differ: bool,
    /// For an undecided comparison: about how many rounds in total would decide it; null when no number would.
    pub rounds_needed: Option<u32>,
}

/// The outcome of a comparison (docs/calibrate.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgreementStatus {
    /// The interval lies inside the margin, and no difference is shown.
    Agree,
    /// The interval lies inside the margin, and a difference is shown: real, but small.
    Within,
    /// The interval is not inside the margin, and a difference beyond the margin is not shown.
    Undecided,
    /// A difference beyond the margin is shown.
    Beyond,
}

/// What both engines did in one workload: means over the compared rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Name of the workload, without its engine.
    pub workload: String,
    /// What the native engine did.
    pub native: Conduct,
    /// What fio did.
    pub fio: Conduct,
}

/// What an engine did besides its figures. A value that no counter gives is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conduct {
    /// I/Os on the devices under test per I/O of the engine.
    pub device_ios_per_io: Option<f64>,
    /// Mean size of an I/O on the devices under test, in bytes.
    pub device_io_bytes: Option<f64>,
    /// Mean number of I/Os in flight on the devices under test.
    pub device_depth: Option<f64>,
    /// Mean number of I/Os in flight as the engine saw it: its rate times its mean latency (Little's law).
    pub engine_depth: Option<f64>,
    /// CPU time of the engine per I/O, user and system, in nanoseconds.
    pub cpu_ns_per_io: Option<f64>,
    /// CPU time of the engine's busiest thread per second of measured time: 1 is a full core.
    pub busiest_thread: Option<f64>,
    /// Share of the bytes that the page cache served.
    pub page_cache: Option<f64>,
    /// Mean time from preparing an I/O to handing it to the kernel, in microseconds: fio's `slat`, which its `clat` leaves out.
    pub submission_us: Option<f64>,
    /// For each latency percentile: the relative difference between the latencies at a slightly higher and a slightly lower rank
    /// (p45 and p55 around p50, p98.9 and p99.1 around p99), all rounds merged.
    pub spread: BTreeMap<String, f64>,
    /// How the engine issued I/O, as the engine itself reports it.
    pub issued_by: Option<String>,
}

/// A sentence that explains why a workload's figures differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Name of the workload, without its engine.
    pub workload: String,
    /// The metrics that it explains.
    pub metrics: Vec<String>,
    /// The possible cause of the difference; null when no counter shows one.
    pub cause: Option<Cause>,
    /// The explanation in words, with its figures.
    pub text: String,
}

/// What can make two engines' figures differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The engines issue I/O by different means, e.g. io_uring and threads.
    Means,
    /// The engines count latency from different moments.
    Definition,
    /// One engine kept fewer I/Os in flight.
    Depth,
    /// The engines' I/Os reached the device in different numbers or sizes.
    Requests,
    /// The page cache served one engine more than the other.
    PageCache,
    /// One engine ran out of CPU.
    Cpu,
    /// The percentile lies at a gap of the distribution: a shift of a few I/Os moves it far.
    Gap,
}
