//! Directories: mount points, and our sub-directory in an existing directory.

use super::doing::{Doing, Reversible, Undoing, Undone};
use super::retry::{PATIENCE, until_ok};
use crate::error::ActError;
use crate::machine::Machine;
use crate::{holders, names};
use device::{DirId, Emptied, GiveBackError, LentDir, LentIds};
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Creates a mount point in the mounts' directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeDir {
    /// The mount point's path; its name carries our prefix.
    pub path: PathBuf,
}

impl fmt::Display for MakeDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "make {}", self.path.shown())
    }
}

impl Reversible for MakeDir {
    fn perform(&self, _: &mut Doing<'_>) -> Result<(), ActError> {
        std::fs::DirBuilder::new().mode(0o700).create(&self.path).map_err(ActError::io("make", &self.path))
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let machine = undoing.machine;
        if !names::is_ours_in(machine, &self.path, &machine.mounts_dir()) {
            return Err(not_ours(
                &self.path,
                "it is not in diskproof's directory, or doesn't have one of diskproof's names",
            ));
        }
        until_ok(PATIENCE, || match std::fs::remove_dir(&self.path) {
            Ok(()) => Ok(Undone::Done),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Undone::Nothing),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                let holders = holders::of(&machine.roots.proc, &self.path);
                Err(ActError::Busy { what: self.path.shown().to_string(), holders })
            }
            Err(error) => Err(ActError::io("remove", &self.path)(error)),
        })
    }
}

/// Creates a sub-directory in an existing directory. The guard creates it; this act is its undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LendDir {
    /// The existing directory.
    pub parent: PathBuf,
    /// Our sub-directory; its name carries our prefix.
    pub path: PathBuf,
    /// The identity of the existing directory; `None` in journals before 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<DirId>,
}

impl fmt::Display for LendDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "make {} in the existing directory", self.path.shown())
    }
}

impl Reversible for LendDir {
    fn perform(&self, _: &mut Doing<'_>) -> Result<(), ActError> {
        std::fs::DirBuilder::new().mode(0o700).create(&self.path).map_err(ActError::io("make", &self.path))
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        if !names::is_ours_in(undoing.machine, &self.path, &self.parent) {
            return Err(not_ours(
                &self.path,
                "it is not in the existing directory, or doesn't have one of diskproof's names",
            ));
        }
        // Removes only an empty one that isn't identified yet; `KeepLentDir` undoes the rest.
        match device::remove_lent(&self.path, self.parent_id.as_ref(), undoing.rebooted) {
            Ok(true) => Ok(Undone::Done),
            Ok(false) => Ok(Undone::Nothing),
            Err(error @ GiveBackError::NotOurs { .. }) => Ok(Undone::Left(error.to_string())),
            Err(error) => Err(ActError::guard(error)),
        }
    }
}

/// Records the identity of our sub-directory. The undo removes it, even if it was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepLentDir {
    /// Our sub-directory; its name carries our prefix.
    pub path: PathBuf,
    /// Its identity, which distinguishes it from another directory in its place.
    pub ids: LentIds,
}

impl KeepLentDir {
    pub(crate) fn of(lent: &LentDir) -> Self {
        Self { path: lent.path().to_owned(), ids: lent.ids().clone() }
    }
}

impl fmt::Display for KeepLentDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keep {} in the existing directory", self.path.shown())
    }
}

impl Reversible for KeepLentDir {
    fn perform(&self, _: &mut Doing<'_>) -> Result<(), ActError> {
        Ok(())
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let machine = named_like_ours(undoing, &self.path)?;
        given_back(device::take_back_lent(&self.path, &self.ids, undoing.rebooted, machine.roots))
    }
}

/// Lets an engine fill our sub-directory; the undo empties it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseLentDir {
    /// Our sub-directory; its name carries our prefix.
    pub path: PathBuf,
    /// Its identity, which distinguishes it from another directory in its place; `None` in journals before 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<LentIds>,
}

impl UseLentDir {
    pub(crate) fn of(lent: &LentDir) -> Self {
        Self { path: lent.path().to_owned(), ids: Some(lent.ids().clone()) }
    }
}

impl fmt::Display for UseLentDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write files in {}", self.path.shown())
    }
}

impl Reversible for UseLentDir {
    /// The guard gives only an empty one, and each earlier use has been undone.
    fn perform(&self, _: &mut Doing<'_>) -> Result<(), ActError> {
        Ok(())
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let machine = named_like_ours(undoing, &self.path)?;
        given_back(device::empty_lent(&self.path, self.ids.as_ref(), undoing.rebooted, machine.roots))
    }
}

fn named_like_ours<'m>(undoing: &Undoing<'m>, path: &Path) -> Result<&'m Machine<'m>, ActError> {
    if !names::carries_prefix(undoing.machine, path) {
        return Err(not_ours(path, "it doesn't have one of diskproof's names"));
    }
    Ok(undoing.machine)
}

fn given_back(emptied: Result<Emptied, GiveBackError>) -> Result<Undone, ActError> {
    match emptied {
        Ok(Emptied::Files) => Ok(Undone::Done),
        Ok(Emptied::Elsewhere(path)) => Ok(Undone::Elsewhere(path)),
        Ok(Emptied::Nothing | Emptied::Gone) => Ok(Undone::Nothing),
        Ok(Emptied::Unseen) => {
            let why = "it is not there any more; if somebody moved it, remove it where it is now";
            Ok(Undone::Left(why.to_owned()))
        }
        Err(error) => Err(ActError::guard(error)),
    }
}

fn not_ours(path: &Path, saw: &str) -> ActError {
    ActError::NotOurs { what: path.shown().to_string(), saw: saw.to_owned() }
}
