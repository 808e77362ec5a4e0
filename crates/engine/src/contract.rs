//! The interface of all engines, and their input.

use crate::error::EngineError;
use device::Ground;
use record::trial::EngineOutput;
use record::workload::Workload;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A load generator.
pub trait Engine {
    /// The engine's name and version, e.g. `fio-3.33`.
    ///
    /// # Errors
    /// When the engine isn't there, or too old.
    fn probe(&self) -> Result<String, EngineError>;

    /// Lays out the workload's data on the device or file system under test, flushes them, and returns the files (or the block
    /// device).
    /// Never throttled: it doesn't join the trial's cgroup.
    ///
    /// # Errors
    /// When the data could not be laid out in full, or the caller cancelled.
    fn prepare(&self, job: &Job<'_>) -> Result<Vec<PathBuf>, EngineError>;

    /// Whether [`Engine::run`] is to be called before the load begins and waits for [`Job::begins_at_ns`] itself, because its program takes
    /// time to start.
    fn waits_itself(&self, _job: &Job<'_>) -> bool {
        false
    }

    /// Performs the workload on data that [`Engine::prepare`] laid out.
    ///
    /// # Errors
    /// When the engine failed, had I/O errors (then with its measurements so far, [`EngineError::take_output`]), hung,
    /// or the caller cancelled.
    fn run(&self, job: &Job<'_>) -> Result<EngineOutput, EngineError>;
}

/// What a load completed lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Begin of the span that it counts, CLOCK_MONOTONIC, in nanoseconds.
    pub from_ns: u64,
    /// End of the span.
    pub to_ns: u64,
    /// Reads and writes that completed in it.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// 99th percentile of their latencies in nanoseconds; `None`: there are fewer than [`record::latency::LEAST_FOR_P99`].
    pub p99_ns: Option<u64>,
}

/// One trial's work for an engine.
pub struct Job<'a> {
    /// The device or file system under test.
    pub ground: &'a Ground,
    /// The workload to perform.
    pub workload: &'a Workload,
    /// The seed of this trial's offsets and data.
    pub seed: u64,
    /// The measured time in seconds, without the ramp.
    pub trial_seconds: f64,
    /// The time of load before the measured time, in seconds.
    pub ramp_seconds: f64,
    /// The `cgroup.procs` that `run`'s processes join before they start.
    pub cgroup_procs: Option<&'a Path>,
    /// Set by the caller to end the work early.
    pub cancel: &'a AtomicBool,
    /// Receives the engine's process id as soon as there is one (only from `run`).
    pub started: &'a dyn Fn(u32),
    /// Receives the share of the data laid out so far, 0..=1 (only from `prepare`).
    pub progress: &'a dyn Fn(f64),
    /// Called about twenty times a second while the load runs (only from `run`), with what it completed lately: `None` before anything
    /// is known, and always from engines that don't tell it.
    pub running: &'a dyn Fn(Option<Progress>),
    /// The moment at which the load begins, CLOCK_MONOTONIC in nanoseconds; `None`: at once. Only for [`Engine::waits_itself`].
    pub begins_at_ns: Option<u64>,
    /// Whether the caller wants to know what the load completes while it runs.
    pub follows: bool,
    /// An existing directory for the engine's own files (job file, output); not on the device or file system under test.
    pub scratch: &'a Path,
}

impl Job<'_> {
    /// The refusal of its workload.
    pub(crate) fn refused(&self, why: &dyn Display) -> EngineError {
        EngineError::Refused { workload: self.workload.name.clone(), reason: why.to_string() }
    }
}
