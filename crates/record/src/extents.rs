//! What a file's bytes are: data, reservations, holes, compressed.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A file's extents, summed. The five logical classes add up to `size_bytes` except for rounding to the file system's block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileExtents {
    /// Which file.
    pub path: PathBuf,
    /// Apparent size.
    pub size_bytes: u64,
    /// Bytes backed by written, uncompressed extents.
    pub written_bytes: u64,
    /// Bytes in extents that are reserved but unwritten: reads of them give zeros without asking the device.
    pub unwritten_bytes: u64,
    /// Bytes in no extent at all.
    pub hole_bytes: u64,
    /// Logical bytes in compressed extents.
    pub encoded_bytes: u64,
    /// Bytes stored inside metadata.
    pub inline_bytes: u64,
    /// Bytes not yet given a place (delayed allocation).
    pub delalloc_bytes: u64,
    /// Bytes the file's data takes on the device, where the file system tells (btrfs); else `None`.
    pub disk_bytes: Option<u64>,
    /// Number of extents.
    pub extents: u64,
}

/// How much of a file the page cache holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residency {
    /// Which file.
    pub path: PathBuf,
    /// Apparent size.
    pub size_bytes: u64,
    /// Bytes in the page cache.
    pub cached_bytes: u64,
    /// Bytes in the page cache that are not on the device yet; `None` where the kernel can't tell per file.
    pub dirty_bytes: Option<u64>,
}
