//! The errors of engines: one type for all engines, one variant per operation.

use host::CommandFailure;
use record::printable::Shown as _;
use record::trial::{EngineOutput, ErrorCount};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// How the end of a program is described that a signal ended.
pub(crate) const ENDED_BY_SIGNAL: &str = "was ended by signal";

/// Why an engine could not do its work.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The engine's program is missing or doesn't answer.
    #[error("the engine {engine} can't be used")]
    Missing {
        /// The engine.
        engine: &'static str,
        /// The cause.
        #[source]
        source: Box<CommandFailure>,
    },
    /// The engine is too old for what diskproof reads and relies on.
    #[error(
        "{found} is too old: diskproof needs {needed} or newer (Debian 12 has it: apt-get install {package})"
    )]
    TooOld {
        /// Its version.
        found: String,
        /// The least version.
        needed: &'static str,
        /// The Debian package.
        package: &'static str,
    },
    /// The engine prints its version in an unknown format.
    #[error("{argv} printed {said:?}, which is not a version of {engine}")]
    UnknownVersion {
        /// The engine.
        engine: &'static str,
        /// The command.
        argv: String,
        /// Its output.
        said: String,
    },
    /// The workload can't run on this device or file system, or would make the engine leave it.
    #[error("workload {workload}: {reason}")]
    Refused {
        /// The workload's name.
        workload: String,
        /// The reason and the remedy.
        reason: String,
    },
    /// A file of the engine itself could not be written or read.
    #[error("cannot {action} {}", .path.shown())]
    Io {
        /// The operation, e.g. `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The engine could not be started.
    #[error("cannot run {argv}")]
    Spawn {
        /// The command.
        argv: String,
        /// The cause.
        source: io::Error,
    },
    /// The engine failed, or reported I/O errors.
    #[error("{argv} {ended}{}{}", places(.errors), said(.messages))]
    Failed {
        /// The command.
        argv: String,
        /// Its end, e.g. `ended with status 1`.
        ended: String,
        /// The I/O errors.
        errors: Vec<ErrorCount>,
        /// Its output besides the report.
        messages: Vec<String>,
        /// The measurements until then, if its report can be read.
        output: Option<Box<EngineOutput>>,
    },
    /// The engine ended successfully, but its report can't be used.
    #[error("{argv} ended without an error, but its output can't be used: {reason}{}", said(.messages))]
    Output {
        /// The command.
        argv: String,
        /// What is wrong with the report.
        reason: String,
        /// Its output besides the report.
        messages: Vec<String>,
    },
    /// The engine did not end in time and was killed.
    #[error("{argv} should have ended after {expected_seconds:.0} s, had not after {waited_seconds:.0} s, and was killed{}", said(.messages))]
    Hung {
        /// The command.
        argv: String,
        /// The time in which it should have ended, in seconds.
        expected_seconds: f64,
        /// The time after which it was killed, in seconds.
        waited_seconds: f64,
        /// Its output until then.
        messages: Vec<String>,
    },
    /// The caller cancelled; the engine has ended.
    #[error("cancelled")]
    Cancelled,
    /// The data are smaller than the layout should be.
    #[error("{}: laid out {found_bytes} bytes instead of {wanted_bytes}", .path.shown())]
    LaidOutShort {
        /// The file.
        path: PathBuf,
        /// Its size.
        found_bytes: u64,
        /// The size that it should have.
        wanted_bytes: u64,
    },
    /// The block device is too small for the data.
    #[error("{}: the data needs {needed_bytes} bytes, the device has {found_bytes}; use a smaller size or fewer jobs", .path.shown())]
    TooSmall {
        /// The device.
        path: PathBuf,
        /// Its size.
        found_bytes: u64,
        /// The size that the jobs need.
        needed_bytes: u64,
    },
}

impl EngineError {
    /// Takes the measurements before a failure out of the error, if there are any; they are stored, but not used.
    #[must_use]
    pub fn take_output(&mut self) -> Option<EngineOutput> {
        match self {
            Self::Failed { output, .. } => output.take().map(|o| *o),
            _ => None,
        }
    }
}

impl EngineError {
    /// Whether the load was cut off from outside: its program was killed or hung, or a disk was full. The same trial may succeed later.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        match self {
            Self::Hung { .. } => true,
            Self::Failed { ended, errors, .. } => {
                ended.starts_with(ENDED_BY_SIGNAL) || errors.iter().any(|error| error.errno == "ENOSPC")
            }
            Self::Io { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            _ => false,
        }
    }
}

fn places(errors: &[ErrorCount]) -> String {
    let one = |e: &ErrorCount| match &e.place {
        Some(place) => format!("{} in {place}", e.errno),
        None => e.errno.clone(),
    };
    match errors {
        [] => String::new(),
        _ => format!(" ({})", errors.iter().map(one).collect::<Vec<_>>().join(", ")),
    }
}

fn said(messages: &[String]) -> String {
    const QUOTED: usize = 8;
    if messages.is_empty() {
        return String::new();
    }
    let more = messages.len().saturating_sub(QUOTED);
    let quoted = messages.iter().take(QUOTED).map(String::as_str).collect::<Vec<_>>().join("\n  ");
    let rest = if more > 0 { format!("\n  ({more} more lines)") } else { String::new() };
    format!("; it said:\n  {quoted}{rest}")
}
