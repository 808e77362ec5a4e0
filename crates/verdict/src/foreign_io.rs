//! Bytes on the ground's devices that other processes moved.
//!
//! The kernel reports how many bytes each process moved, but not on which device; and how many bytes each device moved, but not
//! for which process. So two observations must agree: a surplus on the devices over the engine's bytes, and a user process that
//! may have caused it.
//!
//! On an existing directory that is a process that moved about as much as the surplus: one that moved a thousand times as much
//! works elsewhere. If only this run uses the devices, the process must have had a file of the ground open. Without such a
//! process, the surplus there is the stack's own.

use crate::facts::{Facts, Flow};
use crate::span::float;
use record::counter::OtherProcess;
use record::workload::Options;

/// The least surplus for a claim, as a share of all requested bytes.
const MATTERS: f64 = 0.05;
/// A surplus of reads of this size needs no suspect if the engine's own reads are charged exactly.
const GLARING: f64 = 0.25;
/// The bytes of a process that may have caused a surplus, relative to the surplus. It is observed for longer than the window, and may
/// work elsewhere too.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.5..=4.0;

/// Bytes that another process moved on the ground's devices in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surplus<'a> {
    /// The bytes; 0 if there are none, or none that can be shown.
    pub(crate) bytes: f64,
    /// The process that moved about as much.
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

/// The bytes of processes that had files of the ground open, limited to what the devices moved for others than the engine.
fn trespassed<'a>(facts: &Facts<'a>, flow: &Flow, device: f64, read: bool) -> Surplus<'a> {
    let on_ground = || users(facts).filter(|p| p.on_ground == Some(true));
    let theirs: f64 = on_ground().map(|p| moved(p, read)).sum();
    let suspect = on_ground().max_by(|a, b| moved(a, read).total_cmp(&moved(b, read)));
    Surplus { bytes: theirs.min(device - engines(facts, flow, read)), suspect }
}

/// The bytes on the devices beyond what the engine and the file system may have caused, if the amount fits a process.
fn guessed<'a>(facts: &Facts<'a>, flow: &Flow, device: f64, read: bool) -> Surplus<'a> {
    let metadata = if read { 0.0 } else { metadata(facts) };
    let bytes = device - engines(facts, flow, read) - metadata;
    let suspect = users(facts).find(|p| PLAUSIBLE.contains(&(moved(p, read) / bytes)));
    let exact = read && flow.own.is_some() && flow.asked > 0.0 && is_charged_exactly(facts);
    let glaring = exact && bytes >= GLARING * flow.asked;
    if suspect.is_some() || glaring { Surplus { bytes, suspect } } else { Surplus::default() }
}

/// Whether the kernel charged to the engine all reads that it caused: nothing is compressed, so no kernel thread reads for it.
pub(crate) fn is_charged_exactly(facts: &Facts<'_>) -> bool {
    facts.before.is_some_and(|f| f.encoded == 0.0)
}

/// Other user processes. Kernel threads don't count: they write back others' dirty pages and serve loop devices.
fn users<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a OtherProcess> {
    facts.trial.evidence.others.iter().filter(|p| p.kernel != Some(true))
}

fn moved(process: &OtherProcess, read: bool) -> f64 {
    float(if read { process.read_bytes } else { process.write_bytes })
}

/// Bytes that the engine caused. If kernel threads work for it, at least the requested bytes are its own.
fn engines(facts: &Facts<'_>, flow: &Flow, read: bool) -> f64 {
    match flow.own {
        Some(own) if read && is_charged_exactly(facts) => own,
        own => own.unwrap_or(0.0).max(flow.asked),
    }
}

/// The share that file systems may write besides the data: a copy-on-write tree about as much again, a journal a third.
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
    facts.all_options().into_iter().map(of_job).sum::<f64>() * facts.machines()
}
