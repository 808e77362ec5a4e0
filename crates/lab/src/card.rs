//! The description of a guest, stored in its folder.

use crate::disk::DiskSpec;
use crate::error::LabError;
use crate::machine::{Accel, SLOTS};
use crate::places::GuestPlaces;
use crate::shape::Shape;
use crate::steps::write_whole;
use record::target::Bus;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;

/// A guest's description.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Card {
    pub(crate) shape: Shape,
    /// The port on 127.0.0.1 that is forwarded to its sshd.
    pub(crate) port: u16,
    pub(crate) accel: Accel,
    /// The image's name.
    pub(crate) image: String,
    pub(crate) kernel: String,
    /// Whether its start is complete; an incomplete guest has no user yet and may be started again.
    pub(crate) ready: bool,
    pub(crate) disks: Vec<Attached>,
}

/// A disk that is attached to a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The requested disk, with its present limits.
    #[serde(flatten)]
    pub spec: DiskSpec,
    /// The slot of a virtio-blk disk.
    pub slot: Option<usize>,
}

impl Card {
    /// Reads a guest's description; `None` if there is none.
    pub(crate) fn read(guest: &GuestPlaces) -> Result<Option<Self>, LabError> {
        let path = guest.card();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LabError::file("read", path)(error)),
        };
        let wrong = |error: serde_json::Error| LabError::file("understand", path)(error.into());
        serde_json::from_slice(&text).map(Some).map_err(wrong)
    }

    pub(crate) fn write(&self, guest: &GuestPlaces) -> Result<(), LabError> {
        let path = guest.card();
        let text =
            serde_json::to_vec_pretty(self).map_err(|e| LabError::file("write", path.clone())(e.into()))?;
        write_whole(&path, &text)
    }

    /// The slot of the next disk on a bus; `None`: all slots are taken. `Some(None)`: the bus has no slots.
    pub(crate) fn place_for(&self, bus: Bus) -> Option<Option<usize>> {
        match bus {
            Bus::VirtioScsi => Some(None),
            Bus::VirtioBlk | Bus::Nvme => {
                (0..SLOTS).find(|slot| self.disks.iter().all(|disk| disk.slot != Some(*slot))).map(Some)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Attached, Card};
    use crate::disk::DiskSpec;
    use crate::machine::{Accel, SLOTS};
    use crate::places::Places;
    use crate::shape::Shape;
    use record::target::Bus;

    fn card() -> Card {
        Card {
            shape: Shape::default(),
            port: 2222,
            accel: Accel::Tcg,
            image: "abc".to_owned(),
            kernel: "6.1".to_owned(),
            ready: true,
            disks: vec![],
        }
    }

    #[test]
    fn a_card_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let guest = Places::below(dir.path()).unwrap().guest("x").unwrap();
        assert_eq!(Card::read(&guest).unwrap(), None);
        std::fs::create_dir_all(&guest.folder).unwrap();
        let mut card = card();
        card.disks.push(Attached { spec: "d1:size=1g,iops=80".parse().unwrap(), slot: Some(0) });
        card.write(&guest).unwrap();
        assert_eq!(Card::read(&guest).unwrap(), Some(card));
        std::fs::write(guest.card(), "{").unwrap();
        assert!(Card::read(&guest).unwrap_err().to_string().contains("guest.json"));
    }

    #[test]
    fn slots_are_used_again_and_run_out() {
        let mut card = card();
        for slot in 0..SLOTS {
            assert_eq!(card.place_for(Bus::VirtioBlk), Some(Some(slot)));
            card.disks.push(Attached { spec: DiskSpec::new(format!("d{slot}"), 4096), slot: Some(slot) });
        }
        assert_eq!(card.place_for(Bus::VirtioBlk), None);
        assert_eq!(card.place_for(Bus::VirtioScsi), Some(None));
        card.disks.remove(3);
        assert_eq!(card.place_for(Bus::VirtioBlk), Some(Some(3)));
    }
}
