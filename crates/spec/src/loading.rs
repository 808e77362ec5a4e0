//! Workloads that several machines run at the same time: `on: [a, b, c]`.

use crate::cell::Spans;
use crate::diagnostic::printable;
use crate::nfs_remote;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::source::Span;
use crate::tree::Node;
use crate::value;
use record::nfs::Nfs;
use record::plan::Cell;
use record::stack::{Layer, Rebuild, Stack};
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

/// Whether a workload makes a cell with a stack on this target. A workload that names its machines makes one cell with a shared
/// directory, on the first of them that has it. They mount a stack with `nfs` from each other machine that has its volumes.
pub(crate) fn is_placed(stack: &Stack, workload: &Workload, places: &[String], target: &str) -> bool {
    if workload.on.is_empty() {
        return true;
    }
    let is_server = |name: &String| !workload.on.contains(name);
    if stack.nfs().is_some() && places.iter().any(is_server) {
        return !workload.on.iter().any(|name| name == target);
    }
    let first = workload.on.iter().find(|name| places.contains(name)).or(places.first());
    first.is_some_and(|first| first == target)
}

/// Reports why several machines can't load a cell together. `places` are the machines that have its volumes.
pub(crate) fn check(
    cell: &Cell,
    places: &[String],
    targets: &[Target],
    spans: Spans,
    problems: &mut Problems<'_>,
) {
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
    if let Some(nfs) = cell.stack.nfs() {
        mounted(cell, nfs, targets, span, problems);
        return;
    }
    let private = cell.stack.all_volumes().find(|v| !matches!(v.kind, VolumeKind::Directory { .. }));
    let changes = |layer: &&Layer| !matches!(layer, Layer::Knobs(_));
    if let Some(volume) = private {
        let volume = printable(&volume.name, 60);
        problems
            .add(span, format!("workload `{workload}` runs on several machines, but `{volume}` of stack `{stack}` is in one machine"))
            .expected(
                "a directory that all of them share, e.g. an NFS mount: `volumes: { share: { directory: /mnt/share } }`; or a stack that \
                 its machine exports: `layers: [..., nfs]`",
            )
            .help("or `exclude` this combination");
    } else if let Some(layer) = cell.stack.layers.iter().find(changes) {
        let layer = layer.in_words();
        problems
            .add(span, format!("workload `{workload}` runs on several machines, but each would build `{layer}` of stack `{stack}` for itself"))
            .expected("the shared directory itself: `stacks: { share: { on: share } }`, or an export of it: `layers: [..., nfs]`")
            .help("mount the export on every machine, and name the mount point as the volume's `directory`");
    } else if let Some(other) = cell.workload.on.iter().find(|name| !places.contains(name)) {
        let (other, on) = (printable(other, 40), printable(&places.join(", "), 100));
        problems
            .add(span, format!("workload `{workload}` runs on `{other}`, but the volumes of stack `{stack}` are on {on} only"))
            .help("leave `target` out of the shared volume: every machine of `on` has it under the same path");
    }
}

/// Reports why several machines can't mount and load what another one exports.
fn mounted(cell: &Cell, nfs: &Nfs, targets: &[Target], span: Span, problems: &mut Problems<'_>) {
    let (stack, workload) = (printable(&cell.stack.name, 60), printable(&cell.workload.name, 60));
    let server = printable(&cell.target, 40);
    if let Some(client) = &nfs.client {
        let client = printable(client, 40);
        problems
            .add(span, format!("workload `{workload}` names the machines that mount stack `{stack}`, and so does `client: {client}`"))
            .help("leave `client` out of `nfs`: each machine of `on` mounts it; or `exclude` this combination");
        return;
    }
    if cell.stack.rebuild == Rebuild::Run {
        problems.add(span, format!("`rebuild: run` of stack `{stack}`, which the machines of `on` mount")).help(
            "a stack that other machines mount is built, exported and taken down for each trial; leave `rebuild` out",
        );
        return;
    }
    if cell.stack.attaches_late() || cell.stack.flushes() {
        problems
            .add(span, format!("the cache of stack `{stack}` is attached or flushed during the trial, and the machines of `on` mount the stack"))
            .help("no machine of them knows when all are ready for that: leave `attach` and `detach` out");
        return;
    }
    let known = |name: &String| targets.iter().find(|target| target.name == *name);
    let Some(serving) = known(&cell.target) else { return };
    for client in cell.workload.on.iter().filter_map(known) {
        let name = printable(&client.name, 40);
        if client.kind == serving.kind {
            let message = if client.name == serving.name {
                format!("workload `{workload}` runs on `{name}`, which exports stack `{stack}` itself")
            } else {
                format!(
                    "workload `{workload}` runs on `{name}`, and `{server}`, which exports stack `{stack}`, is the same machine"
                )
            };
            problems
                .add(span, message)
                .expected("other machines: they mount the stack over the network")
                .help(
                    "bind the volumes to the server alone (`volumes: { NAME: { ..., target: nas } }`) and leave it out of `on`; a workload \
                     without `on` loads from the server over its loopback",
                );
            return;
        }
        if !nfs_remote::reach(serving, client) {
            problems
                .add(span, format!("stack `{stack}`: `{server}` and `{name}` can't reach each other"))
                .help(nfs_remote::UNREACHED);
            return;
        }
    }
}

#[cfg(test)]
mod tests;
