//! The limit of a trial: one rule after another is tried, and the first that applies names the limit.
//!
//! The order is that of docs/metrics.md ("What limited it"): an earlier rule explains the figure whatever the later ones find. A load
//! that got its requested rate was not limited; a limit that is met leaves no room for others; the queue depth comes last, for what
//! no other rule explains.

mod asked;
mod depth;
mod figures;
mod held;
pub(crate) mod journal;
mod lock;
mod memory;
mod neighbour;
mod network;
mod outage;
mod processor;
pub(crate) mod quota;
mod throttle;
mod trials;

pub(crate) use depth::resolve;
pub(crate) use trials::over_trials;

use crate::figures::rate as number;
use crate::scene::Scene;
use figures::{Figures, NAMES};
use record::judged::{Limit, LimitKind};
use std::collections::BTreeMap;

/// The rules, in their order.
const WITNESSES: [fn(&Figures<'_>) -> Option<Limit>; 16] = [
    asked::limit,
    journal::limit,
    throttle::limit,
    network::limit,
    memory::limit,
    quota::limit,
    processor::limit,
    neighbour::limit,
    lock::limit,
    throttle::likely,
    depth::limit,
    processor::likely,
    processor::in_turns,
    processor::of_server,
    processor::crowded,
    depth::behind_server,
];

/// The limit of one trial.
pub(crate) fn of_trial(scene: &Scene<'_>) -> Limit {
    let figures = Figures::of(scene);
    let limit = WITNESSES.iter().find_map(|witness| witness(&figures)).unwrap_or_else(|| unknown(&figures));
    outage::doubted(limit, scene.facts)
}

/// The limit if no rule applies, with all figures as evidence.
fn unknown(figures: &Figures<'_>) -> Limit {
    let looked = figures.pick(&NAMES);
    let text = match (figures.depth, figures.queue) {
        (Some(depth), Some(queue)) => format!(
            "Unknown: the devices held {} of {} requested I/Os, and no counter shows what the others waited for.",
            number(queue),
            number(depth)
        ),
        (_, None) => "Unknown: the devices' counters are missing.".to_owned(),
        (None, _) => "Unknown: the requested number of I/Os in flight isn't known.".to_owned(),
    };
    Limit { by: LimitKind::Unknown, shown: false, evidence: BTreeMap::new(), against: looked, text }
}
