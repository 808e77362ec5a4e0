//! Workloads that several machines run at the same time: `on: [a, b, c]`.

use crate::cell::Spans;
use crate::diagnostic::printable;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use record::plan::Cell;
use record::stack::Layer;
use record::target::Target;
use record::volume::VolumeKind;
use record::workload::Workload;

const EXPECTED: &str = "names of targets, e.g. `[a, b, c]`";

/// Reads the names.
pub(crate) fn read(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let names = value::texts(node, EXPECTED, &[], scope, problems)?;
    if names.is_empty() {
        problems
            .add(node.span, "`on` names no machine")
            .expected(EXPECTED)
            .help("leave `on` out to load from the machine that the stack is built on");
        return None;
    }
    Some(names)
}

/// Checks that the names are targets, and different machines.
pub(crate) fn known(
    workload: &Workload,
    spans: Spans,
    targets: &[Target],
    problems: &mut Problems<'_>,
) -> Option<()> {
    let span = spans.on.unwrap_or(spans.name);
    let mut seen: Vec<&Target> = Vec::new();
    for name in &workload.on {
        let shown = printable(name, 40);
        let Some(target) = targets.iter().find(|target| target.name == *name) else {
            let diagnostic = problems
                .add(span, format!("`on` of workload `{}`: there is no target `{shown}`", workload.name));
            diagnostic.suggest(name, targets.iter().map(|target| target.name.as_str()));
            if targets.is_empty() {
                diagnostic
                    .help("declare the machines: `targets: { a: { ssh: user@a }, b: { ssh: user@b } }`");
            }
            return None;
        };
        if let Some(other) = seen.iter().find(|other| other.kind == target.kind) {
            let other = printable(&other.name, 40);
            let message = if other == shown {
                format!("`on` of workload `{}` names `{shown}` twice", workload.name)
            } else {
                format!("`on` of workload `{}`: `{other}` and `{shown}` are the same machine", workload.name)
            };
            problems
                .add(span, message)
                .help("name each machine once; more load from one machine is `numjobs`");
            return None;
        }
        seen.push(target);
    }
    Some(())
}

/// Whether a workload makes a cell with a stack on this target. A workload that names its machines makes one cell, on the first of them
/// that has the volumes.
pub(crate) fn is_placed(workload: &Workload, places: &[String], target: &str) -> bool {
    if workload.on.is_empty() {
        return true;
    }
    let first = workload.on.iter().find(|name| places.contains(name)).or(places.first());
    first.is_some_and(|first| first == target)
}

/// Reports why several machines can't load a cell together. `places` are the machines that have its volumes.
pub(crate) fn check(cell: &Cell, places: &[String], spans: Spans, problems: &mut Problems<'_>) {
    if !cell.is_together() {
        return;
    }
    let span = spans.on.unwrap_or(spans.name);
    let (stack, workload) = (printable(&cell.stack.name, 60), printable(&cell.workload.name, 60));
    if cell.find().is_some() {
        problems.add(span, format!("`on` of workload `{workload}` with `find`")).help(
            "search the load of one machine, or give several machines fixed loads: one workload for each",
        );
        return;
    }
    let private = cell.stack.all_volumes().find(|v| !matches!(v.kind, VolumeKind::Directory { .. }));
    let changes = |layer: &&Layer| !matches!(layer, Layer::Knobs(_));
    if let Some(volume) = private {
        let volume = printable(&volume.name, 60);
        problems
            .add(span, format!("workload `{workload}` runs on several machines, but `{volume}` of stack `{stack}` is in one machine"))
            .expected("a directory that all of them share, e.g. an NFS mount: `volumes: { share: { directory: /mnt/share } }`")
            .help("or `exclude` this combination");
    } else if let Some(layer) = cell.stack.layers.iter().find(changes) {
        let layer = layer.in_words();
        problems
            .add(span, format!("workload `{workload}` runs on several machines, but each would build `{layer}` of stack `{stack}` for itself"))
            .expected("the shared directory itself: `stacks: { share: { on: share } }`")
            .help("mount the export on every machine, and name the mount point as the volume's `directory`");
    } else if let Some(other) = cell.workload.on.iter().find(|name| !places.contains(name)) {
        let (other, on) = (printable(other, 40), printable(&places.join(", "), 100));
        problems
            .add(span, format!("workload `{workload}` runs on `{other}`, but the volumes of stack `{stack}` are on {on} only"))
            .help("leave `target` out of the shared volume: every machine of `on` has it under the same path");
    }
}

#[cfg(test)]
mod tests;
