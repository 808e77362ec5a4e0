//! How the nodes of a plan's targets are reached: this machine by a child process, others by ssh, lab guests after they are brought up.

use crate::exit::Failure;
use crate::output;
use crate::privilege;
use crate::routes::{self, Forwarded};
use crate::settings::Settings;
use crate::settings::keys::Progress;
use host::{LocalRunner, Ssh};
use lab::{DiskSpec, Lab, Shape, State, Told};
use record::plan::Plan;
use record::target::{Burst, Bus, DiskCache, LabDisk, Target, TargetKind};
use record::volume::{Limits, VolumeKind};
use run::apart::Route;
use run::controller::{NodeAt, targets_of, volumes_of};
use run::hosted::HostedDisk;
use std::ffi::OsString;
use std::path::Path;

/// The nodes of a plan's targets, and the lab guests that some of them are in.
pub(crate) struct Reached {
    /// One for each target that the plan's cells are built on or loaded from.
    pub(crate) nodes: Vec<NodeAt>,
    /// How they reach each other, where one mounts what another serves.
    pub(crate) routes: Vec<Route>,
    /// Closed when dropped, before the guests are left.
    _forwarded: Vec<Forwarded>,
    /// Left when dropped: a guest that was not up goes down again, else its disks are taken out.
    _stays: Vec<Stay>,
}

/// Reaches the nodes of all targets that the plan's cells are built on or loaded from; what they need of us is there when this returns.
///
/// # Errors
/// A machine can't be reached, a guest not be had, or root is needed and can't be had.
pub(crate) fn nodes(plan: &Plan, settings: &Settings) -> Result<Reached, Failure> {
    let (mut nodes, mut stays) = (Vec::new(), Vec::new());
    for target in targets_of(plan) {
        let (node, stay) = node(plan, target, settings)?;
        nodes.push(node);
        stays.extend(stay);
    }
    let (routes, forwarded) = routes::routes(plan, settings)?;
    Ok(Reached { nodes, routes, _forwarded: forwarded, _stays: stays })
}

fn node(plan: &Plan, name: &str, settings: &Settings) -> Result<(NodeAt, Option<Stay>), Failure> {
    let target = plan.targets.iter().find(|target| target.name == name);
    let (argv, stay, hosted) = match target.map(|Target { kind, .. }| kind) {
        None | Some(TargetKind::Local) => {
            let what = needs_root(plan, name).then(|| format!("experiment `{}`", plan.experiment));
            (privilege::node_argv(settings, &LocalRunner, what.as_deref())?, None, Vec::new())
        }
        Some(TargetKind::Ssh { destination }) => {
            (over(&ssh(destination, settings), needs_root(plan, name))?, None, Vec::new())
        }
        Some(TargetKind::Guest { lab, disks }) => {
            let stay = Stay::in_guest(lab, disks, settings)?;
            let hosted = disks.iter().map(|disk| hosted(&stay.lab, disk)).collect();
            (over(&stay.ssh, true)?, Some(stay), hosted)
        }
    };
    Ok((NodeAt { target: name.to_owned(), argv, hosted }, stay))
}

fn hosted(lab: &Lab, disk: &LabDisk) -> HostedDisk {
    let direct_io = matches!(disk.cache, DiskCache::None | DiskCache::Directsync);
    HostedDisk { id: disk.id(), file: lab.disk_file(&disk.name), direct_io }
}

/// The node of a target as it is: a guest that isn't up has nothing to say.
///
/// # Errors
/// The machine can't be reached.
pub(crate) fn node_there(plan: &Plan, name: &str, settings: &Settings) -> Result<Option<NodeAt>, Failure> {
    let target = plan.targets.iter().find(|target| target.name == name);
    if let Some(TargetKind::Guest { lab, .. }) = target.map(|target| &target.kind) {
        let lab = Lab::open(&settings.state.value, lab).map_err(Failure::machine)?;
        if lab.status().map_err(Failure::machine)?.state != State::Up {
            return Ok(None);
        }
        let argv = over(&way_into(&lab)?, true)?;
        return Ok(Some(NodeAt { target: name.to_owned(), argv, hosted: Vec::new() }));
    }
    node(plan, name, settings).map(|(node, _)| Some(node))
}

fn needs_root(plan: &Plan, target: &str) -> bool {
    let mounts = plan.cells.iter().any(|cell| cell.stack.client() == Some(target));
    mounts || volumes_of(plan, target).iter().any(|v| !matches!(v.kind, VolumeKind::Directory { .. }))
}

/// The command that starts a node on another machine; this program is there when it returns.
fn over(ssh: &Ssh, needs_root: bool) -> Result<Vec<OsString>, Failure> {
    let installed = install(ssh)?;
    let sudo: &[&str] = if needs_root && installed.uid != 0 { &["sudo", "-n", "--"] } else { &[] };
    Ok(ssh.argv(&[sudo, &[&installed.path, "node"]].concat()))
}

fn way_into(lab: &Lab) -> Result<Ssh, Failure> {
    let argv = lab.ssh_argv().map_err(Failure::machine)?;
    Ok(Ssh::through(argv, &format!("lab guest {}", lab.name())))
}

/// A run's stay in a lab guest.
struct Stay {
    lab: Lab,
    ssh: Ssh,
    was_up: bool,
    attached: Vec<String>,
}

impl Stay {
    /// Brings the guest up if it isn't, and gives it its disks: ours to use, so they are claimed there.
    fn in_guest(name: &str, disks: &[LabDisk], settings: &Settings) -> Result<Self, Failure> {
        let lab = Lab::open(&settings.state.value, name).map_err(Failure::machine)?;
        let status = lab.status().map_err(Failure::machine)?;
        let was_up = status.state == State::Up;
        if !was_up {
            let quiet = settings.progress.value == Progress::None;
            let ear = |told: &Told| {
                if !quiet {
                    output::aside(&told.to_string());
                }
            };
            lab.ensure_up(&Shape::default(), &ear).map_err(Failure::machine)?;
        }
        let ssh = way_into(&lab)?;
        let mut stay = Self { lab, ssh, was_up, attached: Vec::new() };
        let wanted: Vec<DiskSpec> = disks.iter().map(spec_of).collect();
        let has = |disk: &&DiskSpec| !status.disks.iter().any(|there| there.spec == **disk);
        let new: Vec<DiskSpec> = wanted.iter().filter(has).cloned().collect();
        stay.attached = new.iter().map(|disk| disk.name.clone()).collect();
        stay.lab.attach(&new).map_err(Failure::machine)?;
        let own = install(&stay.ssh)?;
        for disk in disks {
            let claim = [own.path.as_str(), "claim", &disk.id(), "--yes-i-own", &disk.name];
            stay.ssh.run(&LocalRunner, "claim the lab's disk", &claim, None).map_err(Failure::machine)?;
        }
        Ok(stay)
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let left = if self.was_up {
            self.attached.iter().try_for_each(|disk| self.lab.detach(disk))
        } else {
            self.lab.down()
        };
        if let Err(error) = left {
            let name = self.lab.name();
            output::aside(&format!(
                "the lab guest {name} could not be left as it was ({error}); diskproof lab down --name {name}"
            ));
        }
    }
}

/// As the lab's own types say it; what experiments measure is written beforehand.
fn spec_of(disk: &LabDisk) -> DiskSpec {
    let Limits { read_iops, write_iops, read_bps, write_bps, total_iops, total_bps } = disk.limits;
    let rates = |total: Option<u64>, read: Option<u64>, write: Option<u64>| lab::Rates {
        total: total.unwrap_or(0),
        read: read.unwrap_or(0),
        write: write.unwrap_or(0),
    };
    DiskSpec {
        name: disk.name.clone(),
        size_bytes: disk.size_bytes,
        limits: lab::Limits {
            iops: rates(total_iops, read_iops, write_iops),
            bps: rates(total_bps, read_bps, write_bps),
            burst: disk.burst.map(|Burst { iops, seconds }| lab::Burst { iops, seconds }),
        },
        bus: match disk.bus {
            Bus::VirtioBlk => lab::Bus::VirtioBlk,
            Bus::VirtioScsi => lab::Bus::VirtioScsi,
        },
        cache: match disk.cache {
            DiskCache::None => lab::Cache::None,
            DiskCache::Writeback => lab::Cache::Writeback,
            DiskCache::Writethrough => lab::Cache::Writethrough,
            DiskCache::Directsync => lab::Cache::Directsync,
        },
        written: true,
    }
}

/// The way to another machine.
pub(crate) fn ssh(destination: &str, settings: &Settings) -> Ssh {
    Ssh::to(destination, settings.ssh_config.value.as_deref())
}

/// Puts this very program on another machine.
///
/// # Errors
/// The machine can't be reached, or is of another kind.
pub(crate) fn install(ssh: &Ssh) -> Result<host::Installed, Failure> {
    // The very file that runs, also where another has taken its place since.
    ssh.install(&LocalRunner, Path::new("/proc/self/exe")).map_err(Failure::machine)
}
