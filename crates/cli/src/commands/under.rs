//! Warnings about directories before a run measures in them: the directory is memory, or the devices below it can't be seen.

use observe::{Roots, topology};
use record::plan::Plan;
use record::printable::Shown as _;
use record::target::TargetKind;
use record::volume::VolumeKind;
use run::controller::{targets_of, volumes_of};
use std::path::Path;

/// A warning, without a full stop, about a directory of this machine that isn't on block devices with I/O counters.
pub(super) fn remark(directory: &Path) -> Option<String> {
    let under = topology(&Roots::default(), &[], Some(directory));
    let place = directory.shown();
    if let Some(why) = under.memory() {
        return Some(format!("{place} is memory, not storage: {why}"));
    }
    let unseen = under.unseen_ground()?;
    Some(format!("{place} is {unseen}; the share of the device will be unknown"))
}

/// The warnings about all directories that a plan uses on this machine. A directory that doesn't exist gets none: the run refuses it with
/// a better message.
pub(super) fn remarks(plan: &Plan) -> Vec<String> {
    let here = |target: &&str| {
        let kind = plan.targets.iter().find(|known| known.name == **target).map(|known| &known.kind);
        matches!(kind, None | Some(TargetKind::Local))
    };
    let targets = targets_of(plan);
    let volumes = targets.iter().filter(|target| here(target)).flat_map(|target| volumes_of(plan, target));
    let mut said = Vec::new();
    for volume in volumes {
        if let VolumeKind::Directory { path } = &volume.kind
            && path.is_dir()
            && let Some(remark) = remark(path)
            && !said.contains(&remark)
        {
            said.push(remark);
        }
    }
    said
}
