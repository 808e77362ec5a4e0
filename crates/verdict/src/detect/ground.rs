//! Claims about what the ground is made of.

use super::{Detected, Scene, evidence};
use crate::facts::{is_memory_fs, memory_behind};
use crate::figures::percent;
use record::finding::{Claim, Severity};
use record::topology::{BlockKind, BlockNode};

/// The ground is memory.
pub(super) fn memory_backed(scene: &Scene<'_>) -> Option<Detected> {
    let why = memory_behind(&scene.facts.trial.topology).or_else(|| {
        let volume = scene.volumes.iter().find(|v| v.backing_fs.as_deref().is_some_and(is_memory_fs))?;
        Some(format!("volume {} lies on {}", volume.name, volume.backing_fs.as_deref().unwrap_or("memory")))
    })?;
    let facts = scene.facts;
    Some(Detected {
        claim: Claim::MemoryBacked,
        severity: Severity::Void,
        strength: 1.0,
        evidence: evidence([
            ("read_asked_bytes", Some(facts.read.asked)),
            ("write_asked_bytes", Some(facts.write.asked)),
            ("memory_bytes", facts.memory_total()),
        ]),
        text: format!("The ground is memory, not storage: {why}."),
        remedy: "Choose a directory or volume on a disk; `diskproof devices` lists them.".to_owned(),
    })
}

/// A loop device that caches its backing file a second time.
pub(super) fn double_caching(scene: &Scene<'_>) -> Option<Detected> {
    let nodes = &scene.facts.trial.topology.nodes;
    let cached: Vec<(&BlockNode, &[String])> = nodes
        .iter()
        .filter_map(|node| match &node.kind {
            BlockKind::Loop { direct_io: Some(false), members, backing_fs, .. }
                if !backing_fs.as_deref().is_some_and(is_memory_fs) =>
            {
                Some((node, members.as_slice()))
            }
            _ => None,
        })
        .collect();
    if cached.is_empty() {
        return None;
    }
    let span = &scene.facts.span;
    let grown = |name: &str| span.grown(|s| s.block.get(name).map(|b| b.read_bytes));
    let sum = |names: &mut dyn Iterator<Item = &str>| names.map(grown).sum::<Option<f64>>();
    let loops = sum(&mut cached.iter().map(|(n, _)| n.name.as_str()));
    let mut members: Vec<&str> = cached.iter().flat_map(|(_, m)| m.iter().map(String::as_str)).collect();
    members.sort_unstable();
    members.dedup();
    let leaves = if members.is_empty() { None } else { sum(&mut members.iter().copied()) };
    // Leaves may carry other traffic too, so what is missing on them is missing at least that much.
    let missing = match (loops, leaves) {
        (Some(loops), Some(leaves)) if loops > 0.0 && scene.facts.read.asked > 0.0 => {
            Some((1.0 - leaves / loops).max(0.0))
        }
        _ => None,
    };
    let served = match missing {
        Some(share) if share >= 0.02 => {
            format!(
                "; at least {} of what the loop device read never reached the disk under it",
                percent(share)
            )
        }
        _ => String::new(),
    };
    let names: Vec<&str> = cached.iter().map(|(n, _)| n.name.as_str()).collect();
    Some(Detected {
        claim: Claim::DoubleCaching,
        severity: if missing.is_some_and(|m| m >= 0.5) { Severity::Void } else { Severity::Caveat },
        strength: missing.unwrap_or(0.0),
        evidence: evidence([
            ("loop_read_bytes", loops),
            ("leaf_read_bytes", leaves),
            ("missing_on_leaf_share", missing),
            ("loops_without_direct_io", Some(f64::from(crate::cell::number(cached.len())))),
        ]),
        text: format!(
            "{} caches its backing file in this machine's memory, whatever the workload does above it{served}.",
            names.join(", ")
        ),
        remedy: "Attach the loop device with direct I/O (losetup --direct-io=on); diskproof's own emulated volumes do."
            .to_owned(),
    })
}
