//! Names that a run shouldn't carry to others: found, listed, and replaced by pseudonyms. The same name has the same pseudonym within
//! one store; other stores use others, so nobody can look names up in a table.

mod kind;
mod machine;
mod patterns;
mod replace;

pub use kind::NameKind;
pub use machine::Machine;
pub use replace::Pseudonyms;

use crate::error::ShareError;
use kind::Names;
use record::id::{LOCAL, RunId};
use record::plan::Plan;
use record::target::TargetKind;
use record::volume::{VolumeFacts, VolumeKind};
use std::collections::BTreeSet;
use std::net::IpAddr;
use store::Store;

/// Finds the names in a run.
///
/// # Errors
/// The run can't be read, or the store has no salt and can't be given one.
pub fn find(
    store: &Store,
    run: &RunId,
    machine: &Machine,
    keep: &BTreeSet<NameKind>,
) -> Result<Pseudonyms, ShareError> {
    let head = store.head(run)?;
    let mut known = Names::new();
    let mut add = |kind, name: &str| {
        known.entry(name.to_owned()).or_insert(kind);
    };
    machine.names(&mut add);
    of_plan(&head.plan, &mut add);
    of_volumes(&head.volumes, &mut add);
    let mut found = Pseudonyms::new(store.salt()?, keep.clone(), known);
    let texts = [serde_json::to_value(&head.plan), serde_json::to_value(&head.environment)];
    let more = [serde_json::to_value(&head.volumes), serde_json::to_value(&head.stopped)];
    for value in texts.into_iter().chain(more) {
        found.look(&value.map_err(unwritable)?);
    }
    let mut failed = None;
    store.trials(run, |trial| match serde_json::to_value(&trial) {
        Ok(value) => found.look(&value),
        Err(error) => failed = Some(error),
    })?;
    failed.map_or(Ok(found), |error| Err(unwritable(error)))
}

fn unwritable(error: serde_json::Error) -> ShareError {
    ShareError::Pack { what: "a record".to_owned(), source: error.into() }
}

/// Machines and their users, and drives, as the plan names them.
fn of_plan(plan: &Plan, add: &mut dyn FnMut(NameKind, &str)) {
    for target in &plan.targets {
        let mut hosts = Vec::new();
        let by = target.hosted_by.as_ref();
        let own = if let TargetKind::Ssh { destination } = &target.kind { Some(destination) } else { None };
        let machines = own.into_iter().chain(by.map(|by| &by.machine)).filter(|machine| *machine != LOCAL);
        for destination in machines {
            let destination = destination.trim_start_matches("ssh://");
            let (user, host) = destination.split_once('@').unwrap_or(("", destination));
            add(NameKind::Users, user);
            hosts.push(host.trim_start_matches('[').split([':', ']', '/']).next().unwrap_or(host));
        }
        hosts.extend(target.address.as_deref().into_iter().chain(by.map(|by| by.guest.as_str())));
        for host in hosts {
            if host.parse::<IpAddr>().is_ok() {
                add(NameKind::Addresses, host);
                continue;
            }
            add(NameKind::Hosts, host);
            add(NameKind::Hosts, host.split('.').next().unwrap_or(host));
        }
    }
    for volume in plan.cells.iter().flat_map(|cell| cell.stack.all_volumes()) {
        if let VolumeKind::Disk { id } = &volume.kind {
            add(NameKind::Serials, serial_of_id(id));
        }
    }
}

/// The serial number in a name of `/dev/disk/by-id`: behind the last underscore, or behind the bus.
fn serial_of_id(id: &str) -> &str {
    let id = id.rsplit('/').next().unwrap_or(id);
    let id = id.split("-part").next().unwrap_or(id);
    let id = id.strip_suffix("-0:0").unwrap_or(id);
    match id.rsplit_once('_') {
        Some((_, serial)) => serial,
        None => id.split_once('-').map_or(id, |(_, rest)| rest),
    }
}

/// Serial numbers and WWNs in the identities of volumes, which are `MODEL, serial S, wwn W, N bytes`.
fn of_volumes(volumes: &[VolumeFacts], add: &mut dyn FnMut(NameKind, &str)) {
    for part in
        volumes.iter().filter_map(|volume| volume.identity.as_deref()).flat_map(|text| text.split(", "))
    {
        if let Some(name) = part.strip_prefix("serial ").or_else(|| part.strip_prefix("wwn ")) {
            add(NameKind::Serials, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::serial_of_id;

    #[test]
    fn the_serial_number_in_a_name_of_a_disk() {
        for (id, serial) in [
            ("nvme-Samsung_SSD_990_PRO_2TB_S7KHNJ0W1", "S7KHNJ0W1"),
            ("/dev/disk/by-id/ata-WDC_WD40_WD-WCC7K0-part2", "WD-WCC7K0"),
            ("usb-SanDisk_Ultra_4C53-0:0", "4C53"),
            ("virtio-abc", "abc"),
            ("wwn-0x5000c500a1b2c3d4", "0x5000c500a1b2c3d4"),
            ("nvme-eui.0025385b", "eui.0025385b"),
        ] {
            assert_eq!(serial_of_id(id), serial);
        }
    }
}
