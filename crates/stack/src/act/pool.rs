//! A ZFS pool of our own.

use super::device_ref::DeviceRef;
use super::doing::{Doing, Reversible, Undoing, Undone};
use super::nfs_threads::patience;
use super::retry::{PATIENCE, until, until_ok};
use super::unmount::{busy, top, unmount};
use super::wipe;
use crate::error::ActError;
use crate::machine::Machine;
use crate::{holders, names};
use host::{Invocation, Tool};
use record::mountinfo;
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How long a pool may take to release its devices: pending writes finish first.
const LONG: Duration = Duration::from_secs(60);

/// Creates a pool with a unique name, mounted at one of our mount points. The name identifies it, as long as the pool rests only
/// on our devices; after a reboot, the name in the devices' labels does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatePool {
    /// The pool's name; carries our prefix.
    pub name: String,
    /// All its devices, including those of its log and cache.
    pub devices: Vec<DeviceRef>,
    /// All arguments of `zpool create`.
    pub args: Vec<String>,
    /// Its mount point, in the mounts' directory.
    pub target: PathBuf,
}

impl fmt::Display for CreatePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "make the ZFS pool {}", self.name)
    }
}

impl Reversible for CreatePool {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        doing.run("make the pool", &Invocation::new(Tool::Zpool).args(&self.args))?;
        match top(doing.machine, &self.target)? {
            Some(entry) if self.is_it(&entry) => Ok(()),
            other => Err(ActError::Unverified {
                what: format!("mount at {}", self.target.shown()),
                expected: self.name.clone(),
                saw: other.map_or("nothing".to_owned(), |e| format!("{} of {}", e.fs_type, e.source.shown())),
            }),
        }
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let machine = undoing.machine;
        let ours = names::is_of_run(machine, undoing.run, &self.name)
            && names::is_of_run_in(machine, undoing.run, &self.target, &machine.mounts_dir());
        if !ours {
            let saw = "it doesn't have one of diskproof's names, or is not mounted in diskproof's directory"
                .to_owned();
            return Err(ActError::NotOurs { what: format!("pool {}", self.name), saw });
        }
        let mut undone = Undone::Nothing;
        if is_imported(machine, &self.name)? {
            self.verify(undoing)?;
            self.destroy(machine)?;
            undone = Undone::Done;
        }
        let unmounted = self.unmount(machine)?;
        wipe::join([Ok(undone), Ok(unmounted), self.wipe(undoing)])
    }
}

impl CreatePool {
    fn is_it(&self, entry: &mountinfo::Mount) -> bool {
        matches!(entry.fs_type.as_str(), "zfs" | "fuse.zfs") && entry.source.as_os_str() == self.name.as_str()
    }

    /// Refuses a pool of our name that rests on other devices: it isn't ours.
    fn verify(&self, undoing: &Undoing<'_>) -> Result<(), ActError> {
        let members = device::pool_devices(undoing.machine.runner, &self.name)
            .map_err(ActError::tool(format!("ask what the pool {} lies on", self.name)))?;
        let own: Vec<PathBuf> = self.devices.iter().filter_map(|device| device.ours(undoing)).collect();
        let is_own = |member: &PathBuf| {
            let member = member.canonicalize().unwrap_or_else(|_| member.clone());
            own.iter().any(|path| is_or_is_part_of(&member, path))
        };
        match members.iter().find(|member| !is_own(member)) {
            Some(other) => Err(ActError::NotOurs {
                what: format!("pool {}", self.name),
                saw: format!("it lies on {}", other.shown()),
            }),
            None => Ok(()),
        }
    }

    /// Destroys the pool, which unmounts it. Its dataset counts as busy for a moment after unmounting, so this waits for that; it
    /// doesn't wait long for a process that uses a file in it.
    fn destroy(&self, machine: &Machine<'_>) -> Result<(), ActError> {
        self.mounted_is_ours(machine)?;
        let proc = &machine.roots.proc;
        let destroy = Invocation::new(Tool::Zpool).args(["destroy", &self.name]);
        let in_use = || !holders::of(proc, &self.target).is_empty();
        until(
            || if in_use() { patience(proc, PATIENCE) } else { LONG },
            || {
                let done = machine.runner.run(&destroy);
                let doing = || format!("destroy the pool {}", self.name);
                done.map(drop).map_err(|failure| busy(machine, &self.target, doing(), failure))
            },
        )
    }

    /// Whether our pool is mounted at our mount point; an error when something else is.
    fn mounted_is_ours(&self, machine: &Machine<'_>) -> Result<bool, ActError> {
        match top(machine, &self.target)? {
            None => Ok(false),
            Some(entry) if self.is_it(&entry) => Ok(true),
            Some(entry) => Err(ActError::NotOurs {
                what: format!("mount at {}", self.target.shown()),
                saw: format!("{} of {}", entry.fs_type, entry.source.shown()),
            }),
        }
    }

    /// Removes a mount that a zfs-fuse process left when it ended.
    fn unmount(&self, machine: &Machine<'_>) -> Result<Undone, ActError> {
        let mut undone = Undone::Nothing;
        while self.mounted_is_ours(machine)? {
            unmount(machine, &self.target)?;
            undone = Undone::Done;
        }
        Ok(undone)
    }

    /// Frees the devices: on disks that aren't our own files, only labels with our pool's name are removed.
    fn wipe(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let ours: Vec<PathBuf> = self.devices.iter().filter_map(|device| device.ours(undoing)).collect();
        // Remaining labels would still name the pool to ZFS.
        let cleared = wipe::clear_pool_labels(undoing.machine, &ours, &self.name)
            .into_iter()
            .map(|cleared| cleared.map(|cleared| if cleared { Undone::Done } else { Undone::Nothing }));
        let cleared = wipe::join(cleared)?;
        let all_ours = ours.len() == self.devices.len();
        if all_ours && cleared == Undone::Done && wipe::are_blank(undoing.machine, &ours) {
            return Ok(cleared);
        }
        let ours = self.devices.iter().map(|device| (device, wipe::Written::Label(&self.name)));
        wipe::join([Ok(cleared), wipe::wipe(undoing, ours)])
    }
}

/// Whether a device is this disk or one of its partitions.
fn is_or_is_part_of(device: &std::path::Path, disk: &std::path::Path) -> bool {
    let (Some(device), Some(disk)) = (device.to_str(), disk.to_str()) else { return false };
    let rest = device.strip_prefix(disk).map(|rest| rest.strip_prefix('p').unwrap_or(rest));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a pool of this name exists. Without any ZFS there is none; where the kernel has ZFS, it decides. Repeated for a while, because a
/// zfs-fuse that was killed just now no longer answers and is still there.
fn is_imported(machine: &Machine<'_>, name: &str) -> Result<bool, ActError> {
    until_ok(PATIENCE, || is_listed(machine, name))
}

fn is_listed(machine: &Machine<'_>, name: &str) -> Result<bool, ActError> {
    if machine.roots.proc.join("spl/kstat/zfs").join(name).is_dir() {
        return Ok(true);
    }
    let served = machine.roots.sys.join("module/zfs").exists()
        || !super::zfs_fuse::daemons(&machine.roots.proc).is_empty();
    if !served {
        return Ok(false);
    }
    let list = Invocation::new(Tool::Zpool).args(["list", "-H", "-o", "name"]);
    let output = machine.runner.run(&list).map_err(ActError::tool("list the pools"))?;
    Ok(output.stdout.lines().any(|line| line.trim() == name))
}
