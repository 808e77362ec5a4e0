//! The errors of builds and undos.

use crate::holders::{self, Holder};
use crate::machine::Injected;
use host::CommandFailure;
use record::id::RunId;
use record::printable::{Shown as _, chain};
use record::quantity::Bytes;
use std::io;
use std::path::PathBuf;

/// The error of an act or its undo.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// A file operation failed.
    #[error("cannot {doing} {}", .path.shown())]
    Io {
        /// The operation, e.g. `remove`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A program failed.
    #[error("cannot {doing}")]
    Tool {
        /// The operation.
        doing: String,
        /// The program's failure.
        source: Box<CommandFailure>,
    },
    /// There isn't enough space.
    #[error("{} has {} free, and {} are needed{}", .dir.shown(), Bytes(*.free_bytes), Bytes(*.need_bytes), reserve(*.reserve_bytes))]
    NoSpace {
        /// The directory for the file.
        dir: PathBuf,
        /// The bytes needed, including the reserve.
        need_bytes: u64,
        /// The free bytes.
        free_bytes: u64,
        /// The bytes that must stay free.
        reserve_bytes: u64,
    },
    /// Something uses it.
    #[error("{what} is busy: {}", holders::sentence(.holders))]
    Busy {
        /// The mount point, device or file.
        what: String,
        /// The processes that use it, as far as they are visible.
        holders: Vec<Holder>,
    },
    /// It is not, or no longer, what the journal says, so it is left alone.
    #[error("{what} is not what diskproof made, so it stays: {saw}")]
    NotOurs {
        /// The object to be removed.
        what: String,
        /// What it is now.
        saw: String,
    },
    /// A disk can't be found or must not be written to, so what we wrote on it can't be removed now.
    #[error(
        "{disk} is out of reach: {saw}. What diskproof wrote on it stays there; `diskproof undo RUN` removes it when the disk is back. \
         If it never comes back: diskproof undo RUN --give-up {}", .name
    )]
    OutOfReach {
        /// The disk, with its serial number if the journal has it.
        disk: String,
        /// The name by which its owner can give it up.
        name: String,
        /// The problem with it.
        saw: String,
    },
    /// The machine did not do what was requested, and reported no error.
    #[error("{what}: expected {expected}, found {saw}")]
    Unverified {
        /// The property that was checked.
        what: String,
        /// Its expected value.
        expected: String,
        /// Its actual value.
        saw: String,
    },
    /// Another process took this loop device's number first.
    #[error("another program has just taken loop device {number}")]
    LoopTaken {
        /// The number.
        number: u32,
    },
    /// Another run has set this kernel setting and will put it back.
    #[error("{} is set by run {run}; wait until that ends, or undo it (diskproof undo {run})", .path.shown())]
    KnobTaken {
        /// The kernel's file.
        path: PathBuf,
        /// That run.
        run: RunId,
    },
    /// The guard refused.
    #[error("diskproof's checks refuse it")]
    Guard {
        /// The checks that failed, and why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The journal could not be written.
    #[error("the journal could not be written, so nothing was done")]
    Journal {
        /// The cause.
        #[source]
        source: Box<JournalError>,
    },
    /// The user asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// A test asked for it.
    #[error(transparent)]
    Injected(#[from] Injected),
}

impl ActError {
    /// A refusal of the guard.
    pub(crate) fn guard(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Guard { source: Box::new(source) }
    }

    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    pub(crate) fn tool(doing: impl Into<String>) -> impl FnOnce(CommandFailure) -> Self {
        let doing = doing.into();
        move |source| Self::Tool { doing, source: Box::new(source) }
    }
}

fn reserve(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!(" (of which {} stay free)", Bytes(bytes)) }
}

/// Why a journal can't be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file operation failed.
    #[error("cannot {doing} {}", .path.shown())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Other users can replace what is in the state directory.
    #[error("the state directory can't be trusted")]
    Unsafe {
        /// The directory, and the reason.
        source: host::TrustError,
    },
    /// Another diskproof process has it locked.
    #[error("run {run} is being worked on by another diskproof{}", .pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Locked {
        /// The run.
        run: RunId,
        /// The process that owns it, as the journal says.
        pid: Option<u32>,
    },
    /// An earlier process left acts that aren't undone.
    #[error("run {run} has {acts} changes left that were not undone; undo it first")]
    Unfinished {
        /// The run.
        run: RunId,
        /// The number of these acts.
        acts: usize,
    },
    /// A line before the last one can't be parsed.
    #[error("{} line {line} can't be read", .path.shown())]
    Corrupt {
        /// The journal.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The cause.
        source: serde_json::Error,
    },
    /// A newer diskproof wrote it, or it isn't a journal.
    #[error("{}: {what}", .path.shown())]
    Foreign {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// Some of a run's changes could not be undone; they stay in the journal.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// The journal can't be used.
    #[error("cannot undo run {run}")]
    Journal {
        /// The run.
        run: RunId,
        /// The cause.
        #[source]
        source: JournalError,
    },
    /// A program that the run started is still running, and could change the machine after the undo. Nothing was undone.
    #[error("run {run} is not undone: a program that it started is still at work and can't be ended: {}; undo it again when that is gone", crate::holders::sentence(.left))]
    AtWork {
        /// The run.
        run: RunId,
        /// The programs.
        left: Vec<Holder>,
    },
    /// Some steps failed; the others were undone.
    #[error("run {run}: {} of {} changes could not be undone:{}", .failures.len(), .of, list(.failures))]
    Steps {
        /// The run.
        run: RunId,
        /// The number of steps to undo.
        of: usize,
        /// The failed steps, in the order of undoing: the first one usually causes the others.
        failures: Vec<UndoFailure>,
    },
}

/// A step that could not be undone.
#[derive(Debug)]
pub struct UndoFailure {
    /// Its number in the journal.
    pub step: u32,
    /// The act.
    pub act: String,
    /// The reason why it isn't undone.
    pub error: ActError,
}

fn list(failures: &[UndoFailure]) -> String {
    failures.iter().map(|f| format!("\n  {}: {}", f.act, chain(&f.error))).collect()
}

/// Why volumes could not be provided, or a stack not be built. All steps before the failure have been undone.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// A step failed.
    #[error("cannot {step}{}", undone(.undo.as_deref()))]
    Act {
        /// The step, e.g. `make ext4 on /dev/loop1000`.
        step: String,
        /// The cause.
        source: ActError,
        /// The error of undoing the steps before it.
        undo: Option<Box<UndoError>>,
    },
    /// The stack can't be built like this.
    #[error("stack {stack}: {what}")]
    Unbuildable {
        /// The stack's name.
        stack: String,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A volume can't be provided like this.
    #[error("volume {volume}: {what}")]
    Unprovidable {
        /// The volume's name.
        volume: String,
        /// What is wrong, and what would be right.
        what: String,
    },
}

fn undone(undo: Option<&UndoError>) -> String {
    undo.map(|error| format!("; then {}", chain(error))).unwrap_or_default()
}

impl StackError {
    /// Whether the user asked to stop, and everything was undone.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Act { source: ActError::Cancelled, undo: None, .. })
    }

    /// Whether the guard refused a disk or directory.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Act { source: ActError::Guard { .. }, .. })
    }

    /// Whether some of it is left because it could not be undone.
    #[must_use]
    pub fn left_something(&self) -> bool {
        matches!(self, Self::Act { undo: Some(_), .. })
    }
}
