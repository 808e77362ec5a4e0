//! Why a node could not do what the controller asked for.

use crate::fault::Fault;
use crate::guest_host::HostError;
use crate::serving::ServingError;
use crate::tools::Missing;
use crate::trial::LeftError;
use crate::verify::LimitsError;
use record::printable::{Shown as _, chain};
use record::quantity::Bytes;
use stack::{JournalError, RESERVE_BYTES, StackError, UndoError};
use std::path::PathBuf;
use thiserror::Error;

/// Why a node could not do what the controller asked for.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("the agent process can't read line {line} of its requests")]
    Unreadable { line: u64, source: std::io::Error },
    /// The request doesn't fit those before it.
    #[error("{0}")]
    OutOfTurn(&'static str),
    /// Programs are missing.
    #[error(transparent)]
    Tools(#[from] Missing),
    #[error(
        "{} has {} free; the experiment lays out {} there and leaves {} to its owner: free some space or ask for a smaller size",
        .path.shown(), Bytes(*.free_bytes), Bytes(*.need_bytes), Bytes(RESERVE_BYTES)
    )]
    Space { path: PathBuf, free_bytes: u64, need_bytes: u64 },
    /// The journals of runs can't be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The volumes can't be provided.
    #[error(transparent)]
    Volumes(#[from] StackError),
    /// The limits of the volumes are not confirmed.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// Something of a trial's stack is left.
    #[error(transparent)]
    Left(#[from] LeftError),
    /// What backs a guest's disk can't be examined.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The node that loads the exported file system asked for something that failed.
    #[error(transparent)]
    Serving(#[from] ServingError),
    /// An undo failed.
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("{}; and putting things back failed: {}", chain(.open.as_ref()), chain(.undo))]
    OpenAndUndo { open: Box<Failure>, undo: UndoError },
}

impl Failure {
    /// Whose fault it is.
    pub(crate) fn fault(&self) -> Fault {
        match self {
            Self::Tools(_)
            | Self::Space { .. }
            | Self::Journal(_)
            | Self::Volumes(_)
            | Self::Host(_)
            | Self::Serving(_) => Fault::Machine,
            Self::Limits(error) => error.fault(),
            Self::Unreadable { .. }
            | Self::OutOfTurn(_)
            | Self::Left(_)
            | Self::Undo(_)
            | Self::OpenAndUndo { .. } => Fault::Ours,
        }
    }
}
