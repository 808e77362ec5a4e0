//! A block device as the journal records it, and the check that it still is the same device.

use super::doing::Undoing;
use crate::error::ActError;
use crate::names;
use device::{ClaimBook, Identity, LoopOver, Whereabouts};
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// A block device that a stack uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRef {
    /// The path of its node.
    pub path: PathBuf,
    /// Major and minor number.
    pub devno: (u32, u32),
    /// Why diskproof may change it.
    pub title: Title,
    /// The identity of a claimed disk: by that it is found again, even under another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Identity>,
}

/// Why diskproof may change a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Title {
    /// It is a loop device over this backing file of ours.
    Backing(PathBuf),
    /// Its owner claimed it, by its link in `/dev/disk/by-id`, or by its node's path where it has none.
    Claimed(String),
    /// A layer created it from our devices.
    Made,
}

/// The present state of a recorded device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RefState {
    /// The same device, at this path.
    Ours(PathBuf),
    /// It is gone. What was written on it is gone too, or is still on the devices below it.
    Gone,
    /// Another device has its place, or its owner gave it up: we leave it alone, for this reason.
    Left(String),
}

impl DeviceRef {
    pub(crate) fn new(path: PathBuf, devno: (u32, u32), title: Title) -> Self {
        Self { path, devno, title, disk: None }
    }

    /// The same reference, with a disk's identity.
    pub(crate) fn being(self, disk: Option<&Identity>) -> Self {
        Self { disk: disk.cloned(), ..self }
    }

    /// The device's path, if it is still the same device.
    pub(crate) fn ours(&self, undoing: &Undoing<'_>) -> Option<PathBuf> {
        match self.standing(undoing) {
            Ok(RefState::Ours(path)) => Some(path),
            Ok(RefState::Gone | RefState::Left(_)) | Err(_) => None,
        }
    }

    /// Checks that it is still the same device. The device itself decides, not the journal.
    ///
    /// # Errors
    /// When it never was ours, or when the disk is out of reach: then nobody knows whether something of ours is left on it.
    pub(crate) fn standing(&self, undoing: &Undoing<'_>) -> Result<RefState, ActError> {
        match &self.title {
            Title::Backing(file) => self.over(undoing, file),
            Title::Claimed(id) => self.claimed(undoing, id),
            Title::Made if undoing.rebooted || devno_of(&self.path) != Some(self.devno) => Ok(RefState::Gone),
            Title::Made => self.made(undoing),
        }
    }

    fn over(&self, undoing: &Undoing<'_>, file: &Path) -> Result<RefState, ActError> {
        let machine = undoing.machine;
        if !names::is_ours_in(machine, file, &machine.volumes_dir()) {
            return Err(self.not_ours(format!("diskproof didn't make the backing file {}", file.shown())));
        }
        match device::loop_over(machine.roots, self.devno) {
            LoopOver::Nothing => Ok(RefState::Gone),
            LoopOver::File(now) if now == *file => match devno_of(&self.path) {
                Some(devno) if devno == self.devno => Ok(RefState::Ours(self.path.clone())),
                Some(_) => Err(self.not_ours(format!("the device over {} is another one", file.shown()))),
                None => Ok(RefState::Gone),
            },
            LoopOver::File(now) | LoopOver::Another(now) => {
                Ok(RefState::Left(format!("it is a loop device over {} now", now.shown())))
            }
        }
    }

    fn claimed(&self, undoing: &Undoing<'_>, id: &str) -> Result<RefState, ActError> {
        let machine = undoing.machine;
        let book = ClaimBook::open(machine.state_dir);
        // The journal of an earlier diskproof records only the name.
        let known = self.disk.clone();
        let known = known.or_else(|| Some(book.as_ref().ok()?.named(id)?.identity.clone()));
        let is_given_up = undoing.given_up.is_some_and(|name| {
            let told = known.as_ref().map(|disk| [disk.serial.as_deref(), disk.wwn.as_deref()]);
            name == id || told.into_iter().flatten().flatten().any(|own| own == name)
        });
        let out_of_reach = |saw: String| {
            let disk = known.as_ref().map_or_else(|| id.to_owned(), |disk| format!("{id} ({disk})"));
            if is_given_up {
                return Ok(RefState::Left(format!(
                    "{disk} was given up; what diskproof wrote on it stays there"
                )));
            }
            Err(ActError::OutOfReach { disk, name: id.to_owned(), saw })
        };
        let book = match &book {
            Ok(book) => book,
            Err(error) => return out_of_reach(record::printable::chain(error)),
        };
        let Some(disk) = &known else {
            return out_of_reach(
                "it is not claimed, and the journal does not tell its serial number".to_owned(),
            );
        };
        match device::whereabouts(machine.roots, book, disk, self.devno) {
            Ok(Whereabouts::Here(path)) => Ok(RefState::Ours(path)),
            Ok(Whereabouts::Away) => out_of_reach("no disk of this machine is it".to_owned()),
            Ok(Whereabouts::Barred(why)) => out_of_reach(why),
            Err(error) => out_of_reach(format!("the disks can't be listed: {error}")),
        }
    }

    fn made(&self, undoing: &Undoing<'_>) -> Result<RefState, ActError> {
        let machine = undoing.machine;
        let is_ours = |file: &Path| names::is_ours_in(machine, file, &machine.volumes_dir());
        let book = ClaimBook::open(machine.state_dir)
            .map_err(|error| self.not_ours(record::printable::chain(&error)))?;
        match device::rests_on_others(machine.roots, self.devno, &book, &is_ours) {
            Ok(None) => Ok(RefState::Ours(self.path.clone())),
            Ok(Some(on)) => Err(self.not_ours(format!("it rests on {on}, which diskproof didn't make"))),
            Err(error) => Err(ActError::io("tell what is under", &self.path)(error)),
        }
    }

    fn not_ours(&self, saw: String) -> ActError {
        ActError::NotOurs { what: self.path.shown().to_string(), saw }
    }
}

/// The device number of a block device node.
pub(crate) fn devno_of(node: &Path) -> Option<(u32, u32)> {
    let about = std::fs::metadata(node).ok().filter(|about| about.file_type().is_block_device())?;
    Some((rustix::fs::major(about.rdev()), rustix::fs::minor(about.rdev())))
}

/// The backing file of a loop device, as sysfs names it; `None` when it has none.
pub(crate) fn backing_in(device_dir: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(device_dir.join("loop/backing_file")).ok()?;
    let text = text.trim_end_matches('\n');
    Some(PathBuf::from(text.strip_suffix(" (deleted)").unwrap_or(text)))
}
