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
    /// Others used the same devices, or much of the CPU, during the trial.
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
}
