//! A claim about limits that changed during the measured time, or before.

use crate::detected::{Detected, evidence};
use crate::figures::rate;
use crate::scene::Scene;
use crate::span::{float, number};
use crate::usage::throttle::key;
use record::counter::HostChange;
use record::finding::{Claim, Severity};
use record::volume::{LimitChange, LimitName, Limits, VolumeFacts, VolumeKind};
use std::fmt::Write as _;
use std::time::Duration;

/// The first change of a limit on a device under the ground within the measured time; else the changes that the experiment defines.
pub(super) fn throttle_changed(scene: &Scene<'_>) -> Option<Detected> {
    within(scene).or_else(|| by_the_host(scene)).or_else(|| as_asked(scene))
}

fn within(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let looks: Vec<_> =
        facts.span.within().filter_map(|s| Some((s.monotonic_ns, s.throttles.as_ref()?))).collect();
    let (node, at_ns, before, after) =
        facts.trial.topology.nodes.iter().filter(|node| !node.is_elsewhere()).find_map(|node| {
            let key = key(node);
            let of =
                |index: usize| looks.get(index).map(|(_, all)| all.get(&key).copied().unwrap_or_default());
            let index = (1..looks.len()).find(|i| of(*i) != of(i - 1))?;
            Some((node, looks.get(index)?.0, of(index - 1)?, of(index)?))
        })?;
    let at = float(at_ns.saturating_sub(facts.engine.window.start_ns)) / 1e9;
    let remedy = if scene.volumes.iter().any(|volume| is_device(volume, &node.name)) {
        "diskproof sets the limits of its volumes once: find out who writes to their cgroup, and run it again."
    } else {
        "Find out what sets this limit. Measure while it is constant, or for much longer than its changes take."
    };
    let when = format!("{} s after measuring began", rate(at));
    Some(detected([&node.name, &when, MEAN], Some(at), [&before, &after], remedy))
}

/// Changes by the host of a guest's disks: the limits at the begin or at the end of the trial aren't those that diskproof set.
fn by_the_host(scene: &Scene<'_>) -> Option<Detected> {
    let [begin, end] = &scene.facts.trial.evidence.host[..] else { return None };
    let (begin, end) = (begin.throttles.as_ref()?, end.throttles.as_ref()?);
    begin.iter().find_map(|(name, at_begin)| {
        let made = made(scene, name);
        let (last, at_end) = (made.last().map_or(at_begin, |change| &change.limits), end.get(name)?);
        if last != at_end {
            let remedy =
                "No real disk has the mean of these limits. Measure while the limit is constant, or look at the rate over the trial.";
            return Some(detected([name, "while it was measured", MEAN], None, [last, at_end], remedy));
        }
        let volume = scene.volumes.iter().find(|volume| is_device(volume, name))?;
        let by_host = volume.host_limits.as_ref().map(|of| &of.limits);
        let limits = of_a_guest(scene, volume).map(|(limits, _)| limits).or(by_host)?;
        (limits != at_begin).then(|| {
            let when = "before it was measured";
            let (so, remedy) = match by_host {
                None => ("The figure holds for these limits, not for those of the experiment.",
                    "Models and expectations use the limits in the experiment file: run it again while those are in force."),
                Some(_) => ("The figure holds for these limits, not for those at the beginning of the run.",
                    "Find out who changes them on the guest's host (`virsh blkdeviotune`), and run it again."),
            };
            detected([name, when, so], None, [limits, at_begin], remedy)
        })
    })
}

fn made<'s>(scene: &Scene<'s>, device: &str) -> Vec<&'s HostChange> {
    let name = local(device);
    scene.facts.trial.evidence.host_changes.iter().filter(|change| local(&change.device) == name).collect()
}

/// The limits, and their changes, that the experiment defines for a volume on a guest's disk.
fn of_a_guest<'s>(scene: &Scene<'s>, volume: &VolumeFacts) -> Option<(&'s Limits, &'s [LimitChange])> {
    let own = scene.facts.cell.stack.all_volumes().find(|own| own.name == volume.name)?;
    let VolumeKind::Guest { limits, changes, .. } = &own.kind else { return None };
    Some((limits, changes))
}

/// The changes that the experiment defines, of all disks: a note, unless the load ended before all changes of a disk.
fn as_asked(scene: &Scene<'_>) -> Option<Detected> {
    let mut all = scene.volumes.iter().filter_map(|volume| {
        let (device, (limits, changes)) = (node_name(volume)?, of_a_guest(scene, volume)?);
        asked(device, limits, changes, &made(scene, device))
    });
    let mut first = all.next()?;
    for other in all {
        first.severity = first.severity.max(other.severity);
        first.text = format!("{} {}", first.text, other.text);
    }
    Some(first)
}

fn asked(device: &str, limits: &Limits, changes: &[LimitChange], made: &[&HostChange]) -> Option<Detected> {
    changes.first()?;
    let befores = std::iter::once(limits).chain(made.iter().map(|change| &change.limits));
    let words: Vec<String> = befores
        .zip(made)
        .map(|(before, change)| {
            let seconds = rate(Duration::from_millis(change.after_ms).as_secs_f64());
            format!("{seconds} s after the load began {}", differences(before, &change.limits))
        })
        .collect();
    let all = made.len() == changes.len();
    let mut text = if made.is_empty() {
        format!("The limits of {device} were to change as the experiment asks.")
    } else {
        format!(
            "The limits of {device} changed as the experiment asks: {}. The figure is a mean over all of them.",
            words.join("; ")
        )
    };
    if !all {
        let _ = write!(
            text,
            " The load ended before {} of {} changes.",
            changes.len() - made.len(),
            changes.len()
        );
    }
    let at = made.first().map(|first| Duration::from_millis(first.after_ms).as_secs_f64());
    let to = made.last().map_or(limits, |last| &last.limits);
    let mut counted = counters(at, limits, to);
    counted.extend(evidence([
        ("changes_asked", Some(number(changes.len()).into())),
        ("changes_made", Some(number(made.len()).into())),
    ]));
    Some(Detected {
        claim: Claim::ThrottleChanged,
        severity: if all { Severity::Note } else { Severity::Caveat },
        strength: 1.0,
        evidence: counted,
        text,
        remedy: "Look at the rate over the trial. For the figure of one state, measure that state alone."
            .to_owned(),
    })
}

/// The kernel's name for a volume's device.
fn node_name(volume: &VolumeFacts) -> Option<&str> {
    volume.device.as_ref()?.file_name()?.to_str()
}

fn is_device(volume: &VolumeFacts, device: &str) -> bool {
    node_name(volume) == Some(local(device))
}

/// A device's name on its own machine; a client's record names a server's device `server:vdb`. Of a cell's devices, only those of one
/// machine are in a guest with such disks.
fn local(device: &str) -> &str {
    device.rsplit(':').next().unwrap_or(device)
}

const MEAN: &str = "The figure is a mean over both.";

/// A detection. `what`: the device, the time of the change, and the consequence for the figure.
fn detected(what: [&str; 3], at: Option<f64>, limits: [&Limits; 2], remedy: &str) -> Detected {
    let ([device, when, so], [before, after]) = (what, limits);
    Detected {
        claim: Claim::ThrottleChanged,
        severity: Severity::Caveat,
        strength: 1.0,
        evidence: counters(at, before, after),
        text: format!("The limits of {device} changed {when}: {}. {so}", differences(before, after)),
        remedy: remedy.to_owned(),
    }
}

/// The limits that differ: the name, the limit before and the limit after.
fn differing(before: &Limits, after: &Limits) -> impl Iterator<Item = (LimitName, Option<u64>, Option<u64>)> {
    let all = LimitName::ALL.map(|name| (name, name.of(before), name.of(after)));
    all.into_iter().filter(|(_, a, b)| a != b)
}

fn differences(before: &Limits, after: &Limits) -> String {
    let shown = |limit: Option<u64>| limit.map_or_else(|| "none".to_owned(), |l| rate(float(l)));
    let words: Vec<String> = differing(before, after)
        .map(|(name, a, b)| format!("{name} from {} to {}", shown(a), shown(b)))
        .collect();
    words.join(", ")
}

fn counters(at: Option<f64>, before: &Limits, after: &Limits) -> std::collections::BTreeMap<String, f64> {
    let mut all = evidence([("changed_after_seconds", at)]);
    for (name, a, b) in differing(before, after) {
        all.extend(a.map(|limit| (format!("{name}_before"), float(limit))));
        all.extend(b.map(|limit| (format!("{name}_after"), float(limit))));
    }
    all
}
