//! Errors of connecting to machines and of lab guests.

use host::{CommandFailure, SshError};
use lab::LabError;
use run::controller::RunError;
use run::fault::Fault;
use thiserror::Error;

/// Why this process can't become root, with the way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoSudo {
    /// The user's setting forbids it.
    #[error("the setting `sudo` is `never`: run it by `sudo diskproof ...`")]
    Never,
    /// There is no sudo.
    #[error("there is no sudo on this machine: run it as root (`su -`)")]
    Missing,
    /// sudo asks for a password.
    #[error("sudo asks for a password: run `sudo -v` first")]
    Password,
}

/// A machine can't be reached, or a lab guest can't be started or restored to its state before the run.
#[derive(Debug, Error)]
pub enum FleetError {
    /// The lab fails.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// ssh fails.
    #[error(transparent)]
    Ssh(#[from] SshError),
    /// An agent process fails.
    #[error(transparent)]
    Agent(#[from] Box<RunError>),
    /// A program on this machine fails.
    #[error(transparent)]
    Command(#[from] CommandFailure),
    /// Root is needed and not available.
    #[error("{what} needs root, and {why}. An existing directory needs no root: `diskproof quick DIR`")]
    NeedsRoot {
        /// What needs root.
        what: String,
        /// Why root isn't available, and the way out.
        why: NoSudo,
    },
    /// diskproof can't find its own executable.
    #[error("can't find diskproof's own program file: {0}")]
    OwnProgram(#[source] std::io::Error),
    /// The limits would change of a disk that the guest had before the run.
    #[error(
        "lab guest {guest} has a disk {disk} already, and the experiment changes its limits during a trial, which works only on disks that the run attaches: remove the guest (diskproof lab down --name {guest}), or give the disk another name"
    )]
    DiskOfOthers {
        /// The guest.
        guest: String,
        /// The disk.
        disk: String,
    },
    /// What the experiment says of the host of a guest isn't so.
    #[error("target {target}, `hosted_by`: {why}")]
    HostedBy {
        /// The guest's target.
        target: String,
        /// What is missing, and the way out.
        why: String,
    },
    /// A driver has not created the machine.
    #[error("the machine of target {0} is not there: its driver creates it for a run")]
    NotCreated(String),
    /// A route leads into a guest that isn't up.
    #[error("the guest {0} was not started")]
    NotUp(String),
    /// A machine has no address that another one can use.
    #[error("target {target} has no address that {other} can reach; write `address:` in the target")]
    NoAddress {
        /// The machine.
        target: String,
        /// The machine that needs the address.
        other: String,
    },
    /// Another machine sees no IPv4 address of this one.
    #[error(
        "{destination} does not see this machine by an IPv4 address (`{said}`); reach it by ssh as a target of its own, with `address`"
    )]
    NotSeen {
        /// The other machine.
        destination: String,
        /// What it reports instead.
        said: String,
    },
    /// A name has no IPv4 address.
    #[error(
        "target {target}: this machine finds no IPv4 address of `{name}`; write `address:` in the target"
    )]
    Unresolved {
        /// The machine.
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
            Self::DiskOfOthers { .. } | Self::HostedBy { .. } => Fault::User,
            Self::NotCreated(_) | Self::NotUp(_) => Fault::Ours,
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
