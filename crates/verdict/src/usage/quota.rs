//! The CPU time that a cgroup grants the engine.

use crate::facts::Facts;
use record::counter::Sample;

/// The effect of a quota in the measured time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quota {
    /// The CPUs that it grants.
    pub(crate) cpus: f64,
    /// The throttled time of tasks, relative to the measured time; a sum over CPUs, so it may exceed 1.
    pub(crate) throttled: f64,
    /// The share of the periods in which the quota was used up.
    pub(crate) periods: Option<f64>,
}

/// The quota's effect; `None` without a quota.
pub(crate) fn of(facts: &Facts<'_>) -> Option<Quota> {
    let grown = |of: fn(&Sample) -> Option<u64>| facts.span.grown(of);
    let throttled_ns = grown(|s| Some(s.cpu_quota?.throttled_ns))?;
    let periods = grown(|s| Some(s.cpu_quota?.periods)).filter(|n| *n > 0.0);
    let used_up = grown(|s| Some(s.cpu_quota?.throttled_periods));
    let cpus = facts.span.within().find_map(|s| Some(s.cpu_quota?.cpus))?;
    let throttled = throttled_ns / 1e9 / facts.span.seconds();
    throttled.is_finite().then(|| Quota {
        cpus,
        throttled,
        periods: used_up.zip(periods).map(|(a, b)| a / b),
    })
}
