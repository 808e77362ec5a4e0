//! The errors of provisioning.

use record::id::RunId;
use record::printable::Shown as _;
use record::provision::Provisioner;
use std::path::PathBuf;
use thiserror::Error;

/// Why a machine could not be provisioned.
#[derive(Debug, Error)]
pub enum ProvisionError {
    /// One of diskproof's own files could not be used.
    #[error("can't {doing} {}", path.shown())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Another process is provisioning.
    #[error("another diskproof provisions this machine at this moment ({} is locked); try again when it is done", path.shown())]
    Busy {
        /// The locked file.
        path: PathBuf,
    },
    /// A run is measuring on this machine.
    #[error(
        "run {run} is under way on this machine, and provisioning would change the machine under it; try again when it is done"
    )]
    Measuring {
        /// That run.
        run: RunId,
    },
    /// Programs of a killed provisioning are still running.
    #[error("a provisioning that was killed left programs at work: {}; wait for them, or end them", join(.left))]
    AtWork {
        /// Their names and process ids.
        left: Vec<String>,
    },
    /// The user asked to stop.
    #[error("the provisioning was ended, as the user asked; its next time begins anew")]
    Cancelled,
    /// A step failed.
    #[error("step {number} of {of}, `{by} {path}`, {which} run: {why}")]
    Step {
        /// The step's number, from 1.
        number: usize,
        /// The number of steps.
        of: usize,
        /// The tool that runs it.
        by: Provisioner,
        /// The step's file.
        path: String,
        /// Which of its two runs failed: `first` or `second`.
        which: &'static str,
        /// The reason, with the last lines of its output.
        why: String,
    },
}

fn join(words: &[String]) -> String {
    words.join(", ")
}
