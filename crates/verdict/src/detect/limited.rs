//! Claims about a limit above the devices.

use crate::detected::Detected;
use crate::facts::Facts;
use crate::figures::with_unit;
use crate::limit::{self, journal, quota};
use crate::scene::Scene;
use crate::usage::throttle::nearest;
use record::finding::{Claim, Severity};
use record::judged::{Limit, LimitKind};
use record::workload::Options;

/// A limit that diskproof didn't set limited the load.
pub(super) fn undeclared_limit(scene: &Scene<'_>) -> Option<Detected> {
    // A change of the limit is another finding.
    let near = nearest(scene).filter(|n| n.steady && !n.is_declared())?;
    let limit = limit::of_trial(scene);
    if limit.by != LimitKind::Throttle || !limit.shown {
        return None;
    }
    let remedy = match near.declared {
        Some(declared) if near.by_host => format!(
            "The experiment asks its host for {}: look there who lowered it (`virsh blkdeviotune`).",
            with_unit(declared, near.unit)
        ),
        None if near.by_host => {
            "Quote the figure as that of the limit, or raise the limit on the guest's host (`virsh blkdeviotune`)."
                .to_owned()
        }
        Some(declared) => format!(
            "The experiment sets {} for it: look for a lower one in the cgroups above the run's.",
            with_unit(declared, near.unit)
        ),
        None => "Run it outside the cgroup that sets the limit, or quote the figure as that of the limit."
            .to_owned(),
    };
    Some(detected(limit, Claim::UndeclaredLimit, Severity::Caveat, near.share(), remedy))
}

/// A cgroup held the engine back, also if holes or the page cache served the I/O: then the figure is wrong for both reasons.
pub(super) fn cpu_quota(scene: &Scene<'_>) -> Option<Detected> {
    let limit = quota::of_trial(scene)?;
    let strength = limit.evidence.get("quota_throttled_share").copied().unwrap_or(0.0);
    let remedy = match scene.machine.cpus {
        Some(cpus) => {
            format!("Run it outside that cgroup, or raise its quota: this machine has {cpus} CPUs.")
        }
        None => "Run it outside that cgroup, or raise its quota.".to_owned(),
    };
    Some(detected(limit, Claim::CpuQuota, Severity::Caveat, strength, remedy))
}

/// The network was the limit.
pub(super) fn network_bound(scene: &Scene<'_>) -> Option<Detected> {
    let limit = limit::of_trial(scene);
    let share = limit.evidence.get("network_share").copied().filter(|_| limit.by == LimitKind::Network)?;
    let remedy =
        "Measure on the machine that serves the storage to learn how fast it is, or use a faster link.";
    Some(detected(limit, Claim::NetworkBound, Severity::Caveat, share, remedy.to_owned()))
}

/// Durable writes were requested, so the figure is the rate of commits and not of writes.
pub(super) fn journal_bound(scene: &Scene<'_>) -> Option<Detected> {
    let limit = limit::of_trial(scene);
    let options = journal::asked(scene.facts).filter(|_| limit.by == LimitKind::Journal)?;
    let strength = limit.evidence.values().copied().fold(0.0, f64::max);
    Some(detected(limit, Claim::JournalBound, Severity::Note, strength, more_writes(options)))
}

/// What to change, given the present options.
fn more_writes(options: &Options) -> String {
    let mut ways = Vec::new();
    if options.fsync > 0 {
        ways.push(format!("more writes between two syncs than fsync: {}", options.fsync));
        ways.push("fdatasync, which need not commit timestamps".to_owned());
    } else if options.fdatasync > 0 {
        ways.push(format!("more writes between two syncs than fdatasync: {}", options.fdatasync));
    }
    if options.numjobs == 1 {
        ways.push("more jobs than numjobs: 1, which share commits".to_owned());
    }
    ways.push(
        "a device with a write cache that survives power loss, or a journal on a separate device".to_owned(),
    );
    format!("If your question is about durable writes, this is the figure. To raise it: {}.", ways.join("; "))
}

/// A lock above the device let I/Os through one by one only.
pub(super) fn serialized(scene: &Scene<'_>) -> Option<Detected> {
    let limit = limit::of_trial(scene);
    let shown = limit.by == LimitKind::Lock && limit.shown;
    let depth = limit.evidence.get("asked_queue_ios").copied().filter(|_| shown)?;
    let remedy = less_locking(scene.facts);
    Some(detected(limit, Claim::Serialized, Severity::Caveat, depth, remedy))
}

/// What to change, given the present options.
fn less_locking(facts: &Facts<'_>) -> String {
    let Some(options) = facts.options() else {
        return "Give each job a file of its own.".to_owned();
    };
    let empty = facts.before.is_some_and(|f| f.empty_share() > 0.0);
    if options.rw.writes() && empty {
        return "Lay the data out before the trial (layout: written): writes into space that isn't allocated yet take the file's lock."
            .to_owned();
    }
    if !options.direct {
        return "Use direct: 1, or several files: buffered I/O to one file takes its lock.".to_owned();
    }
    match (options.numjobs, options.filename.is_some()) {
        (_, true) => "Give each job a file of its own (without filename).".to_owned(),
        (1, false) => "Spread the load over several files: more jobs than numjobs: 1, or nrfiles.".to_owned(),
        _ => "Try another file system: each job has a file of its own already.".to_owned(),
    }
}

/// A finding with the text and the evidence of a limit.
fn detected(limit: Limit, claim: Claim, severity: Severity, strength: f64, remedy: String) -> Detected {
    Detected { claim, severity, strength, evidence: limit.evidence, text: limit.text, remedy }
}
