//! ZFS: a pool and its one dataset, and their counters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A pool over the devices below, and one dataset in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zfs {
    /// How devices form a vdev.
    pub vdev: Vdev,
    /// Number of devices per vdev; `None`: all devices form one vdev.
    pub width: Option<u32>,
    /// Names of the volumes for the intent log (SLOG).
    pub log: Vec<String>,
    /// Names of the volumes for the second-level cache (L2ARC).
    pub cache: Vec<String>,
    /// Sector size as a power of two; `None`: the pool decides.
    pub ashift: Option<u8>,
    /// Properties of the dataset, in the spelling of zfs(8).
    pub properties: BTreeMap<String, String>,
    /// Limit of the cache in memory (ARC) in bytes; `None`: unchanged.
    pub arc_max_bytes: Option<u64>,
}

/// How devices form a vdev.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Vdev {
    /// Each device is a vdev of its own; the pool spreads data over them.
    Stripe,
    /// Each device holds a copy.
    Mirror,
    /// Single parity: one device may fail.
    Raidz,
    /// Double parity: two devices may fail.
    Raidz2,
    /// Triple parity: three devices may fail.
    Raidz3,
}

impl Vdev {
    /// Returns the spelling of zpool(8).
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

    /// Returns the smallest number of devices in a vdev.
    #[must_use]
    pub fn min_devices(self) -> usize {
        match self {
            Self::Stripe => 1,
            Self::Mirror | Self::Raidz => 2,
            Self::Raidz2 => 3,
            Self::Raidz3 => 4,
        }
    }

    /// Returns the number of devices per vdev by which parity reduces the space for data.
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
    /// Returns how many copies of the data the main devices hold: the devices of a mirror times the property `copies`. Parity is
    /// not a copy.
    #[must_use]
    pub fn copies(&self, devices: usize) -> usize {
        let own = self.properties.get("copies").and_then(|copies| copies.parse().ok()).unwrap_or(1);
        match self.vdev {
            Vdev::Mirror => own * self.width.and_then(|width| usize::try_from(width).ok()).unwrap_or(devices),
            _ => own,
        }
    }
}

/// State of a pool around one trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolRecord {
    /// The ZFS implementation, e.g. `OpenZFS 2.1.11-1` or `zfs-fuse`.
    pub implementation: String,
    /// GUID of the pool.
    pub guid: String,
    /// State just before the trial.
    pub before: PoolState,
    /// State just after the trial.
    pub after: PoolState,
}

/// Space of a pool's dataset; `None` where the tools don't report it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolState {
    /// Ratio of logical to allocated bytes of its data, times 100 (the tools report two decimals).
    pub compress_ratio_percent: Option<u64>,
    /// Bytes that the dataset refers to, as stored.
    pub referenced_bytes: Option<u64>,
    /// Bytes that the dataset refers to, before compression.
    pub logical_referenced_bytes: Option<u64>,
    /// Bytes allocated in the pool, including copies and metadata.
    pub allocated_bytes: Option<u64>,
}

/// Counters of the ARC (arcstats): ZFS's cache in memory, for all pools of the machine together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArcCounters {
    /// Lookups of blocks that were found, data and metadata, including prefetch.
    pub hits: Option<u64>,
    /// Lookups of blocks that were not found.
    pub misses: Option<u64>,
    /// Demand reads of data blocks that were found.
    pub demand_data_hits: Option<u64>,
    /// Demand reads of data blocks that were not found.
    pub demand_data_misses: Option<u64>,
    /// Prefetches of data blocks that were found.
    pub prefetch_data_hits: Option<u64>,
    /// Prefetches of data blocks that were not found: read from the devices.
    pub prefetch_data_misses: Option<u64>,
    /// Hits in the list of blocks that were used once (MRU).
    pub mru_hits: Option<u64>,
    /// Hits in the list of blocks that were used more often (MFU).
    pub mfu_hits: Option<u64>,
    /// Misses on blocks that were recently evicted from the MRU list.
    pub mru_ghost_hits: Option<u64>,
    /// Misses on blocks that were recently evicted from the MFU list.
    pub mfu_ghost_hits: Option<u64>,
    /// Hits in the second-level cache (L2ARC).
    pub l2_hits: Option<u64>,
    /// Misses in the second-level cache.
    pub l2_misses: Option<u64>,
    /// Bytes read from the second-level cache.
    pub l2_read_bytes: Option<u64>,
    /// Bytes in the ARC now (a gauge).
    pub size_bytes: Option<u64>,
    /// Target size of the ARC in bytes (a gauge).
    pub target_bytes: Option<u64>,
    /// Largest size of the ARC in bytes (a gauge).
    pub max_bytes: Option<u64>,
    /// Bytes of data in the ARC (a gauge).
    pub data_bytes: Option<u64>,
    /// Bytes in the ARC that are on their way to the devices (a gauge).
    pub anon_bytes: Option<u64>,
}
