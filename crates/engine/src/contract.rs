//! What every engine offers, and what it is given.

use crate::error::EngineError;
use device::Ground;
use record::trial::EngineOutput;
use record::workload::Workload;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A load generator.
pub trait Engine {
    /// Name and version, e.g. `fio-3.33`.
    ///
    /// # Errors
    /// When the engine isn't there, or too old.
    fn probe(&self) -> Result<String, EngineError>;

    /// Lays the workload's data out on the ground, flushed to it, and gives the files (or the block device).
    /// Never throttled: it doesn't join the trial's cgroup.
    ///
    /// # Errors
    /// When the data could not be laid out in full, or the caller cancelled.
    fn prepare(&self, job: &Job<'_>) -> Result<Vec<PathBuf>, EngineError>;

    /// Performs the workload on data that [`Engine::prepare`] laid out.
    ///
    /// # Errors
    /// When the engine failed, saw I/O errors (then with what it measured until then, [`EngineError::into_output`]), hung,
    /// or the caller cancelled.
    fn run(&self, job: &Job<'_>) -> Result<EngineOutput, EngineError>;
}

/// One trial's work for an engine.
pub struct Job<'a> {
    /// Where to work.
    pub ground: &'a Ground,
    /// What to do.
    pub workload: &'a Workload,
    /// Seed of this trial's offsets and data.
    pub seed: u64,
    /// Measured seconds, ramp not included.
    pub trial_seconds: f64,
    /// Seconds of load before measuring begins.
    pub ramp_seconds: f64,
    /// The `cgroup.procs` that `run`'s processes join before they start.
    pub cgroup_procs: Option<&'a Path>,
    /// Set by the caller to end the work early.
    pub cancel: &'a AtomicBool,
    /// Told the engine's process id as soon as there is one (by `run` only).
    pub started: &'a dyn Fn(u32),
    /// Told the share of the data laid out, 0..=1 (by `prepare` only).
    pub progress: &'a dyn Fn(f64),
    /// An existing directory for the engine's own files (job file, output); not on the ground.
    pub scratch: &'a Path,
}
