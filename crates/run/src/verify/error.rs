//! Why the limits of volumes are not confirmed.

use crate::fault::Fault;
use engine::EngineError;
use record::printable::Shown as _;
use record::volume::{LimitName, VerifiedLimit};
use stack::{StackError, UndoError};
use std::path::PathBuf;
use thiserror::Error;

/// Why the limits of volumes are not confirmed.
#[derive(Debug, Error)]
pub(crate) enum LimitsError {
    /// A volume could not be made ready for the probe.
    #[error(transparent)]
    Build(#[from] StackError),
    /// That could not be undone.
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("volume {volume}: the probe of {limit} failed")]
    Probe { volume: String, limit: LimitName, source: Box<ProbeError> },
    #[error(
        "volume {volume}: {} is limited to {}, but a raw probe measured {:.1} in the last of {tries} tries: {why}",
        .probe.limit, .probe.asked, .probe.measured
    )]
    NotKept { volume: String, probe: VerifiedLimit, tries: u32, why: &'static str },
}

impl LimitsError {
    /// Whose fault it is.
    pub(crate) fn fault(&self) -> Fault {
        match self {
            Self::Build(_) | Self::Probe { .. } | Self::NotKept { .. } => Fault::Machine,
            Self::Undo(_) => Fault::Ours,
        }
    }
}

/// Why the probe of one volume failed.
#[derive(Debug, Error)]
pub(crate) enum ProbeError {
    #[error("can't make {}", .path.shown())]
    Scratch { path: PathBuf, source: std::io::Error },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("can't read {}", .path.shown())]
    Counters { path: PathBuf, source: std::io::Error },
    #[error("too few looks at the device's counters: the machine is too busy")]
    TooFewLooks,
    #[error("the probe panicked")]
    Panicked,
}
