//! Bytes on our devices that weren't ours.
//!
//! The kernel says which process moved how many bytes, but not on which device; and which device moved how many bytes, but not
//! for whom. So two witnesses must agree: a surplus on our devices over what the engine accounts for, and a user process
//! that moved about as much as that surplus. A process that moved a thousand times as much works elsewhere.

use crate::facts::{Facts, Flow};
use crate::span::float;
use record::counter::OtherProcess;

/// A surplus below this share of all bytes asked is not worth a claim.
const MATTERS: f64 = 0.05;
/// A surplus of reads of this size needs no second witness where the engine's own are charged exactly.
const GLARING: f64 = 0.25;
/// One process's bytes over the surplus, if it caused it. It is watched longer than the window, and may work elsewhere too.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.5..=4.0;

/// What somebody else moved on our devices in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surplus<'a> {
    /// Bytes; 0 when there were none, or none that can be shown.
    pub(crate) bytes: f64,
    /// Who moved about as much.
    pub(crate) suspect: Option<&'a OtherProcess>,
}

/// The surplus of reads, or of writes.
pub(crate) fn surplus<'a>(facts: &Facts<'a>, read: bool) -> Surplus<'a> {
    let flow = if read { &facts.read } else { &facts.write };
    let Some(device) = flow.device else {
        return Surplus::default();
    };
    let all_asked = facts.read.asked + facts.write.asked;
    let least = MATTERS.max(facts.slack(flow)) * all_asked + in_flight(facts);
    let bytes = device - accounted(facts, flow, read);
    if bytes < least {
        return Surplus::default();
    }
    let suspect = facts
        .trial
        .evidence
        .others
        .iter()
        .filter(|p| !is_kernel_thread(&p.comm))
        .find(|p| PLAUSIBLE.contains(&(float(if read { p.read_bytes } else { p.write_bytes }) / bytes)));
    let exact = read && flow.own.is_some() && flow.asked > 0.0 && is_charged_exactly(facts);
    let glaring = exact && bytes >= GLARING * flow.asked;
    if suspect.is_some() || glaring { Surplus { bytes, suspect } } else { Surplus::default() }
}

/// Whether what the kernel charged to the engine is all that it caused to be read: nothing is compressed, so no kernel
/// thread reads on its behalf.
pub(crate) fn is_charged_exactly(facts: &Facts<'_>) -> bool {
    facts.before.is_some_and(|f| f.encoded == 0.0)
}

/// Bytes that the engine may have caused. Where kernel threads work on its behalf, at least what it asked for is its own,
/// and writes cause writes of metadata.
fn accounted(facts: &Facts<'_>, flow: &Flow, read: bool) -> f64 {
    match flow.own {
        Some(own) if read && is_charged_exactly(facts) => own,
        own => own.unwrap_or(0.0).max(flow.asked) + if read { 0.0 } else { metadata(facts) },
    }
}

/// What file systems may write besides the data: a copy-on-write tree about as much again, a journal a third.
fn metadata(facts: &Facts<'_>) -> f64 {
    match facts.fs() {
        None => 0.0,
        Some("btrfs") => facts.write.asked,
        Some(_) => 0.3 * facts.write.asked,
    }
}

/// Bytes that may be submitted on one side of the window's edge and completed on the other.
pub(crate) fn in_flight(facts: &Facts<'_>) -> f64 {
    facts.options().map_or(0.0, |o| float(o.bs_bytes) * f64::from(o.iodepth) * f64::from(o.numjobs))
}

/// Kernel threads write back what somebody else dirtied, and serve loop devices: not strangers.
fn is_kernel_thread(comm: &str) -> bool {
    const PREFIXES: [&str; 12] = [
        "kworker",
        "jbd2",
        "btrfs",
        "xfs",
        "loop",
        "ksoftirqd",
        "kswapd",
        "dm",
        "md",
        "kcopyd",
        "worker/",
        "flush",
    ];
    PREFIXES.iter().any(|p| comm.starts_with(p))
}
