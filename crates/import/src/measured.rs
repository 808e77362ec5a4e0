//! What one file holds, before the trials of all files become cells.

use crate::fio::log::Log;
use record::trial::{EngineOutput, Outcome};
use record::workload::{Ask, EngineKind};
use std::collections::BTreeMap;

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Trials.
    Trials(Vec<Measured>),
    /// A log of fio: with the other logs of its job it adds to a trial, or makes one.
    Log(Log),
}

/// One trial of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Path of the file.
    pub(crate) file: String,
    /// Name of its format.
    pub(crate) format: &'static str,
    /// Folders of the file.
    pub(crate) folders: Vec<String>,
    /// Where the data lay, as far as the file tells: a device, a directory, a machine.
    pub(crate) place: Option<String>,
    /// Name of the job.
    pub(crate) job: String,
    /// The engine in whose terms its options are.
    pub(crate) engine: EngineKind,
    /// Its options.
    pub(crate) ask: Ask,
    /// Its options as text, for names and levels. Trials of the same job with the same options are repeats.
    pub(crate) options: BTreeMap<String, String>,
    /// When it began, UTC, milliseconds since the epoch.
    pub(crate) started_unix_ms: u64,
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// What was assumed about it, for the user.
    pub(crate) notes: Vec<String>,
    /// Its figures.
    pub(crate) output: EngineOutput,
}
