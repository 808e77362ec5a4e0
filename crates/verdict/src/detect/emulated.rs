//! Claims about lab guests: figures that show QEMU's speed, not a disk's or a processor's.

use crate::detected::{Detected, evidence};
use crate::figures::{rate, with_unit};
use crate::limit;
use crate::scene::Scene;
use crate::span::float;
use record::counter::BlockCounters;
use record::emulated::KEPT_WITHIN;
use record::finding::{Claim, Severity};
use record::judged::LimitKind;
use record::topology::BlockKind;

/// A disk with less than this share of a guest's requests doesn't count.
const TAKES_PART: f64 = 0.1;

/// One of the guest's disks within the window.
struct Disk<'a> {
    name: &'a str,
    /// Requests per second.
    iops: f64,
    /// The mean time of a request, in microseconds.
    latency_us: f64,
}

/// A guest's disks are faster than the range in which emulated figures are valid.
pub(super) fn disks(scene: &Scene<'_>) -> Option<Detected> {
    let believed = scene.believed?;
    let disks = of_guest(scene);
    let sum: f64 = disks.iter().map(|disk| disk.iops).sum();
    let fastest = disks.iter().max_by(|a, b| a.iops.total_cmp(&b.iops))?;
    let promptest = disks
        .iter()
        .filter(|disk| disk.iops > 0.0 && disk.iops >= sum * TAKES_PART)
        .min_by(|a, b| a.latency_us.total_cmp(&b.latency_us))?;
    let beyond = [
        (
            fastest.iops / float(believed.disk_iops) / (1.0 + KEPT_WITHIN),
            format!(
                "{} made {} requests per second; only up to {} is credible",
                fastest.name,
                rate(fastest.iops),
                rate(float(believed.disk_iops))
            ),
        ),
        (
            sum / float(believed.guest_iops) / (1.0 + KEPT_WITHIN),
            format!(
                "all disks made {} requests per second; only up to {} is credible",
                rate(sum),
                rate(float(believed.guest_iops))
            ),
        ),
        (
            float(believed.latency_us) / promptest.latency_us.max(1.0),
            format!(
                "a request to {} took {} on average; a latency below {} is not credible",
                promptest.name,
                with_unit(promptest.latency_us, "us"),
                with_unit(float(believed.latency_us), "us")
            ),
        ),
    ];
    let beyond: Vec<_> = beyond.into_iter().filter(|(excess, _)| *excess > 1.0).collect();
    let said: Vec<&str> = beyond.iter().map(|(_, words)| words.as_str()).collect();
    Some(Detected {
        claim: Claim::BeyondEmulation,
        severity: Severity::Caveat,
        strength: beyond.iter().map(|(excess, _)| *excess).max_by(f64::total_cmp)?,
        evidence: evidence([
            ("disk_requests_per_second", Some(fastest.iops)),
            ("guest_requests_per_second", Some(sum)),
            ("disk_latency_us", Some(promptest.latency_us)),
        ]),
        text: format!(
            "Emulated disks of the lab guest: {}. That is QEMU's speed, not a disk's.",
            said.join("; ")
        ),
        remedy: format!(
            "Give every disk a limit (`iops`) that is always in force, within the credible range ({believed}), or measure real disks."
        ),
    })
}

/// The guest's disks as the guest counts them; the host has no counters within the window.
fn of_guest<'a>(scene: &Scene<'a>) -> Vec<Disk<'a>> {
    let facts = scene.facts;
    let seconds = facts.span.seconds();
    let disk = |name: &'a str| {
        let grown = |counter: fn(&BlockCounters) -> u64| facts.span.grown(|s| s.block.get(name).map(counter));
        let requests = grown(|b| b.reads + b.writes)?;
        let waited_ms = grown(|b| b.read_wait_ms + b.write_wait_ms)?;
        Some(Disk { name, iops: requests / seconds, latency_us: waited_ms * 1e3 / requests.max(1.0) })
    };
    let nodes = &facts.trial.topology.nodes;
    let ends = nodes
        .iter()
        .filter(|node| matches!(node.kind, BlockKind::Disk | BlockKind::Loop { guest: true, .. }));
    ends.filter(|_| seconds > 0.0).filter_map(|node| disk(&node.name)).collect()
}

/// A lab guest's processor that QEMU emulates was the limit.
pub(super) fn processor(scene: &Scene<'_>) -> Option<Detected> {
    scene.believed.filter(|_| scene.machine.is_software_emulated() == Some(true))?;
    let limit = limit::of_trial(scene);
    if !matches!(limit.by, LimitKind::Cpu | LimitKind::Generator) {
        return None;
    }
    Some(Detected {
        claim: Claim::BeyondEmulation,
        severity: Severity::Caveat,
        strength: if limit.shown { 1.0 } else { 0.5 },
        evidence: limit.evidence,
        text: format!("QEMU emulates the processor in software, and this processor was the limit. {}", limit.text),
        remedy: "Measure CPU-bound workloads on a processor that is not emulated (KVM, or another machine), or give the disks \
                 limits that the load reaches first.".to_owned(),
    })
}
