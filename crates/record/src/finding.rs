//! Findings: claims with their evidence. The judging is in `verdict`; these are only the nouns.

use crate::id::CellId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A claim about a cell, with the counters that speak for or against it and what to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What is claimed.
    pub claim: Claim,
    /// How much it matters.
    pub severity: Severity,
    /// Which cell.
    pub cell: CellId,
    /// In how many of the cell's trials it was seen.
    pub trials: u32,
    /// Counters, with units in their names; of the trial where it was strongest.
    pub evidence: BTreeMap<String, f64>,
    /// One sentence: what was found, with its figures.
    pub text: String,
    /// One sentence: what to do. Knows what the experiment already does.
    pub remedy: String,
}

/// What a finding claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Blocks held other than what was written to them.
    WrongContent,
    /// Reads were answered from holes or unwritten extents; no device was asked.
    ServedFromHoles,
    /// I/O was answered from the page cache.
    ServedFromPageCache,
    /// Fewer bytes on the device than asked, because the file system compresses them.
    Compressed,
    /// Written bytes were not on the device when the trial ended.
    NotDurable,
    /// The ground is memory.
    MemoryBacked,
    /// The loop device caches the backing file a second time.
    DoubleCaching,
    /// The data set fits in memory, and I/O is buffered.
    SmallerThanMemory,
    /// Several jobs share one file.
    SharedFile,
    /// The load generator, or the machine's CPUs, were the limit rather than the storage.
    EngineCpuBound,
    /// Others used the same devices during the trial.
    Interference,
    /// The counters needed to tell where bytes came from are missing.
    SourceUnknown,
    /// The interval is wider than the experiment asked for.
    IntervalTooWide,
    /// Trials failed.
    TrialsFailed,
    /// I/O errors were counted while the trial went on.
    IoErrors,
    /// An expectation was missed.
    ExpectationMissed,
    /// I/O was answered by a cache that is neither the page cache nor the device's own: ARC, a caching layer.
    ServedFromOtherCache,
    /// I/O was answered by the cache of whoever serves the device: the page cache under a loop device, a guest's host.
    ServedFromHostCache,
    /// A CPU quota of a cgroup held the engine back.
    CpuQuota,
    /// Most I/O waited for the journal or for flushes.
    JournalBound,
    /// I/Os went one after another above the device, whatever depth was asked: a lock.
    Serialized,
    /// The network was the limit.
    NetworkBound,
    /// The limits on the engine's I/O changed during the trial.
    ThrottleChanged,
    /// A limit that the experiment doesn't set held the load back.
    UndeclaredLimit,
    /// The rate had not settled when measuring began.
    RampUp,
    /// The rate changed within the trial.
    NotSteady,
    /// The rate fell from one level to a lower one for good, as when burst credit is used up.
    BurstExhausted,
    /// The figure climbs or falls from round to round: these trials are not replicates.
    Trend,
    /// A trial resembles the one before it: the interval is too narrow.
    Autocorrelated,
    /// The trials fall into two groups.
    Bimodal,
    /// Some trials are far from the others.
    Outliers,
    /// All cells drifted together: the machine changed during the run.
    MachineDrift,
    /// Less than the stack should give from its volumes.
    BelowModel,
    /// Tests ended too quickly to be measured.
    TooFast,
    /// More than the stack can give from its volumes: something else than the volumes served.
    AboveModel,
    /// A cache on a faster device, e.g. of LVM, took part.
    ServedFromCacheDevice,
    /// A cache on a faster device is there and had next to nothing of what was asked.
    CacheMissed,
    /// When the load ended, a cache held what its origin lacked; how long bringing it there took.
    CacheOwed,
    /// From round to round more requests were in the cache: these trials are not replicates.
    CacheWarming,
    /// A stack that stays up over the rounds was built anew between them: what it had cached is gone.
    StackRebuilt,
    /// A step of the provisioning goes on changing things when it is run again: what state the machine was in depends on how often it was.
    NotIdempotent,
    /// Beyond what figures of a lab guest may claim: it is QEMU's speed.
    BeyondEmulation,
    /// For a while no I/O completed: the storage held them, or the engine or the agent process did not run.
    Stalled,
    /// Something was done otherwise than the experiment or its job file asked.
    NotAsAsked,
    /// Others used much of the CPU during the trial.
    OthersUsedCpu,
    /// Each written byte became several on its way to the devices: journal, copy on write, metadata, parity.
    WriteAmplified,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// The number means something else than it seems.
    Caveat,
    /// The number is not a storage figure at all.
    Void,
}

/// Where the bytes that the application asked for came from or went to: shares that sum to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Served {
    /// The devices the ground uses directly.
    pub device: f64,
    /// The page cache.
    pub page_cache: f64,
    /// Holes and unwritten extents.
    pub hole: f64,
    /// Something else that is known, e.g. made by decompression.
    pub other: f64,
    /// Nobody can tell.
    pub unknown: f64,
    /// A cache that is neither the page cache nor the device's own: ZFS's ARC, a caching layer.
    #[serde(default)]
    pub other_cache: f64,
}
