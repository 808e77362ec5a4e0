//! A ZFS pool of our own.

use super::device_ref::{DeviceRef, Standing};
use super::kind::{Doing, Reversible, Undoing, Undone};
use super::nfs_server::patience;
use super::retry::{PATIENCE, until_ok};
use super::wipe;
use crate::error::ActError;
use crate::machine::Machine;
use crate::mounts::{self, MountEntry};
use crate::side_by_side::side_by_side;
use crate::{holders, names};
use host::{Invocation, Tool};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How long a pool may take to let its devices go: what is on its way to them is written first.
const LONG: Duration = Duration::from_secs(60);

/// Makes a pool under a name that nobody else has, mounted at a mount point of ours. It is known again by that name, as long
/// as it lies on nothing but our devices; after a reboot by the name in the devices' labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatePool {
    /// Its name; carries our prefix.
    pub name: String,
    /// All its devices, those of its log and cache too.
    pub devices: Vec<DeviceRef>,
    /// All arguments of `zpool create`.
    pub args: Vec<String>,
    /// Where it is mounted; in our mounts' directory.
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
        match self.mounted(doing.machine)? {
            Some(entry) if self.is_it(&entry) => Ok(()),
            other => Err(ActError::Unverified {
                what: format!("mount at {}", self.target.display()),
                expected: self.name.clone(),
                saw: other
                    .map_or("nothing".to_owned(), |e| format!("{} of {}", e.fs_type, e.source.display())),
            }),
        }
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let machine = undoing.machine;
        let ours = names::carries_prefix(machine, self.name.as_ref())
            && names::is_ours_in(machine, &self.target, &machine.mounts_dir());
        if !ours {
            let saw = "it is not named like ours, or not mounted in our directory".to_owned();
            return Err(ActError::NotOurs { what: format!("pool {}", self.name), saw });
        }
        let imported = is_imported(machine, &self.name)?;
        if imported {
            self.verify(undoing)?;
        }
        let mut undone = self.unmount(machine, imported)?;
        if imported {
            let destroy = Invocation::new(Tool::Zpool).args(["destroy", &self.name]);
            // for a moment after its dataset was unmounted it still counts as busy
            until_ok(LONG, || machine.runner.run(&destroy).map(|_| ()))
                .map_err(ActError::tool(format!("destroy the pool {}", self.name)))?;
            undone = Undone::Done;
        }
        let wiped = wipe::join(side_by_side(&self.devices, |device| self.wipe(undoing, device)))?;
        Ok(if wiped == Undone::Nothing { undone } else { wiped })
    }
}

impl CreatePool {
    fn mounted(&self, machine: &Machine<'_>) -> Result<Option<MountEntry>, ActError> {
        let proc = &machine.roots.proc;
        let all = mounts::read(proc).map_err(ActError::io("read", proc.join("self/mountinfo")))?;
        Ok(all.into_iter().rfind(|entry| entry.target == self.target))
    }

    fn is_it(&self, entry: &MountEntry) -> bool {
        matches!(entry.fs_type.as_str(), "zfs" | "fuse.zfs") && entry.source.as_os_str() == self.name.as_str()
    }

    /// A pool of our name that lies on anything but our devices isn't ours.
    fn verify(&self, undoing: &Undoing<'_>) -> Result<(), ActError> {
        let members = device::pool_devices(undoing.machine.runner, &self.name)
            .map_err(ActError::tool(format!("ask what the pool {} lies on", self.name)))?;
        let own: Vec<PathBuf> = self
            .devices
            .iter()
            .filter_map(|device| match device.standing(undoing) {
                Standing::Ours(path) => Some(path),
                Standing::Gone | Standing::Foreign(_) => None,
            })
            .collect();
        let is_own = |member: &PathBuf| {
            let member = member.canonicalize().unwrap_or_else(|_| member.clone());
            own.iter().any(|path| is_or_is_part_of(&member, path))
        };
        match members.iter().find(|member| !is_own(member)) {
            Some(other) => Err(ActError::NotOurs {
                what: format!("pool {}", self.name),
                saw: format!("it lies on {}", other.display()),
            }),
            None => Ok(()),
        }
    }

    /// By ZFS while the pool is there; without it only the mount of a process that has ended can be left.
    fn unmount(&self, machine: &Machine<'_>, imported: bool) -> Result<Undone, ActError> {
        let mut undone = Undone::Nothing;
        while let Some(entry) = self.mounted(machine)? {
            if !self.is_it(&entry) {
                return Err(ActError::NotOurs {
                    what: format!("mount at {}", self.target.display()),
                    saw: format!("{} of {}", entry.fs_type, entry.source.display()),
                });
            }
            let unmount = if imported {
                Invocation::new(Tool::Zfs).args(["unmount", &self.name])
            } else {
                Invocation::new(Tool::Umount).arg(&self.target)
            };
            until_ok(patience(&machine.roots.proc, PATIENCE), || {
                let Err(failure) = machine.runner.run(&unmount) else { return Ok(()) };
                let holders = holders::of(&machine.roots.proc, &self.target);
                if holders.is_empty() {
                    return Err(ActError::tool(format!("unmount {}", self.target.display()))(failure));
                }
                Err(ActError::Busy { what: self.target.display().to_string(), holders })
            })?;
            undone = Undone::Done;
        }
        Ok(undone)
    }

    /// The device is free again: of others' disks only what carries our pool's name is removed.
    fn wipe(&self, undoing: &Undoing<'_>, device: &DeviceRef) -> Result<Undone, ActError> {
        let label = wipe::Written::Label(&self.name);
        // what is left of the labels would still name the pool to ZFS
        let cleared = match device.standing(undoing) {
            Standing::Ours(path) => wipe::clear_pool_labels(undoing.machine, &path, &self.name)?,
            Standing::Gone => return Ok(Undone::Nothing),
            Standing::Foreign(saw) => return Ok(Undone::Left(saw)),
        };
        let wiped = wipe::wipe(undoing, device, label)?;
        Ok(if cleared && wiped == Undone::Nothing { Undone::Done } else { wiped })
    }
}

/// Whether a device is this disk or one of its partitions.
fn is_or_is_part_of(device: &std::path::Path, disk: &std::path::Path) -> bool {
    let (Some(device), Some(disk)) = (device.to_str(), disk.to_str()) else { return false };
    let rest = device.strip_prefix(disk).map(|rest| rest.strip_prefix('p').unwrap_or(rest));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a pool of this name is there. Where nobody serves ZFS, there is none.
pub(crate) fn is_imported(machine: &Machine<'_>, name: &str) -> Result<bool, ActError> {
    let served = machine.roots.sys.join("module/zfs").exists()
        || !super::zfs_fuse::daemons(&machine.roots.proc).is_empty();
    if !served {
        return Ok(false);
    }
    let list = Invocation::new(Tool::Zpool).args(["list", "-H", "-o", "name"]);
    let output = machine.runner.run(&list).map_err(ActError::tool("list the pools"))?;
    Ok(output.stdout.lines().any(|line| line.trim() == name))
}
