//! The network between a machine and its storage, as the limit.

use super::detected;
use super::figures::Figures;
use crate::detect::{Detected, Scene, evidence};
use crate::facts::Facts;
use crate::figures::{percent, with_unit};
use crate::span::float;
use record::counter::NetCounters;
use record::finding::{Claim, Severity};
use record::judged::{Limit, LimitKind};
use std::collections::BTreeSet;

/// A link is full from this share of its speed on. Preambles and gaps between frames, which no interface counts, take 1 to 3 % with
/// frames of 1500 bytes; the rest allows for retransmissions.
const FULL: f64 = 0.9;
/// If less than this share of the link's bytes is the trial's own I/O, the link was full of other traffic.
const OURS: f64 = 0.5;

/// The busiest direction of the busiest link.
#[derive(Debug, Clone)]
pub(super) struct BusiestLink {
    name: String,
    bytes_per_second: f64,
    /// The used share of its speed.
    pub(super) share: f64,
}

/// The busiest link; `None` if the storage isn't served over a network, or if no link reports its speed.
pub(super) fn busiest(facts: &Facts<'_>) -> Option<BusiestLink> {
    let samples = || facts.span.within();
    let names: BTreeSet<&String> = samples().flat_map(|s| s.network.keys()).collect();
    let line = |name: &&String| {
        let speed = samples().find_map(|s| s.network.get(*name)?.speed_mbps).filter(|s| *s > 0)?;
        let grown = |of: fn(&NetCounters) -> u64| facts.span.grown(|s| s.network.get(*name).map(of));
        let bytes = grown(|n| n.received_bytes)?.max(grown(|n| n.sent_bytes)?);
        let bytes_per_second = bytes / facts.span.seconds();
        let share = bytes_per_second * 8.0 / (float(speed) * 1e6);
        share.is_finite().then(|| BusiestLink { name: (*name).clone(), bytes_per_second, share })
    };
    names.iter().filter_map(line).max_by(|a, b| a.share.total_cmp(&b.share))
}

pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let line = busiest(figures.facts).filter(|line| line.share >= FULL)?;
    let asked = (figures.facts.read.asked + figures.facts.write.asked) / figures.facts.span.seconds();
    let ours = asked / line.bytes_per_second;
    (ours >= OURS).then(|| Limit {
        by: LimitKind::Network,
        shown: true,
        evidence: evidence([
            ("network_share", Some(line.share)),
            ("network_bytes_per_second", Some(line.bytes_per_second)),
            ("asked_of_network_bytes_share", Some(ours)),
        ]),
        against: figures.pick(&["nearest_limit_share", "busiest_thread_cores"]),
        text: format!(
            "The network was the limit: {} moved {}, {} of its speed.",
            line.name,
            with_unit(line.bytes_per_second, "B/s"),
            percent(line.share)
        ),
    })
}

pub(crate) fn finding(scene: &Scene<'_>) -> Option<Detected> {
    let limit = super::of_trial(scene);
    let share = limit.evidence.get("network_share").copied().filter(|_| limit.by == LimitKind::Network)?;
    let remedy =
        "Measure on the machine that serves the storage to learn how fast it is, or use a faster link.";
    Some(detected(limit, Claim::NetworkBound, Severity::Caveat, share, remedy.to_owned()))
}
