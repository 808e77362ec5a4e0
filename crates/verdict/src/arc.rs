//! The share of ZFS's cache in memory (ARC), by its own counters.
//!
//! The counters are in blocks, for all pools of the machine together, and count a block that is read page by page many times.
//! Only the number of blocks that were read from the devices is exact. The blocks that the load requested, less these, were in the cache.
//! Reads of another pool can only make that difference smaller. docs/metrics.md, "ARC".

use crate::facts::Facts;
use record::stack::Layer;
use record::zfs::ArcCounters;

/// ZFS's default record size.
const RECORD_BYTES: f64 = 131_072.0;

/// The ARC's counters within the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arc {
    /// Blocks that the load's reads touch.
    pub(crate) asked: f64,
    /// How often a reader waited for a block of data.
    pub(crate) demanded: f64,
    /// How many of these blocks were in the cache.
    pub(crate) found: f64,
    /// Blocks of data read from the devices, with read-ahead.
    pub(crate) fetched: f64,
    pub(crate) mru_hits: Option<f64>,
    pub(crate) mfu_hits: Option<f64>,
    pub(crate) mru_ghost_hits: Option<f64>,
    pub(crate) mfu_ghost_hits: Option<f64>,
    pub(crate) l2_hits: Option<f64>,
    /// Its size at the window's end, in bytes; `most` is the most that it may hold.
    pub(crate) size: Option<f64>,
    pub(crate) most: Option<f64>,
}

impl Arc {
    /// `None` if there are no counters.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        let grown = |counter: fn(&ArcCounters) -> Option<u64>| facts.span.grown(|s| counter(s.arc.as_ref()?));
        let found = grown(|a| a.demand_data_hits)?;
        let demanded = found + grown(|a| a.demand_data_misses)?;
        let fetched = grown(|a| a.demand_data_misses)? + grown(|a| a.prefetch_data_misses)?;
        Some(Self {
            asked: asked_blocks(facts),
            demanded,
            found,
            fetched,
            mru_hits: grown(|a| a.mru_hits),
            mfu_hits: grown(|a| a.mfu_hits),
            mru_ghost_hits: grown(|a| a.mru_ghost_hits),
            mfu_ghost_hits: grown(|a| a.mfu_ghost_hits),
            l2_hits: grown(|a| a.l2_hits),
            size: facts.span.at_end(|s| s.arc?.size_bytes),
            most: facts.span.at_end(|s| s.arc?.max_bytes),
        })
    }

    /// The share of the requested blocks that were in the cache; `None` if the cache got no request.
    pub(crate) fn share(&self) -> Option<f64> {
        (self.demanded > 0.0 && self.asked > 0.0).then(|| (1.0 - self.fetched / self.asked).clamp(0.0, 1.0))
    }
}

/// Dirty bytes that ZFS had not written to the devices at the window's end.
pub(crate) fn on_their_way(facts: &Facts<'_>) -> Option<f64> {
    facts.span.at_end(|s| s.arc?.anon_bytes)
}

/// The number of blocks that the load's reads touch. A random read touches at least one block of its own; sequential reads share blocks.
fn asked_blocks(facts: &Facts<'_>) -> f64 {
    let record = facts.cell.stack.layers.iter().find_map(|layer| match layer {
        Layer::Zfs(zfs) => zfs.properties.get("recordsize")?.parse::<f64>().ok(),
        _ => None,
    });
    let blocks = facts.read.asked / record.unwrap_or(RECORD_BYTES);
    let jobs = facts.all_options();
    let random = jobs.is_empty() || jobs.iter().any(|options| options.rw.is_random());
    if random { blocks.max(facts.read.ios) } else { blocks }
}
