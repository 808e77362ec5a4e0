//! What claims have: the state of a claim's machines, and the resources of all claims.

use super::note::{Guest, Note, Notes, guests, notes};
use super::validate::FANOUT;
use super::{failure, names, pools, reach, refused};
use crate::at::{At, AtError, AtOptions, on_each};
use crate::libvirt::{GuestError, address};
use driver::protocol::{
    Answer, Claim, Failure, Listed, MachineState, MachineStatus, Resource, ResourceKind, Settings,
};
use driver::serve::Teller;

/// Does something on each host that settings name.
pub(super) fn on_hosts<R: Send>(
    options: &AtOptions,
    settings: &Settings,
    act: &(dyn Fn(&At) -> Result<R, GuestError> + Sync),
) -> Result<Vec<R>, Failure> {
    let hosts = super::settings::hosts(settings);
    if hosts.is_empty() {
        return Err(refused(
            "neither `host` nor `hosts` names a host",
            "the driver looks for a claim's machines on the hosts that are named",
        ));
    }
    let config = reach::ssh_config(settings);
    let done = on_each(hosts, FANOUT, &|host: String| {
        let at = reach::open(options, &host, config.clone())?;
        act(&at)
    });
    done.into_iter().map(|done| done.map_err(|error| failure(&error))).collect()
}

/// Tells the state of a claim's machines.
pub(super) fn status(
    options: &AtOptions,
    claim: &Claim,
    settings: &Settings,
    tell: &Teller<'_>,
) -> Result<Answer, Failure> {
    let found = on_hosts(options, settings, &|at| {
        let guests: Vec<Guest> = originals(at, tell)?;
        let ours = guests.into_iter().filter(|guest| guest.note.claim.id == claim.id);
        ours.map(|guest| state_of(at, guest)).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(Answer::Status { machines: found.into_iter().flatten().collect() })
}

fn state_of(at: &At, guest: Guest) -> Result<MachineStatus, GuestError> {
    let said = at.virsh("look at the guest", &["domstate", "--domain", &guest.uuid])?;
    let state = match said.trim() {
        "shut off" => MachineState::Stopped,
        "in shutdown" => MachineState::Ending,
        _ => MachineState::Running,
    };
    let address = match state {
        MachineState::Stopped => None,
        _ => address(at, &guest.uuid, None)?,
    };
    Ok(MachineStatus { name: guest.note.machine, id: guest.uuid, state, address })
}

/// The guests that the driver made. Tells of copies of one, which are somebody else's.
pub(super) fn originals(at: &At, tell: &Teller<'_>) -> Result<Vec<Guest>, AtError> {
    let (originals, copies): (Vec<Guest>, Vec<Guest>) = guests(at)?.into_iter().partition(Guest::is_original);
    for copy in copies {
        tell.warn(format!(
            "{}: the guest with the UUID {} has a copy of the metadata of {}; it stays",
            at.name(),
            copy.uuid,
            names::domain(&copy.note.claim, &copy.note.machine)
        ));
    }
    Ok(originals)
}

/// Lists what all claims have on the hosts.
pub(super) fn list(options: &AtOptions, settings: &Settings, tell: &Teller<'_>) -> Result<Answer, Failure> {
    let found = on_hosts(options, settings, &|at| {
        let mut listed: Vec<Listed> = Vec::new();
        // Notes first: a machine that is made meanwhile is listed by its guest.
        let Notes { read: mut seen, unread } = notes(at, "*")?;
        for file in unread {
            tell.warn(format!(
                "{}: {file} is no note that the driver can read; what it names isn't listed",
                at.name()
            ));
        }
        let guests = originals(at, tell)?;
        listed.extend(machines(&seen, &guests));
        for guest in guests {
            if !seen.iter().any(|note| note.uuid == guest.uuid) {
                seen.push(guest.note);
            }
        }
        for note in seen {
            let mut there = super::place::files(at, &note.folder, &note.claim.id)?;
            for pool in note.pools() {
                there.extend(pools::volumes(at, &pool, &note.claim.id)?);
            }
            for volume in note.volumes.iter().filter(|volume| there.contains(&volume.file)) {
                listed.push(of(&note, ResourceKind::Volume, volume.id(&note.folder), volume.name.clone()));
            }
        }
        Ok(listed)
    })?;
    Ok(Answer::Listed { resources: found.into_iter().flatten().collect() })
}

/// The guests, and the machines that a note names without one: an interrupted `create` left them, and `destroy` has something to do.
fn machines(notes: &[Note], guests: &[Guest]) -> Vec<Listed> {
    let unmade = notes.iter().filter(|note| guests.iter().all(|guest| guest.uuid != note.uuid));
    let all = guests.iter().map(|guest| &guest.note).chain(unmade);
    all.map(|note| {
        let name = names::domain(&note.claim, &note.machine);
        of(note, ResourceKind::Machine, note.uuid.clone(), name)
    })
    .collect()
}

fn of(note: &Note, kind: ResourceKind, id: String, name: String) -> Listed {
    Listed { resource: Resource { kind, id, name }, claim: note.claim.clone(), made: None, price: None }
}

#[cfg(test)]
mod tests {
    use super::machines;
    use crate::drivers::libvirt::note::{Guest, tests::note};

    #[test]
    fn a_machine_that_was_noted_and_not_made_is_listed() {
        let note = note();
        let guest = Guest { uuid: note.uuid.clone(), note: note.clone() };
        for guests in [vec![], vec![guest]] {
            let listed = machines(std::slice::from_ref(&note), &guests);
            assert_eq!(listed.len(), 1, "once, with a guest or without");
            assert_eq!((&listed[0].resource.id, &listed[0].claim), (&note.uuid, &note.claim));
        }
    }
}
