//! A cgroup's CPU quota as the limit.

use super::figures::Figures;
use super::{detected, queue, rate, throttle};
use crate::detect::{Detected, Scene, evidence};
use crate::facts::Facts;
use crate::figures::{percent, rate as number};
use record::counter::Sample;
use record::finding::{Claim, Severity};
use record::judged::{Limit, LimitKind};

/// The least throttled share of the time. At a tenth, the engine might make a ninth more without the quota.
const MATTERS: f64 = 0.1;
/// If the devices hold this share of all I/Os that may be in flight, the engine has nothing to do.
const QUEUE_FULL: f64 = 0.8;

/// The effect of a quota in the measured time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quota {
    cpus: f64,
    /// The throttled time of tasks, relative to the measured time; a sum over CPUs, so it may exceed 1.
    pub(super) throttled: f64,
    /// The share of the periods in which the quota was used up.
    periods: Option<f64>,
}

pub(super) fn of(facts: &Facts<'_>) -> Option<Quota> {
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

pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let quota = figures.quota.filter(|q| q.throttled >= MATTERS)?;
    if queue::asked_queue(figures.facts).is_some()
        && figures.at_devices().is_some_and(|share| share >= QUEUE_FULL)
    {
        return None;
    }
    let often = quota.periods.map_or(String::new(), |p| format!(", in {} of its periods", percent(p)));
    Some(Limit {
        by: LimitKind::CpuQuota,
        shown: true,
        evidence: evidence([
            ("quota_cpus", Some(quota.cpus)),
            ("quota_throttled_share", Some(quota.throttled)),
            ("quota_used_up_periods_share", quota.periods),
        ]),
        against: figures.pick(&["nearest_limit_share", "device_queue_ios", "asked_queue_ios"]),
        text: format!(
            "A cgroup grants the engine {} CPUs and held it back for {} s in each second{often}.",
            number(quota.cpus),
            number(quota.throttled)
        ),
    })
}

/// A finding, also if holes or the page cache served the I/O: then the figure is wrong for both reasons.
pub(crate) fn finding(scene: &Scene<'_>) -> Option<Detected> {
    let figures = Figures::of(scene);
    let met = figures.near.as_ref().is_some_and(|n| n.share() >= throttle::LIMIT_MET);
    if met || rate::is_made(scene.facts) {
        return None;
    }
    let limit = limit(&figures)?;
    let strength = figures.quota.map_or(0.0, |q| q.throttled);
    let remedy = match scene.machine.cpus {
        Some(cpus) => {
            format!("Run it outside that cgroup, or raise its quota: this machine has {cpus} CPUs.")
        }
        None => "Run it outside that cgroup, or raise its quota.".to_owned(),
    };
    Some(detected(limit, Claim::CpuQuota, Severity::Caveat, strength, remedy))
}
