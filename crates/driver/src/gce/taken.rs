//! Disks of others that have a name which GCE would give to a new disk. GCE attaches such a disk to the new machine, and where the creation
//! fails after that, GCE may delete the disk together with the machine. So the driver looks before it asks for machines.

use super::api::Api;
use super::failure::{CallError, users};
use super::inventory::Disk;
use super::machine::Place;
use super::name;
use crate::protocol::{Claim, Failure};

/// A machine that will be created.
pub(super) struct Planned<'p> {
    /// Its name in the account.
    pub(super) name: &'p str,
    pub(super) place: &'p Place,
    /// The number of its disks, with the one that it boots from.
    pub(super) disks: usize,
}

/// The first disk that is not of this claim and has the name of a disk of these machines.
pub(super) fn find(
    api: &Api<'_>,
    claim: &Claim,
    machines: &[Planned<'_>],
) -> Result<Option<Disk>, CallError> {
    let named = api.disks_named(&name::prefix(claim))?;
    let is_foreign = |disk: &Disk| !disk.is_of(claim);
    Ok(named
        .into_iter()
        .find(|disk| is_foreign(disk) && machines.iter().any(|machine| machine.would_get(disk))))
}

/// The refusal of a creation that would attach this disk.
pub(super) fn refusal(disk: &Disk) -> Failure {
    users(
        format!("the disk {} is not of this claim, and GCE would attach it to a new machine", disk.path()),
        "rename the disk, or create under another claim",
    )
}

impl Planned<'_> {
    /// Whether GCE may give this disk to the machine: its zone and its name fit.
    fn would_get(&self, disk: &Disk) -> bool {
        let is_there = match self.place {
            Place::Zone(zone) => disk.zone() == zone,
            Place::Region(region) => disk.zone().rsplit_once('-').is_some_and(|(of, _)| of == region),
        };
        // GCE names the disk with index 0 like the machine, and the others by their index.
        let has_name = (0..self.disks).any(|index| match index {
            0 => disk.name == self.name,
            _ => disk.name.strip_prefix(self.name).is_some_and(|end| end == format!("-{index}")),
        });
        is_there && has_name
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Planned};
    use crate::gce::inventory::Disk;

    #[test]
    fn a_disk_is_in_the_way_only_by_its_exact_name_in_the_machines_place() {
        let zone = Place::Zone("europe-west1-b".to_owned());
        let region = Place::Region("europe-west1".to_owned());
        let fits = |place: &Place, disk: &str| {
            let (zone, name) = disk.split_once('/').unwrap();
            let disk: Disk = serde_json::from_value(serde_json::json!({
                "name": name, "zone": format!("https://x/projects/p/zones/{zone}"),
            }))
            .unwrap();
            Planned { name: "r-0123456789-a", place, disks: 3 }.would_get(&disk)
        };
        for name in ["r-0123456789-a", "r-0123456789-a-1", "r-0123456789-a-2"] {
            assert!(fits(&zone, &format!("europe-west1-b/{name}")), "{name}");
            assert!(fits(&region, &format!("europe-west1-c/{name}")), "{name}");
            assert!(!fits(&zone, &format!("europe-west1-c/{name}")), "{name}");
            assert!(!fits(&region, &format!("europe-west10-a/{name}")), "{name}");
        }
        for name in ["r-0123456789-a-3", "r-0123456789-a-1-1", "r-0123456789-ab", "r-0123456789-a-01"] {
            assert!(!fits(&zone, &format!("europe-west1-b/{name}")), "{name}");
        }
    }
}
