//! ZFS: a pool, its one dataset, and what they tell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A pool over the devices below, and one dataset in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zfs {
    /// How devices are joined to a vdev.
    pub vdev: Vdev,
    /// Devices of one vdev; `None`: all of them are one.
    pub width: Option<u32>,
    /// Volumes that hold the intent log, by name.
    pub log: Vec<String>,
    /// Volumes that hold the second-level cache, by name.
    pub cache: Vec<String>,
    /// Sector size as a power of two; `None`: the pool decides.
    pub ashift: Option<u8>,
    /// Properties of the dataset, as zfs(8) spells them.
    pub properties: BTreeMap<String, String>,
    /// Most that the cache in memory (ARC) may hold; `None`: as it is.
    pub arc_max_bytes: Option<u64>,
}

/// How devices are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Vdev {
    /// Each stands alone; the pool spreads data over them.
    Stripe,
    /// Each holds a copy.
    Mirror,
    /// One of them may fail.
    Raidz,
    /// Two of them may fail.
    Raidz2,
    /// Three of them may fail.
    Raidz3,
}

impl Vdev {
    /// As zpool(8) spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stripe => "stripe",
            Self::Mirror => "mirror",
            Self::Raidz => "raidz",
            Self::Raidz2 => "raidz2",
            Self::Raidz3 => "raidz3",
        }
    }

    /// The fewest devices of one vdev.
    #[must_use]
    pub fn min_devices(self) -> usize {
        match self {
            Self::Stripe => 1,
            Self::Mirror | Self::Raidz => 2,
            Self::Raidz2 => 3,
            Self::Raidz3 => 4,
        }
    }

    /// Devices of one vdev that hold no data of their own.
    #[must_use]
    pub fn parity(self) -> usize {
        match self {
            Self::Stripe | Self::Mirror => 0,
            Self::Raidz => 1,
            Self::Raidz2 => 2,
            Self::Raidz3 => 3,
        }
    }
}

impl Zfs {
    /// Copies of the data on the main devices that can be told: those of a mirror. Parity is no copy.
    #[must_use]
    pub fn copies(&self, devices: usize) -> usize {
        let own = self.properties.get("copies").and_then(|copies| copies.parse().ok()).unwrap_or(1);
        match self.vdev {
            Vdev::Mirror => own * self.width.and_then(|width| usize::try_from(width).ok()).unwrap_or(devices),
            _ => own,
        }
    }
}

/// A pool around one trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolRecord {
    /// What serves it, e.g. `OpenZFS 2.1.11-1` or `zfs-fuse`.
    pub implementation: String,
    /// Its number, by which it is known again.
    pub guid: String,
    /// Just before the trial.
    pub before: PoolState,
    /// Just after it.
    pub after: PoolState,
}

/// What a pool's dataset holds; `None` where it isn't told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolState {
    /// Logical over allocated bytes of its data, times 100 (the tools tell two digits).
    pub compress_ratio_percent: Option<u64>,
    /// Bytes that it refers to, as they are stored.
    pub referenced_bytes: Option<u64>,
    /// The same before compression.
    pub logical_referenced_bytes: Option<u64>,
    /// Bytes allocated in the pool, copies and metadata included.
    pub allocated_bytes: Option<u64>,
}

/// arcstats: ZFS's cache in memory, of all pools of the machine together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArcCounters {
    /// Blocks asked for and found, data and metadata, prefetch included.
    pub hits: Option<u64>,
    /// Blocks asked for and not found.
    pub misses: Option<u64>,
    /// Blocks of data that somebody waited for, found.
    pub demand_data_hits: Option<u64>,
    /// Blocks of data that somebody waited for, not found.
    pub demand_data_misses: Option<u64>,
    /// Blocks of data asked for ahead, found.
    pub prefetch_data_hits: Option<u64>,
    /// Blocks of data asked for ahead, not found: read from the devices.
    pub prefetch_data_misses: Option<u64>,
    /// Found in the list of those used once.
    pub mru_hits: Option<u64>,
    /// Found in the list of those used more often.
    pub mfu_hits: Option<u64>,
    /// Not found, but remembered as lately dropped from the list of those used once.
    pub mru_ghost_hits: Option<u64>,
    /// Not found, but remembered as lately dropped from the list of those used more often.
    pub mfu_ghost_hits: Option<u64>,
    /// Found in the second-level cache.
    pub l2_hits: Option<u64>,
    /// Not found there.
    pub l2_misses: Option<u64>,
    /// Bytes read from it.
    pub l2_read_bytes: Option<u64>,
    /// Bytes held now (a gauge).
    pub size_bytes: Option<u64>,
    /// Bytes it aims at now (a gauge).
    pub target_bytes: Option<u64>,
    /// Most bytes it may hold (a gauge).
    pub max_bytes: Option<u64>,
    /// Of data (a gauge).
    pub data_bytes: Option<u64>,
    /// On their way to the devices (a gauge).
    pub anon_bytes: Option<u64>,
}
