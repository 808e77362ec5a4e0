//! How engines fail: one error for all engines, one variant per operation.

use host::CommandFailure;
use record::printable::Shown as _;
use record::trial::{EngineOutput, ErrorCount};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// An engine could not do what was asked.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The engine's program isn't there or doesn't answer.
    #[error("the engine {engine} can't be used")]
    Missing {
        /// Which engine.
        engine: &'static str,
        /// Why.
        #[source]
        source: Box<CommandFailure>,
    },
    /// The engine is older than what we read and rely on.
    #[error(
        "{found} is too old: diskproof needs {needed} or newer (Debian 12 has it: apt-get install {package})"
    )]
    TooOld {
        /// What it calls itself.
        found: String,
        /// What is needed.
        needed: &'static str,
        /// Debian's package.
        package: &'static str,
    },
    /// The engine doesn't say its version in a way we know.
    #[error("{argv} printed {said:?}, which is no version of {engine}")]
    UnknownVersion {
        /// Which engine.
        engine: &'static str,
        /// What was run.
        argv: String,
        /// What it printed.
        said: String,
    },
    /// The workload can't be performed on this ground, or would lead the engine elsewhere.
    #[error("workload {workload}: {reason}")]
    Refused {
        /// The workload's name.
        workload: String,
        /// Why, and what to do.
        reason: String,
    },
    /// One of the engine's own files could not be written or read.
    #[error("cannot {action} {}", .path.shown())]
    Io {
        /// E.g. `write`.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The engine could not be started.
    #[error("cannot run {argv}")]
    Spawn {
        /// What was to be run.
        argv: String,
        /// Why.
        source: io::Error,
    },
    /// The engine ended badly, or saw I/O errors.
    #[error("{argv} {ended}{}{}", places(.errors), said(.messages))]
    Failed {
        /// What was run.
        argv: String,
        /// How it ended, e.g. `ended with status 1`.
        ended: String,
        /// I/O errors it saw.
        errors: Vec<ErrorCount>,
        /// What it said beside its document.
        messages: Vec<String>,
        /// What it measured until then, if its document could be read.
        output: Option<Box<EngineOutput>>,
    },
    /// The engine ended well but its document can't be used.
    #[error("{argv} ended well, but its output can't be used: {reason}{}", said(.messages))]
    Output {
        /// What was run.
        argv: String,
        /// What is wrong with it.
        reason: String,
        /// What it said beside its document.
        messages: Vec<String>,
    },
    /// The engine did not end when it should have, and was killed.
    #[error("{argv} should have ended after {expected_seconds:.0} s, had not after {waited_seconds:.0} s, and was killed{}", said(.messages))]
    Hung {
        /// What was run.
        argv: String,
        /// When it should have ended.
        expected_seconds: f64,
        /// How long it was waited for.
        waited_seconds: f64,
        /// What it said until then.
        messages: Vec<String>,
    },
    /// The caller cancelled; the engine has ended.
    #[error("cancelled")]
    Cancelled,
    /// The data isn't what was to be laid out.
    #[error("{}: laid out {found_bytes} bytes instead of {wanted_bytes}", .path.shown())]
    LaidOutShort {
        /// Which file.
        path: PathBuf,
        /// Its size.
        found_bytes: u64,
        /// The size it should have.
        wanted_bytes: u64,
    },
    /// The block device is too small for the data.
    #[error("{}: the data needs {needed_bytes} bytes, the device has {found_bytes}; use a smaller size or fewer jobs", .path.shown())]
    TooSmall {
        /// Which device.
        path: PathBuf,
        /// Its size.
        found_bytes: u64,
        /// What the jobs need.
        needed_bytes: u64,
    },
}

impl EngineError {
    /// What was measured before a failure, if anything; to be kept, not used.
    #[must_use]
    pub fn into_output(self) -> Option<EngineOutput> {
        match self {
            Self::Failed { output, .. } => output.map(|o| *o),
            _ => None,
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
