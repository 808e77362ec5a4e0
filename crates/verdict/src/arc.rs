//! What ZFS's cache in memory (ARC) served, by its own counters.
//!
//! They count blocks, of all pools of the machine together. Blocks that somebody waited for, less those that were read from the
//! devices for it (waited for or ahead), were there before. Where far more blocks were asked for than the load can have asked
//! for, others use a pool too, and the counters tell nothing of ours. docs/metrics.md, "ARC".

use crate::facts::Facts;
use record::stack::Layer;
use record::zfs::ArcCounters;

/// How many times the blocks that the load asks for may be counted, before they are somebody else's too.
const CROWDED: f64 = 2.5;
/// ZFS's own record size where none is set.
const RECORD_BYTES: f64 = 131_072.0;

/// Counters within the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arc {
    /// Blocks of data that somebody waited for.
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
    /// `None` where nobody counted, or others were at it.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        let grown = |counter: fn(&ArcCounters) -> Option<u64>| facts.span.grown(|s| counter(s.arc.as_ref()?));
        let found = grown(|a| a.demand_data_hits)?;
        let demanded = found + grown(|a| a.demand_data_misses)?;
        let fetched = grown(|a| a.demand_data_misses)? + grown(|a| a.prefetch_data_misses)?;
        let arc = Self {
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
        };
        (demanded <= CROWDED * asked_blocks(facts) + 1000.0).then_some(arc)
    }

    /// Share of the blocks waited for that had been there before; `None` when none were.
    pub(crate) fn share(&self) -> Option<f64> {
        (self.demanded > 0.0).then(|| (1.0 - self.fetched / self.demanded).clamp(0.0, 1.0))
    }
}

/// Bytes on their way to the devices at the window's end.
pub(crate) fn on_their_way(facts: &Facts<'_>) -> Option<f64> {
    facts.span.at_end(|s| s.arc?.anon_bytes)
}

/// Blocks that the load's reads and writes touch.
fn asked_blocks(facts: &Facts<'_>) -> f64 {
    let record = facts.cell.stack.layers.iter().find_map(|layer| match layer {
        Layer::Zfs(zfs) => zfs.properties.get("recordsize")?.parse::<f64>().ok(),
        _ => None,
    });
    let record = record.unwrap_or(RECORD_BYTES);
    let of = |ios: f64, bytes: f64| ios.max(bytes / record);
    of(facts.read.ios, facts.read.asked) + of(facts.write.ios, facts.write.asked)
}
