//! Enters created machines: waits until ssh lets us in, finds their volumes as disks, and claims exactly these.

use super::error::CreatedError;
use super::hosted;
use super::ssh_config::{alias, of_run, write};
use crate::agent;
use crate::connect::{self, Connected};
use crate::error::FleetError;
use crate::options::Options;
use driver::journal::{Entry, Held, Journal};
use driver::protocol::{Created, CreatedVolume, DeviceName};
use host::{Installed, LocalRunner, Ssh, SshError};
use record::plan::Plan;
use record::printable::printable;
use record::target::{Target, TargetKind};
use record::volume::{Volume, VolumeKind};
use run::guest_disks::HostedDisk;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a machine may take until its sshd lets us in.
const WAY_IN: Duration = Duration::from_secs(10 * 60);
/// How long a machine may take until it shows a volume.
const APPEARS: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_secs(2);
/// How many volumes are claimed at the same time, each over a session of its own: a claim reads a sample of the whole volume, at the
/// volume's rate. OpenSSH's server allows ten sessions of one connection (sshd_config, `MaxSessions`).
const CLAIMS_AT_ONCE: usize = 8;
/// How long a machine that lets us in may still boot. Then it counts as up: a unit may never end.
const BOOTS: Duration = Duration::from_secs(5 * 60);
/// Prints how far systemd has booted. Until it is done, cloud-init may start sshd anew, and what it does disturbs trials.
const BOOTED: [&str; 3] = ["sh", "-c", "[ ! -d /run/systemd/system ] || systemctl is-system-running || true"];

/// A plan whose created machines can be reached, and the options that reach them.
#[derive(Debug, Clone)]
pub struct Entered {
    /// The plan with ssh destinations in place of created machines, and disks in place of created volumes.
    pub plan: Plan,
    /// The options with the machines' keys and addresses.
    pub options: Options,
    /// Volumes of guests whose hosts show what backs them, by target.
    hosted: BTreeMap<String, Vec<HostedDisk>>,
}

impl Entered {
    /// Connects to all machines of the plan, as [`connect::connect`] does.
    ///
    /// # Errors
    /// As of [`connect::connect`].
    pub fn connect(&self) -> Result<Connected, FleetError> {
        let mut connected = connect::connect(&self.plan, &self.options)?;
        for node in &mut connected.nodes {
            node.hosted.extend(self.hosted.get(&node.target).into_iter().flatten().cloned());
        }
        Ok(connected)
    }
}

/// A disk as another diskproof lists it; more is not needed here.
#[derive(Debug, Clone, Deserialize)]
struct Disk {
    path: String,
    ids: Vec<String>,
    serial: Option<String>,
    wwn: Option<String>,
    claimed: bool,
}

/// Waits for all machines at the same time, and claims their volumes there.
///
/// # Errors
/// A machine lets nobody in, or doesn't show a volume.
pub fn enter(
    plan: &Plan,
    held: &[Held],
    journal: &Journal,
    options: &Options,
    cancel: &AtomicBool,
) -> Result<Entered, CreatedError> {
    let entries: Vec<&Entry> = held.iter().map(Held::entry).collect();
    for entry in &entries {
        write(journal, entry, options.ssh_config.as_deref())?;
    }
    let config = of_run(journal, &entries, options.ssh_config.as_deref())?;
    let options = Options { ssh_config: Some(config), ..options.clone() };
    let machines: Vec<(&String, String, &Created)> = entries
        .iter()
        .flat_map(|entry| {
            entry.targets.iter().zip(&entry.created).map(|(t, made)| (t, alias(entry, made), made))
        })
        .collect();
    let found: Vec<Result<BTreeMap<String, String>, CreatedError>> = std::thread::scope(|scope| {
        let each: Vec<_> = machines
            .iter()
            .map(|(target, alias, made)| {
                let ssh = agent::ssh(alias, &options);
                scope.spawn(move || one(target, &ssh, made, cancel))
            })
            .collect();
        each.into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut disks: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for ((target, _, _), found) in machines.iter().zip(found) {
        disks.insert((*target).clone(), found?);
    }
    let followed: Vec<_> = machines
        .iter()
        .filter_map(|(target, _, made)| Some((target.as_str(), *made, disks.get(*target)?)))
        .collect();
    let hosted = hosted::disks(&followed, &options);
    let original = plan;
    let mut plan = original.clone();
    for target in &mut plan.targets {
        if let Some((_, alias, _)) = machines.iter().find(|(name, _, _)| **name == target.name) {
            target.kind = TargetKind::Ssh { destination: alias.clone() };
        }
    }
    for cell in &mut plan.cells {
        let Some(known) = disks.get(&cell.target) else { continue };
        cell.stack.volumes.iter_mut().chain(&mut cell.stack.beside).for_each(|volume| resolve(volume, known));
    }
    // A group without a target is of volumes that only one target has.
    for (at, group) in plan.shuffled.iter_mut().enumerate() {
        let only = original.shuffled_on.get(at).and_then(Option::as_deref);
        for volume in group {
            let name = volume.name.clone();
            if let Some(known) = only.or_else(|| owner(original, &name)).and_then(|on| disks.get(on)) {
                resolve(volume, known);
            }
        }
    }
    Ok(Entered { plan, options, hosted })
}

/// The first target that has a volume of this name.
fn owner<'p>(plan: &'p Plan, name: &str) -> Option<&'p str> {
    let has = |target: &&Target| match &target.kind {
        TargetKind::Created { volumes, .. } => {
            volumes.iter().any(|volume| volume.single().iter().any(|(single, _)| single == name))
        }
        _ => false,
    };
    plan.targets.iter().find(has).map(|target| target.name.as_str())
}

fn resolve(volume: &mut Volume, disks: &BTreeMap<String, String>) {
    if let VolumeKind::Created { volume: name, .. } = &volume.kind
        && let Some(id) = disks.get(name)
    {
        volume.kind = VolumeKind::Disk { id: id.clone() };
    }
}

/// The ssh connection to a machine that was entered before.
#[must_use]
pub fn way(journal: &Journal, entry: &Entry, machine: &Created) -> Ssh {
    Ssh::to(&alias(entry, machine), Some(&journal.ssh_config(&entry.claim.id)))
}

/// Waits for one machine. Returns its volumes' names in /dev/disk/by-id, by the names that the driver has.
fn one(
    target: &str,
    ssh: &Ssh,
    made: &Created,
    cancel: &AtomicBool,
) -> Result<BTreeMap<String, String>, CreatedError> {
    way_in(target, ssh, made, cancel)?;
    if made.volumes.is_empty() {
        return Ok(BTreeMap::new());
    }
    let own = agent::install(ssh)?;
    let disks = appeared(target, ssh, &own, made, cancel)?;
    let mut ids = BTreeMap::new();
    for some in disks.chunks(CLAIMS_AT_ONCE) {
        let claimed: Vec<Result<String, CreatedError>> = std::thread::scope(|scope| {
            let own = &own;
            let each: Vec<_> = some
                .iter()
                .map(|(volume, disk)| scope.spawn(move || claim(target, ssh, own, volume, disk)))
                .collect();
            each.into_iter()
                .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        for ((volume, _), id) in some.iter().zip(claimed) {
            ids.insert(volume.name.clone(), id?);
        }
    }
    Ok(ids)
}

/// Waits until a machine has the disks of all its volumes.
fn appeared<'v>(
    target: &str,
    ssh: &Ssh,
    own: &Installed,
    made: &'v Created,
    cancel: &AtomicBool,
) -> Result<Vec<(&'v CreatedVolume, Disk)>, CreatedError> {
    let until = Instant::now() + APPEARS;
    loop {
        let disks = disks(target, ssh, own)?;
        let each = made.volumes.iter().map(|volume| Ok((volume, disk(target, ssh, volume, &disks)?)));
        match each.collect() {
            Err(CreatedError::NoDisk { .. }) if cancel.load(Ordering::Relaxed) => {
                return Err(CreatedError::Cancelled);
            }
            Err(CreatedError::NoDisk { .. }) if Instant::now() < until => std::thread::sleep(PAUSE),
            found => return found,
        }
    }
}

fn way_in(target: &str, ssh: &Ssh, made: &Created, cancel: &AtomicBool) -> Result<(), CreatedError> {
    let begun = Instant::now();
    let mut lets_in = None;
    loop {
        let told = ssh.run(&LocalRunner, "wait until the machine is up", &BOOTED, None);
        if cancel.load(Ordering::Relaxed) {
            return Err(CreatedError::Cancelled);
        }
        let error = match told {
            Ok(state) => {
                let is_booting = matches!(state.trim(), "initializing" | "starting");
                if !is_booting || lets_in.get_or_insert_with(Instant::now).elapsed() >= BOOTS {
                    return Ok(());
                }
                std::thread::sleep(PAUSE);
                continue;
            }
            Err(error) => error,
        };
        // Another key than the provider told never gets right by waiting.
        let wrong_key = matches!(&error, SshError::Unreachable { said, .. } if said.contains("Host key verification failed"));
        let waited = begun.elapsed();
        if wrong_key || waited >= WAY_IN {
            let (target, address) = (target.to_owned(), made.address.clone());
            return Err(CreatedError::NoWayIn { target, address, waited, source: Box::new(error) });
        }
        std::thread::sleep(PAUSE);
    }
}

fn as_root<'a>(own: &'a Installed, words: &[&'a str]) -> Vec<&'a str> {
    let sudo: &[&str] = if own.uid == 0 { &[] } else { &["sudo", "-n", "--"] };
    sudo.iter().copied().chain([own.path.as_str()]).chain(words.iter().copied()).collect()
}

/// Lists the disks of a machine.
fn disks(target: &str, ssh: &Ssh, own: &Installed) -> Result<Vec<Disk>, CreatedError> {
    let said = ssh.run(&LocalRunner, "list its disks", &as_root(own, &["devices", "--json"]), None)?;
    serde_json::from_str(&said).map_err(|error| {
        let what = format!("its diskproof lists disks in a form that can't be read: {error}");
        CreatedError::Answer { driver: target.to_owned(), what }
    })
}

/// Finds the disk that the driver named.
fn disk(target: &str, ssh: &Ssh, volume: &CreatedVolume, disks: &[Disk]) -> Result<Disk, CreatedError> {
    let (name, link) = match &volume.device {
        DeviceName::Serial(serial) => (serial.clone(), None),
        DeviceName::Link(link) => {
            let led =
                ssh.run(&LocalRunner, "follow the link of a volume", &["readlink", "-f", "--", link], None);
            (link.clone(), Some(led.unwrap_or_default().trim().to_owned()))
        }
    };
    let seen = || {
        let each = disks
            .iter()
            .map(|disk| format!("{} ({})", disk.path, disk.serial.as_deref().unwrap_or("no serial")));
        printable(&each.collect::<Vec<_>>().join(", ")).into_owned()
    };
    let missing = CreatedError::NoDisk {
        target: target.to_owned(),
        volume: volume.name.clone(),
        name: name.clone(),
        seen: seen(),
    };
    let is = |disk: &Disk| match &link {
        None => disk.serial.as_deref().is_some_and(|serial| same_serial(serial, &name)),
        Some(path) => disk.path == *path,
    };
    let mut fitting = disks.iter().filter(|disk| is(disk));
    // Two disks of one serial number can't be told apart.
    match (fitting.next(), fitting.next()) {
        (Some(disk), None) => Ok(disk.clone()),
        _ => Err(missing),
    }
}

/// Whether the kernel's serial number is the driver's: EBS volumes lose their hyphen as NVMe disks.
fn same_serial(kernels: &str, drivers: &str) -> bool {
    kernels == drivers || kernels == drivers.replace('-', "")
}

/// Claims a disk on its machine: it was made for the run, so whatever is on it may go.
fn claim(
    target: &str,
    ssh: &Ssh,
    own: &Installed,
    volume: &CreatedVolume,
    disk: &Disk,
) -> Result<String, CreatedError> {
    let word = disk.serial.as_ref().or(disk.wwn.as_ref());
    let (Some(id), Some(word)) = (disk.ids.first(), word) else {
        return Err(CreatedError::NoDisk {
            target: target.to_owned(),
            volume: volume.name.clone(),
            name: disk.path.clone(),
            seen: format!("{} has no name in /dev/disk/by-id or no serial number", printable(&disk.path)),
        });
    };
    if !disk.claimed {
        let words = as_root(own, &["claim", id, "--yes-i-own", word, "--overwrite-data"]);
        ssh.run(&LocalRunner, "claim the created volume", &words, None)?;
    }
    Ok(id.clone())
}
