//! A block device as the journal remembers it, and whether it still is what it was.

use super::kind::Undoing;
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// A block device that we were given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRef {
    /// Its node.
    pub path: PathBuf,
    /// Major and minor number.
    pub devno: (u32, u32),
    /// Why it is ours.
    pub title: Title,
}

/// Why a device is ours to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Title {
    /// A loop device over our own file.
    Backing(PathBuf),
    /// A disk its owner claimed for us, by its link in `/dev/disk/by-id`, or by its node's path where it has none.
    Claimed(String),
    /// A layer made it from devices of ours.
    Made,
}

/// What a remembered device is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Still ours, at this path.
    Ours(PathBuf),
    /// Not there any more.
    Gone,
    /// Something else has its place.
    Foreign(String),
}

impl DeviceRef {
    /// Where it is, if it still is ours.
    pub(crate) fn ours(&self, undoing: &Undoing<'_>) -> Option<PathBuf> {
        match self.standing(undoing) {
            Standing::Ours(path) => Some(path),
            Standing::Gone | Standing::Foreign(_) => None,
        }
    }

    /// Whether it still is ours.
    pub(crate) fn standing(&self, undoing: &Undoing<'_>) -> Standing {
        let roots = undoing.machine.roots;
        match &self.title {
            Title::Backing(file) => match backing_of(&roots.sys, self.devno) {
                None => Standing::Gone,
                Some(now) if now == *file => Standing::Ours(self.path.clone()),
                Some(now) => Standing::Foreign(format!("it is a loop device over {}", now.shown())),
            },
            Title::Claimed(id) => {
                // joining an absolute path gives that path
                let link = roots.dev.join("disk/by-id").join(id);
                match std::fs::canonicalize(&link) {
                    Ok(path) if undoing.rebooted || devno_of(&path) == Some(self.devno) => {
                        Standing::Ours(path)
                    }
                    Ok(path) => Standing::Foreign(format!("{id} is {} now", path.shown())),
                    Err(_) => Standing::Gone,
                }
            }
            Title::Made if undoing.rebooted || devno_of(&self.path) != Some(self.devno) => Standing::Gone,
            Title::Made => Standing::Ours(self.path.clone()),
        }
    }
}

/// The device number of a block device's node.
pub(crate) fn devno_of(node: &Path) -> Option<(u32, u32)> {
    let about = std::fs::metadata(node).ok().filter(|about| about.file_type().is_block_device())?;
    Some((rustix::fs::major(about.rdev()), rustix::fs::minor(about.rdev())))
}

/// The backing file of a loop device, as the kernel names it; `None` when it has none or is no loop device.
pub(crate) fn backing_of(sys: &Path, devno: (u32, u32)) -> Option<PathBuf> {
    backing_in(&sys.join(format!("dev/block/{}:{}", devno.0, devno.1)))
}

/// The same, by the device's directory in sysfs.
pub(crate) fn backing_in(device_dir: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(device_dir.join("loop/backing_file")).ok()?;
    let text = text.trim_end_matches('\n');
    Some(PathBuf::from(text.strip_suffix(" (deleted)").unwrap_or(text)))
}
