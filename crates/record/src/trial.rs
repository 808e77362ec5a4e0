//! The record of one trial.

use crate::bonnie::Bonnie;
use crate::copy::Copied;
use crate::counter::Evidence;
use crate::extents::{FileExtents, Residency};
use crate::id::TrialId;
use crate::knobs::Setting;
use crate::latency::LatencyHistogram;
use crate::lvm_cache::CacheRecord;
use crate::topology::Topology;
use crate::version::FormatVersion;
use crate::zfs::PoolRecord;
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
    /// Whether it failed because the guard refused a disk or directory: no fault of the stack.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// How long each step took.
    pub steps: Vec<StepTime>,
    /// What was really built: arguments of mkfs, mount and their like, in order.
    pub built: Vec<Vec<String>>,
    /// Settings of the kernel that were changed for it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Devices under the ground.
    pub topology: Topology,
    /// Files whose extents or page cache could not be looked at, and why; each reason once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// The data files just before the trial.
    pub files_before: Vec<FileExtents>,
    /// The data files just after it.
    pub files_after: Vec<FileExtents>,
    /// Page cache just before the trial, after dropping or warming it.
    pub cache_before: Vec<Residency>,
    /// Page cache just after.
    pub cache_after: Vec<Residency>,
    /// Page cache of the files behind loop devices under the ground, just before the trial; empty where there are none or
    /// nobody could look.
    #[serde(default)]
    pub backing_before: Vec<Residency>,
    /// The same just after.
    #[serde(default)]
    pub backing_after: Vec<Residency>,
    /// Of a ground that is mounted by NFS from an export of ours: the server's page cache of the data files, just before the trial; empty where nobody could look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_before: Vec<Residency>,
    /// The same just after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_after: Vec<Residency>,
    /// The ZFS pool under the ground, if it is one of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolRecord>,
    /// Caches of LVM under the ground that are ours, from the bottom up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheRecord>,
    /// How many trials had been measured on this very stack since it was built; `None`: it was built for this trial alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials_before: Option<u32>,
    /// What the engine did and said; `None` if it never ran.
    pub engine: Option<EngineOutput>,
    /// Kernel counters around it.
    pub evidence: Evidence,
}

impl TrialRecord {
    /// A trial of which nothing is known yet but what it is and how it ended, in the version that this program writes.
    #[must_use]
    pub fn new(id: TrialId, seed: u64, started_unix_ms: u64, outcome: Outcome) -> Self {
        Self {
            format: FormatVersion::RECORD,
            id,
            seed,
            started_unix_ms,
            outcome,
            refused: false,
            steps: Vec::new(),
            built: Vec::new(),
            settings: Vec::new(),
            topology: Topology::default(),
            unread: Vec::new(),
            files_before: Vec::new(),
            files_after: Vec::new(),
            cache_before: Vec::new(),
            cache_after: Vec::new(),
            backing_before: Vec::new(),
            backing_after: Vec::new(),
            server_before: Vec::new(),
            server_after: Vec::new(),
            pool: None,
            caches: Vec::new(),
            trials_before: None,
            engine: None,
            evidence: Evidence::default(),
        }
    }
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
    /// `build`, `prepare`, `attach`, `settle`, `measure`, `flush`, `undo`.
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
    /// What it did otherwise than it was asked.
    #[serde(default)]
    pub departures: Vec<Departure>,
    /// Measured time, CLOCK_MONOTONIC: totals below count only I/O inside it.
    pub window: Window,
    /// Totals over all jobs.
    pub read: Option<Totals>,
    /// Totals over all jobs.
    pub write: Option<Totals>,
    /// Totals over all jobs.
    #[serde(default)]
    pub trim: Option<Totals>,
    /// The course of the measured time; `None` if the engine doesn't tell.
    #[serde(default)]
    pub series: Option<Series>,
    /// What checking the content of blocks found; `None` if it was not asked for, or the engine doesn't tell.
    #[serde(default)]
    pub verified: Option<Verified>,
    /// What generating the load cost; `None` if the engine doesn't tell.
    #[serde(default)]
    pub generator: Option<GeneratorCost>,
    /// Errors by errno name, and how often.
    pub errors: Vec<ErrorCount>,
    /// CPU of the engine in the measured time, share of one core; as the engine reports it.
    pub cpu_user_share: Option<f64>,
    /// The same, system.
    pub cpu_system_share: Option<f64>,
    /// Whether several jobs used the same file or region.
    pub shared_files: bool,
    /// What a copy of a tree of files told.
    #[serde(default)]
    pub copied: Option<Copied>,
    /// What Bonnie++ told.
    #[serde(default)]
    pub bonnie: Option<Bonnie>,
}

impl EngineOutput {
    /// What an engine with this name and version did in this time: no I/O, no errors, nothing said.
    #[must_use]
    pub fn new(engine: String, window: Window) -> Self {
        Self {
            engine,
            argv: Vec::new(),
            input: String::new(),
            raw: String::new(),
            messages: Vec::new(),
            departures: Vec::new(),
            window,
            read: None,
            write: None,
            trim: None,
            series: None,
            verified: None,
            generator: None,
            errors: Vec::new(),
            cpu_user_share: None,
            cpu_system_share: None,
            shared_files: false,
            copied: None,
            bonnie: None,
        }
    }
}

/// Something that was done otherwise than it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// What was done instead of what, and why.
    pub text: String,
    /// Whether the figures may be others for it.
    pub matters: bool,
}

/// What the load generator itself used in the measured time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorCost {
    /// CPU time in user mode, all jobs.
    pub user_seconds: f64,
    /// CPU time in the kernel, all jobs: of native, with the kernel's threads that work for its ring.
    pub system_seconds: f64,
    /// The same of the busiest job's thread, both modes: near the measured time, it had no time to wait.
    #[serde(default)]
    pub busiest_thread_seconds: Option<f64>,
    /// CPU time per completed I/O, both modes.
    #[serde(default)]
    pub cpu_ns_per_io: Option<f64>,
    /// Instructions in user mode per completed I/O; `None` where the machine has no such counter.
    #[serde(default)]
    pub user_instructions_per_io: Option<f64>,
    /// Peak resident memory, I/O buffers included; `None` where the engine doesn't tell.
    #[serde(default)]
    pub peak_memory_bytes: Option<u64>,
    /// I/O buffers.
    #[serde(default)]
    pub buffer_bytes: Option<u64>,
    /// From being asked to the first I/O.
    #[serde(default)]
    pub startup_ns: Option<u64>,
}

/// What checking the content of blocks found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Bytes whose content was checked during the trial and after it.
    pub bytes: u64,
    /// What was wrong; empty: all was as written.
    pub faults: Vec<VerifyFault>,
}

/// A kind of wrong content, and where it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyFault {
    /// What is wrong.
    pub kind: FaultKind,
    /// Blocks.
    pub count: u64,
    /// The file or device.
    pub path: String,
    /// The first few, from the begin of the file or device: of the first wrong byte where one is known, else of the block.
    pub offsets_bytes: Vec<u64>,
    /// The first one in words, e.g. what was expected and what is there.
    pub example: String,
}

/// What may be wrong with a block's content.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// Nothing that this trial wrote to it is there: what was there before it still is, or nothing at all.
    Lost,
    /// An earlier write of this trial is there; the latest acknowledged one isn't.
    Stale,
    /// Parts of it are of different writes.
    Torn,
    /// It holds what belongs elsewhere.
    Misdirected,
    /// Its bytes are none that were ever written there.
    Corrupt,
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

/// How a trial went on: completed I/Os in equal steps of time, all jobs together. All lists have the same length; the last step may
/// be shorter than the others and is left out then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Begin of the first step, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Length of a step.
    pub step_ns: u64,
    /// Reads completed in each step.
    pub read_ios: Vec<u64>,
    /// Writes completed in each step.
    pub write_ios: Vec<u64>,
    /// Trims completed in each step.
    pub trim_ios: Vec<u64>,
    /// Bytes read and written in each step.
    pub bytes: Vec<u64>,
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
