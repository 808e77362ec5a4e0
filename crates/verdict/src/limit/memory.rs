//! Memory served the bytes, so no device was the limit.

use super::figures::Figures;
use crate::below::Below;
use crate::detected::evidence;
use crate::figures::percent;
use record::judged::{Limit, LimitKind};

/// From this share of the bytes on, memory served most of them.
const MOST: f64 = 0.5;
/// If the devices had an I/O in flight for less than this share of the time, most of the time wasn't spent on them.
const RARELY_BUSY: f64 = 0.5;
/// The share that counts as all bytes, if the busy time of the devices isn't known.
const ALL: f64 = 0.98;

pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let shares = figures.scene.shares.both;
    let memory = shares.hole + shares.page_cache + shares.other_cache;
    let behind = figures.facts.trial.topology.memory();
    // A loop device is also busy with holes; then the devices below it count.
    let below = Below::of(figures.facts, true).filter(|_| figures.scene.shares.below_read >= MOST);
    let idle = match below.map_or(figures.busy, |b| b.busy) {
        Some(busy) => busy < RARELY_BUSY,
        None => memory >= ALL,
    };
    let text = match behind {
        Some(why) => format!("Memory served the I/O: {why}."),
        None if memory >= MOST && idle => {
            format!("Memory served the I/O: {} of the bytes never reached a device.", percent(memory))
        }
        None => return None,
    };
    Some(Limit {
        by: LimitKind::Memory,
        shown: true,
        evidence: evidence([
            ("hole_share", Some(shares.hole)),
            ("page_cache_share", Some(shares.page_cache)),
            ("other_cache_share", Some(shares.other_cache)),
        ]),
        against: figures.pick(&["device_share", "busiest_device_busy_share"]),
        text,
    })
}
