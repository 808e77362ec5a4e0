//! Findings: claims with their evidence. `verdict` does the judging; this module only has the types.

use crate::id::CellId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A claim about a cell, with the counters for or against it and a remedy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The claim.
    pub claim: Claim,
    /// How much it matters.
    pub severity: Severity,
    /// The cell.
    pub cell: CellId,
    /// Number of the cell's trials in which it was seen.
    pub trials: u32,
    /// The rounds, from 0, of these trials; empty if it is about the trials together, or in a judgement from before this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<u32>,
    /// Counters of the trial where it was strongest, with units in their names.
    pub evidence: BTreeMap<String, f64>,
    /// One sentence: what was found, with figures.
    pub text: String,
    /// One sentence: what to do. It takes into account what the experiment already does.
    pub remedy: String,
}

/// The claim of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Blocks did not hold the data that was written to them.
    WrongContent,
    /// Holes or unwritten extents answered reads, without asking any device.
    ServedFromHoles,
    /// The page cache answered I/O.
    ServedFromPageCache,
    /// The device moved fewer bytes than requested, because the file system compresses them.
    Compressed,
    /// Written bytes were not on the device at the end of the trial.
    NotDurable,
    /// The device or file system under test is in memory.
    MemoryBacked,
    /// The loop device keeps its backing file in the page cache, in addition to any cache above it.
    DoubleCaching,
    /// The data set fits in memory, and the I/O is buffered.
    SmallerThanMemory,
    /// Several jobs share one file.
    SharedFile,
    /// The load generator or the machine's CPUs were the limit, not the storage.
    EngineCpuBound,
    /// Other processes used the same devices during the trial.
    Interference,
    /// The counters that show where the bytes came from are missing.
    SourceUnknown,
    /// The interval is wider than the experiment requests.
    IntervalTooWide,
    /// Trials failed.
    TrialsFailed,
    /// I/O errors occurred, and the trial continued.
    IoErrors,
    /// An expectation was missed.
    ExpectationMissed,
    /// A cache answered I/O that is neither the page cache nor the device's own: ARC, a caching layer.
    ServedFromOtherCache,
    /// A cache below the device answered I/O: the page cache under a loop device, or the host of a guest.
    ServedFromHostCache,
    /// A cgroup's CPU quota throttled the engine.
    CpuQuota,
    /// Most I/O waited for the journal or for flushes.
    JournalBound,
    /// A lock above the device serialized the I/Os, regardless of the requested depth.
    Serialized,
    /// The network was the limit.
    NetworkBound,
    /// The limits on the engine's I/O changed during the trial.
    ThrottleChanged,
    /// A limit that the experiment doesn't set held the load back.
    UndeclaredLimit,
    /// The rate had not settled when the measurement began.
    RampUp,
    /// The rate changed during the trial.
    NotSteady,
    /// The rate fell permanently from one level to a lower one, as when burst credit is used up.
    BurstExhausted,
    /// The figure rises or falls from round to round, so these trials are not replicates.
    Trend,
    /// A trial resembles the one before it, so the interval is too narrow.
    Autocorrelated,
    /// The trials fall into two groups.
    Bimodal,
    /// Some trials are far from the others.
    Outliers,
    /// All cells drifted together: the machine changed during the run.
    MachineDrift,
    /// The stack delivers less than it should from its volumes.
    BelowModel,
    /// Some tests ended too quickly to be measured.
    TooFast,
    /// The stack delivers more than its volumes can: something other than the volumes served the I/O.
    AboveModel,
    /// A cache on a faster device, e.g. of LVM, served I/O.
    ServedFromCacheDevice,
    /// A cache on a faster device is present, but held almost none of the requested data.
    CacheMissed,
    /// At the end of the load a cache held data that its origin lacked. The finding says how long writing it back took.
    CacheOwed,
    /// The load was the first to write to chunks of a thin pool, which the pool allocated meanwhile.
    ChunksAllocated,
    /// From round to round the cache held more of the requests, so these trials are not replicates.
    CacheWarming,
    /// A stack that stays up over the rounds was rebuilt between them and lost its cached data.
    StackRebuilt,
    /// A provisioning step changes things again when it runs again, so the state of the machine depends on the number of runs.
    NotIdempotent,
    /// The figure is beyond the valid range of a lab guest: it shows the speed of QEMU.
    BeyondEmulation,
    /// For a while no I/O completed: the storage held the I/Os, or the engine or the agent process did not run.
    Stalled,
    /// diskproof or an engine did something different from what the experiment or its job file says.
    NotAsAsked,
    /// Other processes used much of the CPU during the trial.
    OthersUsedCpu,
    /// Each written byte became several bytes on the devices: journal, copy on write, metadata, parity.
    WriteAmplified,
    /// The options of an imported job leave open whether the storage did the work: data that compresses or repeats, offsets that repeat.
    JobOptions,
    /// The machines that were to load together did not run at the same time.
    NotSimultaneous,
    /// The clock of a machine was set during a load that several machines ran together.
    ClockStepped,
    /// The user skipped the cell while the run went on, so it has fewer trials than planned.
    Skipped,
    /// The Slurm job of a block didn't have its node to itself.
    SharedNode,
    /// Trials were cut off, because their machine was lost, a disk was full, or their load program was killed, and were made again.
    TrialsCutOff,
    /// Machines that differ did the blocks of a queued run.
    MachinesDiffer,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// The number means something different from what it seems to mean.
    Caveat,
    /// The number is not a storage figure.
    Void,
}

/// Where the requested bytes came from or went to: shares that sum to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Served {
    /// The devices that lie directly under the load.
    pub device: f64,
    /// The page cache.
    pub page_cache: f64,
    /// Holes and unwritten extents.
    pub hole: f64,
    /// Another known source, e.g. decompression.
    pub other: f64,
    /// No counter shows the source.
    pub unknown: f64,
    /// A cache that is neither the page cache nor the device's own: ZFS's ARC, a caching layer.
    #[serde(default)]
    pub other_cache: f64,
}
