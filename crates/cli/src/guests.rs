//! Lab guests as targets: brought up for a run and given its disks, and left as they were, also after a run that was killed.

use crate::exit::Failure;
use crate::output;
use crate::reach;
use crate::settings::Settings;
use crate::settings::keys::Progress;
use host::{LocalRunner, Ssh};
use lab::{DiskSpec, Lab, State, Stay, Told};
use record::target::{Burst, Bus, DiskCache, LabDisk};
use record::volume::Limits;
use run::controller;
use run::hosted::{HostedDisk, Throttle};
use std::sync::Arc;

/// A run's stay in a lab guest.
pub(crate) struct Guest {
    pub(crate) stay: Stay,
    pub(crate) ssh: Ssh,
}

impl Guest {
    /// Brings the guest up if it isn't, and gives it its disks: ours to use, so they are claimed there.
    ///
    /// # Errors
    /// The guest can't be had or not be reached, or has other disks of these names.
    pub(crate) fn enter(name: &str, disks: &[LabDisk], settings: &Settings) -> Result<Self, Failure> {
        leave_abandoned(settings, Some(name))?.iter().for_each(|line| output::aside(line));
        let lab = Lab::open(&settings.state.value, name).map_err(Failure::machine)?;
        let quiet = settings.progress.value == Progress::None;
        let ear = |told: &Told| {
            if !quiet {
                output::aside(&told.to_string());
            }
        };
        let specs: Vec<DiskSpec> = disks.iter().map(spec_of).collect();
        let stay = Stay::begin(&lab, &specs, &ear).map_err(Failure::machine)?;
        let guest = Self { ssh: way_into(stay.lab())?, stay };
        guest.changes_only_its_own(disks)?;
        let own = reach::install(&guest.ssh)?;
        for disk in disks {
            // made for the run, and written beforehand
            let id = disk.id();
            let claim = [own.path.as_str(), "claim", &id, "--yes-i-own", &disk.name, "--overwrite-data"];
            guest.ssh.run(&LocalRunner, "claim the lab's disk", &claim, None).map_err(Failure::machine)?;
        }
        Ok(guest)
    }

    /// One of its disks, as this machine has it.
    pub(crate) fn hosted(&self, disk: &LabDisk) -> HostedDisk {
        let (lab, disk) = (self.stay.lab().clone(), disk.clone());
        HostedDisk {
            id: disk.id(),
            file: lab.disk_file(&disk.name),
            direct_io: matches!(disk.cache, DiskCache::None | DiskCache::Directsync),
            limits: disk.limits,
            changes: disk.changes.clone(),
            throttle: Arc::new(Throttled { lab, disk }),
        }
    }

    /// Limits are changed only where the disk goes with the run, also when that is killed.
    fn changes_only_its_own(&self, disks: &[LabDisk]) -> Result<(), Failure> {
        let is_own = |disk: &&LabDisk| self.stay.disks().contains(&disk.name);
        let Some(disk) = disks.iter().filter(|disk| !disk.changes.is_empty()).find(|disk| !is_own(disk))
        else {
            return Ok(());
        };
        let name = self.stay.lab().name();
        Err(Failure::input(format!(
            "lab guest {name} has a disk {} already, and its limits are to change in mid-trial: that is done to a run's own disks only; \
             diskproof lab down --name {name}, or give the disk another name",
            disk.name
        )))
    }
}

/// What QEMU limits a disk of a guest to.
#[derive(Debug)]
struct Throttled {
    lab: Lab,
    disk: LabDisk,
}

impl Throttle for Throttled {
    fn now(&self) -> Option<Limits> {
        let disks = self.lab.status().ok()?.disks;
        let there = disks.into_iter().find(|there| there.spec.name == self.disk.name)?;
        Some(limits_of(&there.spec.limits))
    }

    fn set(&self, limits: &Limits) -> Result<(), String> {
        self.lab.set_limits(&self.disk.name, &rates_of(limits)).map_err(|error| error.to_string())
    }
}

/// As records say it.
fn limits_of(limits: &lab::Limits) -> Limits {
    let of = |rate: u64| (rate > 0).then_some(rate);
    Limits {
        read_iops: of(limits.iops.read),
        write_iops: of(limits.iops.write),
        read_bps: of(limits.bps.read),
        write_bps: of(limits.bps.write),
        total_iops: of(limits.iops.total),
        total_bps: of(limits.bps.total),
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let left = undo_before_disks_go(&self.stay).and_then(|lines| {
            lines.iter().for_each(|line| output::aside(line));
            self.stay.leave().map_err(Failure::machine)
        });
        if let Err(error) = left {
            let name = self.stay.lab().name();
            output::aside(&format!(
                "the lab guest {name} could not be left as it was ({error}); diskproof undo, or diskproof lab down --name {name}"
            ));
        }
    }
}

/// Takes back what killed runs gave to guests, all or one of them; says what that was.
///
/// # Errors
/// A guest's own undo fails, or something can't be taken back.
pub(crate) fn leave_abandoned(settings: &Settings, only: Option<&str>) -> Result<Vec<String>, Failure> {
    let mut said = Vec::new();
    for stay in lab::abandoned(&settings.state.value).map_err(Failure::machine)? {
        let name = stay.lab().name();
        if only.is_some_and(|only| only != name) {
            continue;
        }
        if stay.brought_up() {
            said.push(format!(
                "lab guest {name}: down again, with its disks; a run that was killed had brought it up"
            ));
        } else if !stay.disks().is_empty() && is_up(&stay)? {
            said.extend(undo_before_disks_go(&stay)?);
            said.push(format!(
                "lab guest {name}: without {} again; a run that was killed had given it that",
                stay.disks().join(", ")
            ));
        }
        stay.leave().map_err(Failure::machine)?;
    }
    Ok(said)
}

fn is_up(stay: &Stay) -> Result<bool, Failure> {
    Ok(stay.lab().status().map_err(Failure::machine)?.state == State::Up)
}

/// Undoes what a killed node left in a guest that stays up, while the run's disks are still there: once they are gone,
/// nobody can tell what is left on them. Returns what the guest says.
fn undo_before_disks_go(stay: &Stay) -> Result<Vec<String>, Failure> {
    if stay.brought_up() || stay.disks().is_empty() || !is_up(stay)? {
        return Ok(Vec::new());
    }
    let node = reach::over(&way_into(stay.lab())?, true)?;
    Ok(controller::undo(&node, None, None).map_err(Failure::machine)?.0)
}

/// The way into a guest that is up.
///
/// # Errors
/// It isn't, or there is no ssh.
pub(crate) fn way_into(lab: &Lab) -> Result<Ssh, Failure> {
    let argv = lab.ssh_argv().map_err(Failure::machine)?;
    Ok(Ssh::through(argv, &format!("lab guest {}", lab.name())))
}

/// As the lab's own types say it.
fn rates_of(limits: &Limits) -> lab::Limits {
    let Limits { read_iops, write_iops, read_bps, write_bps, total_iops, total_bps } = *limits;
    let rates = |total: Option<u64>, read: Option<u64>, write: Option<u64>| lab::Rates {
        total: total.unwrap_or(0),
        read: read.unwrap_or(0),
        write: write.unwrap_or(0),
    };
    lab::Limits {
        iops: rates(total_iops, read_iops, write_iops),
        bps: rates(total_bps, read_bps, write_bps),
        burst: None,
    }
}

/// As the lab's own types say it; what experiments measure is written beforehand.
fn spec_of(disk: &LabDisk) -> DiskSpec {
    DiskSpec {
        name: disk.name.clone(),
        size_bytes: disk.size_bytes,
        limits: lab::Limits {
            burst: disk.burst.map(|Burst { iops, seconds }| lab::Burst { iops, seconds }),
            ..rates_of(&disk.limits)
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
