//! Limits that changed while it was measured.

use super::throttle::key;
use crate::detect::{Detected, Scene, evidence};
use crate::figures::rate;
use crate::span::float;
use record::finding::{Claim, Severity};
use record::volume::Limits;

/// The first change of a limit on a device under the ground, within the measured time.
pub(crate) fn changed(scene: &Scene<'_>) -> Option<Detected> {
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
    let ours = scene.volumes.iter().any(|v| {
        v.device.as_ref().and_then(|d| d.file_name()).is_some_and(|name| name == node.name.as_str())
    });
    let remedy = if ours {
        "diskproof sets the limits of its volumes once: find out who writes to their cgroup, and run it again."
    } else {
        "Find out who sets this limit; measure while it stays, or longer than it takes to change."
    };
    Some(Detected {
        claim: Claim::ThrottleChanged,
        severity: Severity::Caveat,
        strength: 1.0,
        evidence: counters(at, &before, &after),
        text: format!(
            "The limits of {} changed {} s after measuring began: {}. The figure is a mean of both.",
            node.name,
            rate(at),
            differences(&before, &after)
        ),
        remedy: remedy.to_owned(),
    })
}

fn pairs(before: &Limits, after: &Limits) -> [(&'static str, Option<u64>, Option<u64>); 4] {
    [
        ("read_iops", before.read_iops, after.read_iops),
        ("write_iops", before.write_iops, after.write_iops),
        ("read_bps", before.read_bps, after.read_bps),
        ("write_bps", before.write_bps, after.write_bps),
    ]
}

fn differences(before: &Limits, after: &Limits) -> String {
    let shown = |limit: Option<u64>| limit.map_or_else(|| "none".to_owned(), |l| rate(float(l)));
    let differ = pairs(before, after).into_iter().filter(|(_, a, b)| a != b);
    let words: Vec<String> =
        differ.map(|(name, a, b)| format!("{name} from {} to {}", shown(a), shown(b))).collect();
    words.join(", ")
}

fn counters(at: f64, before: &Limits, after: &Limits) -> std::collections::BTreeMap<String, f64> {
    let mut all = evidence([("changed_after_seconds", Some(at))]);
    for (name, a, b) in pairs(before, after).into_iter().filter(|(_, a, b)| a != b) {
        all.extend(a.map(|limit| (format!("{name}_before"), float(limit))));
        all.extend(b.map(|limit| (format!("{name}_after"), float(limit))));
    }
    all
}
