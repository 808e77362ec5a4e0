//! The note of a run's lease of a guest: what the end of the lease must undo. It is locked while the run lives. So a note without a
//! lock says what a killed run left.

use crate::error::LabError;
use crate::lock::is_still;
use crate::steps::{folder, remove};
use host::StateAccess;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// A note, locked until it is dropped.
#[derive(Debug)]
pub(crate) struct Note {
    guest: String,
    path: PathBuf,
    file: File,
    pub(crate) undo: Undo,
}

/// What the end of the lease must undo.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Undo {
    /// The run started the guest, so the whole guest is removed.
    pub(crate) brought_up: bool,
    pub(crate) disks: Vec<String>,
    /// Ports on 127.0.0.1 that are forwarded into the guest.
    pub(crate) ports: Vec<u16>,
}

impl Note {
    /// Creates this process's note about a guest.
    pub(crate) fn create(notes: &Path, guest: &str) -> Result<Self, LabError> {
        folder(notes)?;
        let mut number = 0;
        loop {
            let path = notes.join(format!("{guest}.{}-{number}", std::process::id()));
            number += 1;
            let file = match File::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(LabError::file("make", &path)(error)),
            };
            // Before this lock, another process may have taken the note for that of a killed run.
            if file.try_lock().is_ok() && is_still(&file, &path) {
                return Ok(Self { guest: guest.to_owned(), path, file, undo: Undo::default() });
            }
        }
    }

    /// The name of its guest.
    pub(crate) fn guest(&self) -> &str {
        &self.guest
    }

    /// Writes what is to be undone. It is durable when this returns.
    pub(crate) fn write(&mut self) -> Result<(), LabError> {
        let text = serde_json::to_vec(&self.undo)
            .map_err(|error| LabError::file("write", &self.path)(error.into()))?;
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(&text)?;
            file.sync_data()
        };
        write(&mut self.file).map_err(LabError::file("write", &self.path))
    }

    /// Removes its file.
    pub(crate) fn remove(&self) -> Result<(), LabError> {
        remove(&self.path)
    }

    #[cfg(test)]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes the notes of killed runs about a guest that is removed or replaced.
pub(crate) fn forget(notes: &Path, guest: &str) -> Result<(), LabError> {
    let (found, _) = unheld(notes)?;
    found.iter().filter(|note| note.guest == guest).try_for_each(Note::remove)
}

/// Locks every note that no process holds. Returns these notes, and the paths of the notes that other processes hold.
pub(crate) fn unheld(notes: &Path) -> Result<(Vec<Note>, Vec<PathBuf>), LabError> {
    let Ok(entries) = fs::read_dir(notes) else { return Ok((vec![], vec![])) };
    let (mut found, mut held) = (Vec::new(), Vec::new());
    for path in entries.flatten().map(|entry| entry.path()) {
        let Some(guest) = guest_of(&path).map(str::to_owned) else { continue };
        let mut file = match host::open_regular(&path, StateAccess::Change) {
            Ok(file) => file,
            // Its lease has ended meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(LabError::file("open", &path)(error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                held.push(path);
                continue;
            }
            Err(TryLockError::Error(error)) => return Err(LabError::file("lock", &path)(error)),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(LabError::file("read", &path))?;
        // A note is written before the change, so the change of a truncated note was not made.
        let undo = serde_json::from_slice(&text).unwrap_or_default();
        found.push(Note { guest, path, file, undo });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((found, held))
}

/// The guest that a note is about.
pub(crate) fn guest_of(note: &Path) -> Option<&str> {
    note.file_stem()?.to_str()
}

/// The process that made a note.
pub(crate) fn process_of(note: &Path) -> Option<u32> {
    note.extension()?.to_str()?.split('-').next()?.parse().ok()
}
