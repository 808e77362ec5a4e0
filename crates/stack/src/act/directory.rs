//! Directories: mount points, and our sub-directory in a lent one.

use super::kind::{Doing, Reversible, Undoing, Undone};
use super::retry::{PATIENCE, until_ok};
use crate::error::ActError;
use crate::machine::Machine;
use crate::{holders, mounts, names};
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Makes a mount point in our mounts' directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeDir {
    /// Where; its name carries our prefix.
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
            return Err(not_ours(&self.path, "it is not in our directory, or not named like ours"));
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

/// Makes a sub-directory in a directory its owner lent us. The guard makes it; this is its undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LendDir {
    /// The lent directory.
    pub parent: PathBuf,
    /// Ours in it; its name carries our prefix.
    pub path: PathBuf,
}

impl fmt::Display for LendDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "make {} in the lent directory", self.path.shown())
    }
}

impl Reversible for LendDir {
    fn perform(&self, _: &mut Doing<'_>) -> Result<(), ActError> {
        std::fs::DirBuilder::new().mode(0o700).create(&self.path).map_err(ActError::io("make", &self.path))
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        if !names::is_ours_in(undoing.machine, &self.path, &self.parent) {
            return Err(not_ours(&self.path, "it is not in the lent directory, or not named like ours"));
        }
        if !verify(undoing.machine, &self.path)? {
            return Ok(Undone::Nothing);
        }
        std::fs::remove_dir_all(&self.path).map_err(ActError::io("remove", &self.path))?;
        Ok(Undone::Done)
    }
}

/// Lets an engine fill our sub-directory; the undo empties it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseLentDir {
    /// Our sub-directory; its name carries our prefix.
    pub path: PathBuf,
}

impl fmt::Display for UseLentDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write files in {}", self.path.shown())
    }
}

impl Reversible for UseLentDir {
    fn perform(&self, _: &mut Doing<'_>) -> Result<(), ActError> {
        let mut inside = std::fs::read_dir(&self.path).map_err(ActError::io("read", &self.path))?;
        match inside.next() {
            None => Ok(()),
            Some(_) => Err(not_ours(&self.path, "it should be empty and isn't")),
        }
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        if !names::carries_prefix(undoing.machine, &self.path) {
            return Err(not_ours(&self.path, "it is not named like ours"));
        }
        if !verify(undoing.machine, &self.path)? {
            return Ok(Undone::Nothing);
        }
        let mut undone = Undone::Nothing;
        for entry in std::fs::read_dir(&self.path).map_err(ActError::io("read", &self.path))? {
            let entry = entry.map_err(ActError::io("read", &self.path))?;
            let is_dir = entry.file_type().map_err(ActError::io("look at", entry.path()))?.is_dir();
            let removed = if is_dir {
                std::fs::remove_dir_all(entry.path())
            } else {
                std::fs::remove_file(entry.path())
            };
            removed.map_err(ActError::io("remove", entry.path()))?;
            undone = Undone::Done;
        }
        Ok(undone)
    }
}

/// Whether there is a real directory of that name with nothing mounted in it; an error when it is something else.
fn verify(machine: &Machine<'_>, path: &Path) -> Result<bool, ActError> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(ActError::io("look at", path)(error)),
        Ok(about) if !about.is_dir() => return Err(not_ours(path, "it is no directory")),
        Ok(_) => {}
    }
    let proc = &machine.roots.proc;
    let mounted = mounts::read(proc).map_err(ActError::io("read", proc.join("self/mountinfo")))?;
    match mounted.iter().find(|entry| entry.target.starts_with(path)) {
        Some(entry) => Err(not_ours(path, &format!("something is mounted at {}", entry.target.shown()))),
        None => Ok(true),
    }
}

fn not_ours(path: &Path, saw: &str) -> ActError {
    ActError::NotOurs { what: path.shown().to_string(), saw: saw.to_owned() }
}
