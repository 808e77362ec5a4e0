//! A guest's state, read from the kernel and from its files.

use crate::card::{Attached, Card};
use crate::error::LabError;
use crate::lock::is_held;
use crate::machine::Accel;
use crate::places::{GuestPlaces, Places};
use crate::process;
use crate::shape::Shape;
use crate::steps::remove;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The state of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// There is no guest.
    Down,
    /// A process is starting or changing it.
    Starting,
    /// It runs.
    Up,
    /// It ended by itself, was killed, or its start was interrupted, and left files or a process.
    Left,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Down => "down",
            Self::Starting => "starting",
            Self::Up => "up",
            Self::Left => "left behind",
        })
    }
}

/// The status of a guest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: State,
    /// The process id of its QEMU, if that runs.
    pub pid: Option<i32>,
    /// Its shape.
    pub shape: Option<Shape>,
    /// The port on 127.0.0.1 that is forwarded to its sshd.
    pub port: Option<u16>,
    /// What executes its instructions.
    pub accel: Option<Accel>,
    /// Its kernel's version.
    pub kernel: Option<String>,
    /// Its disks.
    pub disks: Vec<Attached>,
}

/// Reads the status of a guest.
pub(crate) fn look(name: &str, guest: &GuestPlaces) -> Result<Status, LabError> {
    let process = process::find(&guest.pidfile());
    // A description that can't be parsed is a leftover.
    let card = Card::read(guest).ok().flatten();
    let ready = card.as_ref().is_some_and(|card| card.ready);
    let state = match (&process, ready) {
        (Some(_), true) => State::Up,
        _ if is_held(&guest.lock()) => State::Starting,
        (None, false) if !guest.folder.exists() => State::Down,
        _ => State::Left,
    };
    Ok(Status {
        name: name.to_owned(),
        state,
        pid: process.map(|found| found.pid),
        shape: card.as_ref().map(|card| card.shape),
        port: card.as_ref().map(|card| card.port),
        accel: card.as_ref().map(|card| card.accel),
        kernel: card.as_ref().map(|card| card.kernel.clone()),
        disks: card.map(|card| card.disks).unwrap_or_default(),
    })
}

/// All guests with anything below a state folder, by name.
///
/// # Errors
/// The folder isn't possible.
pub fn all(state: &Path) -> Result<Vec<Status>, LabError> {
    let places = Places::below(state)?;
    let Ok(entries) = fs::read_dir(places.guests()) else { return Ok(vec![]) };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.map(|name| name.trim_end_matches(".lock").to_owned()).collect();
    names.sort();
    names.dedup();
    let mut found = Vec::new();
    for name in names {
        let status = look(&name, &places.guest(&name)?)?;
        if status.state != State::Down {
            found.push(status);
        }
    }
    Ok(found)
}

/// Removes everything that was built, and returns its size in bytes.
///
/// # Errors
/// There are still guests, or files can't be removed.
pub fn forget(state: &Path) -> Result<u64, LabError> {
    if let Some(guest) = all(state)?.into_iter().next() {
        return Err(LabError::InUse { name: guest.name });
    }
    let root = Places::below(state)?.root().to_path_buf();
    let freed = allocated(&root);
    remove(&root)?;
    Ok(freed)
}

/// The bytes on disk of all files below a folder; unreadable folders don't count.
fn allocated(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => allocated(&entry.path()),
        Ok(found) => found.blocks() * 512,
        Err(_) => 0,
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::{State, all, look};
    use crate::card::Card;
    use crate::lock::lock;
    use crate::machine::Accel;
    use crate::places::Places;
    use crate::shape::Shape;

    #[test]
    fn a_dead_guest_is_not_up() {
        let dir = tempfile::tempdir().unwrap();
        let guest = Places::below(dir.path()).unwrap().guest("x").unwrap();
        assert_eq!(look("x", &guest).unwrap().state, State::Down);
        assert_eq!(all(dir.path()).unwrap(), []);
        std::fs::create_dir_all(&guest.folder).unwrap();
        assert_eq!(look("x", &guest).unwrap().state, State::Left, "an interrupted start");
        let card = Card {
            shape: Shape::default(),
            port: 1,
            accel: Accel::Tcg,
            image: String::new(),
            kernel: "6.1".to_owned(),
            ready: true,
            disks: vec![],
        };
        card.write(&guest).unwrap();
        // The pidfile has this process's id, which isn't QEMU.
        std::fs::write(guest.pidfile(), std::process::id().to_string()).unwrap();
        let status = look("x", &guest).unwrap();
        assert_eq!((status.state, status.pid, status.port), (State::Left, None, Some(1)));
        assert_eq!(all(dir.path()).unwrap(), [status]);
        std::fs::write(guest.card(), "rubbish").unwrap();
        assert_eq!(look("x", &guest).unwrap().state, State::Left);
    }

    #[test]
    fn whoever_starts_it_holds_its_lock() {
        let dir = tempfile::tempdir().unwrap();
        let guest = Places::below(dir.path()).unwrap().guest("x").unwrap();
        let held = lock(&guest.lock(), || ()).unwrap();
        assert_eq!(look("x", &guest).unwrap().state, State::Starting);
        assert_eq!(all(dir.path()).unwrap().len(), 1);
        drop(held);
        assert_eq!(look("x", &guest).unwrap().state, State::Down);
    }
}
