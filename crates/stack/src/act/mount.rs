//! Mounting a file system.

use super::device_ref::{DeviceRef, RefState};
use super::doing::{Doing, Reversible, Undoing, Undone};
use super::unmount::{top, unmount};
use crate::error::ActError;
use crate::names;
use host::{Invocation, Tool};
use record::mountinfo;
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Mounts one of our file systems at one of our mount points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Its devices; mount(8) gets the first one.
    pub devices: Vec<DeviceRef>,
    /// Its type.
    pub fs_type: String,
    /// Options.
    pub options: Vec<String>,
    /// The mount point, in the mounts' directory.
    pub target: PathBuf,
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mount {} on {}", self.fs_type, self.target.shown())
    }
}

impl Reversible for Mount {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let Some(device) = self.devices.first() else {
            let saw = "no device".to_owned();
            return Err(ActError::Unverified {
                what: self.to_string(),
                expected: "a device".to_owned(),
                saw,
            });
        };
        let mut mount = Invocation::new(Tool::Mount).args(["-t", &self.fs_type]);
        if !self.options.is_empty() {
            mount = mount.arg("-o").arg(self.options.join(","));
        }
        doing.run("mount", &mount.arg(&device.path).arg(&self.target))?;
        match top(doing.machine, &self.target)? {
            Some(entry) if self.is_it(&entry) => Ok(()),
            other => Err(ActError::Unverified {
                what: format!("mount at {}", self.target.shown()),
                expected: format!("{} of {}", self.fs_type, device.path.shown()),
                saw: other.map_or("nothing".to_owned(), |e| format!("{} of {}", e.fs_type, e.source.shown())),
            }),
        }
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let machine = undoing.machine;
        let mut undone = Undone::Nothing;
        while let Some(entry) = top(machine, &self.target)? {
            self.verify(undoing, &entry)?;
            unmount(machine, &self.target)?;
            undone = Undone::Done;
        }
        Ok(undone)
    }
}

impl Mount {
    fn is_it(&self, entry: &mountinfo::Mount) -> bool {
        entry.fs_type == self.fs_type && self.devices.iter().any(|device| entry.source == device.path)
    }

    fn verify(&self, undoing: &Undoing<'_>, entry: &mountinfo::Mount) -> Result<(), ActError> {
        let what = || format!("mount at {}", self.target.shown());
        let dir = undoing.machine.mounts_dir();
        if !names::is_of_run_in(undoing.machine, undoing.run, &self.target, &dir) {
            return Err(ActError::NotOurs {
                what: what(),
                saw: "diskproof didn't make the mount point".to_owned(),
            });
        }
        let source = self.devices.iter().find(|device| device.path == entry.source);
        if source.is_some_and(|device| is_mounted_from(device, entry, undoing))
            && entry.fs_type == self.fs_type
        {
            return Ok(());
        }
        Err(ActError::NotOurs { what: what(), saw: format!("{} of {}", entry.fs_type, entry.source.shown()) })
    }
}

/// Whether the mount there is the one that we made. A disk that was pulled out leaves its mount behind, and the kernel reuses its
/// device number only after that mount is gone. So the number identifies the mount even when another disk has the path by now. (A
/// btrfs mount has a device number of its own.)
fn is_mounted_from(device: &DeviceRef, entry: &mountinfo::Mount, undoing: &Undoing<'_>) -> bool {
    let same_number = !undoing.rebooted && entry.devno == device.devno;
    same_number
        || matches!(
            device.standing(undoing),
            Ok(RefState::Ours(_) | RefState::Gone) | Err(ActError::OutOfReach { .. })
        )
}
