//! Whether a cache explains a trend over the rounds.

use super::rounds::{CellRounds, Round};
use crate::figures::percent;
use record::workload::CacheStart;

/// The least growth of a cache's share between the first and the last round. A smaller one is within the error of shares.
const GROWTH: f64 = 0.10;

/// A cache whose share grew.
pub(super) struct Warming {
    pub(super) counter: &'static str,
    pub(super) first: f64,
    pub(super) last: f64,
    what: &'static str,
}

/// The cache whose share grew most, if any did.
pub(super) fn warming(rounds: &[Round]) -> Option<Warming> {
    let grew = |counter, what, share: fn(&Round) -> Option<f64>| {
        let (first, last) = (share(rounds.first()?)?, share(rounds.last()?)?);
        (last - first >= GROWTH).then_some(Warming { counter, first, last, what })
    };
    let page_cache = grew("page_cache_share", "the page cache's share of the bytes", |r| r.page_cache);
    let host_cache =
        grew("backing_cached_share", "the share of the backing files in the host's page cache", |r| {
            r.backing
        });
    let arc =
        grew("other_cache_share", "the share of the bytes that ZFS's cache in memory (ARC) served", |r| {
            r.other_cache
        });
    let device =
        grew("cache_device_share", "the share of the reads that were in the LVM cache", |r| r.cache_device);
    let growth = |w: &Warming| w.last - w.first;
    [page_cache, host_cache, arc, device].into_iter().flatten().max_by(|a, b| growth(a).total_cmp(&growth(b)))
}

impl Warming {
    pub(super) fn text(&self) -> String {
        format!(
            " A cache is warming: {} grew from {} to {}.",
            self.what,
            percent(self.first),
            percent(self.last)
        )
    }
}

/// The remedy for rounds with a trend.
pub(super) fn remedy(cell: &CellRounds, warming: Option<&Warming>) -> String {
    let start = match (warming, cell.cache) {
        (Some(w), CacheStart::Keep) if w.counter == "page_cache_share" => {
            "cache: keep is set; with cache: cold every trial begins with a cold cache, with cache: warm with all of the data cached."
        }
        (Some(w), CacheStart::Keep | CacheStart::Warm) if w.counter == "backing_cached_share" => {
            "Give the volume a backing that isn't cached (loop devices with direct I/O)."
        }
        (Some(w), CacheStart::Keep) if w.counter == "other_cache_share" => {
            "cache: keep is set; cache: cold begins every trial with an empty ARC."
        }
        (Some(w), _) if w.counter == "cache_device_share" => {
            "The stack stays up (rebuild: run), so its cache warms; rebuild: trial begins every trial with an empty one."
        }
        _ => {
            "Find what one round changes for the next: a cache that fills, space that is used up, credits that are spent."
        }
    };
    format!("{start} The state that lasts is in the last rounds: quote these, and measure more of them.")
}
