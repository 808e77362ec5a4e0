//! Creates a file system.

use super::btrfs_copies;
use super::device_ref::{DeviceRef, Title};
use super::doing::{Doing, Reversible, Undoing, Undone};
use super::fs_copies;
use super::wipe;
use crate::error::ActError;
use crate::side_by_side::side_by_side;
use host::{Invocation, Tool};
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The kinds of file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MadeFs {
    Ext3,
    Ext4,
    Xfs,
    Btrfs,
}

impl MadeFs {
    /// The name in mount(8).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext3 => "ext3",
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    fn tool(self) -> Tool {
        match self {
            Self::Ext3 => Tool::MkfsExt3,
            Self::Ext4 => Tool::MkfsExt4,
            Self::Xfs => Tool::MkfsXfs,
            Self::Btrfs => Tool::MkfsBtrfs,
        }
    }
}

/// Creates a file system with a UUID that we choose, which identifies it later. On our own backing files, which are identified
/// otherwise, the UUID may be mkfs's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mkfs {
    /// The kind of file system.
    pub fs: MadeFs,
    /// The devices.
    pub devices: Vec<DeviceRef>,
    /// The UUID that we chose; `args` contains it too.
    pub uuid: Option<String>,
    /// All arguments but the devices.
    pub args: Vec<String>,
}

impl fmt::Display for Mkfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices: Vec<String> =
            self.devices.iter().map(|device| device.path.shown().to_string()).collect();
        write!(f, "make {} on {}", self.fs.name(), devices.join(" "))
    }
}

impl Reversible for Mkfs {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let devices = self.devices.iter().map(|device| &device.path);
        let make = Invocation::new(self.fs.tool()).args(&self.args).args(devices);
        doing.run("make the file system", &make).map(|_| ())
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        if self.fs == MadeFs::Btrfs && !undoing.rebooted {
            self.forget(undoing);
        }
        let copies = side_by_side(&self.devices, |device| self.clear_copies(undoing, device));
        let cleared = self.devices.iter().zip(&copies).filter(|(_, copies)| copies.is_ok());
        let written = self.uuid.as_deref().map_or(wipe::Written::Unknown, wipe::Written::Uuid);
        let wiped = wipe::wipe(undoing, cleared.map(|(device, _)| (device, written)));
        let failed = copies.into_iter().filter_map(Result::err).map(Err);
        wipe::join(failed.chain([wiped]))
    }
}

impl Mkfs {
    /// Makes the btrfs driver forget the members. It remembers every member it was shown, even after the device is gone. This
    /// can't be verified, and a device that it never knew is no failure.
    fn forget(&self, undoing: &Undoing<'_>) {
        let forget = |devices: &[PathBuf]| {
            let forget = Invocation::new(Tool::Btrfs).args(["device", "scan", "--forget"]).args(devices);
            undoing.machine.runner.run(&forget)
        };
        let ours: Vec<PathBuf> = self.devices.iter().filter_map(|device| device.ours(undoing)).collect();
        if !ours.is_empty() && forget(&ours).is_err() {
            // The command may have stopped at a device that the driver never knew.
            for path in &ours {
                let _ = forget(std::slice::from_ref(path));
            }
        }
    }

    /// Clears the copies before the first superblock: after an interruption, that one still identifies the disk as ours.
    fn clear_copies(&self, undoing: &Undoing<'_>, device: &DeviceRef) -> Result<(), ActError> {
        // All contents of our own backing file are ours: the guard doesn't check them.
        let on_file = matches!(device.title, Title::Backing(_));
        let uuid = self.uuid.as_deref().filter(|_| !on_file);
        let Some(path) = device.ours(undoing).filter(|_| on_file || uuid.is_some()) else { return Ok(()) };
        match (self.fs, uuid) {
            (MadeFs::Btrfs, uuid) => btrfs_copies::clear(&path, uuid),
            (_, Some(uuid)) if !wipe::is_anothers(undoing.machine, &path, uuid)? => {
                fs_copies::clear(&path, uuid)
            }
            _ => Ok(()),
        }
    }
}
