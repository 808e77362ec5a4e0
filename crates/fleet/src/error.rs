//! Why a machine can't be reached, or a guest not be had.

use host::{CommandFailure, SshError};
use lab::LabError;
use run::controller::RunError;
use run::fault::Fault;
use thiserror::Error;

/// A machine that can't be reached, or a guest that can't be had or left.
#[derive(Debug, Error)]
pub enum FleetError {
    /// The lab refuses.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The way by ssh fails.
    #[error(transparent)]
    Ssh(#[from] SshError),
    /// An agent fails.
    #[error(transparent)]
    Agent(#[from] Box<RunError>),
    /// A program of this machine fails.
    #[error(transparent)]
    Command(#[from] CommandFailure),
    /// Root is needed and can't be had.
    #[error(
        "{what} needs root, and {why}. Either run `sudo diskproof ...`, or use a directory volume \
         (`diskproof new --kind directory`, `diskproof quick DIR`), which needs none"
    )]
    NeedsRoot {
        /// What needs it.
        what: String,
        /// Why it can't be had.
        why: &'static str,
    },
    /// This program can't be started once more.
    #[error("can't tell where our own program is: {0}")]
    OwnProgram(#[source] std::io::Error),
    /// Limits would change of a disk that stays in the guest.
    #[error(
        "lab guest {guest} has a disk {disk} already, and its limits are to change in mid-trial: that is done to a run's own disks only; \
         diskproof lab down --name {guest}, or give the disk another name"
    )]
    DiskOfOthers {
        /// The guest.
        guest: String,
        /// The disk.
        disk: String,
    },
    /// A route leads into a guest that nobody started.
    #[error("the guest {0} was not brought up")]
    NotUp(String),
    /// A machine has no address that another one could use.
    #[error("target {target} has no address that {other} could reach")]
    NoAddress {
        /// Which machine.
        target: String,
        /// Who needs its address.
        other: String,
    },
    /// Another machine doesn't see this one by IPv4.
    #[error(
        "{destination} does not see this machine by an IPv4 address (`{said}`); reach it by ssh as a target of its own, with `address`"
    )]
    NotSeen {
        /// The other machine.
        destination: String,
        /// What it says.
        said: String,
    },
    /// A name without an IPv4 address.
    #[error("target {target}: this machine finds no IPv4 address of `{name}`; say `address:` in the target")]
    Unresolved {
        /// Which machine.
        target: String,
        /// Its name.
        name: String,
    },
}

impl FleetError {
    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::DiskOfOthers { .. } => Fault::User,
            Self::NotUp(_) => Fault::Ours,
            Self::Lab(_)
            | Self::Ssh(_)
            | Self::Agent(_)
            | Self::Command(_)
            | Self::NeedsRoot { .. }
            | Self::OwnProgram(_)
            | Self::NoAddress { .. }
            | Self::NotSeen { .. }
            | Self::Unresolved { .. } => Fault::Machine,
        }
    }
}

impl From<RunError> for FleetError {
    fn from(error: RunError) -> Self {
        Self::Agent(Box::new(error))
    }
}
