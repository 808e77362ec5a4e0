//! The load generator's own CPU time, and what rules it out as the limit.

use super::queue::{asked_queue, device_queue};
use super::rate::is_made;
use super::throttle::{LIMIT_MET, nearest};
use crate::facts::Facts;
use crate::scene::Scene;
use crate::span::float;
use record::workload::Options;

/// If the devices hold this share of all I/Os that may be in flight, the generator waits for them.
const QUEUE_FULL: f64 = 0.8;

/// The share of the measured time that the generator's busiest thread ran, as the engine counted it, else as it was sampled; that of
/// the whole engine if it is one job and threads weren't counted.
pub(crate) fn busiest_thread(facts: &Facts<'_>) -> Option<f64> {
    let window = facts.engine.window.seconds();
    let told = facts.engine.generator.and_then(|cost| cost.busiest_thread_seconds);
    if let Some(seconds) = told
        && window > 0.0
    {
        return Some((seconds / window).clamp(0.0, 1.0));
    }
    let ticks = facts.span.grown(|s| s.engine?.busiest_thread_ticks);
    let per_second = float(facts.trial.evidence.ticks_per_second);
    let seconds = facts.span.seconds();
    if let Some(ticks) = ticks
        && per_second > 0.0
        && seconds > 0.0
    {
        return Some((ticks / per_second / seconds).min(1.0));
    }
    let one_job = facts.options().is_some_and(|o| o.numjobs == 1);
    let (user, system) = (facts.engine.cpu_user_share?, facts.engine.cpu_system_share?);
    one_job.then_some((user + system).min(1.0))
}

/// Whether something rules the generator out, however busy the CPU was: it polls and uses all CPU by design, it made the requested
/// rate, a volume was at its limit, or the devices held all I/Os that may be in flight.
pub(crate) fn is_acquitted(scene: &Scene<'_>) -> bool {
    let facts = scene.facts;
    polls(facts)
        || is_made(facts)
        || limit_share(scene).is_some_and(|share| share >= LIMIT_MET)
        || queue_share(facts).is_some_and(|share| share >= QUEUE_FULL)
}

fn polls(facts: &Facts<'_>) -> bool {
    let set = |o: &Options, name: &str| o.other.get(name).is_some_and(|value| value != "0");
    let polls = |o: &&Options| ["hipri", "sqthread_poll"].iter().any(|name| set(o, name));
    facts.all_options().iter().any(|o| polls(o) || o.thinktime_spin_us > 0)
}

/// The load as a share of the nearest limit of a device; `None` if there are no limits.
pub(crate) fn limit_share(scene: &Scene<'_>) -> Option<f64> {
    nearest(scene).map(|near| near.share())
}

fn queue_share(facts: &Facts<'_>) -> Option<f64> {
    let asked = asked_queue(facts).filter(|depth| *depth > 0.0)?;
    Some(device_queue(facts)? / asked)
}
