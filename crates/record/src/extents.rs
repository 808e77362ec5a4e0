//! What the bytes of a file are: written data, reserved space, holes or compressed data.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The extents of a file, summed. The six logical classes add up to `size_bytes` except for rounding to the block size of the
/// file system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileExtents {
    /// The file.
    pub path: PathBuf,
    /// Apparent size of the file.
    pub size_bytes: u64,
    /// Bytes in written, uncompressed extents.
    pub written_bytes: u64,
    /// Bytes in extents that are reserved but unwritten: they read as zeros without asking the device.
    pub unwritten_bytes: u64,
    /// Bytes in holes: no extent holds them.
    pub hole_bytes: u64,
    /// Logical bytes in compressed extents.
    pub encoded_bytes: u64,
    /// Bytes stored inside metadata (inline).
    pub inline_bytes: u64,
    /// Bytes without a place on the device yet (delayed allocation).
    pub delalloc_bytes: u64,
    /// Bytes that the file's data takes on the device; `None` where the file system doesn't report it (only btrfs does).
    pub disk_bytes: Option<u64>,
    /// Number of extents.
    pub extents: u64,
}

/// How much of a file the page cache holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residency {
    /// The file.
    pub path: PathBuf,
    /// Apparent size of the file.
    pub size_bytes: u64,
    /// Bytes in the page cache.
    pub cached_bytes: u64,
    /// Bytes in the page cache that are not on the device yet; `None` where the kernel can't report it per file.
    pub dirty_bytes: Option<u64>,
}
