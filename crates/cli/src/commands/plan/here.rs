//! What a plan needs and its machines haven't.

use super::{space, there};
use crate::commands::doctor::kernel::Kernel;
use crate::settings::Settings;
use device::{ClaimBook, DiskReport, Place, Roots};
use host::{CommandFailure, Invocation, LocalRunner, Runner, Tool};
use record::plan::{Cell, Plan};
use record::printable::{Shown as _, one_line};
use record::target::{LabDisk, TargetKind};
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::{Ask, EngineKind};
use run::controller::{targets_of, volumes_of};
use spec::GuestFiles;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// The time for fio to read a job file.
const READING: Duration = Duration::from_secs(10);
/// The most lines of what fio says.
const MOST_LINES: usize = 3;

/// What was found of the machines of a plan.
pub(super) struct Here {
    /// Whether any machine of the plan is this one.
    pub(super) looked: bool,
    /// What this machine lacks, one noun each.
    pub(super) missing: Vec<String>,
    /// What the other machines lack that were asked over ssh, by target; or why one can't be asked.
    pub(super) there: BTreeMap<String, Result<Vec<String>, String>>,
    /// Targets behind ssh that were not asked.
    pub(super) unasked: Vec<String>,
}

impl Here {
    /// Whether any machine was asked.
    pub(super) fn any_asked(&self) -> bool {
        self.looked || !self.there.is_empty()
    }

    /// Whether any machine lacks something, or can't be asked.
    pub(super) fn any_missing(&self) -> bool {
        !self.missing.is_empty()
            || self.there.values().any(|one| !matches!(one, Ok(missing) if missing.is_empty()))
    }
}

/// Looks at this machine, and with `ask` at those behind ssh. Lab guests aren't asked: a run starts them.
pub(super) fn look(plan: &Plan, settings: &Settings, ask: bool) -> Here {
    let (mut here, mut there, mut unasked) = (Vec::new(), BTreeMap::new(), Vec::new());
    for name in targets_of(plan) {
        match plan.targets.iter().find(|target| target.name == name).map(|target| &target.kind) {
            None | Some(TargetKind::Local) => here.push(name),
            Some(TargetKind::Ssh { destination }) if ask => {
                there.insert(name.to_owned(), there::missing(plan, name, destination, settings));
            }
            Some(TargetKind::Ssh { .. }) => unasked.push(name.to_owned()),
            // A run makes these.
            Some(TargetKind::Guest { .. } | TargetKind::Created { .. }) => {}
        }
    }
    let (looked, state) = (!here.is_empty(), &settings.state.value);
    let is_made = |lab: &str, disk: &LabDisk| {
        lab::Lab::open(state, lab).is_ok_and(|lab| lab.disk_file(&disk.name).exists())
    };
    let missing = missing(plan, &here, spec::guest_files(plan, is_made), state);
    Here { looked, missing, there, unasked }
}

/// Looks on this machine for programs, file systems and drivers of the kernel, disks with their claims, directories, space and
/// privileges that the cells of these targets need, and for space for the disks of lab guests that it starts. Returns what is missing, one noun
/// each.
pub(crate) fn missing(plan: &Plan, here: &[&str], guests: GuestFiles, state: &Path) -> Vec<String> {
    let cells: Vec<&Cell> = plan.cells.iter().filter(|cell| here.contains(&cell.target.as_str())).collect();
    let mut missing = Vec::new();
    missing.extend(here.iter().flat_map(|target| programs(plan, target)));
    missing.extend(job_files(&cells, plan.measure.trial_seconds));
    missing.extend(of_kernel(&cells, &Kernel::look(Path::new("/"))));
    let all: Vec<Volume> = here.iter().flat_map(|target| volumes_of(plan, target)).collect();
    let disks = disks(&all, state);
    missing.extend(volumes(&all, &disks));
    missing.extend(space::missing(plan, here, &cells, &disks, (guests, state)));
    missing.extend(root(plan).filter(|_| !cells.is_empty()));
    let mut seen = BTreeSet::new();
    missing.retain(|one| seen.insert(one.clone()));
    missing
}

fn programs(plan: &Plan, target: &str) -> Vec<String> {
    let needed = spec::tools_on(plan, target);
    let known = Tool::ALL.iter().filter(|tool| needed.iter().any(|name| name == tool.name()));
    let missing = known.filter(|tool| host::resolve(**tool).is_err());
    missing.map(|tool| format!("{} (apt-get install {})", tool.name(), tool.package())).collect()
}

/// What this machine's fio says against the job files that it would get: it may be older than an option. fio only reads them.
fn job_files(cells: &[&Cell], trial_seconds: f64) -> Vec<String> {
    let mut jobs = BTreeSet::new();
    for cell in cells.iter().filter(|cell| cell.workload.engine == EngineKind::Fio) {
        let Ask::JobFile { path, text, size_bytes, .. } = &cell.workload.ask else { continue };
        let place = match spec::on_device(&cell.stack) {
            true => Place::Block("/dev/DEVICE".into()),
            false => Place::Directory(std::env::temp_dir()),
        };
        // What a run would refuse itself is no matter of this machine.
        if let Ok(job) = engine::fio::as_run(text, &place, *size_bytes, trial_seconds) {
            jobs.insert((path, job));
        }
    }
    let refused = |(path, job): (&String, String)| {
        let ask = Invocation::new(Tool::Fio).arg("--parse-only").arg("-").stdin(job).timeout(READING);
        let Err(CommandFailure::Failed { stdout, stderr, .. }) = LocalRunner.run(&ask) else { return None };
        let said: Vec<&str> =
            stderr.lines().chain(stdout.lines()).map(str::trim).filter(|line| !line.is_empty()).collect();
        let said = said.iter().take(MOST_LINES).copied().collect::<Vec<_>>().join("; ");
        Some(format!("a fio that takes `{}` (this one says: {})", Path::new(path).shown(), one_line(&said)))
    };
    jobs.into_iter().filter_map(refused).collect()
}

fn of_kernel(cells: &[&Cell], kernel: &Kernel) -> Vec<String> {
    let layers = cells.iter().flat_map(|cell| &cell.stack.layers);
    let needed = layers.flat_map(|layer| layer.needs_of_kernel()).copied();
    needed.filter(|name| kernel.lacks(name)).map(|name| format!("{name} in the kernel")).collect()
}

/// The disks of this machine; none if none of the volumes is one.
fn disks(all: &[Volume], state: &Path) -> Vec<DiskReport> {
    if !all.iter().any(|volume| matches!(volume.kind, VolumeKind::Disk { .. })) {
        return Vec::new();
    }
    device::inventory(&Roots::default(), &LocalRunner, ClaimBook::open(state).ok().as_ref())
}

fn volumes(all: &[Volume], known: &[DiskReport]) -> Vec<String> {
    let kernel = Kernel::look(Path::new("/"));
    let mut missing = Vec::new();
    for volume in all {
        match &volume.kind {
            VolumeKind::Disk { id } => {
                missing.extend(of_disk(id, known.iter().find(|disk| disk.ids.contains(id))))
            }
            VolumeKind::Directory { path } if !path.is_dir() => {
                missing.push(format!("directory {}", path.shown()))
            }
            VolumeKind::Emulate { limits, .. } => {
                missing.extend(kernel.cannot_emulate(*limits != Limits::default()).map(str::to_owned));
            }
            _ => {}
        }
    }
    missing
}

fn of_disk(id: &str, known: Option<&DiskReport>) -> Option<String> {
    match known {
        None => Some(format!("disk {}", id.shown())),
        Some(disk) if !disk.claimed => Some(format!("a claim on disk {0} (diskproof claim {0})", id.shown())),
        Some(disk) if disk.dissent.iter().any(|dissent| dissent.heard) => {
            Some(format!("disk {} free for use (diskproof devices says why it isn't)", id.shown()))
        }
        Some(_) => None,
    }
}

fn root(plan: &Plan) -> Option<String> {
    let is_missing = spec::forecast(plan).needs_root && !fleet::is_root() && !fleet::may_sudo(&LocalRunner);
    is_missing.then(|| "root, or sudo without a password".to_owned())
}
