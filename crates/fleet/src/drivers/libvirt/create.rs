//! Creates machines, all at the same time. A machine that exists is taken as it is, so an interrupted `create` is repeated safely.

use super::make::{Making, resource};
use super::note::{Guest, Note, guests};
use super::place::Place;
use super::settings::{Wanted, is_direct, read};
use super::validate::{FANOUT, offer, rates};
use super::{failure, names, place, pools, reach, refused};
use crate::at::{At, AtOptions, on_each};
use crate::images;
use crate::libvirt::{
    GuestError, GuestSsh, Network, Try, address, check_network, crashed, is_public_key, random,
};
use driver::protocol::{
    Answer, Backing, Claim, Created, CreatedOffer, CreatedVolume, DeviceName, Failure, MachineRequest, Rates,
    ResourceKind,
};
use driver::serve::Teller;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Between two looks at a guest that boots.
const LOOK: Duration = Duration::from_millis(500);

/// Creates machines.
pub(super) fn create(
    options: &AtOptions,
    claim: &Claim,
    machines: &[MachineRequest],
    key: &str,
    tell: &Teller<'_>,
) -> Result<Answer, Failure> {
    if !names::is_claim_id(&claim.id) {
        return Err(refused(
            format!("`{}` is no id of a claim", claim.id),
            "32 hexadecimal digits, small letters",
        ));
    }
    if !is_public_key(key.trim()) {
        return Err(refused("`ssh_public_key` is no public key of ssh", "a line as in authorized_keys"));
    }
    let wanted = read(machines).map_err(|problems| {
        let line = |problem: &driver::protocol::Problem| {
            let parts = [Some(problem.machine.as_str()), problem.volume.as_deref(), problem.key.as_deref()];
            format!("{}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(": "), problem.text)
        };
        refused(problems.iter().map(line).collect::<Vec<_>>().join("; "), "")
    })?;
    let hosts = connect(options, &wanted)?;
    if let [at] = hosts.values().collect::<Vec<_>>().as_slice() {
        tell.account(place::account(at));
    }
    let made = on_each(wanted.iter().collect(), FANOUT, &|wanted: &Wanted| {
        let at = hosts.get(&wanted.host).ok_or_else(|| refused("a host is missing", ""))?;
        one(at, claim, wanted, key, tell).map_err(|error| {
            let Failure { blame, text, help } = failure(&error);
            Failure { blame, text: format!("{}: {text}", wanted.name), help }
        })
    });
    Ok(Answer::Created { machines: made.into_iter().collect::<Result<_, _>>()? })
}

/// Connects to each host once.
fn connect(options: &AtOptions, wanted: &[Wanted]) -> Result<BTreeMap<String, At>, Failure> {
    let mut names: Vec<&Wanted> = wanted.iter().collect();
    names.sort_by(|a, b| a.host.cmp(&b.host));
    names.dedup_by(|a, b| a.host == b.host);
    let opened = on_each(names, FANOUT, &|wanted: &Wanted| {
        let at = reach::open(options, &wanted.host, wanted.ssh_config.clone())?;
        at.needs("virsh", "libvirt-clients")?;
        at.needs("qemu-img", "qemu-utils")?;
        Ok((wanted.host.clone(), at))
    });
    opened.into_iter().map(|opened| opened.map_err(|error| failure(&GuestError::At(error)))).collect()
}

/// Makes one machine, or takes the one that exists, and waits until its sshd answers.
fn one(at: &At, claim: &Claim, wanted: &Wanted, key: &str, tell: &Teller<'_>) -> Result<Created, GuestError> {
    let image = images::find(at, &wanted.image)?;
    check_network(at, &wanted.network)?;
    let token: String = random::<8>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    let place = Place::take(at, &claim.id, &wanted.name, token)?;
    let uuid = names::uuid(claim, &wanted.name);
    // From here on no other create of this machine can change anything.
    let existing = guests(at)?.into_iter().find(|guest| guest.uuid == uuid && guest.is_original());
    let note = match existing {
        Some(guest) => again(&place, wanted, guest, tell)?,
        None => Making { place: &place, claim, wanted, image: &image, key, tell }.make()?,
    };
    tell.step(Some(&wanted.name), "started; waiting for ssh");
    let address = reached(at, claim, wanted, &note)?;
    created(at, claim, wanted, note, address)
}

/// Starts a guest that exists, if it is off. Its disks were whole before libvirt knew it.
fn again(place: &Place<'_>, wanted: &Wanted, guest: Guest, tell: &Teller<'_>) -> Result<Note, GuestError> {
    let names =
        |note: &Note| note.volumes.iter().map(|one| (one.name.clone(), one.size_bytes)).collect::<Vec<_>>();
    let asked: Vec<(String, u64)> =
        wanted.volumes.iter().map(|one| (one.name.clone(), one.size_bytes)).collect();
    if names(&guest.note) != asked {
        return Err(GuestError::Record {
            machine: place.at.name().to_owned(),
            guest: wanted.name.clone(),
            why: "the claim has this machine already, with other volumes: destroy it first".to_owned(),
        });
    }
    let state = place.at.virsh("look at the guest", &["domstate", "--domain", &guest.uuid])?;
    if state.trim() == "shut off" {
        let words = place.at.virsh_words(&["start", "--domain", &guest.uuid]);
        place.run("start the guest", &words)?;
    }
    let name = names::domain(&guest.note.claim, &wanted.name);
    tell.made(resource(ResourceKind::Machine, guest.uuid, &name));
    Ok(guest.note)
}

/// Waits until the guest's sshd answers with the key that was made for it, and returns its address. Whether the claim's key gets in is not
/// tried: the driver has its public half only. cloud-init puts it in before it puts in the sshd's own.
fn reached(at: &At, claim: &Claim, wanted: &Wanted, note: &Note) -> Result<String, GuestError> {
    let name = names::domain(claim, &wanted.name);
    let (began, seconds) = (Instant::now(), wanted.wait.as_secs());
    let mut known: Option<(String, GuestSsh)> = None;
    let mut said = String::new();
    loop {
        if known.is_none()
            && let Some(found) = address(at, &note.uuid, None)?
        {
            let ssh = GuestSsh::new(at, &name, &found, &note.host_key, true)?;
            known = Some((found, ssh));
        }
        if let Some((found, ssh)) = &known {
            match ssh.log_in()? {
                Try::In | Try::Refused => return Ok(found.clone()),
                Try::Silent(last) => said = last,
            }
        }
        crashed(at, &note.uuid)?;
        if began.elapsed() > wanted.wait {
            let (machine, guest) = (at.name().to_owned(), name);
            return Err(match known {
                None => GuestError::NoAddress { machine, guest, seconds },
                Some((address, _)) => GuestError::NoSsh { machine, guest, address, seconds, said },
            });
        }
        std::thread::sleep(LOOK);
    }
}

fn created(
    at: &At,
    claim: &Claim,
    wanted: &Wanted,
    note: Note,
    address: String,
) -> Result<Created, GuestError> {
    let offered = offer(wanted);
    let volumes = wanted.volumes.iter().zip(&note.volumes).map(|(volume, noted)| {
        let path = match &noted.pool {
            None => noted.id(&note.folder),
            Some(pool) => pools::path(at, pool, &noted.file)?,
        };
        let direct_io = is_direct(volume.tuning.cache);
        Ok(CreatedVolume {
            name: volume.name.clone(),
            id: noted.id(&note.folder),
            device: DeviceName::Serial(names::serial(claim, &wanted.name, &volume.name)),
            size_bytes: volume.size_bytes,
            price: None,
            rates: rates(&volume.tuning),
            backing: Some(Backing {
                host: wanted.host.clone(),
                path,
                direct_io,
                domain: Some(note.uuid.clone()),
            }),
        })
    });
    let volumes = volumes.collect::<Result<_, GuestError>>()?;
    // Only its host is in a network of libvirt; a bridge is in the host's own network.
    let is_inside = matches!(wanted.network, Network::Libvirt(_)) && !at.is_here();
    Ok(Created {
        name: wanted.name.clone(),
        id: note.uuid.clone(),
        address,
        port: None,
        through: is_inside.then(|| wanted.host.clone()),
        user: "root".to_owned(),
        offer: CreatedOffer { price: offered.price, ceiling: Rates::default() },
        volumes,
        host_keys: vec![note.host_key],
    })
}
