//! What each device under a cell did, down to the leaves.

use crate::facts::Facts;
use crate::foreign::shared;
use record::counter::BlockCounters;
use record::judged::NodeView;
use record::topology::{BlockKind, BlockNode};

/// Members that are named; more are counted.
const NAMED: usize = 3;

/// One view per device of the first trial, shallow first; means over the trials that have the same devices under them.
/// Counters are everybody's: a disk that others use too shows their bytes as well, and says so.
pub(crate) fn of_cell(trials: &[Facts<'_>]) -> Vec<NodeView> {
    let Some(first) = trials.first() else { return Vec::new() };
    let shape = |facts: &Facts<'_>| -> Vec<(u32, std::mem::Discriminant<BlockKind>)> {
        facts.trial.topology.nodes.iter().map(|n| (n.depth, std::mem::discriminant(&n.kind))).collect()
    };
    let alike: Vec<&Facts<'_>> = trials.iter().filter(|facts| shape(facts) == shape(first)).collect();
    let nodes = &first.trial.topology.nodes;
    let open = shared(first);
    let view = |(index, node): (usize, &BlockNode)| {
        let over = |figure: fn(&Facts<'_>, &BlockNode) -> Option<f64>| {
            mean(alike.iter().filter_map(|facts| figure(facts, facts.trial.topology.nodes.get(index)?)))
        };
        NodeView {
            name: node.name.clone(),
            kind: kind(node, open.contains(node.name.as_str())),
            depth: node.depth,
            read_per_asked: over(|facts, node| per_asked(facts, node, true)),
            write_per_asked: over(|facts, node| per_asked(facts, node, false)),
            iops: over(|facts, node| per_second(facts, node, |b| Some(b.reads + b.writes))),
            busy_share: over(|facts, node| {
                // Milliseconds of busy time per second; the window's ends make it a little more than all of it.
                Some((per_second(facts, node, |b| Some(b.busy_ms))? / 1e3).min(1.0))
            }),
        }
    };
    nodes.iter().enumerate().map(view).collect()
}

fn per_asked(facts: &Facts<'_>, node: &BlockNode, read: bool) -> Option<f64> {
    let asked = if read { facts.read.asked } else { facts.write.asked };
    let bytes = |b: &BlockCounters| if read { b.read_bytes } else { b.write_bytes };
    let moved = facts.span.grown(|s| s.block.get(&node.name).map(bytes))?;
    (asked > 0.0).then(|| moved / asked)
}

fn per_second(
    facts: &Facts<'_>,
    node: &BlockNode,
    counter: fn(&BlockCounters) -> Option<u64>,
) -> Option<f64> {
    let grown = facts.span.grown(|s| counter(s.block.get(&node.name)?))?;
    let seconds = facts.span.seconds();
    (seconds > 0.0).then(|| grown / seconds)
}

#[expect(clippy::cast_precision_loss, reason = "a number of trials")]
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = values.collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

fn kind(node: &BlockNode, shared: bool) -> String {
    let over = |members: &[String]| match members.len() {
        0 => String::new(),
        n if n <= NAMED => format!(" over {}", members.join(", ")),
        n => format!(" over {n} devices"),
    };
    let what = match &node.kind {
        BlockKind::Disk if node.rotational == Some(true) => "rotating disk".to_owned(),
        BlockKind::Disk => "disk".to_owned(),
        BlockKind::Partition { of } => format!("partition of {of}"),
        BlockKind::Loop { backing_fs, direct_io, guest, .. } => {
            let on = backing_fs.as_ref().map_or(String::new(), |fs| format!(" on {fs}"));
            if *guest {
                let how = if *direct_io == Some(false) { ", through the host's page cache" } else { "" };
                return format!("disk of a guest, a file{on} of the host{how}");
            }
            let how = if *direct_io == Some(false) { ", without direct I/O" } else { "" };
            format!("loop device over a file{on}{how}")
        }
        BlockKind::Composite { members } if node.kernel_name().starts_with("dm-") => {
            format!("device mapper{}", over(members))
        }
        BlockKind::Composite { members } if node.kernel_name().starts_with("md") => {
            format!("md array{}", over(members))
        }
        BlockKind::Composite { members } => format!("device{}", over(members)),
        BlockKind::Memory => "memory".to_owned(),
    };
    if shared { format!("{what}; others may use it too") } else { what }
}
