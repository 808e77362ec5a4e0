//! The record of the last provisioning on this machine, with its boot id.

use super::error::ProvisionError;
use crate::journal::LOCK_OUTLIVES;
use crate::sync::sync_dir;
use host::StateAccess;
use record::provision::{ProvisionStep, Provisioned};
use record::version::FormatVersion;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, TryLockError};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The time between two attempts to lock.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Known {
    format: FormatVersion,
    boot_id: Option<String>,
    /// The process that is provisioning; if nobody holds the lock, it was killed.
    pub(super) owner: Option<u32>,
    /// The last steps that ran, all of them without a failure.
    pub(super) steps: Vec<Provisioned>,
}

impl Known {
    fn nothing(owner: Option<u32>) -> Self {
        Self { format: FORMAT, boot_id: None, owner, steps: Vec::new() }
    }

    /// Whether exactly these steps were the last ones since the machine booted, run by the same versions of the tools.
    pub(super) fn holds(
        &self,
        wanted: &[ProvisionStep],
        boot_id: Option<&str>,
        tool: impl Fn(&ProvisionStep) -> Option<String>,
    ) -> bool {
        let same =
            |(was, step): (&Provisioned, &ProvisionStep)| was.digest == step.digest && was.tool == tool(step);
        boot_id.is_some()
            && self.boot_id.as_deref() == boot_id
            && self.steps.len() == wanted.len()
            && self.steps.iter().zip(wanted).all(same)
    }
}

/// The record's file, locked while this exists.
pub(super) struct Memory {
    path: PathBuf,
    _lock: File,
}

impl Memory {
    pub(super) fn lock(state_dir: &Path) -> Result<Self, ProvisionError> {
        let lock = state_dir.join("provision.lock");
        let io = |doing, source| ProvisionError::Io { doing, path: lock.clone(), source };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(state_dir)
            .map_err(|source| io("create", source))?;
        let file =
            host::open_trusted(&lock, StateAccess::ChangeOrMake).map_err(|source| io("open", source))?;
        let end = Instant::now() + LOCK_OUTLIVES;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { path: state_dir.join("provision.json"), _lock: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < end => std::thread::sleep(LOOK_AGAIN),
                Err(TryLockError::WouldBlock) => return Err(ProvisionError::Busy { path: lock }),
                Err(TryLockError::Error(source)) => return Err(io("lock", source)),
            }
        }
    }

    /// Reads the record; empty where it can't be read: then all steps run.
    pub(super) fn read(&self) -> Known {
        let text = host::read_trusted(&self.path).ok().flatten();
        let known = text.and_then(|text| serde_json::from_slice::<Known>(&text).ok());
        known.filter(|known| FORMAT.reads(known.format)).unwrap_or_else(|| Known::nothing(None))
    }

    /// Clears the record: from now on the machine is half provisioned.
    pub(super) fn begin(&self) -> Result<(), ProvisionError> {
        self.write(&Known::nothing(Some(std::process::id())))
    }

    /// Records the steps that ran.
    pub(super) fn keep(&self, boot_id: Option<&str>, steps: &[Provisioned]) -> Result<(), ProvisionError> {
        let boot_id = boot_id.map(str::to_owned);
        self.write(&Known { format: FORMAT, boot_id, owner: None, steps: steps.to_vec() })
    }

    /// Replaces the file atomically and durably.
    fn write(&self, known: &Known) -> Result<(), ProvisionError> {
        let io = |source| ProvisionError::Io { doing: "write", path: self.path.clone(), source };
        let text = serde_json::to_vec_pretty(known).map_err(|error| io(error.into()))?;
        let beside = self.path.with_extension("json.new");
        let mut file = host::open_trusted(&beside, StateAccess::ChangeOrMake).map_err(io)?;
        file.set_len(0).map_err(io)?; // left by a process that was killed between these lines
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(io)?;
        std::fs::rename(&beside, &self.path).map_err(io)?;
        sync_dir(self.path.parent().unwrap_or(&self.path)).map_err(io)
    }
}
