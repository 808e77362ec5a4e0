//! What a plan needs and this machine hasn't.

use crate::commands::doctor::kernel::Kernel;
use crate::commands::quick::free_bytes;
use crate::settings::Settings;
use device::{ClaimBook, Roots};
use host::{LocalRunner, Tool};
use record::plan::{Cell, Plan};
use record::printable::Shown as _;
use record::quantity::Bytes;
use record::target::TargetKind;
use record::volume::{Limits, VolumeKind};
use run::controller::targets_of;
use std::collections::BTreeSet;
use std::path::Path;

/// What was found of the machines of a plan.
pub(super) struct Here {
    /// Whether any machine of the plan is this one.
    pub(super) looked: bool,
    /// What is missing, one noun each.
    pub(super) missing: Vec<String>,
}

/// Looks for programs, file systems and drivers of the kernel, disks with their claims, directories, space and privileges. Other
/// machines aren't asked.
pub(super) fn look(plan: &Plan, settings: &Settings) -> Here {
    let is_here = |name: &&str| {
        let kind = plan.targets.iter().find(|target| target.name == **name).map(|target| &target.kind);
        matches!(kind, None | Some(TargetKind::Local))
    };
    let here: Vec<&str> = targets_of(plan).into_iter().filter(is_here).collect();
    let cells: Vec<&Cell> = plan.cells.iter().filter(|cell| here.contains(&cell.target.as_str())).collect();
    let mut missing = Vec::new();
    missing.extend(here.iter().flat_map(|target| programs(plan, target)));
    missing.extend(of_kernel(&cells, &Kernel::look(Path::new("/"))));
    missing.extend(volumes(&cells, &settings.state.value));
    if !cells.is_empty() {
        missing.extend(space_and_root(plan, &settings.state.value));
    }
    let mut seen = BTreeSet::new();
    missing.retain(|one| seen.insert(one.clone()));
    Here { looked: !here.is_empty(), missing }
}

fn programs(plan: &Plan, target: &str) -> Vec<String> {
    let needed = spec::tools_on(plan, target);
    let known = Tool::ALL.iter().filter(|tool| needed.iter().any(|name| name == tool.name()));
    let missing = known.filter(|tool| host::resolve(**tool).is_err());
    missing.map(|tool| format!("{} (apt-get install {})", tool.name(), tool.package())).collect()
}

fn of_kernel(cells: &[&Cell], kernel: &Kernel) -> Vec<String> {
    let layers = cells.iter().flat_map(|cell| &cell.stack.layers);
    let needed = layers.flat_map(|layer| layer.needs_of_kernel()).copied();
    needed.filter(|name| kernel.lacks(name)).map(|name| format!("{name} in the kernel")).collect()
}

fn volumes(cells: &[&Cell], state: &Path) -> Vec<String> {
    let all = || cells.iter().flat_map(|cell| cell.stack.all_volumes());
    let disks: Vec<&String> = all()
        .filter_map(|volume| match &volume.kind {
            VolumeKind::Disk { id } => Some(id),
            _ => None,
        })
        .collect();
    let mut missing = Vec::new();
    if !disks.is_empty() {
        let book = ClaimBook::open(state).ok();
        let known = device::inventory(&Roots::default(), &LocalRunner, book.as_ref());
        for id in disks {
            match known.iter().find(|disk| disk.ids.contains(id)) {
                None => missing.push(format!("disk {}", id.shown())),
                Some(disk) if !disk.claimed => {
                    missing.push(format!("a claim on disk {0} (diskproof claim {0})", id.shown()))
                }
                Some(disk) if disk.dissent.iter().any(|dissent| dissent.heard) => {
                    missing.push(format!(
                        "disk {} free for use (diskproof devices says why it isn't)",
                        id.shown()
                    ));
                }
                Some(_) => {}
            }
        }
    }
    let kernel = Kernel::look(Path::new("/"));
    for volume in all() {
        match &volume.kind {
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

/// The state directory may not exist yet: the space is that of the nearest directory above it.
fn space_and_root(plan: &Plan, state: &Path) -> Vec<String> {
    let forecast = spec::forecast(plan);
    let mut missing = Vec::new();
    let there = state.ancestors().find(|path| path.is_dir());
    if let Some(free) = there.and_then(|path| free_bytes(path).ok())
        && free < forecast.space_bytes
    {
        let (needed, free) = (Bytes(forecast.space_bytes), Bytes(free));
        missing.push(format!("space: {needed} in {}, where {free} are free", state.shown()));
    }
    if forecast.needs_root && !fleet::is_root() && !fleet::may_sudo(&LocalRunner) {
        missing.push("root, or sudo without a password".to_owned());
    }
    missing
}
