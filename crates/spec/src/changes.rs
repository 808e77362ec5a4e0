//! Changes of a guest disk's limits that come after the end of every trial.

use crate::fields::list;
use crate::pace::ends_after;
use crate::problems::Problems;
use crate::tree::{Node, find};
use record::plan::{Cell, Measure};
use record::quantity::Seconds;
use record::target::{Target, TargetKind};
use record::volume::VolumeKind;
use record::workload::Ask;

/// Refuses changes that come after the longest load on their disk has ended. `node` is the node of `targets`.
pub(crate) fn check(
    node: &Node,
    targets: &[Target],
    cells: &[Cell],
    measure: &Measure,
    problems: &mut Problems<'_>,
) {
    for target in targets {
        let TargetKind::Guest { disks, .. } = &target.kind else { continue };
        let on_target = cells.iter().filter(|cell| cell.target == target.name);
        for disk in disks.iter().filter(|disk| !disk.changes.is_empty()) {
            let id = disk.id();
            let asked = on_target.clone().filter(|cell| uses(cell, &id));
            let Some(Some(longest)) =
                asked.map(|cell| load_seconds(cell, measure)).reduce(|one, two| Some(one?.max(two?)))
            else {
                continue;
            };
            let place = ["disks", &disk.name, "changes"];
            let written =
                find(node, &target.name).and_then(|node| place.iter().try_fold(node, |n, k| find(n, k)));
            let nodes = written.map(list).unwrap_or_default();
            for (change, node) in disk.changes.iter().zip(nodes) {
                let after = std::time::Duration::from_millis(change.after_ms).as_secs_f64();
                if after >= longest {
                    let span = find(node, "after").unwrap_or(node).span;
                    problems
                        .add(
                            span,
                            format!("this change never comes: the load is over after {}", Seconds(longest)),
                        )
                        .help("let it come earlier, or make trials longer: `measure: { trial: 60s }`");
                }
            }
        }
    }
}

fn uses(cell: &Cell, disk: &str) -> bool {
    cell.stack.all_volumes().any(|volume| matches!(&volume.kind, VolumeKind::Guest { id, .. } if id == disk))
}

/// Returns the longest duration of a cell's load; `None`: the load ends when its work is done.
fn load_seconds(cell: &Cell, measure: &Measure) -> Option<f64> {
    let Ask::Options(options) = &cell.workload.ask else { return None };
    let trial_seconds = measure.max_trial_seconds.unwrap_or(measure.trial_seconds);
    Some(ends_after(options, measure, trial_seconds))
}
