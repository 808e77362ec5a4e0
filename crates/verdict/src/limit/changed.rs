//! Limits that changed while it was measured, or before.

use super::throttle::key;
use crate::detect::{Detected, Scene, evidence};
use crate::figures::rate;
use crate::span::float;
use record::finding::{Claim, Severity};
use record::volume::{Limits, VolumeFacts, VolumeKind};

/// The first change of a limit on a device under the ground, within the measured time.
pub(crate) fn changed(scene: &Scene<'_>) -> Option<Detected> {
    within(scene).or_else(|| by_the_host(scene))
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
    let remedy = if volume_on(scene, &node.name).is_some() {
        "diskproof sets the limits of its volumes once: find out who writes to their cgroup, and run it again."
    } else {
        "Find out who sets this limit; measure while it stays, or longer than it takes to change."
    };
    let when = format!("{} s after measuring began", rate(at));
    Some(detected([&node.name, &when, MEAN], Some(at), [&before, &after], remedy))
}

/// Limits of a guest's disks are its host's: what they were when the trial began and ended, and what the experiment says.
fn by_the_host(scene: &Scene<'_>) -> Option<Detected> {
    let [begin, end] = &scene.facts.trial.evidence.host[..] else { return None };
    let (begin, end) = (begin.throttles.as_ref()?, end.throttles.as_ref()?);
    begin.iter().find_map(|(name, at_begin)| {
        let at_end = end.get(name)?;
        if at_begin != at_end {
            let remedy = "Their mean is of no disk; measure while the limit stays, or look at the course of the trial.";
            return Some(detected([name, "while it was measured", MEAN], None, [at_begin, at_end], remedy));
        }
        let volume = volume_on(scene, name)?;
        let own = scene.facts.cell.stack.all_volumes().find(|own| own.name == volume.name)?;
        let VolumeKind::Guest { limits, .. } = &own.kind else { return None };
        let remedy = "Models and expectations are of the limits in the experiment file: run it again while these hold.";
        (limits != at_begin).then(|| detected([name, "before it was measured", "The figure is of these, not of the experiment's."], None, [limits, at_begin], remedy))
    })
}

fn volume_on<'s>(scene: &Scene<'s>, device: &str) -> Option<&'s VolumeFacts> {
    scene.volumes.iter().copied().find(|volume| {
        volume.device.as_ref().and_then(|path| path.file_name()).is_some_and(|name| name == device)
    })
}

const MEAN: &str = "The figure is a mean of both.";

/// `what`: the device, when its limits changed, and what that makes of the figure.
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

fn pairs(before: &Limits, after: &Limits) -> [(&'static str, Option<u64>, Option<u64>); 6] {
    [
        ("read_iops", before.read_iops, after.read_iops),
        ("write_iops", before.write_iops, after.write_iops),
        ("read_bps", before.read_bps, after.read_bps),
        ("write_bps", before.write_bps, after.write_bps),
        ("total_iops", before.total_iops, after.total_iops),
        ("total_bps", before.total_bps, after.total_bps),
    ]
}

fn differences(before: &Limits, after: &Limits) -> String {
    let shown = |limit: Option<u64>| limit.map_or_else(|| "none".to_owned(), |l| rate(float(l)));
    let differ = pairs(before, after).into_iter().filter(|(_, a, b)| a != b);
    let words: Vec<String> =
        differ.map(|(name, a, b)| format!("{name} from {} to {}", shown(a), shown(b))).collect();
    words.join(", ")
}

fn counters(at: Option<f64>, before: &Limits, after: &Limits) -> std::collections::BTreeMap<String, f64> {
    let mut all = evidence([("changed_after_seconds", at)]);
    for (name, a, b) in pairs(before, after).into_iter().filter(|(_, a, b)| a != b) {
        all.extend(a.map(|limit| (format!("{name}_before"), float(limit))));
        all.extend(b.map(|limit| (format!("{name}_after"), float(limit))));
    }
    all
}
