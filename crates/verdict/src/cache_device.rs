//! The work of a cache on another device, of LVM or of bcache, in a trial, by its own counters: their difference between just before and just after the load, with its
//! ramp.

use crate::span::float;
use record::lvm_cache::{BcacheState, CacheRecord, CacheState, DmCache, DmWritecache};
use record::trial::TrialRecord;

/// dm-cache in one trial.
#[derive(Debug, Clone)]
pub(crate) struct CacheUse {
    pub(crate) reads: f64,
    pub(crate) read_hits: f64,
    pub(crate) writes: f64,
    pub(crate) write_hits: f64,
    pub(crate) promotions: f64,
    pub(crate) demotions: f64,
    pub(crate) block_bytes: f64,
    pub(crate) cache_bytes: f64,
    pub(crate) used_before_bytes: f64,
    pub(crate) used_after_bytes: f64,
    pub(crate) dirty_after_bytes: f64,
    pub(crate) policy: String,
}

impl CacheUse {
    /// The counters of the topmost cache that was examined before and after; `None` also if its counters fell: then it is another one.
    pub(crate) fn of(trial: &TrialRecord) -> Option<Self> {
        trial.caches.iter().rev().find_map(|record| match (&record.before, &record.after) {
            (Some(CacheState::Cache(before)), Some(CacheState::Cache(after))) => Self::between(before, after),
            _ => None,
        })
    }

    fn between(before: &DmCache, after: &DmCache) -> Option<Self> {
        let grown = |of: fn(&DmCache) -> u64| of(after).checked_sub(of(before)).map(float);
        let block = float(after.block_bytes);
        let (read_hits, write_hits) = (grown(|c| c.read_hits)?, grown(|c| c.write_hits)?);
        Some(Self {
            reads: read_hits + grown(|c| c.read_misses)?,
            read_hits,
            writes: write_hits + grown(|c| c.write_misses)?,
            write_hits,
            promotions: grown(|c| c.promotions)?,
            demotions: grown(|c| c.demotions)?,
            block_bytes: block,
            cache_bytes: float(after.blocks) * block,
            used_before_bytes: float(before.used_blocks) * block,
            used_after_bytes: float(after.used_blocks) * block,
            dirty_after_bytes: float(after.dirty_blocks) * block,
            policy: after.policy.clone().unwrap_or_else(|| "its policy".to_owned()),
        })
    }

    /// The share of the reads that were in the cache.
    pub(crate) fn read_share(&self) -> Option<f64> {
        share(self.read_hits, self.reads)
    }

    /// The share of all requests that were in the cache.
    pub(crate) fn both_share(&self) -> Option<f64> {
        share(self.read_hits + self.write_hits, self.reads + self.writes)
    }
}

/// dm-writecache in one trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WritecacheUse {
    pub(crate) reads: f64,
    pub(crate) read_hits: f64,
    pub(crate) writes: f64,
    pub(crate) taken: f64,
    pub(crate) waits: Option<f64>,
    /// The used share of the cache, just before the load and (next field) just after it.
    pub(crate) full_before: f64,
    pub(crate) full_after: f64,
}

impl WritecacheUse {
    /// `None` if the kernel has no such counters (before Linux 5.15).
    pub(crate) fn of(trial: &TrialRecord) -> Option<Self> {
        let both = |record: &CacheRecord| match (&record.before, &record.after) {
            (Some(CacheState::Writecache(before)), Some(CacheState::Writecache(after))) => {
                Self::between(before, after)
            }
            _ => None,
        };
        trial.caches.iter().rev().find_map(both)
    }

    fn between(before: &DmWritecache, after: &DmWritecache) -> Option<Self> {
        let grown = |of: fn(&DmWritecache) -> Option<u64>| of(after)?.checked_sub(of(before)?).map(float);
        let full = |state: &DmWritecache| {
            share(float(state.blocks.saturating_sub(state.free_blocks)), float(state.blocks)).unwrap_or(0.0)
        };
        let writes = grown(|c| c.writes)?;
        Some(Self {
            reads: grown(|c| c.reads)?,
            read_hits: grown(|c| c.read_hits)?,
            writes,
            taken: (writes - grown(|c| c.writes_around)?).max(0.0),
            waits: grown(|c| c.waits_for_free),
            full_before: full(before),
            full_after: full(after),
        })
    }
}

/// bcache in one trial. It counts reads only.
#[derive(Debug, Clone)]
pub(crate) struct BcacheUse {
    pub(crate) hits: f64,
    /// Reads that the backing device served, and that went to the cache.
    pub(crate) misses: f64,
    /// Reads that the backing device served, and that bypassed the cache.
    pub(crate) bypassed: f64,
    /// Bytes that were read or written past the cache.
    pub(crate) bypassed_bytes: f64,
    pub(crate) dirty_before_bytes: f64,
    pub(crate) dirty_after_bytes: f64,
    pub(crate) mode: String,
}

impl BcacheUse {
    /// The counters of the topmost one that was examined before and after; `None` also if its counters fell: then it is another one.
    pub(crate) fn of(trial: &TrialRecord) -> Option<Self> {
        let both = |record: &CacheRecord| match (&record.before, &record.after) {
            (Some(CacheState::Bcache(before)), Some(CacheState::Bcache(after))) => {
                Self::between(before, after)
            }
            _ => None,
        };
        trial.caches.iter().rev().find_map(both)
    }

    fn between(before: &BcacheState, after: &BcacheState) -> Option<Self> {
        let grown = |of: fn(&BcacheState) -> u64| of(after).checked_sub(of(before)).map(float);
        Some(Self {
            hits: grown(|c| c.hits)? + grown(|c| c.bypass_hits)?,
            misses: grown(|c| c.misses)?,
            bypassed: grown(|c| c.bypass_misses)?,
            bypassed_bytes: grown(|c| c.bypassed_bytes)?,
            dirty_before_bytes: float(before.dirty_bytes),
            dirty_after_bytes: float(after.dirty_bytes),
            mode: after.mode.clone(),
        })
    }

    pub(crate) fn reads(&self) -> f64 {
        self.hits + self.misses + self.bypassed
    }

    /// The share of the reads that the cache served.
    pub(crate) fn read_share(&self) -> Option<f64> {
        share(self.hits, self.reads())
    }
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole).clamp(0.0, 1.0))
}
