//! Creates machines: one call for equal ones, repeated under the same request id until all are there.

use super::api::Api;
use super::body::{self, Common};
use super::destroy::keep_foreign;
use super::failure::{CallError, providers, users};
use super::inventory::Instance;
use super::machine::{Machine, Place};
use super::operation::Operation;
use super::table::SSH_PORT;
use super::taken::{self, Planned};
use super::volume::{LOCAL_BYTES, Volume};
use super::{name, ssh};
use crate::protocol::{
    Claim, Created, CreatedOffer, CreatedVolume, DeviceName, Failure, Rates, Resource, ResourceKind,
};
use crate::serve::Teller;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::thread::scope;
use std::time::Instant;

/// How many request ids are tried. A next one is needed where an earlier `create` failed under this one, or was destroyed since.
const ROUNDS: u32 = 6;

/// Equal machines: one call creates them.
struct Group {
    place: Place,
    properties: Value,
    /// Their names in the account.
    names: Vec<String>,
}

/// How a round ended for one group.
enum Sent {
    /// It was carried out, now or earlier, as far as the API tells.
    Accepted,
    /// It failed earlier, or some machines are there already: the list decides what to ask for next.
    Again(String),
}

/// Creates the machines of a claim, and waits until each answers over the network.
pub(super) fn create(
    api: &Api<'_>,
    claim: &Claim,
    machines: &[(Machine, Place)],
    ssh_public_key: &str,
    tell: &Teller<'_>,
) -> Result<Vec<Created>, Failure> {
    let common =
        Common { project: &api.project, claim, ssh_public_key, termination: body::termination(claim)? };
    let groups = groups(machines, &common);
    tell.step(None, format!("creating {} machines by {} calls", machines.len(), groups.len()));
    no_name_is_taken(api, claim, &groups)?;
    let made = ensure(api, claim, &groups).inspect_err(|_| {
        // The machines of other groups exist, and cost.
        if let Ok(there) = by_name(api, claim) {
            tell_made(&there, tell);
        }
    })?;
    tell_made(&made, tell);
    are_ours(api, claim, &made)?;
    let made = await_running(api, claim, machines, made)?;
    tell.step(None, "waiting until the machines answer");
    scope(|scope| {
        let waits: Vec<_> = machines
            .iter()
            .map(|(machine, _)| {
                let instance = made.get(&name::of_machine(claim, &machine.name));
                scope.spawn(move || finish(api, machine, instance, tell))
            })
            .collect();
        waits.into_iter().map(joined).collect()
    })
}

/// Refuses machines that would get a disk of somebody else.
fn no_name_is_taken(api: &Api<'_>, claim: &Claim, groups: &[Group]) -> Result<(), Failure> {
    let planned: Vec<_> = groups.iter().flat_map(Group::planned).collect();
    let Some(disk) = taken::find(api, claim, &planned)? else { return Ok(()) };
    // An earlier `create` that was interrupted may have attached it already.
    are_ours(api, claim, &by_name(api, claim)?)?;
    Err(taken::refusal(&disk))
}

impl Group {
    fn planned(&self) -> impl Iterator<Item = Planned<'_>> {
        let disks = self.properties["disks"].as_array().map_or(0, Vec::len);
        self.names.iter().map(move |name| Planned { name, place: &self.place, disks })
    }
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, Result<T, Failure>>) -> Result<T, Failure> {
    thread
        .join()
        .unwrap_or_else(|_| Err(super::failure::drivers("a thread of the driver ended with a panic")))
}

fn groups(machines: &[(Machine, Place)], common: &Common<'_>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (machine, place) in machines {
        let properties = body::properties(machine, place, common);
        let name = name::of_machine(common.claim, &machine.name);
        match groups.iter_mut().find(|group| group.place == *place && group.properties == properties) {
            Some(group) => group.names.push(name),
            None => groups.push(Group { place: place.clone(), properties, names: vec![name] }),
        }
    }
    groups
}

/// Asks for the machines until the list shows all of them.
fn ensure(api: &Api<'_>, claim: &Claim, groups: &[Group]) -> Result<BTreeMap<String, Instance>, Failure> {
    let mut there = BTreeMap::new();
    let mut why = None;
    for round in 0..ROUNDS {
        let ends: Vec<_> = scope(|scope| {
            let missing = |group: &Group| -> Vec<String> {
                group.names.iter().filter(|name| !there.contains_key(*name)).cloned().collect()
            };
            let calls: Vec<_> = groups
                .iter()
                .map(|group| (group, missing(group)))
                .filter(|(_, names)| !names.is_empty())
                .map(|(group, names)| scope.spawn(move || send(api, claim, group, &names, round)))
                .collect();
            calls.into_iter().map(joined).collect()
        });
        for end in ends {
            if let Sent::Again(text) = end? {
                why = Some(text);
            }
        }
        there = by_name(api, claim)?;
        if groups.iter().flat_map(|group| &group.names).all(|name| there.contains_key(name)) {
            return Ok(there);
        }
    }
    let why =
        why.unwrap_or_else(|| "the calls succeed, and the machines don't appear in the list".to_owned());
    Err(providers(format!("GCE doesn't create the machines: {why}")))
}

/// What the claim has, by its name in the account.
fn by_name(api: &Api<'_>, claim: &Claim) -> Result<BTreeMap<String, Instance>, CallError> {
    let there = api.instances(Some(&claim.id))?;
    Ok(there.into_iter().map(|instance| (instance.name.clone(), instance)).collect())
}

/// Asks for the machines of a group once, and waits for the end.
fn send(api: &Api<'_>, claim: &Claim, group: &Group, names: &[String], round: u32) -> Result<Sent, Failure> {
    let body = body::bulk(names, &group.properties);
    let id = name::request_id(&[&claim.id, &body.to_string(), &round.to_string()]);
    let path = match &group.place {
        Place::Zone(zone) => format!("zones/{zone}/instances/bulkInsert"),
        Place::Region(region) => format!("regions/{region}/instances/bulkInsert"),
    };
    let begun = match api.post(&path, &id, &body) {
        Err(error) if error.status() == Some(409) => return Ok(Sent::Again(error.to_string())),
        begun => begun?,
    };
    let is_old = begun.is_done();
    let ended = api.wait(begun)?;
    match ended.error() {
        None => Ok(Sent::Accepted),
        Some(error) if is_old || is_taken(&ended) => Ok(Sent::Again(error.text())),
        Some(error) => Err(providers(format!("GCE doesn't create {}: {}", names.join(", "), error.text()))),
    }
}

fn is_taken(operation: &Operation) -> bool {
    operation.error().is_some_and(|error| error.code == "RESOURCE_ALREADY_EXISTS")
}

fn tell_made(made: &BTreeMap<String, Instance>, tell: &Teller<'_>) {
    for instance in made.values() {
        tell.made(instance.resource());
        instance.local_disks().for_each(|disk| tell.made(disk));
        for disk in instance.disks.iter().filter(|disk| !disk.is_local()) {
            let path = disk.path();
            let name = super::operation::last(&path).to_owned();
            tell.made(Resource { kind: ResourceKind::Volume, id: path, name });
        }
    }
}

/// Checks that each attached disk is of this claim: GCE attaches a disk that is there already, if it has the name that the new one
/// would get, and a benchmark would overwrite it. Such a disk would also go with its machine: at the deadline, or when somebody deletes it.
fn are_ours(api: &Api<'_>, claim: &Claim, made: &BTreeMap<String, Instance>) -> Result<(), Failure> {
    let ours: BTreeSet<String> =
        api.disks(Some(&claim.id))?.iter().map(super::inventory::Disk::path).collect();
    let mut refused = None;
    for instance in made.values() {
        let foreign = instance.disks.iter().find(|disk| !disk.is_local() && !ours.contains(&disk.path()));
        let Some(foreign) = foreign else { continue };
        let mut text = format!(
            "GCE attached the disk {} to {}, and it is not of this claim",
            foreign.path(),
            instance.name
        );
        if let Err(error) = keep_foreign(api, instance, &ours) {
            text =
                format!("{text}; it will be deleted with that machine, since this can't be changed: {error}");
        }
        refused.get_or_insert_with(|| {
            users(text, "destroy detaches it and keeps it; rename it, or create under another claim")
        });
    }
    refused.map_or(Ok(()), Err)
}

/// Waits until each machine runs and has its address.
fn await_running(
    api: &Api<'_>,
    claim: &Claim,
    machines: &[(Machine, Place)],
    mut made: BTreeMap<String, Instance>,
) -> Result<BTreeMap<String, Instance>, Failure> {
    let begun = Instant::now();
    let mut looks = 0;
    loop {
        let mut waiting = None;
        for (machine, _) in machines {
            let named = name::of_machine(claim, &machine.name);
            let instance =
                made.get(&named).ok_or_else(|| providers(format!("{named} is gone before it ran")))?;
            match instance.status.as_str() {
                "RUNNING" if instance.address(machine.use_private_ip).is_some() => {}
                "RUNNING" | "PENDING" | "PROVISIONING" | "STAGING" | "REPAIRING" => waiting = Some(named),
                ended => return Err(providers(format!("{named} is {ended} before it ran"))),
            }
        }
        let Some(waiting) = waiting else { return Ok(made) };
        if begun.elapsed() > api.pace.patience {
            return Err(providers(format!("{waiting} doesn't run, or has no address")));
        }
        looks += 1;
        std::thread::sleep(api.pace.pause(looks));
        made = by_name(api, claim)?;
    }
}

/// Waits until a machine answers, and describes it.
fn finish(
    api: &Api<'_>,
    machine: &Machine,
    instance: Option<&Instance>,
    tell: &Teller<'_>,
) -> Result<Created, Failure> {
    let gone = || providers(format!("{} is gone before it answered", machine.name));
    let instance = instance.ok_or_else(gone)?;
    let address = instance.address(machine.use_private_ip).ok_or_else(gone)?;
    ssh::await_sshd(&address, machine.ssh_port, &api.pace).map_err(|why| {
        let mut failure = providers(format!("{} at {address} doesn't answer: {why}", machine.name));
        failure.help = Some(
            "does the network's firewall allow ssh from here? docs/drivers.md shows the rule".to_owned(),
        );
        failure
    })?;
    let host_keys = ssh::host_keys(api, instance)?;
    if host_keys.is_empty() {
        tell.warn(format!(
            "the image of {} doesn't tell its ssh host keys: the first connection is trusted",
            machine.name
        ));
    }
    let port = Some(machine.ssh_port).filter(|port| *port != SSH_PORT);
    Ok(Created {
        name: machine.name.clone(),
        id: instance.path(),
        address,
        port,
        through: None,
        user: machine.user.clone(),
        host_keys,
        offer: CreatedOffer { price: None, ceiling: Rates::default() },
        volumes: volumes(machine, instance)?,
    })
}

fn volumes(machine: &Machine, instance: &Instance) -> Result<Vec<CreatedVolume>, Failure> {
    let mut locals = instance.disks.iter().filter(|disk| disk.is_local()).enumerate();
    let mut volumes = Vec::new();
    for volume in &machine.volumes {
        let made = match volume.is_local() {
            true => locals.next().map(|(index, disk)| {
                let size_bytes = disk.size_bytes().unwrap_or(LOCAL_BYTES);
                // Google's udev rules count the NVMe disks of the host.
                of(
                    volume,
                    format!("{}/local-ssd-{index}", instance.path()),
                    &format!("local-nvme-ssd-{index}"),
                    size_bytes,
                )
            }),
            false => instance
                .disks
                .iter()
                .find(|disk| disk.device_name == volume.name && !disk.is_local())
                .and_then(|disk| Some(of(volume, disk.path(), &volume.name, disk.size_bytes()?))),
        };
        volumes.push(made.ok_or_else(|| {
            providers(format!("GCE doesn't show the volume {} of {}", volume.name, machine.name))
        })?);
    }
    Ok(volumes)
}

fn of(volume: &Volume, id: String, device: &str, size_bytes: u64) -> CreatedVolume {
    CreatedVolume {
        name: volume.name.clone(),
        id,
        device: DeviceName::Link(format!("/dev/disk/by-id/google-{device}")),
        size_bytes,
        price: None,
        rates: volume.rates(),
        backing: None,
    }
}
