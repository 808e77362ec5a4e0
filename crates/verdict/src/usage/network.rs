//! The network between a machine and its storage.

use crate::facts::Facts;
use crate::span::float;
use record::counter::NetCounters;
use std::collections::BTreeSet;

/// The busiest direction of the busiest link.
#[derive(Debug, Clone)]
pub(crate) struct BusiestLink {
    pub(crate) name: String,
    pub(crate) bytes_per_second: f64,
    /// The used share of its speed.
    pub(crate) share: f64,
}

/// The busiest link; `None` if the storage isn't served over a network, or if no link reports its speed.
pub(crate) fn busiest(facts: &Facts<'_>) -> Option<BusiestLink> {
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
