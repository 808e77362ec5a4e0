//! A cgroup's CPU quota as the limit.

use super::figures::Figures;
use crate::detected::evidence;
use crate::figures::{percent, rate as number};
use crate::scene::Scene;
use crate::usage::throttle::LIMIT_MET;
use crate::usage::{queue, rate};
use record::judged::{Limit, LimitKind};

/// The least throttled share of the time. At a tenth, the engine might make a ninth more without the quota.
const MATTERS: f64 = 0.1;
/// If the devices hold this share of all I/Os that may be in flight, the engine has nothing to do.
const QUEUE_FULL: f64 = 0.8;

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

/// The quota as the limit of a trial, also where another rule comes first. `None` if the load got what it asked for, or met a limit of a
/// device.
pub(crate) fn of_trial(scene: &Scene<'_>) -> Option<Limit> {
    let figures = Figures::of(scene);
    let met = figures.near.as_ref().is_some_and(|n| n.share() >= LIMIT_MET);
    if met || rate::is_made(scene.facts) {
        return None;
    }
    limit(&figures)
}
