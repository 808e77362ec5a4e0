//! A lock above the device as the limit: I/Os come one by one, whatever the requested depth.

use super::figures::Figures;
use crate::figures::rate as number;
use crate::usage::{queue, throttle};
use record::judged::{Limit, LimitKind};

/// The most I/Os that the devices hold on average if I/Os come one by one; a fifth is for metadata.
const ONE: f64 = 1.2;
/// If the devices hold fewer I/Os than this, the I/Os don't wait for the devices.
const HARDLY: f64 = 0.1;
/// From this share of all I/Os on, the load had them all in flight.
const FULL: f64 = 0.8;
/// The share of the samples that may show more than two I/Os on the devices (at a depth of two or three, more than one), since a journal
/// writes now and then. Rounded up, since one of twenty samples doesn't show how often.
const RARELY: f64 = 0.05;
/// From this share of a limit on, I/Os may wait for the kernel's throttle, above the devices like those that wait for a lock. If all of
/// them wait for one of several devices at a time, each device reaches only its part of this.
const LIMITED: f64 = 0.5;
/// A thread that runs for this share of the time may itself be the reason why I/Os come one by one.
const COMPUTING: f64 = 0.5;

pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let facts = figures.facts;
    // With devices on another machine, I/Os may be on their way, where there is no counter.
    (!facts.cell.is_mounted_elsewhere()).then_some(())?;
    let depth = figures.depth.filter(|d| *d >= 2.0)?;
    let held = figures.queue.filter(|q| (HARDLY..=ONE).contains(q))?;
    let at_most = if depth < 4.0 { 1 } else { 2 };
    let one_by_one =
        queue::seen_above(facts, at_most).is_some_and(|(above, looks)| above <= (RARELY * looks).ceil());
    let waits = figures.in_engine().is_none_or(|share| share >= FULL);
    let idle = figures.thread.is_some_and(|t| t < COMPUTING);
    let devices = facts.trial.topology.direct().fold(0.0, |n: f64, _| n + 1.0);
    let may_be_throttled = figures.near.as_ref().is_some_and(|near| near.share() * devices >= LIMITED);
    if !one_by_one || !waits || !idle || may_be_throttled {
        return None;
    }
    // An unknown limit would also make I/Os wait above the device.
    let shown = throttle::is_known(facts);
    Some(Limit {
        by: LimitKind::Lock,
        shown,
        evidence: figures.pick(&["asked_queue_ios", "device_queue_ios", "busiest_device_busy_share"]),
        against: figures.pick(&["nearest_limit_share", "busiest_thread_cores", "machine_busy_share"]),
        text: format!(
            "The load asked for {} I/Os in flight, but the devices held {}: the I/Os went one after another{}.",
            number(depth),
            number(held),
            facts.fs().map_or(String::new(), |fs| format!(" through {fs}"))
        ),
    })
}
