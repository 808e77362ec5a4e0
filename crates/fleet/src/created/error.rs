//! Errors of creating and destroying machines.

use crate::error::FleetError;
use driver::journal::JournalError;
use driver::protocol::Blame;
use driver::{CallError, ProgramError};
use host::{CommandFailure, SshError};
use record::printable::Shown as _;
use run::fault::Fault;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Machines can't be created, entered or destroyed.
#[derive(Debug, Error)]
pub enum CreatedError {
    /// There is no such driver.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The driver fails.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The journal can't be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A program on this machine fails.
    #[error(transparent)]
    Command(#[from] CommandFailure),
    /// ssh fails.
    #[error(transparent)]
    Ssh(#[from] SshError),
    /// An agent process fails.
    #[error(transparent)]
    Fleet(#[from] Box<FleetError>),
    /// A file can't be written.
    #[error("{}", .path.shown())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A driver's answer can't be used.
    #[error("driver {driver} breaks the protocol: {what}")]
    Answer {
        /// The driver.
        driver: String,
        /// What is wrong.
        what: String,
    },
    /// A machine has no sshd that lets us in.
    #[error("target {target}: the machine {address} does not let diskproof in within {} s", .waited.as_secs())]
    NoWayIn {
        /// The target.
        target: String,
        /// Its address.
        address: String,
        /// How long was waited.
        waited: Duration,
        /// What ssh said last.
        source: Box<SshError>,
    },
    /// A machine doesn't show a volume that was created with it.
    #[error("target {target}: the machine shows no disk {name} for volume {volume}; its disks: {seen}")]
    NoDisk {
        /// The target.
        target: String,
        /// The volume.
        volume: String,
        /// The name that the driver told.
        name: String,
        /// The disks that are there.
        seen: String,
    },
    /// A driver finds nothing of a claim that has something.
    #[error(
        "driver {driver} finds no trace of {unseen}: use the credentials and settings that created them; if all of it is gone, \
         `diskproof undo {run} --give-up {claim}` ends the claim"
    )]
    NoTrace {
        /// The driver.
        driver: String,
        /// What the claim has, with names and ids.
        unseen: String,
        /// The run.
        run: String,
        /// The claim's id.
        claim: String,
    },
    /// A driver looks into another account than that of a claim.
    #[error(
        "driver {driver} works in account {other}, and the machines are in account {account}: use the credentials of that account; if all \
         of it is gone, `diskproof undo {run} --give-up {claim}` ends the claim"
    )]
    OtherAccount {
        /// The driver.
        driver: String,
        /// The claim's account.
        account: String,
        /// The account that the driver told.
        other: String,
        /// The run.
        run: String,
        /// The claim's id.
        claim: String,
    },
    /// The user cancelled.
    #[error("interrupted while machines were created")]
    Cancelled,
}

impl CreatedError {
    /// Whether the user ended it.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Call(CallError::Cancelled { .. }))
    }

    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Program(ProgramError::Name(_) | ProgramError::Unknown { .. }) => Fault::User,
            Self::Call(call) if call.blame() == Blame::User => Fault::User,
            _ => Fault::Machine,
        }
    }
}

impl From<FleetError> for CreatedError {
    fn from(error: FleetError) -> Self {
        Self::Fleet(Box::new(error))
    }
}
