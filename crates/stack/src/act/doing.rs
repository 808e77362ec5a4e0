//! What acts share: their context, and what they answer to.

use crate::error::ActError;
use crate::machine::Machine;
use record::id::RunId;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The context of an act while it is done.
pub(crate) struct Doing<'a> {
    pub(crate) machine: &'a Machine<'a>,
    /// Receives the share that is done, 0..=1.
    pub(crate) progress: &'a mut dyn FnMut(f64),
    pub(crate) cancel: &'a AtomicBool,
    /// The argument vectors of the programs that ran, for the record.
    pub(crate) argv: &'a mut Vec<Vec<String>>,
}

impl Doing<'_> {
    pub(crate) fn check_cancel(&self) -> Result<(), ActError> {
        if self.cancel.load(Ordering::Relaxed) { Err(ActError::Cancelled) } else { Ok(()) }
    }

    /// Runs a program and keeps its argument vector.
    pub(crate) fn run(&mut self, doing: &str, what: &host::Invocation) -> Result<host::Output, ActError> {
        let output = self.machine.runner.run(what).map_err(ActError::tool(doing))?;
        self.argv.push(output.argv.clone());
        Ok(output)
    }

    /// The same for a program that may take long and may be killed at any moment: it is killed when the user asks to stop.
    pub(crate) fn run_until(
        &mut self,
        doing: &str,
        what: &host::Invocation,
    ) -> Result<host::Output, ActError> {
        let output = self.machine.runner.run_until(what, self.cancel).map_err(|failure| match failure {
            host::CommandFailure::Cancelled { .. } => ActError::Cancelled,
            failure => ActError::tool(doing)(failure),
        })?;
        self.argv.push(output.argv.clone());
        Ok(output)
    }
}

/// The context of an undo.
pub(crate) struct Undoing<'a> {
    pub(crate) machine: &'a Machine<'a>,
    /// The run: the names of everything that it created begin with its id.
    pub(crate) run: &'a RunId,
    /// A disk that won't come back, as its owner said: by the name or serial number in the journal.
    pub(crate) given_up: Option<&'a str>,
    /// Whether the machine was rebooted since: then devices, mounts, cgroups and kernel settings are gone, files are not.
    pub(crate) rebooted: bool,
}

/// The result of an undo that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undone {
    /// It was undone.
    Done,
    /// It was undone here, to where it had been moved.
    Elsewhere(PathBuf),
    /// There was nothing to undo.
    Nothing,
    /// Left alone on purpose, for this reason; it is no longer ours to undo.
    Left(String),
}

/// An act and its undo. The undo uses only the act's own data. It must be safe when the act never began, is half done or done,
/// and when it is already undone.
pub(crate) trait Reversible: fmt::Display {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError>;
    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError>;
}
