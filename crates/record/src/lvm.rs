//! LVM: one logical volume in a volume group of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A logical volume over the devices below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lvm {
    /// How its data is laid out on the devices.
    pub layout: LvmLayout,
    /// Size in bytes; `None`: all the space, in whole extents.
    pub size_bytes: Option<u64>,
    /// Tag of the devices below that selects them for the volume; `None`: their names select them.
    pub tag: Option<String>,
    /// Cache of the volume; `None`: it has none.
    pub cache: Option<LvmCache>,
    /// The thin pool that the volume is in; `None`: its space is allocated when it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thin: Option<Thin>,
}

/// A thin pool, which takes the place of the logical volume on the devices, and one thin volume in it. A chunk of the volume
/// takes space in the pool from the first write to it on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thin {
    /// Bytes that are allocated at a time; `None`: LVM decides.
    pub chunk_bytes: Option<u64>,
    /// Whether the pool fills a chunk with zeros when it allocates it.
    pub zero: bool,
    /// What the pool does with discards.
    pub discards: Discards,
    /// Size of the pool's metadata in bytes; `None`: LVM decides.
    pub metadata_bytes: Option<u64>,
    /// Size of the thin volume in bytes; `None`: that of the pool.
    pub virtual_bytes: Option<u64>,
}

/// What a thin pool does with a discarded chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Discards {
    /// It frees the chunk and discards it on the devices below.
    #[default]
    Passdown,
    /// It frees the chunk.
    Nopassdown,
    /// Nothing.
    Ignore,
}

/// How a logical volume is laid out on its devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LvmLayout {
    /// One device after the other.
    Linear,
    /// In stripes over several devices.
    Striped {
        /// Number of devices per stripe; with more devices, the next group of this many follows.
        stripes: u32,
        /// Bytes on one device before the next is used (stripe size).
        stripe_bytes: u64,
    },
    /// Copies on several devices.
    Raid1 {
        /// Number of copies.
        copies: u32,
        /// Whether the initial synchronization runs.
        resync: Resync,
    },
    /// Stripes over pairs of mirrored devices.
    Raid10 {
        /// Number of pairs.
        stripes: u32,
        /// Bytes on one pair before the next is used (stripe size).
        stripe_bytes: u64,
        /// Whether the initial synchronization runs.
        resync: Resync,
    },
}

/// What happens to the initial synchronization of new mirrors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resync {
    /// It runs, and the measurement begins after it.
    Wait,
    /// It is skipped, and the mirrors count as equal. Blocks that were never written may differ between them.
    Skip,
}

/// The cache of a logical volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LvmCache {
    /// Names of the volumes that the cache uses, all of them additional to the main volumes of the stack.
    pub volumes: Vec<String>,
    /// Tag of these volumes that selects them for the cache; `None`: their names select them.
    pub tag: Option<String>,
    /// Kind of cache.
    pub form: CacheForm,
    /// When the cache is attached to the volume.
    #[serde(default, skip_serializing_if = "Attach::is_built")]
    pub attach: Attach,
    /// How the cache is detached.
    #[serde(default, skip_serializing_if = "Detach::is_undo")]
    pub detach: Detach,
}

/// When a cache is attached to its volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attach {
    /// When the stack is built: the data is laid out through the cache.
    #[default]
    Built,
    /// After the data is laid out: the data is only on the origin then, and the cache is empty.
    LaidOut,
}

/// How a cache is detached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Detach {
    /// Together with its stack, without writing its data to the origin first.
    #[default]
    Undo,
    /// After the measured time, once it has written all its dirty data to the origin.
    Flush,
}

/// Kinds of caches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheForm {
    /// dm-cache: reads and writes.
    Cache {
        /// Whether metadata and data have separate volumes.
        kind: CacheKind,
        /// When writes reach the origin.
        mode: CacheMode,
        /// Size of a cache block in bytes; `None`: LVM decides.
        chunk_bytes: Option<u64>,
        /// Policy that decides which blocks stay in the cache; `None`: LVM decides.
        policy: Option<String>,
    },
    /// dm-writecache: writes only.
    Writecache,
}

/// Where a cache keeps its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// In a separate volume.
    Cachepool,
    /// In the same volume as the data.
    Cachevol,
}

/// When writes reach the origin of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheMode {
    /// Before they complete.
    Writethrough,
    /// Later, in the background.
    Writeback,
}

/// A thin pool around one trial. The difference of the two states belongs to the trial, including its ramp.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinRecord {
    /// Device-mapper name of the pool.
    pub pool: String,
    /// State just before the load began; `None`: it could not be read.
    pub before: Option<ThinState>,
    /// State just after the load.
    pub after: Option<ThinState>,
}

/// The state of a thin pool at one instant, from the status of its device-mapper target
/// (Documentation/admin-guide/device-mapper/thin-provisioning.rst).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinState {
    /// Size of a chunk in bytes.
    pub chunk_bytes: u64,
    /// Number of chunks that the pool has room for.
    pub chunks: u64,
    /// Number of allocated chunks (a gauge).
    pub used_chunks: u64,
    /// Size of the pool's metadata in bytes.
    pub metadata_bytes: u64,
    /// Of these, the bytes in use (a gauge).
    pub used_metadata_bytes: u64,
}

impl Attach {
    /// Whether it is attached when the stack is built.
    #[must_use]
    pub fn is_built(&self) -> bool {
        *self == Self::Built
    }

    /// Returns the spelling of the experiment file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Built => "built",
            Self::LaidOut => "laid_out",
        }
    }
}

impl Detach {
    /// Whether it is detached together with its stack.
    #[must_use]
    pub fn is_undo(&self) -> bool {
        *self == Self::Undo
    }

    /// Returns the spelling of the experiment file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Undo => "undo",
            Self::Flush => "flush",
        }
    }
}

impl CacheKind {
    /// Returns the spelling of the experiment file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cachepool => "cachepool",
            Self::Cachevol => "cachevol",
        }
    }
}

impl CacheMode {
    /// Returns the spelling of lvconvert.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Writethrough => "writethrough",
            Self::Writeback => "writeback",
        }
    }
}

impl Thin {
    /// The smallest chunk in bytes, and what a larger one is a multiple of (`DATA_DEV_BLOCK_SIZE_MIN_SECTORS`, drivers/md/dm-thin.c).
    pub const LEAST_CHUNK: u64 = 64 << 10;
    /// Bytes of metadata per chunk, as LVM estimates them (lvcreate(8), `--poolmetadatasize`).
    const METADATA_PER_CHUNK: u64 = 64;

    /// Returns the bytes of metadata that a pool of this size needs when every chunk is allocated.
    #[must_use]
    pub fn metadata_needed(pool_bytes: u64, chunk_bytes: u64) -> u64 {
        pool_bytes.div_ceil(chunk_bytes.max(1)).saturating_mul(Self::METADATA_PER_CHUNK)
    }
}

impl Discards {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::Passdown, Self::Nopassdown, Self::Ignore];

    /// Returns the spelling of lvcreate.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passdown => "passdown",
            Self::Nopassdown => "nopassdown",
            Self::Ignore => "ignore",
        }
    }
}

impl LvmLayout {
    /// Returns the number of devices that it needs; it also takes multiples of this number.
    #[must_use]
    pub fn devices(self) -> u32 {
        match self {
            Self::Linear => 1,
            Self::Striped { stripes, .. } => stripes,
            Self::Raid1 { copies, .. } => copies,
            Self::Raid10 { stripes, .. } => stripes * 2,
        }
    }

    /// Returns what happens to the initial synchronization; `None`: there are no mirrors.
    #[must_use]
    pub fn resync(self) -> Option<Resync> {
        match self {
            Self::Linear | Self::Striped { .. } => None,
            Self::Raid1 { resync, .. } | Self::Raid10 { resync, .. } => Some(resync),
        }
    }

    /// Returns how often every byte is written.
    #[must_use]
    pub fn copies(self) -> u32 {
        match self {
            Self::Linear | Self::Striped { .. } => 1,
            Self::Raid1 { copies, .. } => copies,
            Self::Raid10 { .. } => 2,
        }
    }

    /// Returns the bytes on one device before the next is used; `None`: the layout is not striped.
    #[must_use]
    pub fn stripe_bytes(self) -> Option<u64> {
        match self {
            Self::Striped { stripe_bytes, .. } | Self::Raid10 { stripe_bytes, .. } => Some(stripe_bytes),
            Self::Linear | Self::Raid1 { .. } => None,
        }
    }
}
