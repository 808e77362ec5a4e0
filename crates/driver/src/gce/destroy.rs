//! Removes what a claim has, and looks until nothing of it is left or on its way.

use super::api::Api;
use super::failure::{CallError, providers};
use super::inventory::{Disk, Instance};
use super::name;
use super::operation::{Operation, last};
use crate::protocol::{Answer, Claim, Failure, Left, Resource};
use crate::serve::Teller;
use std::collections::{BTreeMap, BTreeSet};
use std::thread::scope;
use std::time::Instant;

/// How often the removal of one resource is tried.
const TRIES: u32 = 8;
/// How many looks in a row show that nothing more can be done: a list may lag behind a removal.
const STUCK: u32 = 3;
/// How many removals are asked for at the same time.
const AT_ONCE: usize = 16;

/// What is removed, by its path.
#[derive(Default)]
struct Removal {
    seen: BTreeMap<String, Resource>,
    there: BTreeSet<String>,
    gone: BTreeSet<String>,
    tries: BTreeMap<String, u32>,
    why: BTreeMap<String, String>,
}

/// What came of the removals that were asked for.
enum Asked {
    /// Nothing was asked for: all that is there goes with something else, or was tried often enough.
    Nothing,
    AllAccepted,
    SomeRefused,
}

/// What the API shows of a claim at one time.
struct Look {
    instances: Vec<Instance>,
    disks: Vec<Disk>,
    pending: Vec<Operation>,
}

/// Removes everything that carries the claim's id, and nothing else. It ends once the API has shown nothing for [`super::Pace::settle`].
pub(super) fn destroy(api: &Api<'_>, claim: &Claim, tell: &Teller<'_>) -> Result<Answer, Failure> {
    let begun = Instant::now();
    let mut removal = Removal::default();
    let mut early = BTreeSet::new();
    let (mut looks, mut stuck) = (0, 0);
    // Since when the API has shown nothing, for as long as it does.
    let mut quiet_since = None;
    tell.step(None, "looking for what the claim has");
    loop {
        let may_come = begun.elapsed() < api.pace.settle;
        let looked = Instant::now();
        let mut look = look(api, claim)?;
        look.pending.retain(|operation| concerns(operation, claim, may_come, &mut early));
        removal.note(&look, tell);
        let is_idle = look.pending.is_empty();
        if removal.there.is_empty() && is_idle {
            if looked.duration_since(*quiet_since.get_or_insert(looked)) >= api.pace.settle {
                return Ok(removal.answer());
            }
        } else {
            quiet_since = None;
        }
        if quiet_since.is_none() && begun.elapsed() > api.pace.patience {
            return removal.late(&look.pending);
        }
        looks += 1;
        let is_ending = look.instances.iter().any(is_ending);
        let asked = removal.remove(api, look);
        let is_stuck = matches!(asked, Asked::Nothing) && !removal.there.is_empty() && is_idle && !is_ending;
        stuck = if is_stuck { stuck + 1 } else { 0 };
        if stuck >= STUCK {
            return Ok(removal.answer());
        }
        if !matches!(asked, Asked::AllAccepted) {
            let longest = if quiet_since.is_some() { api.pace.settle / 4 } else { api.pace.settle };
            std::thread::sleep(api.pace.pause(looks).min(longest));
        }
    }
}

fn look(api: &Api<'_>, claim: &Claim) -> Result<Look, CallError> {
    // Operations first: what one of them makes later shows in the lists, or the operation does.
    let pending = api.pending()?;
    let instances = api.instances(Some(&claim.id))?;
    Ok(Look { instances, disks: api.disks(Some(&claim.id))?, pending })
}

/// Whether an operation may create or remove something of the claim. A bulk insert tells no names, so each one that began before
/// `destroy`, or while a request may still have been on its way, is waited for.
fn concerns(operation: &Operation, claim: &Claim, may_come: bool, early: &mut BTreeSet<String>) -> bool {
    if last(&operation.target_link).starts_with(&name::prefix(claim)) {
        return true;
    }
    if operation.operation_type.eq_ignore_ascii_case("bulkInsert") {
        if may_come {
            early.insert(operation.name.clone());
        }
        return early.contains(&operation.name);
    }
    false
}

impl Removal {
    /// Notes what is there and what is gone.
    fn note(&mut self, look: &Look, tell: &Teller<'_>) {
        let of_machines = look.instances.iter().flat_map(|one| one.local_disks().chain([one.resource()]));
        let resources = of_machines.chain(look.disks.iter().map(Disk::resource));
        self.there.clear();
        for resource in resources {
            self.gone.remove(&resource.id);
            self.there.insert(resource.id.clone());
            self.seen.insert(resource.id.clone(), resource);
        }
        for (path, resource) in &self.seen {
            if !self.there.contains(path) && self.gone.insert(path.clone()) {
                tell.removed(resource.clone());
            }
        }
    }

    /// Asks for the removal of machines and of disks that no machine has, and waits for all operations.
    fn remove(&mut self, api: &Api<'_>, look: Look) -> Asked {
        let ours: BTreeSet<String> = look.disks.iter().map(Disk::path).collect();
        let mut asked = if look.pending.is_empty() { Asked::Nothing } else { Asked::AllAccepted };
        let is_due =
            |removal: &Self, path: &String| removal.tries.get(path).is_none_or(|tries| *tries < TRIES);
        let mut paths = Vec::new();
        for instance in look.instances.iter().filter(|instance| !is_ending(instance)) {
            let path = instance.path();
            if !is_due(self, &path) {
                continue;
            }
            match keep_foreign(api, instance, &ours) {
                Ok(()) => paths.push(path),
                Err(error) => {
                    self.failed(path, error.to_string());
                    asked = Asked::SomeRefused;
                }
            }
        }
        paths.extend(look.disks.iter().filter(|disk| disk.users.is_empty()).map(Disk::path));
        paths.retain(|path| is_due(self, path));
        for operation in look.pending {
            // It ends sometime; the next look shows what it made.
            let _ = api.wait(operation);
        }
        if !paths.is_empty() && matches!(asked, Asked::Nothing) {
            asked = Asked::AllAccepted;
        }
        for paths in paths.chunks(AT_ONCE) {
            let ends: Vec<_> = scope(|scope| {
                let calls: Vec<_> =
                    paths.iter().map(|path| scope.spawn(move || remove_one(api, path))).collect();
                calls
                    .into_iter()
                    .map(|call| call.join().unwrap_or_else(|_| Err("a panic".to_owned())))
                    .collect()
            });
            for (path, end) in paths.iter().zip(ends) {
                match end {
                    Ok(()) => *self.tries.entry(path.clone()).or_default() += 1,
                    Err(why) => {
                        self.failed(path.clone(), why);
                        asked = Asked::SomeRefused;
                    }
                }
            }
        }
        asked
    }

    fn failed(&mut self, path: String, why: String) {
        *self.tries.entry(path.clone()).or_default() += 1;
        self.why.insert(path, why);
    }

    /// The end where the time is up.
    fn late(self, pending: &[Operation]) -> Result<Answer, Failure> {
        if !self.there.is_empty() {
            return Ok(self.answer());
        }
        let operations: Vec<_> = pending.iter().map(|operation| operation.name.as_str()).collect();
        Err(providers(format!("operations that may create machines don't end: {}", operations.join(", "))))
    }

    fn answer(self) -> Answer {
        let Self { seen, there, mut why, .. } = self;
        let (mut removed, mut left) = (Vec::new(), Vec::new());
        for (path, resource) in seen {
            match there.contains(&path) {
                false => removed.push(resource),
                true => {
                    let why = why
                        .remove(&path)
                        .unwrap_or_else(|| "it is still there, and GCE gives no reason".to_owned());
                    left.push(Left { resource, why });
                }
            }
        }
        Answer::Destroyed { removed, left }
    }
}

fn is_ending(instance: &Instance) -> bool {
    matches!(instance.status.as_str(), "STOPPING" | "DEPROVISIONING")
}

/// Makes sure that no disk of somebody else goes with a machine.
pub(super) fn keep_foreign(
    api: &Api<'_>,
    instance: &Instance,
    ours: &BTreeSet<String>,
) -> Result<(), CallError> {
    for disk in &instance.disks {
        if disk.auto_delete && !disk.is_local() && !ours.contains(&disk.path()) {
            let path = format!("{}/setDiskAutoDelete", instance.path());
            let set = api.set(&path, &[("autoDelete", "false"), ("deviceName", &disk.device_name)])?;
            api.wait(set)?;
        }
    }
    Ok(())
}

fn remove_one(api: &Api<'_>, path: &str) -> Result<(), String> {
    let ended = match api.delete(path) {
        Err(error) if error.status() == Some(404) => return Ok(()),
        begun => begun.and_then(|begun| api.wait(begun)).map_err(|error| error.to_string())?,
    };
    match ended.error() {
        None => Ok(()),
        Some(error) => Err(error.text()),
    }
}
