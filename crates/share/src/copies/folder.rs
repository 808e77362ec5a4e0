//! A folder as a place for copies, e.g. one that NFS mounts from another machine.

use super::objects::{Found, OBJECT_BYTES, Objects};
use crate::digest::Digest;
use crate::error::ShareError;
use crate::s3::{Condition, Put};
use record::printable::Shown as _;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The lock file of all writers. The kernel frees the lock when a writer dies.
const LOCK: &str = ".diskproof-lock";
/// How often a writer looks whether the lock is free.
const LOOK: Duration = Duration::from_millis(20);

/// A folder; the parts of a key are folders in it.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    /// Ends the wait for another writer.
    pub(crate) cancel: Arc<AtomicBool>,
}

impl Folder {
    /// Waits until no other writer has the lock.
    fn lock(&self) -> io::Result<File> {
        let file = File::create(self.path.join(LOCK))?;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(Errno::WOULDBLOCK) if !self.cancel.load(Ordering::Relaxed) => thread::sleep(LOOK),
                Err(Errno::WOULDBLOCK) => {
                    return Err(io::Error::new(ErrorKind::TimedOut, "another writer holds its lock"));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes the folders of a key. It never makes the place itself: if the file system isn't mounted, the write must fail.
    fn make_folders(&self, key: &str) -> io::Result<PathBuf> {
        let mut folder = self.path.clone();
        for part in key.rsplit_once('/').map_or("", |(parts, _)| parts).split('/') {
            folder.push(part);
            match fs::create_dir(&folder) {
                // The folder must survive a power cut of the other machine, like the files in it.
                Ok(()) => folder.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())?,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(folder)
    }

    fn write(&self, key: &str, bytes: &[u8], condition: &Condition) -> io::Result<Put> {
        let (path, parent) = (&self.path.join(key), &self.make_folders(key)?);
        let _lock = self.lock()?;
        let there = etag(path)?;
        let holds = match condition {
            Condition::None => true,
            Condition::IfAbsent => there.is_none(),
            Condition::IfMatch(etag) => there.as_ref() == Some(etag),
        };
        if !holds {
            return Ok(Put::Refused);
        }
        let mut file = tempfile::NamedTempFile::new_in(parent)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(parent)?.sync_all()?;
        Ok(Put::Done { etag: Digest::of(bytes).to_string() })
    }
}

fn etag(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(Digest::of(&bytes).to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Objects for Folder {
    /// The lock sees to it.
    fn keeps_conditions(&self) -> Result<bool, ShareError> {
        Ok(true)
    }

    fn put(&self, key: &str, bytes: &[u8], condition: &Condition) -> Result<Put, ShareError> {
        self.write(key, bytes, condition).map_err(ShareError::file("write", self.path.join(key)))
    }

    fn get(&self, key: &str) -> Result<Option<Found>, ShareError> {
        fs::metadata(&self.path).map_err(ShareError::file("find the folder", &self.path))?;
        let path = self.path.join(key);
        match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Ok(about) if about.len() > OBJECT_BYTES => {
                let why = "it is larger than what diskproof writes".to_owned();
                return Err(ShareError::Unreadable { from: path.shown().to_string(), why });
            }
            _ => {}
        }
        let bytes = fs::read(&path).map_err(ShareError::file("read", path))?;
        let etag = Digest::of(&bytes).to_string();
        Ok(Some(Found { bytes, etag }))
    }

    fn keys(&self, beginning: &str) -> Result<Vec<String>, ShareError> {
        let mut keys = Vec::new();
        let start = beginning.rsplit_once('/').map_or("", |(folder, _)| folder);
        walk(&self.path.join(start), start, &mut keys)?;
        keys.retain(|key| key.starts_with(beginning));
        keys.sort();
        Ok(keys)
    }

    fn folders(&self) -> Result<Vec<String>, ShareError> {
        let list = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    names.extend(entry.file_name().into_string());
                }
            }
            names.sort();
            Ok(names)
        };
        list().map_err(ShareError::file("list", &self.path))
    }
}

/// Collects the keys of all files in a folder. It skips the temporary file of a writer that was killed.
fn walk(folder: &Path, key: &str, keys: &mut Vec<String>) -> Result<(), ShareError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(ShareError::file("list", folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(ShareError::file("list", folder))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let kind = entry.file_type().map_err(ShareError::file("list", folder))?;
        let key = if key.is_empty() { name.clone() } else { format!("{key}/{name}") };
        if kind.is_dir() {
            walk(&entry.path(), &key, keys)?;
        } else if kind.is_file() && !name.starts_with('.') {
            keys.push(key);
        }
    }
    Ok(())
}
