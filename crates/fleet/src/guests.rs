//! Lab guests as machines of a run: started for it, given its disks, and restored to their earlier state, also after a killed run.

use crate::agent;
use crate::error::FleetError;
use crate::options::Options;
use host::{LocalRunner, Ssh};
use lab::{DiskSpec, Lab, Lease, State, StepEvent};
use record::target::LabDisk;
use record::volume::Limits;
use run::controller;
use run::guest_disks::{HostedDisk, Throttle, ThrottleError};
use run::guest_host::ThisMachine;
use std::sync::Arc;

/// A run's lease of a lab guest.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) stay: Lease,
    pub(crate) ssh: Ssh,
    tell: fn(&str),
}

impl Guest {
    /// Starts the guest if it isn't up, attaches the run's disks, and claims them in the guest.
    ///
    /// # Errors
    /// The guest can't be started or reached, or has other disks of these names.
    pub(crate) fn enter(name: &str, disks: &[LabDisk], options: &Options) -> Result<Self, FleetError> {
        leave_abandoned(options, Some(name))?.iter().for_each(|line| (options.tell)(line));
        let lab = Lab::open(&options.state_dir, name)?;
        let ear = |told: &StepEvent| {
            if options.tells_steps {
                (options.tell)(&told.to_string());
            }
        };
        let specs: Vec<DiskSpec> = disks.iter().map(spec_of).collect();
        let stay = Lease::begin(&lab, &specs, &ear)?;
        let guest = Self { ssh: way_into(stay.lab())?, stay, tell: options.tell };
        guest.changes_only_its_own(disks)?;
        let own = agent::install(&guest.ssh)?;
        for disk in disks {
            // The disk is made for the run, and its file is written before.
            let id = disk.id();
            let claim = [own.path.as_str(), "claim", &id, "--yes-i-own", &disk.name, "--overwrite-data"];
            guest.ssh.run(&LocalRunner, "claim the lab's disk", &claim, None)?;
        }
        Ok(guest)
    }

    /// One of the guest's disks, as a file on this machine.
    pub(crate) fn hosted(&self, disk: &LabDisk) -> HostedDisk {
        let (lab, disk) = (self.stay.lab().clone(), disk.clone());
        HostedDisk {
            id: disk.id(),
            host: Arc::new(ThisMachine),
            backing: lab.disk_file(&disk.name),
            direct_io: disk.cache.is_direct(),
            limits: disk.limits,
            changes: disk.changes.clone(),
            throttle: Some(Arc::new(Throttled { lab, disk })),
            host_limits: None,
            imposed: None,
        }
    }

    /// Checks that limits change only on disks that are removed with the run, also if the run is killed.
    fn changes_only_its_own(&self, disks: &[LabDisk]) -> Result<(), FleetError> {
        let is_own = |disk: &&LabDisk| self.stay.disks().contains(&disk.name);
        let Some(disk) = disks.iter().filter(|disk| !disk.changes.is_empty()).find(|disk| !is_own(disk))
        else {
            return Ok(());
        };
        let guest = self.stay.lab().name().to_owned();
        Err(FleetError::DiskOfOthers { guest, disk: disk.name.clone() })
    }
}

/// A guest's disk with the limits that QEMU applies.
#[derive(Debug)]
struct Throttled {
    lab: Lab,
    disk: LabDisk,
}

impl Throttle for Throttled {
    fn now(&self) -> Option<Limits> {
        let disks = self.lab.status().ok()?.disks;
        let there = disks.into_iter().find(|there| there.spec.name == self.disk.name)?;
        Some(there.spec.throttle.limits)
    }

    fn set(&self, limits: &Limits) -> Result<(), ThrottleError> {
        let throttle = lab::Throttle { limits: *limits, burst: None };
        Ok(self.lab.set_limits(&self.disk.name, &throttle)?)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let left = undo_before_disks_go(&self.stay).and_then(|lines| {
            lines.iter().for_each(|line| (self.tell)(line));
            Ok(self.stay.leave()?)
        });
        if let Err(error) = left {
            let name = self.stay.lab().name();
            (self.tell)(&format!(
                "the lab guest {name} could not be put back as it was ({error}): run diskproof undo, or diskproof lab down --name {name}"
            ));
        }
    }
}

/// Removes what killed runs started or attached, in all guests or in one. Returns one line about each.
///
/// # Errors
/// The undo in a guest fails, or something can't be removed.
pub fn leave_abandoned(options: &Options, only: Option<&str>) -> Result<Vec<String>, FleetError> {
    let mut said = Vec::new();
    for stay in lab::abandoned(&options.state_dir)? {
        let name = stay.lab().name();
        if only.is_some_and(|only| only != name) {
            continue;
        }
        if stay.brought_up() {
            said.push(format!("lab guest {name}: stopped, with its disks; a killed run had started it"));
        } else if !stay.disks().is_empty() && is_up(&stay)? {
            said.extend(undo_before_disks_go(&stay)?);
            said.push(format!(
                "lab guest {name}: {} detached again; a killed run had attached it",
                stay.disks().join(", ")
            ));
        }
        stay.leave()?;
    }
    Ok(said)
}

fn is_up(stay: &Lease) -> Result<bool, FleetError> {
    Ok(stay.lab().status()?.state == State::Up)
}

/// Undoes what a killed agent process left in a guest that stays up, before the run's disks are removed: without them, the undo can't
/// check what is left on them. Returns the guest's output.
fn undo_before_disks_go(stay: &Lease) -> Result<Vec<String>, FleetError> {
    if stay.brought_up() || stay.disks().is_empty() || !is_up(stay)? {
        return Ok(Vec::new());
    }
    let node = agent::over(&way_into(stay.lab())?, true)?;
    Ok(controller::undo(&node, None, None)?.lines)
}

/// The ssh connection to a running guest.
///
/// # Errors
/// The guest isn't up, or this machine has no ssh.
pub(crate) fn way_into(lab: &Lab) -> Result<Ssh, FleetError> {
    let argv = lab.ssh_argv()?;
    Ok(Ssh::through(argv, &format!("lab guest {}", lab.name())))
}

/// The lab's description of a disk; its file is written before the run measures it.
fn spec_of(disk: &LabDisk) -> DiskSpec {
    DiskSpec {
        name: disk.name.clone(),
        size_bytes: disk.size_bytes,
        throttle: lab::Throttle { limits: disk.limits, burst: disk.burst },
        bus: disk.bus,
        cache: disk.cache,
        aio: disk.aio,
        format: disk.format,
        iothread: disk.iothread,
        written: true,
    }
}
