//! The machine that runs a guest: it shows what lies below the files and block devices behind the guest's disks, and counts there.

use observe::{Collector, Roots, Subjects};
use record::counter::Sample;
use record::extents::Residency;
use record::printable::Shown as _;
use record::topology::Topology;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a guest's host doesn't show what lies below the guest's disks.
#[derive(Debug, Error)]
pub enum HostError {
    /// A file or block device behind a disk can't be examined.
    #[error("{} can't be examined", .path.shown())]
    Backing {
        /// The file or block device.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The agent process there can't be started, or fails.
    #[error(transparent)]
    Agent(Box<dyn Error + Send + Sync>),
    /// It couldn't be reached at the beginning of the run.
    #[error("{0}")]
    Unreached(String),
}

/// The machine that runs a guest.
pub trait GuestHost: fmt::Debug + Send + Sync {
    /// Its boot id; `None`: unknown.
    fn boot_id(&self) -> Option<String>;

    /// The devices below each of these files and block devices, with its own kernel's names.
    ///
    /// # Errors
    /// When one of them can't be examined.
    fn below(&self, backings: &[PathBuf]) -> Result<Vec<Topology>, HostError>;

    /// The share of these files and block devices in its page cache, and the counters of these devices.
    ///
    /// # Errors
    /// When one of them can't be examined: a partial list would look complete.
    fn snapshot(&self, backings: &[PathBuf], devices: &[String]) -> Result<HostSnapshot, HostError>;
}

/// A snapshot of a guest's host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostSnapshot {
    /// The files and block devices behind the guest's disks.
    pub files: Vec<Residency>,
    /// The host's counters.
    pub sample: Sample,
}

/// The controller's own machine, as the controller's user sees it.
#[derive(Debug)]
pub struct ThisMachine;

impl GuestHost for ThisMachine {
    fn boot_id(&self) -> Option<String> {
        observe::boot_id(&Roots::default())
    }

    fn below(&self, backings: &[PathBuf]) -> Result<Vec<Topology>, HostError> {
        backings.iter().map(|path| below(path)).collect()
    }

    fn snapshot(&self, backings: &[PathBuf], devices: &[String]) -> Result<HostSnapshot, HostError> {
        let residency =
            |path: &PathBuf| device::extents::residency(path).map_err(|source| failed(path, source));
        let files = backings.iter().map(residency).collect::<Result<_, _>>()?;
        let subjects = Subjects { devices: devices.to_vec(), ..Subjects::default() };
        let sample = Collector::new(&Roots::default(), &subjects).sample();
        Ok(HostSnapshot { files, sample })
    }
}

/// A file's topology is that of its file system; a block device's begins at the device.
fn below(path: &Path) -> Result<Topology, HostError> {
    let kind = std::fs::metadata(path).map_err(|source| failed(path, source))?.file_type();
    let roots = Roots::default();
    Ok(match kind.is_block_device() {
        true => observe::topology(&roots, &[path.to_owned()], None),
        false => observe::topology(&roots, &[], path.parent()),
    })
}

fn failed(path: &Path, source: std::io::Error) -> HostError {
    HostError::Backing { path: path.to_owned(), source }
}

/// A host that couldn't be reached; the records say so.
#[derive(Debug)]
pub struct UnreachedHost {
    /// Why.
    pub why: String,
}

impl GuestHost for UnreachedHost {
    fn boot_id(&self) -> Option<String> {
        None
    }

    fn below(&self, _: &[PathBuf]) -> Result<Vec<Topology>, HostError> {
        Err(HostError::Unreached(self.why.clone()))
    }

    fn snapshot(&self, _: &[PathBuf], _: &[String]) -> Result<HostSnapshot, HostError> {
        Err(HostError::Unreached(self.why.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::{GuestHost as _, ThisMachine, UnreachedHost};
    use std::path::PathBuf;

    #[test]
    fn a_file_is_shown_with_its_file_system_and_a_missing_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("disk.img");
        std::fs::write(&file, [1; 8192]).unwrap();
        let below = ThisMachine.below(std::slice::from_ref(&file)).unwrap();
        assert!(below.len() == 1 && below[0].deciding_fs().is_some(), "{below:?}");
        let shown = ThisMachine.snapshot(std::slice::from_ref(&file), &[]).unwrap();
        assert_eq!((shown.files.len(), shown.files[0].size_bytes), (1, 8192));
        let missing = [file, folder.path().join("none")];
        let why = ThisMachine.below(&missing).unwrap_err().to_string();
        assert!(why.contains("none can't be examined"), "{why}");
        assert!(ThisMachine.snapshot(&missing, &[]).is_err(), "all or none");
    }

    #[test]
    fn a_host_that_was_not_reached_says_why_each_time() {
        let host = UnreachedHost { why: "ham0 can't be reached".to_owned() };
        let said = [
            host.below(&[PathBuf::from("/a")]).unwrap_err().to_string(),
            host.snapshot(&[], &[]).unwrap_err().to_string(),
        ];
        assert!(
            host.boot_id().is_none() && said.iter().all(|why| why == "ham0 can't be reached"),
            "{said:?}"
        );
    }
}
