//! What ZFS's cache in memory (ARC) served, by its own counters.
//!
//! They count blocks, of all pools of the machine together, and a block that is read page by page many times. Only one of
//! them is exact: how many were read from the devices. Blocks that the load asked for, less these, were there before. What another
//! pool reads makes that less, never more. docs/metrics.md, "ARC".

use crate::facts::Facts;
use record::stack::Layer;
use record::zfs::ArcCounters;

/// ZFS's own record size where none is set.
const RECORD_BYTES: f64 = 131_072.0;

/// Counters within the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arc {
    /// Blocks that the load's reads touch.
    pub(crate) asked: f64,
    /// Times that somebody waited for a block of data.
    pub(crate) demanded: f64,
    /// Of these, found.
    pub(crate) found: f64,
    /// Blocks of data read from the devices, also ahead.
    pub(crate) fetched: f64,
    pub(crate) mru_hits: Option<f64>,
    pub(crate) mfu_hits: Option<f64>,
    pub(crate) mru_ghost_hits: Option<f64>,
    pub(crate) mfu_ghost_hits: Option<f64>,
    pub(crate) l2_hits: Option<f64>,
    /// Bytes it held at the window's end, and the most it may hold.
    pub(crate) size: Option<f64>,
    pub(crate) most: Option<f64>,
}

impl Arc {
    /// `None` where nobody counted.
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

    /// Share of the blocks asked for that had been there before; `None` when the cache was asked for none.
    pub(crate) fn share(&self) -> Option<f64> {
        (self.demanded > 0.0 && self.asked > 0.0).then(|| (1.0 - self.fetched / self.asked).clamp(0.0, 1.0))
    }
}

/// Bytes on their way to the devices at the window's end.
pub(crate) fn on_their_way(facts: &Facts<'_>) -> Option<f64> {
    facts.span.at_end(|s| s.arc?.anon_bytes)
}

/// Blocks that the load's reads touch: in random order each read at least one of its own; one after the other, reads share them.
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
