//! The share of the bytes on the ground's devices that the deepest visible devices moved.
//!
//! A loop device over a sparse file, a thin volume or a guest's qcow2 image serves reads of unwritten blocks without I/O below.
//! The counters of the deepest devices include all processes' bytes, so bytes that are missing there certainly didn't come from
//! these devices. [`crate::host_cache`] handles loop devices that cache their backing file.

use crate::amplified::array_copies;
use crate::facts::Facts;
use crate::foreign::below;
use crate::span::float;
use record::counter::{BlockCounters, Sample};
use record::topology::{BlockKind, BlockNode, is_memory_fs};
use std::collections::BTreeSet;

/// File systems that neither compress nor cache what is read from a file directly.
const PLAIN: [&str; 4] = ["ext2", "ext3", "ext4", "xfs"];
/// If less than this share of a backing file is in memory, memory can't have served the reads.
const CACHED: f64 = 0.01;

/// Bytes on the ground's devices that the devices below didn't move.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Below<'a> {
    /// The devices on which bytes were moved; `lower` holds the deepest ones below these.
    pub(crate) upper: Vec<&'a str>,
    pub(crate) lower: Vec<&'a str>,
    pub(crate) upper_bytes: f64,
    pub(crate) lower_bytes: f64,
    /// The share of the bytes on the ground's devices that is missing below.
    pub(crate) missing: f64,
    /// Whether only holes can explain it.
    pub(crate) holes: bool,
    /// The share of the time in which the busiest of the deepest devices worked; `None` if it isn't counted.
    pub(crate) busy: Option<f64>,
}

impl<'a> Below<'a> {
    /// `None` if the devices below moved all of it, or aren't visible.
    pub(crate) fn of(facts: &Facts<'a>, read: bool) -> Option<Self> {
        let nodes: &'a [BlockNode] = &facts.trial.topology.nodes;
        let direct = || nodes.iter().filter(|n| n.depth == 0);
        let upper: Vec<&BlockNode> = direct().filter(|n| !is_cached(nodes, n)).collect();
        let bytes = |names: &[&str]| names.iter().map(|n| moved(facts, n, read)).sum::<Option<f64>>();
        let names: Vec<&str> = upper.iter().map(|n| n.name.as_str()).collect();
        let all = bytes(&direct().map(|n| n.name.as_str()).collect::<Vec<_>>())?;
        let upper_bytes = bytes(&names).filter(|b| *b > 0.0)?;
        // At the volumes, which only this run uses, and at the deepest devices: the smaller amount counts.
        let cuts = [true, false].map(|volumes| cut(nodes, &upper, volumes));
        let counted = cuts.into_iter().filter(|lower| {
            !lower.is_empty() && *lower != names && lower.iter().all(|name| is_counted(facts, nodes, name))
        });
        let told = counted.filter_map(|lower| Some((bytes(&lower)?, lower)));
        let (lower_bytes, lower) = told.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let copies = if read { 1.0 } else { array_copies(facts) };
        let missing = (1.0 - lower_bytes / copies / upper_bytes) * upper_bytes / all;
        let flow = if read { &facts.read } else { &facts.write };
        (missing > facts.slack(flow)).then(|| Self {
            holes: read && upper.iter().all(|n| only_holes(facts, nodes, n)),
            busy: busiest(facts, &lower),
            upper: names,
            lower,
            upper_bytes,
            lower_bytes,
            missing: missing.min(1.0),
        })
    }
}

/// The devices under these: the volumes, or else the deepest ones.
fn cut<'a>(nodes: &'a [BlockNode], upper: &[&'a BlockNode], volumes: bool) -> Vec<&'a str> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    for node in upper {
        for one in chain(nodes, node) {
            let is_volume = matches!(one.kind, BlockKind::Loop { .. });
            let is_deepest = !below(one).iter().any(|name| nodes.iter().any(|n| n.name == *name));
            if (volumes && is_volume) || (is_deepest && !(volumes && over(nodes, one, upper))) {
                found.insert(&one.name);
            }
        }
    }
    found.into_iter().collect()
}

/// Whether a loop device lies over it; then it isn't one of the volumes.
fn over(nodes: &[BlockNode], node: &BlockNode, upper: &[&BlockNode]) -> bool {
    let loops =
        upper.iter().flat_map(|n| chain(nodes, n)).filter(|n| matches!(n.kind, BlockKind::Loop { .. }));
    loops.filter(|n| n.name != node.name).any(|n| chain(nodes, n).iter().any(|d| d.name == node.name))
}

/// A device and all devices below it.
fn chain<'a>(nodes: &'a [BlockNode], node: &'a BlockNode) -> Vec<&'a BlockNode> {
    let mut found = vec![node];
    let mut next = 0;
    while let Some(one) = found.get(next) {
        let under = nodes.iter().filter(|n| below(one).contains(&n.name));
        let new: Vec<&BlockNode> = under.filter(|n| !found.iter().any(|f| f.name == n.name)).collect();
        found.extend(new);
        next += 1;
    }
    found
}

/// Whether a page cache lies between it and the devices below, or it is memory.
fn is_cached(nodes: &[BlockNode], node: &BlockNode) -> bool {
    chain(nodes, node).iter().any(|n| match &n.kind {
        BlockKind::Loop { direct_io, backing_fs, .. } => {
            *direct_io == Some(false) || backing_fs.as_deref().is_some_and(is_memory_fs)
        }
        BlockKind::Memory => true,
        _ => false,
    })
}

/// Whether nothing but holes can lie between: no compression, no cache, only loop devices, thin volumes and partitions.
fn only_holes(facts: &Facts<'_>, nodes: &[BlockNode], node: &BlockNode) -> bool {
    chain(nodes, node).iter().all(|n| match &n.kind {
        BlockKind::Loop { backing_fs, backing_file, direct_io, .. } => {
            let after =
                backing_file.as_ref().and_then(|f| facts.trial.backing_after.iter().find(|r| r.path == *f));
            let cached = after.is_some_and(|r| float(r.cached_bytes) >= CACHED * float(r.size_bytes));
            !cached && *direct_io == Some(true) && backing_fs.as_deref().is_some_and(|fs| PLAIN.contains(&fs))
        }
        _ => true,
    })
}

fn moved(facts: &Facts<'_>, name: &str, read: bool) -> Option<f64> {
    let bytes = |b: &BlockCounters| if read { b.read_bytes } else { b.write_bytes };
    grown(facts, &|s| s.block.get(name).map(bytes))
}

/// A counter's growth. A guest's host counts over a longer time, so the missing part is underestimated there.
fn grown(facts: &Facts<'_>, counter: &dyn Fn(&Sample) -> Option<u64>) -> Option<f64> {
    facts.span.grown(counter).or_else(|| {
        let [before, after] = &facts.trial.evidence.host[..] else { return None };
        Some(float(counter(after)?.saturating_sub(counter(before)?)))
    })
}

/// Whether the kernel counts a device's I/O. It doesn't if the counters never grew since boot; such a device may also be memory.
fn is_counted(facts: &Facts<'_>, nodes: &[BlockNode], name: &str) -> bool {
    let evidence = &facts.trial.evidence;
    let samples = evidence.samples.iter().chain(&evidence.host);
    let ever =
        samples.filter_map(|s| s.block.get(name)).any(|b| b.reads > 0 || b.writes > 0 || b.read_bytes > 0);
    ever && nodes.iter().any(|n| n.name == name && n.kind != BlockKind::Memory)
}

fn busiest(facts: &Facts<'_>, names: &[&str]) -> Option<f64> {
    let seconds = facts.span.seconds();
    let busy = |name: &str| facts.span.grown(|s| s.block.get(name).map(|b| b.busy_ms));
    names.iter().map(|name| Some(busy(name)? / 1e3 / seconds)).reduce(|a, b| Some(a?.max(b?)))?
}
