//! A run's lease of a guest: whether the run started it, and the disks and ports that it added. A note of that is written before each
//! change.

use crate::disk::DiskSpec;
use crate::error::LabError;
use crate::guest::Lab;
use crate::lease_note::{Note, guest_of, process_of, unheld};
use crate::places::Places;
use crate::shape::Shape;
use crate::status::State;
use crate::steps::StepEvent;
use std::path::Path;

/// A run's lease of a guest.
#[derive(Debug)]
pub struct Lease {
    lab: Lab,
    note: Note,
}

impl Lease {
    /// Starts the guest if it isn't up, and attaches the disks that it doesn't have.
    ///
    /// # Errors
    /// Another process has a lease of the guest, the guest has another disk of such a name, or it can't be started or given the disks.
    /// [`Lease::leave`] undoes what was done until then.
    pub fn begin(lab: &Lab, disks: &[DiskSpec], ear: &dyn Fn(&StepEvent)) -> Result<Self, LabError> {
        let mut stay = Self::noted(lab)?;
        match stay.enter(disks, ear) {
            Ok(()) => Ok(stay),
            Err(error) => {
                // What can't be undone now stays in the note.
                let _ = stay.leave();
                Err(error)
            }
        }
    }

    fn noted(lab: &Lab) -> Result<Self, LabError> {
        Ok(Self { lab: lab.clone(), note: Note::create(&lab.stays(), lab.name())? })
    }

    fn enter(&mut self, disks: &[DiskSpec], ear: &dyn Fn(&StepEvent)) -> Result<(), LabError> {
        let name = || self.lab.name().to_owned();
        let (_, held) = unheld(&self.lab.stays())?;
        let here = held.iter().filter(|note| guest_of(note) == Some(self.lab.name()));
        if let Some(process) = here.filter_map(|note| process_of(note)).find(|id| *id != std::process::id()) {
            return Err(LabError::Occupied { name: name(), process });
        }
        let status = self.lab.status()?;
        let mut new = Vec::new();
        for disk in disks {
            match status.disks.iter().find(|there| there.spec.name == disk.name) {
                None => new.push(disk.clone()),
                Some(there) if there.spec == *disk => {}
                Some(_) => return Err(LabError::DiskThere { name: name(), disk: disk.name.clone() }),
            }
        }
        self.note.undo.brought_up = status.state != State::Up;
        self.note.undo.disks = new.iter().map(|disk| disk.name.clone()).collect();
        self.note.write()?;
        if self.note.undo.brought_up {
            self.lab.ensure_up(&Shape::default(), ear)?;
        }
        self.lab.attach(&new)
    }

    /// The guest.
    #[must_use]
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// Whether the guest is removed when the lease ends.
    #[must_use]
    pub fn brought_up(&self) -> bool {
        self.note.undo.brought_up
    }

    /// The disks that the lease attaches.
    #[must_use]
    pub fn disks(&self) -> &[String] {
        &self.note.undo.disks
    }

    /// Forwards a free port on 127.0.0.1 to a port of the guest until the lease ends; see [`Lab::forward`].
    ///
    /// # Errors
    /// The guest isn't up, or QEMU refuses.
    pub fn forward(&mut self, guest_port: u16) -> Result<u16, LabError> {
        let port = self.lab.forward(guest_port)?;
        self.note.undo.ports.push(port);
        self.note.write()?;
        Ok(port)
    }

    /// Ends the lease: removes the guest if the run started it, else the run's disks and ports. What is gone already is no error.
    ///
    /// # Errors
    /// Something can't be removed; then the note stays.
    pub fn leave(&self) -> Result<(), LabError> {
        let status = self.lab.status()?;
        if self.note.undo.brought_up {
            self.lab.down()?;
        } else if status.state == State::Up {
            self.note.undo.ports.iter().try_for_each(|port| self.lab.unforward(*port))?;
            let there = |name: &&String| status.disks.iter().any(|disk| disk.spec.name == **name);
            self.note.undo.disks.iter().filter(there).try_for_each(|disk| self.lab.detach(disk))?;
        }
        self.note.remove()
    }
}

/// The leases of killed runs below a state folder. Each is locked until it is dropped.
///
/// # Errors
/// The folder isn't possible, or a note can't be read.
pub fn abandoned(state: &Path) -> Result<Vec<Lease>, LabError> {
    let (notes, held) = unheld(&Places::below(state)?.stays())?;
    let lease = |note: Note| Ok(Lease { lab: Lab::open(state, note.guest())?, note });
    let mut found = notes.into_iter().map(lease).collect::<Result<Vec<_>, LabError>>()?;
    // If a run still uses the guest, its leftovers wait for that run's end.
    found.retain(|stay| !held.iter().any(|note| guest_of(note) == Some(stay.lab.name())));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Lease, abandoned};
    use crate::error::LabError;
    use crate::guest::Lab;
    use crate::lease_note::{Undo, process_of, unheld};

    #[test]
    fn what_a_run_that_lives_holds_is_not_abandoned_and_what_a_killed_one_held_is() {
        let dir = tempfile::tempdir().unwrap();
        let lab = Lab::open(dir.path(), "x").unwrap();
        assert!(abandoned(dir.path()).unwrap().is_empty());
        let mut stay = Lease::noted(&lab).unwrap();
        stay.note.undo = Undo { brought_up: true, disks: vec!["d1".to_owned()], ports: vec![7] };
        stay.note.write().unwrap();
        assert!(abandoned(dir.path()).unwrap().is_empty(), "it lives");
        let undo = stay.note.undo.clone();
        drop(stay);
        let found = abandoned(dir.path()).unwrap();
        assert_eq!((found.len(), &found[0].note.undo, found[0].lab.name()), (1, &undo, "x"));
        assert!(abandoned(dir.path()).unwrap().is_empty(), "somebody is at it");
        let other = Lease::noted(&lab).unwrap();
        drop(found);
        assert!(abandoned(dir.path()).unwrap().is_empty(), "another run is in the guest");
        drop(other);
        let found = abandoned(dir.path()).unwrap();
        found.iter().for_each(|stay| stay.leave().unwrap());
        drop(found);
        assert!(abandoned(dir.path()).unwrap().is_empty(), "it is done");
    }

    #[test]
    fn two_runs_are_not_in_one_guest_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let [lab, elsewhere] = ["x", "y"].map(|name| Lab::open(dir.path(), name).unwrap());
        std::fs::create_dir_all(lab.stays()).unwrap();
        let ours = Lease::noted(&lab).unwrap();
        let note = lab.stays().join("x.1-0");
        let held = std::fs::File::create(&note).unwrap();
        held.lock().unwrap();
        let mut second = Lease::noted(&lab).unwrap();
        let refused = second.enter(&[], &|_| ()).unwrap_err();
        assert!(matches!(refused, LabError::Occupied { process: 1, .. }), "{refused}");
        second.leave().unwrap();
        let kept: Vec<_> = std::fs::read_dir(lab.stays()).unwrap().flatten().map(|e| e.path()).collect();
        assert!(
            kept.len() == 2 && kept.contains(&note) && kept.iter().any(|path| path == ours.note.path()),
            "{kept:?}"
        );
        // neither notes of killed processes nor leases of other guests prevent this one
        drop(held);
        let other = elsewhere.stays().join("y.1-0");
        let held = std::fs::File::create(&other).unwrap();
        held.lock().unwrap();
        let (_, in_the_way) = unheld(&lab.stays()).unwrap();
        assert!(!in_the_way.contains(&note) && in_the_way.contains(&other), "{in_the_way:?}");
        assert_eq!(process_of(ours.note.path()), Some(std::process::id()));
    }

    #[test]
    fn a_note_that_was_cut_off_and_a_guest_that_is_gone_need_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let lab = Lab::open(dir.path(), "x").unwrap();
        std::fs::create_dir_all(lab.stays()).unwrap();
        std::fs::write(lab.stays().join("x.1"), b"{\"brought_up\":tr").unwrap();
        std::fs::write(lab.stays().join("y.2"), b"{\"brought_up\":false,\"disks\":[\"d1\"],\"ports\":[9]}")
            .unwrap();
        let found = abandoned(dir.path()).unwrap();
        assert_eq!((found.len(), found[0].brought_up()), (2, false));
        found.iter().for_each(|stay| stay.leave().unwrap());
        assert_eq!(std::fs::read_dir(lab.stays()).unwrap().count(), 0);
    }

    #[test]
    fn a_guest_that_is_taken_down_needs_no_taking_back() {
        let dir = tempfile::tempdir().unwrap();
        let lab = Lab::open(dir.path(), "x").unwrap();
        std::fs::create_dir_all(lab.stays()).unwrap();
        std::fs::write(lab.stays().join("x.1"), b"{}").unwrap();
        std::fs::write(lab.stays().join("y.1"), b"{}").unwrap();
        lab.down().unwrap();
        let left: Vec<_> =
            abandoned(dir.path()).unwrap().iter().map(|stay| stay.lab.name().to_owned()).collect();
        assert_eq!(left, ["y"]);
    }
}
