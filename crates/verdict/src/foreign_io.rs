//! Bytes on our devices that weren't ours.
//!
//! The kernel says which process moved how many bytes, but not on which device; and which device moved how many bytes, but not
//! for whom. So two witnesses must agree: a surplus on our devices over what the engine accounts for, and a user process that
//! may have caused it.
//!
//! On a lent directory that is one that moved about as much as the surplus: one that moved a thousand times as much works
//! elsewhere. Where all devices are ours alone it must have been seen with a file of the ground open. Without that the
//! surplus there is the stack's own: nobody else was there to write it.

use crate::facts::{Facts, Flow};
use crate::span::float;
use record::counter::OtherProcess;
use record::workload::Options;

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
    let found = if facts.is_exclusive() {
        trespassed(facts, flow, device, read)
    } else {
        guessed(facts, flow, device, read)
    };
    let least = MATTERS.max(facts.slack(flow)) * (facts.read.asked + facts.write.asked) + in_flight(facts);
    if found.bytes >= least { found } else { Surplus::default() }
}

/// What those moved who were seen on the ground, as far as the devices moved that much for others than the engine.
fn trespassed<'a>(facts: &Facts<'a>, flow: &Flow, device: f64, read: bool) -> Surplus<'a> {
    let on_ground = || users(facts).filter(|p| p.on_ground == Some(true));
    let theirs: f64 = on_ground().map(|p| moved(p, read)).sum();
    let suspect = on_ground().max_by(|a, b| moved(a, read).total_cmp(&moved(b, read)));
    Surplus { bytes: theirs.min(device - engines(facts, flow, read)), suspect }
}

/// What the devices moved more than the engine and the file system may have caused, if it fits somebody.
fn guessed<'a>(facts: &Facts<'a>, flow: &Flow, device: f64, read: bool) -> Surplus<'a> {
    let metadata = if read { 0.0 } else { metadata(facts) };
    let bytes = device - engines(facts, flow, read) - metadata;
    let suspect = users(facts).find(|p| PLAUSIBLE.contains(&(moved(p, read) / bytes)));
    let exact = read && flow.own.is_some() && flow.asked > 0.0 && is_charged_exactly(facts);
    let glaring = exact && bytes >= GLARING * flow.asked;
    if suspect.is_some() || glaring { Surplus { bytes, suspect } } else { Surplus::default() }
}

/// Whether what the kernel charged to the engine is all that it caused to be read: nothing is compressed, so no kernel
/// thread reads on its behalf.
pub(crate) fn is_charged_exactly(facts: &Facts<'_>) -> bool {
    facts.before.is_some_and(|f| f.encoded == 0.0)
}

/// Other user processes. Kernel threads write back what somebody else dirtied, and serve loop devices: not strangers.
fn users<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a OtherProcess> {
    facts.trial.evidence.others.iter().filter(|p| p.kernel != Some(true))
}

fn moved(process: &OtherProcess, read: bool) -> f64 {
    float(if read { process.read_bytes } else { process.write_bytes })
}

/// Bytes that the engine caused. Where kernel threads work on its behalf, at least what it asked for is its own.
fn engines(facts: &Facts<'_>, flow: &Flow, read: bool) -> f64 {
    match flow.own {
        Some(own) if read && is_charged_exactly(facts) => own,
        own => own.unwrap_or(0.0).max(flow.asked),
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
    let of_job = |o: &Options| float(o.bs_bytes) * f64::from(o.iodepth) * f64::from(o.numjobs);
    facts.all_options().into_iter().map(of_job).sum()
}
