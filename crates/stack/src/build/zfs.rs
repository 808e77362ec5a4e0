//! Builds a ZFS pool: with the kernel's ZFS where there is one, else with zfs-fuse.

use super::{Builder, Stop, Top, Under};
use crate::act::Act;
use crate::act::arc::{self, SetArcMax};
use crate::act::device_ref::DeviceRef;
use crate::act::pool::CreatePool;
use crate::act::zfs_fuse::{StartZfsFuse, daemons};
use crate::error::ActError;
use crate::journal::set_by_another;
use crate::layer::zfs;
use crate::machine::Machine;
use crate::names;
use crate::pool::{Pool, Served, kernel_zfs};
use crate::volumes::Failed;
use device::{Claimed, Refusal, Roots};
use host::{Invocation, Tool};
use record::knobs::Setting;
use record::printable::Shown as _;
use record::zfs::Zfs;
use std::path::Path;

impl Builder<'_> {
    pub(super) fn zfs(&mut self, layer: &Zfs, top: Top) -> Result<Top, Stop> {
        let served = self.served(layer)?;
        let (log, cache) = (self.named(&layer.log)?, self.named(&layer.cache)?);
        let target = self.mount_point()?;
        let name = names::unique(self.machine, self.journal.run(), self.journal.next_step());
        let paths = |devices: &'_ [DeviceRef]| devices.iter().map(|device| device.path.clone()).collect();
        let (main, logs, caches): (Vec<_>, Vec<_>, Vec<_>) =
            (paths(&top.devices), paths(&log), paths(&cache));
        let members = zfs::Members { main: borrowed(&main), log: borrowed(&logs), cache: borrowed(&caches) };
        let args = zfs::create_args(layer, &members, &name, &target).map_err(Stop::Unbuildable)?;
        let devices = top.devices.iter().chain(&log).chain(&cache).cloned().collect();
        self.hand_over();
        let create = CreatePool { name: name.clone(), devices, args, target: target.clone() };
        self.each_disk("share", |claimed, roots| claimed.share(roots))?;
        let created = self.perform(&Act::CreatePool(create));
        let locked = self.each_disk("lock", |claimed, roots| claimed.unshare(roots));
        created.and(locked)?;
        let all = [main, logs, caches].concat();
        self.pool = Some(Pool::of(self.machine, name, target.clone(), all, served));
        Ok(Top { mount: Some(target), ..top })
    }

    /// Does something for each real disk. ZFS makes no partitions on loop devices (libefi doesn't label them), so there is no
    /// need to wait for udev there, which would first catch up on the events of the time when they were locked.
    fn each_disk(
        &self,
        doing: &str,
        act: impl Fn(&Claimed, &Roots) -> Result<(), Refusal>,
    ) -> Result<(), Stop> {
        for claimed in self.claimed().iter().filter(|claimed| claimed.backing().is_none()) {
            let done = act(claimed, self.machine.roots);
            done.map_err(ActError::guard)
                .map_err(Failed::at(format!("{doing} {}", claimed.path().shown())))?;
        }
        Ok(())
    }

    /// The ZFS implementation here: started if necessary, with the cache size that the layer asks for.
    fn served(&mut self, layer: &Zfs) -> Result<Served, Stop> {
        if has_kernel_zfs(self.machine) {
            if self.limited.is_some() {
                return Err(Stop::Unbuildable(
                    "the limits of its emulated volumes would not bind: OpenZFS does I/O in threads of the kernel, which no \
                     cgroup reaches. Use disks that are limited by themselves, e.g. a lab guest's, or leave the limits out"
                        .to_owned(),
                ));
            }
            if let Some(lack) = self.lacking_in_kernel(layer) {
                return Err(Stop::Unbuildable(lack));
            }
            if let Some(bytes) = layer.arc_max_bytes {
                self.arc_max(bytes)?;
            }
            return Ok(Served::Kernel);
        }
        if host::resolve(Tool::ZfsFuse).is_err() {
            return Err(Stop::Unbuildable(
                "this kernel has no ZFS, and zfs-fuse is not installed (Debian: apt-get install zfs-fuse); or run it where \
                 OpenZFS is, e.g. in a lab guest"
                    .to_owned(),
            ));
        }
        if let Some(lack) = zfs::lacking_in_fuse(layer) {
            return Err(Stop::Unbuildable(lack));
        }
        self.by_process(layer)
    }

    fn lacking_in_kernel(&self, layer: &Zfs) -> Option<String> {
        let here = kernel_zfs(self.machine);
        let most = self.machine.roots.sys.join("module/zfs/parameters/zfs_max_recordsize");
        let most = std::fs::read_to_string(most).ok().and_then(|bytes| bytes.trim().parse().ok());
        let long = most.and_then(|most| zfs::too_long_a_record(layer, &here, most));
        if long.is_some() || !zfs::is_new(layer) {
            return long;
        }
        // Without arguments, `zfs get` fails and lists all properties.
        let ask = Invocation::new(Tool::Zfs).arg("get").accept([2]);
        let usage = self.machine.runner.run(&ask).map(|said| said.stderr).unwrap_or_default();
        zfs::lacking_in_openzfs(layer, &here, &usage)
    }

    fn by_process(&mut self, layer: &Zfs) -> Result<Served, Stop> {
        let running = daemons(&self.machine.roots.proc);
        if let Some((pid, file)) = running.into_iter().next() {
            let of_ours = file.is_some_and(|file| names::carries_prefix(self.machine, &file));
            let why = if of_ours {
                format!(
                    "zfs-fuse (pid {pid}) serves another run, and a machine has only one; wait until that ends, or undo it"
                )
            } else if layer.arc_max_bytes.is_some() || self.limited.is_some() {
                format!(
                    "zfs-fuse (pid {pid}) was running before, so neither its cache nor its I/O can be limited; stop it, or \
                     leave out `arc_max` and the volumes' limits"
                )
            } else {
                return Ok(Served::Process(None));
            };
            return Err(Stop::Unbuildable(why));
        }
        let step = names::unique(self.machine, self.journal.run(), self.journal.next_step());
        let start = StartZfsFuse {
            pid_file: self.machine.mounts_dir().join(format!("{step}.pid")),
            arc_mib: layer.arc_max_bytes.map(|bytes| bytes >> 20),
            cgroup_procs: self.limited.clone(),
        };
        self.perform(&Act::StartZfsFuse(start.clone()))?;
        Ok(Served::Process(Some(start)))
    }

    fn arc_max(&mut self, bytes: u64) -> Result<(), Stop> {
        let path = arc::parameter(self.machine);
        let own = self.journal.run().clone();
        if let Some(run) = set_by_another(self.machine, &own, &path) {
            let taken = ActError::KnobTaken { path, run };
            return Err(Failed::at("limit ARC")(taken).into());
        }
        let act = SetArcMax::reading(self.machine, bytes).map_err(Failed::at("limit ARC"))?;
        let before = act.limit_before.to_string();
        self.perform(&Act::SetArcMax(act))?;
        self.settings.push(Setting { path, before, value: bytes.to_string() });
        Ok(())
    }

    /// The volumes beside the main ones, by the names in the layer.
    fn named(&self, volumes: &[String]) -> Result<Vec<DeviceRef>, Stop> {
        let Under::Devices { beside, .. } = self.under else { return Ok(Vec::new()) };
        let of = |name: &String| {
            let known = beside.get(name).cloned();
            known.ok_or_else(|| Stop::Unbuildable(format!("volume {name} is not among those beside")))
        };
        volumes.iter().map(of).collect()
    }
}

fn borrowed(paths: &[std::path::PathBuf]) -> Vec<&Path> {
    paths.iter().map(std::path::PathBuf::as_path).collect()
}

/// Whether the kernel has ZFS; loads its module if there is one. The module stays loaded, as with every file system that mount
/// loads.
fn has_kernel_zfs(machine: &Machine<'_>) -> bool {
    let has = || {
        let known = std::fs::read_to_string(machine.roots.proc.join("filesystems")).unwrap_or_default();
        known.lines().any(|line| line.split_whitespace().last() == Some("zfs"))
    };
    has() || (machine.runner.run(&Invocation::new(Tool::Modprobe).args(["-q", "zfs"])).is_ok() && has())
}
