//! Workloads: what is asked of the ground, in fio's own option names and meanings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A resolved workload. Field names are fio's option names; where fio's value is a size or time, the unit is added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name with its levels filled in, e.g. `randrw-16k`.
    pub name: String,
    /// Which engine performs it.
    pub engine: EngineKind,
    /// What is asked.
    pub ask: Ask,
    /// How the data is laid out before the trial.
    pub layout: Layout,
    /// What the page cache holds when the trial begins.
    pub cache: CacheStart,
}

/// Which engine performs a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// Jens Axboe's fio.
    Fio,
    /// diskproof's own, on io_uring.
    Native,
}

/// What is asked: options, or a user's own fio job file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Options in fio's names.
    Options(Options),
    /// The text of a user's own job file, checked by `spec` and run by fio with only the places replaced.
    JobFile {
        /// Path as written in the experiment.
        path: String,
        /// The file's text when the plan was made.
        text: String,
        /// The most data its jobs will lay out, in bytes.
        size_bytes: u64,
    },
}

/// Access pattern, fio's `rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    Randread,
    /// Random writes.
    Randwrite,
    /// Sequential mixed reads and writes (fio also calls it `readwrite`).
    Rw,
    /// Random mixed reads and writes.
    Randrw,
}

impl Rw {
    /// fio's spelling.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Randread => "randread",
            Self::Randwrite => "randwrite",
            Self::Rw => "rw",
            Self::Randrw => "randrw",
        }
    }

    /// Whether any I/O is a read.
    #[must_use]
    pub fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::Randwrite)
    }

    /// Whether any I/O is a write.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Randread)
    }

    /// Whether offsets are random.
    #[must_use]
    pub fn is_random(self) -> bool {
        matches!(self, Self::Randread | Self::Randwrite | Self::Randrw)
    }
}

/// The options of a workload, all defaults made explicit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Access pattern.
    pub rw: Rw,
    /// Percentage of reads in a mix, 0..=100; fio's default is 50. Ignored by unmixed patterns.
    pub rwmixread: u8,
    /// Block size.
    pub bs_bytes: u64,
    /// Size of each job's file or region.
    pub size_bytes: u64,
    /// I/Os in flight per job.
    pub iodepth: u32,
    /// Number of identical jobs, each with its own file or region.
    pub numjobs: u32,
    /// O_DIRECT.
    pub direct: bool,
    /// fio's I/O engine: `libaio`, `io_uring`, `psync`, `sync`...
    pub ioengine: String,
    /// fsync after this many writes; 0: never.
    pub fsync: u32,
    /// fdatasync after this many writes; 0: never.
    pub fdatasync: u32,
    /// fsync at the end of the trial, inside the measured time. Default: true for buffered writes.
    pub end_fsync: bool,
    /// Requested compressibility of what is written, percent, 0: incompressible.
    pub buffer_compress_percentage: u8,
    /// Requested duplicate blocks, percent.
    pub dedupe_percentage: u8,
    /// I/Os per second cap per job; `None`: as fast as it goes.
    pub rate_iops: Option<u64>,
    /// Random offsets' distribution, fio's syntax, e.g. `random`, `zipf:1.1`.
    pub random_distribution: String,
    /// Whether every block may be hit more than once before all have been hit.
    pub norandommap: bool,
    /// Any other fio option, handed over as it is (checked against a list of those that would point fio elsewhere).
    pub other: BTreeMap<String, String>,
}

/// How the data is laid out before the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Written in full, with the declared compressibility, and flushed. The honest default.
    Written,
    /// Space reserved (fallocate) but never written: what fio lays out for itself on most file systems.
    Unwritten,
    /// A sparse file.
    Hole,
}

/// What the page cache holds when the trial begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheStart {
    /// Dropped, and verified to be gone. The honest default.
    Cold,
    /// The whole data set read once beforehand.
    Warm,
    /// Left as it is.
    Keep,
}
