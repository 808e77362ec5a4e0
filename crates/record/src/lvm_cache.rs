//! State of a cache on another device: of LVM, from the status of its device-mapper target, or of bcache, from sysfs.

use serde::{Deserialize, Serialize};

/// A cache around one trial. Its counters run on from trial to trial as long as the stack exists. The difference of the two
/// states belongs to the trial, including its ramp.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheRecord {
    /// Name of the cached device: in device-mapper, or the kernel's for bcache.
    pub volume: String,
    /// State just before the load began; `None`: it could not be read.
    pub before: Option<CacheState>,
    /// State just after the load.
    pub after: Option<CacheState>,
    /// How it was flushed and detached after the load, if the experiment says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushed: Option<Flushed>,
}

/// A cache that was detached after the load: it wrote its dirty data to the origin first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flushed {
    /// Dirty bytes just before the flush, which the origin lacked; `None`: not known.
    pub owed_bytes: Option<u64>,
    /// Time until the origin had all data and the cache was gone.
    pub seconds: f64,
    /// Bytes that were read before and after, and were found equal; `None`: no comparison was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_bytes: Option<u64>,
}

/// The state of a cache at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// dm-cache.
    Cache(DmCache),
    /// dm-writecache.
    Writecache(DmWritecache),
    /// bcache.
    Bcache(BcacheState),
}

/// State of bcache (Documentation/admin-guide/bcache.rst). It counts reads only; a read that hits in part counts as a miss. The kernel
/// rounds the bytes to two or more digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BcacheState {
    /// Reads that the cache served.
    pub hits: u64,
    /// Reads that the backing device served; their data went to the cache.
    pub misses: u64,
    /// Reads that were to bypass the cache, and that it served.
    pub bypass_hits: u64,
    /// Reads that bypassed the cache.
    pub bypass_misses: u64,
    /// Bytes that were read and written past the cache.
    pub bypassed_bytes: u64,
    /// Bytes of data that the backing device doesn't have yet (a gauge).
    pub dirty_bytes: u64,
    /// `writethrough`, `writeback`, `writearound` or `none`.
    pub mode: String,
}

/// State of dm-cache (Documentation/admin-guide/device-mapper/cache.rst). It counts requests after splitting them at cache blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DmCache {
    /// Size of a cache block in bytes.
    pub block_bytes: u64,
    /// Number of blocks in the cache.
    pub blocks: u64,
    /// Number of blocks in use (a gauge).
    pub used_blocks: u64,
    /// Reads of blocks that were in the cache.
    pub read_hits: u64,
    /// Reads of blocks that were not in the cache.
    pub read_misses: u64,
    /// Writes to blocks that were in the cache.
    pub write_hits: u64,
    /// Writes to blocks that were not in the cache.
    pub write_misses: u64,
    /// Number of blocks that left the cache.
    pub demotions: u64,
    /// Number of blocks that entered the cache.
    pub promotions: u64,
    /// Number of blocks whose data the origin doesn't have yet (a gauge).
    pub dirty_blocks: u64,
    /// `writethrough`, `writeback` or `passthrough`; `None`: not reported.
    pub mode: Option<String>,
    /// Policy that decides which blocks stay in the cache, e.g. `smq`.
    pub policy: Option<String>,
}

/// State of dm-writecache (Documentation/admin-guide/device-mapper/writecache.rst). Linux has its counters since 5.15; they count blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DmWritecache {
    /// Error code of the cache; 0: no error.
    pub error: i64,
    /// Number of blocks in the cache.
    pub blocks: u64,
    /// Number of free blocks (a gauge).
    pub free_blocks: u64,
    /// Number of blocks that are being written to the origin (a gauge).
    pub writeback_blocks: u64,
    /// Number of blocks that were read.
    pub reads: Option<u64>,
    /// Of the reads, those of blocks in the cache.
    pub read_hits: Option<u64>,
    /// Number of blocks that were written.
    pub writes: Option<u64>,
    /// Of the writes, those to a block in the cache that was not committed yet.
    pub write_hits_uncommitted: Option<u64>,
    /// Of the writes, those to a block in the cache that was committed.
    pub write_hits_committed: Option<u64>,
    /// Of the writes, those that bypassed the cache to the origin.
    pub writes_around: Option<u64>,
    /// Of the writes, those that took a new block.
    pub writes_allocated: Option<u64>,
    /// Number of writes that waited for a free block.
    pub waits_for_free: Option<u64>,
    /// Number of flushes.
    pub flushes: Option<u64>,
    /// Number of discards.
    pub discards: Option<u64>,
}
