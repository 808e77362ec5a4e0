//! Throttle limits: those of emulated volumes, and those that others set.

use super::figures::Figures;
use crate::amplified::Amplified;
use crate::detected::evidence;
use crate::figures::{percent, rate, with_unit};
use crate::usage::throttle::{LIMIT_MET, Near};
use record::judged::{Limit, LimitKind};
use record::volume::LimitName;

/// From this share on, the limit is likely, if the load has all its I/Os in flight and nothing else explains where they wait.
const LIMIT_NEAR: f64 = 0.8;
/// From this many writes per write of the workload on, the text mentions the others.
const AMPLIFIED: f64 = 1.5;

/// The limit, if it is met.
pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let near = figures.near.as_ref().filter(|n| n.share() >= LIMIT_MET)?;
    let text = format!("{}{}", text(near), mostly_others(figures, near));
    Some(told(figures, near, true, &text))
}

/// A text that a limit of writes is met by more than the workload's own writes.
fn mostly_others(figures: &Figures<'_>, near: &Near) -> String {
    let amplified = Amplified::of(figures.facts);
    let each = match near.name {
        LimitName::WriteIops => amplified.and_then(|a| a.ios).map(|n| (n, "write")),
        LimitName::WriteBps => amplified.map(|a| (a.all_bytes(), "byte")),
        _ => None,
    };
    each.filter(|(n, _)| *n >= AMPLIFIED).map_or(String::new(), |(n, unit)| {
        format!(" Only one {unit} in {} is the workload's: see the finding write_amplified.", rate(n))
    })
}

/// The limit, if it is nearly met while the load had all its I/Os in flight, which must wait somewhere.
pub(super) fn likely(figures: &Figures<'_>) -> Option<Limit> {
    const FULL: f64 = 0.8;
    let near = figures.near.as_ref().filter(|n| n.share() >= LIMIT_NEAR)?;
    let full = |share: Option<f64>| share.is_some_and(|s| s >= FULL);
    let waits = full(figures.in_engine()) || full(figures.at_devices());
    let text = format!("{} Nothing else explains what its I/Os waited for.", text(near));
    waits.then(|| told(figures, near, false, &text))
}

fn told(figures: &Figures<'_>, near: &Near, shown: bool, text: &str) -> Limit {
    Limit {
        by: LimitKind::Throttle,
        shown,
        evidence: evidence([
            ("nearest_limit_share", Some(near.share())),
            (if near.unit == "B/s" { "limit_bytes_per_second" } else { "limit_iops" }, Some(near.limit)),
            ("asked_queue_ios", figures.depth),
            ("engine_queue_ios", figures.little),
        ]),
        // Throttled I/Os wait above the devices. If the devices hold them, the devices may be the limit.
        against: figures.pick(&["device_queue_ios", "busiest_thread_cores"]),
        text: text.to_owned(),
    }
}

fn text(near: &Near) -> String {
    let whose = match (near.steady, near.is_declared()) {
        (false, _) => " on average: the limit changed",
        (true, false) if near.by_host => ", which the guest's host sets and the experiment doesn't ask for",
        (true, false) => ", which the experiment doesn't set",
        (true, true) if near.by_host => ", which the guest's host sets",
        (true, true) => "",
    };
    format!(
        "{} reached {} of its limit of {} ({}){whose}.",
        near.device,
        percent(near.share()),
        with_unit(near.limit, near.unit),
        near.name
    )
}
