//! How building, and undoing, fails.

use crate::holders::{self, Holder};
use crate::machine::Injected;
use host::CommandFailure;
use record::id::RunId;
use record::printable::{Shown as _, chain};
use record::quantity::Bytes;
use std::io;
use std::path::PathBuf;

/// One act, or its undo, failed.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// A file operation failed.
    #[error("cannot {doing} {}", .path.shown())]
    Io {
        /// What was being done, e.g. `remove`.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A program failed.
    #[error("cannot {doing}")]
    Tool {
        /// What was being done.
        doing: String,
        /// The program's failure.
        source: Box<CommandFailure>,
    },
    /// There isn't room for it.
    #[error("{} has {} free, and {} are needed{}", .dir.shown(), Bytes(*.free_bytes), Bytes(*.need_bytes), reserve(*.reserve_bytes))]
    NoSpace {
        /// Directory that should hold it.
        dir: PathBuf,
        /// What is needed, reserve included.
        need_bytes: u64,
        /// What is free.
        free_bytes: u64,
        /// What must stay free.
        reserve_bytes: u64,
    },
    /// Somebody uses it.
    #[error("{what} is busy: {}", holders::sentence(.holders))]
    Busy {
        /// Mount point, device or file.
        what: String,
        /// Processes that hold it, as far as they can be seen.
        holders: Vec<Holder>,
    },
    /// It is not, or no longer, what the journal says, so it is left alone.
    #[error("{what} is not ours: {saw}")]
    NotOurs {
        /// What should have been removed.
        what: String,
        /// What it is.
        saw: String,
    },
    /// A disk can't be found or must not be written to, so what we wrote on it can't be removed now.
    #[error(
        "{disk} is out of reach: {saw}. What diskproof wrote on it stays there; `diskproof undo RUN` removes it when the disk is back. \
         If it never comes back: diskproof undo RUN --give-up {}", .name
    )]
    OutOfReach {
        /// The disk, with its serial number where the journal knows it.
        disk: String,
        /// The name to give it up by.
        name: String,
        /// What is the matter with it.
        saw: String,
    },
    /// The machine did not do what it was told, without saying so.
    #[error("{what}: expected {expected}, found {saw}")]
    Unverified {
        /// What was checked.
        what: String,
        /// What it should be.
        expected: String,
        /// What it is.
        saw: String,
    },
    /// Another process took this loop device's number first.
    #[error("loop device {number} was just taken by somebody else")]
    LoopTaken {
        /// The number.
        number: u32,
    },
    /// Another run has set it and will put it back.
    #[error("{} is set by run {run}; let that end, or undo it (diskproof undo {run})", .path.shown())]
    KnobTaken {
        /// The kernel's file.
        path: PathBuf,
        /// Whose it is.
        run: RunId,
    },
    /// The guard refused.
    #[error("the guard refuses")]
    Guard {
        /// Who dissented and why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The journal could not be written.
    #[error("the journal could not be written, so nothing was done")]
    Journal {
        /// Why not.
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

/// A journal could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file operation failed.
    #[error("cannot {doing} {}", .path.shown())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Others can exchange what is in the state directory.
    #[error("the state directory can't be trusted")]
    Unsafe {
        /// Which directory, and why.
        source: device::TrustError,
    },
    /// Another diskproof is at it.
    #[error("run {run} is being worked on by another diskproof{}", .pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Locked {
        /// The run.
        run: RunId,
        /// The owner, as the journal names it.
        pid: Option<u32>,
    },
    /// An earlier process left something undone.
    #[error("run {run} has {acts} changes left that were not undone; undo it first")]
    Unfinished {
        /// The run.
        run: RunId,
        /// How many.
        acts: usize,
    },
    /// A line in its middle can't be read.
    #[error("{} line {line} can't be read", .path.shown())]
    Corrupt {
        /// The journal.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Why not.
        source: serde_json::Error,
    },
    /// It was written by a newer diskproof, or isn't a journal.
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
    /// The journal itself is the problem.
    #[error("cannot undo run {run}")]
    Journal {
        /// The run.
        run: RunId,
        /// Why not.
        #[source]
        source: JournalError,
    },
    /// A program that it started is at work still, and what it does would come after the undo. Nothing was undone.
    #[error("run {run} is not undone: a program that it started is still at work and can't be ended: {}; undo it again when that is gone", crate::holders::sentence(.left))]
    AtWork {
        /// The run.
        run: RunId,
        /// The programs.
        left: Vec<Holder>,
    },
    /// Steps failed; the others were undone.
    #[error("run {run}: {} of {} changes could not be undone:{}", .failures.len(), .of, list(.failures))]
    Steps {
        /// The run.
        run: RunId,
        /// How many there were to undo.
        of: usize,
        /// Those that failed, in the order of undoing: the first is usually the cause of the others.
        failures: Vec<UndoFailure>,
    },
}

/// One step that could not be undone.
#[derive(Debug)]
pub struct UndoFailure {
    /// Its number in the journal.
    pub step: u32,
    /// What it had done.
    pub act: String,
    /// Why it stays.
    pub error: ActError,
}

fn list(failures: &[UndoFailure]) -> String {
    failures.iter().map(|f| format!("\n  {}: {}", f.act, chain(&f.error))).collect()
}

/// Volumes could not be provided, or a stack not be built. What was done until then has been undone.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// A step failed.
    #[error("cannot {step}{}", undone(.undo.as_deref()))]
    Act {
        /// The step, e.g. `make ext4 on /dev/loop1000`.
        step: String,
        /// Why not.
        source: ActError,
        /// What went wrong when taking back the steps before it.
        undo: Option<Box<UndoError>>,
    },
    /// The stack can't be built like this.
    #[error("stack {stack}: {what}")]
    Unbuildable {
        /// Its name.
        stack: String,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A volume can't be provided like this.
    #[error("volume {volume}: {what}")]
    Unprovidable {
        /// Its name.
        volume: String,
        /// What is wrong, and what would be right.
        what: String,
    },
}

fn undone(undo: Option<&UndoError>) -> String {
    undo.map(|error| format!("; then {}", chain(error))).unwrap_or_default()
}

impl StackError {
    /// Whether the user asked to stop, and everything was put back.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Act { source: ActError::Cancelled, undo: None, .. })
    }

    /// Whether the guard refused a disk or directory.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Act { source: ActError::Guard { .. }, .. })
    }

    /// Whether something of it is left, since it could not be undone.
    #[must_use]
    pub fn left_something(&self) -> bool {
        matches!(self, Self::Act { undo: Some(_), .. })
    }
}
