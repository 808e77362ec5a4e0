//! What a cache of LVM tells of itself: the status of its device-mapper target.

use serde::{Deserialize, Serialize};

/// A cache around one trial. Its counters go on from trial to trial as long as the stack stands; the difference is the trial's, its
/// ramp included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheRecord {
    /// Name of the cached volume, as device-mapper knows it.
    pub volume: String,
    /// Just before the load began; `None`: nobody could look.
    pub before: Option<CacheState>,
    /// Just after it.
    pub after: Option<CacheState>,
    /// How it was taken away after the load, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushed: Option<Flushed>,
}

/// A cache that was taken away with its volume's data kept: what only it held was written to the origin first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flushed {
    /// What the origin lacked just before; `None`: nobody could tell.
    pub owed_bytes: Option<u64>,
    /// Until the origin had it all and the cache was gone.
    pub seconds: f64,
    /// Bytes of data read before and after, and found to be the same; `None`: not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_bytes: Option<u64>,
}

/// What a cache told at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// dm-cache.
    Cache(DmCache),
    /// dm-writecache.
    Writecache(DmWritecache),
}

/// dm-cache (Documentation/admin-guide/device-mapper/cache.rst). Requests are counted after they were split at the cache's blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DmCache {
    /// Bytes that are promoted at a time.
    pub block_bytes: u64,
    /// Blocks there are.
    pub blocks: u64,
    /// Blocks that hold something (a gauge).
    pub used_blocks: u64,
    /// Reads of blocks that were in the cache.
    pub read_hits: u64,
    /// Reads of blocks that weren't.
    pub read_misses: u64,
    /// Writes to blocks that were in the cache.
    pub write_hits: u64,
    /// Writes to blocks that weren't.
    pub write_misses: u64,
    /// Blocks that left the cache.
    pub demotions: u64,
    /// Blocks that came into it.
    pub promotions: u64,
    /// Blocks that the origin doesn't have yet (a gauge).
    pub dirty_blocks: u64,
    /// `writethrough`, `writeback` or `passthrough`; `None`: not told.
    pub mode: Option<String>,
    /// Which blocks it keeps, e.g. `smq`.
    pub policy: Option<String>,
}

/// dm-writecache (Documentation/admin-guide/device-mapper/writecache.rst). Its counters are there from Linux 5.15 on, and are of blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DmWritecache {
    /// Error that it met; 0: none.
    pub error: i64,
    /// Blocks there are.
    pub blocks: u64,
    /// Blocks that hold nothing (a gauge).
    pub free_blocks: u64,
    /// Blocks on their way to the origin (a gauge).
    pub writeback_blocks: u64,
    /// Blocks read.
    pub reads: Option<u64>,
    /// Of these, found in it.
    pub read_hits: Option<u64>,
    /// Blocks written.
    pub writes: Option<u64>,
    /// Of these, over one that was not committed yet.
    pub write_hits_uncommitted: Option<u64>,
    /// Of these, over one that was.
    pub write_hits_committed: Option<u64>,
    /// Of these, past it to the origin.
    pub writes_around: Option<u64>,
    /// Of these, into a block of their own.
    pub writes_allocated: Option<u64>,
    /// Writes that waited for a free block.
    pub waits_for_free: Option<u64>,
    /// Flushes.
    pub flushes: Option<u64>,
    /// Discards.
    pub discards: Option<u64>,
}
