//! The record of one trial.

use crate::block::Block;
use crate::bonnie::Bonnie;
use crate::clock::{ClockOffset, Reading};
use crate::copy::Copied;
use crate::counter::Evidence;
use crate::extents::{FileExtents, Residency};
use crate::find::Tried;
use crate::id::TrialId;
use crate::imported::Imported;
use crate::knobs::Setting;
use crate::latency::{Latencies, LatencyHistogram, LatencySteps};
use crate::lvm::ThinRecord;
use crate::lvm_cache::CacheRecord;
use crate::topology::Topology;
use crate::version::FormatVersion;
use crate::zfs::PoolRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The complete record of one trial: raw counters and raw engine output, without judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Version of this format.
    pub format: FormatVersion,
    /// The cell and the round.
    pub id: TrialId,
    /// The level that it tries, if its cell is a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<Tried>,
    /// Where it was imported from; `None`: diskproof measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// The block of a queued run that it is part of; `None`: one controller made all trials of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    /// Seed of this trial's random offsets and data.
    pub seed: u64,
    /// Start time, UTC, milliseconds since the epoch.
    pub started_unix_ms: u64,
    /// The volumes that stood under the stack's first layer, by name and in order, if they were drawn for this round
    /// ([`crate::plan::Plan::shuffled`]); else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<String>,
    /// How the trial ended.
    pub outcome: Outcome,
    /// Whether it failed because the guard refused a disk or directory. Such a failure is not the stack's fault.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Whether it failed because it was cut off: its machine or the connection was lost, a disk was full, or its load program was killed
    /// or hung. A resumed run makes such a trial again, and keeps both.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
    /// Duration of each step.
    pub steps: Vec<StepTime>,
    /// The arguments of mkfs, mount and other programs that built the stack, in order.
    pub built: Vec<Vec<String>>,
    /// Kernel settings that were changed for the trial, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Devices under the load.
    pub topology: Topology,
    /// Reasons why the extents or the page cache of some files could not be read, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Extents of the data files just before the trial.
    pub files_before: Vec<FileExtents>,
    /// Extents of the data files just after the trial.
    pub files_after: Vec<FileExtents>,
    /// Page cache of the data files just before the trial, after it was dropped or warmed.
    pub cache_before: Vec<Residency>,
    /// Page cache of the data files just after the trial.
    pub cache_after: Vec<Residency>,
    /// Page cache of the backing files of loop devices under the load, just before the trial; empty where there are none, or
    /// where it could not be read.
    #[serde(default)]
    pub backing_before: Vec<Residency>,
    /// The same just after the trial.
    #[serde(default)]
    pub backing_after: Vec<Residency>,
    /// The NFS server's page cache of the data files, just before the trial, if diskproof mounted its own export; empty where it
    /// could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_before: Vec<Residency>,
    /// The same just after the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_after: Vec<Residency>,
    /// The ZFS pool under the load, if diskproof created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolRecord>,
    /// LVM caches under the load that diskproof created, from the bottom up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheRecord>,
    /// Thin pools under the load that diskproof created, from the bottom up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thin_pools: Vec<ThinRecord>,
    /// Number of trials that were measured on this stack since it was built; `None`: it was built for this trial alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials_before: Option<u32>,
    /// Results of the engine; `None` if it never ran.
    pub engine: Option<EngineOutput>,
    /// Kernel counters around the trial. Where [`Self::parts`] have their own samples, only those of a machine that exports what they
    /// mount, with the sums of the mounts' counters, by the controller's clock.
    pub evidence: Evidence,
    /// What each machine did, if several machines ran the workload at the same time ([`crate::workload::Workload::on`]); else empty.
    /// `engine` has then the sums over all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

impl TrialRecord {
    /// A trial of which nothing is known yet but what it is and how it ended, in the version that this program writes.
    #[must_use]
    pub fn new(id: TrialId, seed: u64, started_unix_ms: u64, outcome: Outcome) -> Self {
        Self {
            format: FormatVersion::RECORD,
            id,
            tried: None,
            imported: None,
            block: None,
            seed,
            started_unix_ms,
            drawn: Vec::new(),
            outcome,
            refused: false,
            cut_off: false,
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
            thin_pools: Vec::new(),
            trials_before: None,
            engine: None,
            evidence: Evidence::default(),
            parts: Vec::new(),
        }
    }
}

/// What one machine did in a trial that several machines load at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Name of the machine.
    pub target: String,
    /// Its clock against the controller's, just before the load; `None`: the load never began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_before: Option<ClockOffset>,
    /// The same just after the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_after: Option<ClockOffset>,
    /// When its load was to begin, on its own CLOCK_MONOTONIC, in nanoseconds; `None`: no time was agreed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed_ns: Option<u64>,
    /// Its clocks when its engine started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Reading>,
    /// Its clocks when its engine had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Reading>,
    /// Its own record of the trial.
    pub record: Box<TrialRecord>,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Measured in full.
    Measured,
    /// Failed, for this reason with its causes. The figures are kept but not used.
    Failed(String),
}

/// The steps of a trial, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialStep {
    /// Builds the stack.
    Build,
    /// Lays out the data.
    Prepare,
    /// Attaches the caches that are added after the data are laid out.
    Attach,
    /// Brings the caches to the state in which the load begins.
    Settle,
    /// Performs the load.
    Measure,
    /// Flushes and removes the caches that are removed after the load.
    Flush,
    /// Takes the stack down.
    Undo,
}

impl TrialStep {
    /// The name in records and events, e.g. `build`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Prepare => "prepare",
            Self::Attach => "attach",
            Self::Settle => "settle",
            Self::Measure => "measure",
            Self::Flush => "flush",
            Self::Undo => "undo",
        }
    }
}

/// Duration of one step of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// The step.
    pub step: TrialStep,
    /// Duration in seconds.
    pub seconds: f64,
}

/// Results of an engine.
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
    /// Other messages of the engine, e.g. fio's error text.
    pub messages: Vec<String>,
    /// Where the engine did something different from its instructions.
    #[serde(default)]
    pub departures: Vec<Departure>,
    /// Measured time, CLOCK_MONOTONIC: the totals below only count I/O inside it.
    pub window: Window,
    /// Totals of reads over all jobs.
    pub read: Option<Totals>,
    /// Totals of writes over all jobs.
    pub write: Option<Totals>,
    /// Totals of trims over all jobs.
    #[serde(default)]
    pub trim: Option<Totals>,
    /// Times of the fsync, fdatasync and sync_file_range calls between the writes, over all jobs; `None`: there were none, or the
    /// engine doesn't report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<Latencies>,
    /// Times from the submission of a write to the moment from which it is durable: the end of the first fsync or fdatasync of its
    /// job that began after the write had completed, or with O_SYNC and O_DSYNC the end of the write itself. `None`: no write was
    /// made durable meanwhile, or the engine doesn't report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<Latencies>,
    /// Phases of a job file with jobs that wait for others; empty: all jobs ran at the same time. The totals are then all I/Os
    /// over the time of all phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// Figures that an imported file gives without the counts they are made of (e.g. percentiles without a histogram), by the names
    /// and in the units of docs/metrics.md. They can't be merged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<String, f64>,
    /// Time series of the measured time; `None` if the engine doesn't report it.
    #[serde(default)]
    pub series: Option<Series>,
    /// Results of checking the content of blocks; `None` if no check was requested, or the engine doesn't report it.
    #[serde(default)]
    pub verified: Option<Verified>,
    /// Cost of generating the load; `None` if the engine doesn't report it.
    #[serde(default)]
    pub generator: Option<GeneratorCost>,
    /// Errors by errno name, with their number.
    pub errors: Vec<ErrorCount>,
    /// CPU of the engine in user mode during the measured time, as a share of one core, as the engine reports it.
    pub cpu_user_share: Option<f64>,
    /// CPU of the engine in kernel mode, likewise.
    pub cpu_system_share: Option<f64>,
    /// Whether several jobs used the same file or region.
    pub shared_files: bool,
    /// Results of copying a tree of files.
    #[serde(default)]
    pub copied: Option<Copied>,
    /// Results of Bonnie++.
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
            sync: None,
            durable: None,
            phases: Vec::new(),
            given: BTreeMap::new(),
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

/// A difference between the instructions and what was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// What was done instead, and why.
    pub text: String,
    /// Whether it may have changed the figures.
    pub matters: bool,
}

/// Resources that the load generator itself used in the measured time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorCost {
    /// CPU time in user mode, all jobs, in seconds.
    pub user_seconds: f64,
    /// CPU time in kernel mode, all jobs, in seconds; for the native engine, including the kernel threads that serve its ring.
    pub system_seconds: f64,
    /// CPU time of the busiest job's thread, both modes, in seconds. Close to the measured time: this thread had no time to wait.
    #[serde(default)]
    pub busiest_thread_seconds: Option<f64>,
    /// CPU time per completed I/O, both modes, in nanoseconds.
    #[serde(default)]
    pub cpu_ns_per_io: Option<f64>,
    /// Instructions in user mode per completed I/O; `None` where the machine has no such counter.
    #[serde(default)]
    pub user_instructions_per_io: Option<f64>,
    /// Peak resident memory in bytes, including I/O buffers; `None` where the engine doesn't report it.
    #[serde(default)]
    pub peak_memory_bytes: Option<u64>,
    /// Size of the I/O buffers in bytes.
    #[serde(default)]
    pub buffer_bytes: Option<u64>,
    /// Time from the request to start until the first I/O, in nanoseconds.
    #[serde(default)]
    pub startup_ns: Option<u64>,
}

/// Results of checking the content of blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Bytes of checked content, during the trial and after it.
    pub bytes: u64,
    /// Wrong content; empty: all content was as written.
    pub faults: Vec<VerifyFault>,
}

/// One kind of wrong content, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyFault {
    /// Kind of wrong content.
    pub kind: FaultKind,
    /// Number of blocks.
    pub count: u64,
    /// Path of the file or device.
    pub path: String,
    /// Offsets of the first few, from the beginning of the file or device: of the first wrong byte where it is known, else of the block.
    pub offsets_bytes: Vec<u64>,
    /// Description of the first one, e.g. the expected and the actual content.
    pub example: String,
}

/// Kinds of wrong content of a block.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// Nothing that this trial wrote to the block is there: it still has its earlier content, or nothing at all.
    Lost,
    /// The block has an earlier write of this trial, not the latest acknowledged one.
    Stale,
    /// The block has parts of different writes.
    Torn,
    /// The block has content that belongs elsewhere.
    Misdirected,
    /// The block has bytes that were never written there.
    Corrupt,
}

/// A span of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Begin of the span.
    pub start_ns: u64,
    /// End of the span.
    pub end_ns: u64,
}

impl Window {
    /// Returns the length in seconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "spans are far below 2^52 ns")]
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

/// Totals of one direction over the measured time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Number of completed I/Os.
    pub ios: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Seconds that this direction ran: those of the longest job.
    pub seconds: f64,
    /// I/Os per second: the sum over jobs of each job's I/Os divided by its own time.
    pub iops: f64,
    /// Bytes per second, likewise.
    pub bytes_per_second: f64,
    /// Histogram of completion latencies.
    pub latency: LatencyHistogram,
    /// Mean completion latency, in nanoseconds: computed from the bins, or by the engine where it has no bins.
    pub latency_mean_ns: Option<f64>,
}

/// One phase of a job file: its jobs run at the same time, after those of the phase before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Names of its sections.
    pub jobs: Vec<String>,
    /// Seconds of its longest job.
    pub seconds: f64,
    /// Totals of its reads.
    pub read: Option<Totals>,
    /// Totals of its writes.
    pub write: Option<Totals>,
    /// Totals of its trims.
    pub trim: Option<Totals>,
}

/// Time series of a trial: completed I/Os in equal time steps, all jobs together. All lists have the same length. A last step
/// that is shorter than the others is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Begin of the first step, CLOCK_MONOTONIC, in nanoseconds.
    pub start_ns: u64,
    /// Length of a step, in nanoseconds.
    pub step_ns: u64,
    /// Reads completed in each step.
    pub read_ios: Vec<u64>,
    /// Writes completed in each step.
    pub write_ios: Vec<u64>,
    /// Trims completed in each step.
    pub trim_ios: Vec<u64>,
    /// Bytes read and written in each step.
    pub bytes: Vec<u64>,
    /// Latencies of the reads over the same time, in steps of their own; `None`: no read completed, or the engine doesn't report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_latency: Option<LatencySteps>,
    /// The same of the writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_latency: Option<LatencySteps>,
}

/// The number of times that one error occurred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// Name of the error, e.g. `EIO`.
    pub errno: String,
    /// Number of occurrences.
    pub count: u64,
    /// The job or file where it occurred, if known.
    pub place: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::{EngineOutput, StepTime, TrialStep, Window};
    use crate::latency::{Latencies, LatencyHistogram};

    #[test]
    fn outputs_from_before_syncs_were_timed_read_as_not_known() {
        let old = EngineOutput::new("native-0.1.0".to_owned(), Window { start_ns: 1, end_ns: 2 });
        let text = serde_json::to_string(&old).unwrap();
        assert!(
            !text.contains("\"sync\"") && !text.contains("\"durable\""),
            "what isn't known isn't written"
        );
        assert_eq!(serde_json::from_str::<EngineOutput>(&text).unwrap(), old);
        let histogram = LatencyHistogram { bins_ns: [(1000, 2)].into() };
        let sync = Some(Latencies { count: 2, mean_ns: Some(1000.5), max_ns: Some(1001), histogram });
        let new = EngineOutput { durable: sync.clone(), sync, ..old };
        let text = serde_json::to_string(&new).unwrap();
        assert_eq!(serde_json::from_str::<EngineOutput>(&text).unwrap(), new);
    }

    #[test]
    fn steps_are_kept_by_the_names_that_stored_runs_have() {
        let steps = [
            (TrialStep::Build, "build"),
            (TrialStep::Prepare, "prepare"),
            (TrialStep::Attach, "attach"),
            (TrialStep::Settle, "settle"),
            (TrialStep::Measure, "measure"),
            (TrialStep::Flush, "flush"),
            (TrialStep::Undo, "undo"),
        ];
        for (step, name) in steps {
            let kept = serde_json::json!({ "step": name, "seconds": 0.5 });
            let time = StepTime { step, seconds: 0.5 };
            assert_eq!(serde_json::to_value(&time).unwrap(), kept);
            assert_eq!(serde_json::from_value::<StepTime>(kept).unwrap(), time);
            assert_eq!(step.name(), name);
        }
    }
}
