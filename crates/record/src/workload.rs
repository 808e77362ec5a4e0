//! Workloads: what is asked of the ground, in fio's own option names and meanings.

use crate::bonnie::BonnieAsk;
use crate::copy::CopyAsk;
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
    /// Copies of a tree of files.
    Corpus,
    /// Russell Coker's Bonnie++.
    Bonnie,
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
        /// Its jobs as options, where they use only what the native engine knows; else empty.
        #[serde(default)]
        jobs: Vec<NamedJob>,
    },
    /// A tree of files, copied to completion by the `corpus` engine.
    Copy(CopyAsk),
    /// A run of Bonnie++.
    Bonnie(BonnieAsk),
}

/// A section of a job file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedJob {
    /// Its name in the file.
    pub name: String,
    /// What it asks for, with all that it inherits.
    pub options: Options,
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
    /// Sequential trims: blocks are given back to the device or file system.
    Trim,
    /// Random trims.
    Randtrim,
    /// Sequential; every block is trimmed, then written.
    Trimwrite,
    /// Random; every block is trimmed, then written.
    Randtrimwrite,
}

impl Rw {
    /// All, in fio's order.
    pub const ALL: [Self; 10] = [
        Self::Read,
        Self::Write,
        Self::Trim,
        Self::Randread,
        Self::Randwrite,
        Self::Randtrim,
        Self::Rw,
        Self::Randrw,
        Self::Trimwrite,
        Self::Randtrimwrite,
    ];

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
            Self::Trim => "trim",
            Self::Randtrim => "randtrim",
            Self::Trimwrite => "trimwrite",
            Self::Randtrimwrite => "randtrimwrite",
        }
    }

    /// Whether any I/O is a read.
    #[must_use]
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Randread | Self::Rw | Self::Randrw)
    }

    /// Whether any I/O is a write.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Randread | Self::Trim | Self::Randtrim)
    }

    /// Whether any I/O is a trim.
    #[must_use]
    pub fn trims(self) -> bool {
        matches!(self, Self::Trim | Self::Randtrim | Self::Trimwrite | Self::Randtrimwrite)
    }

    /// Whether reads and writes are mixed.
    #[must_use]
    pub fn is_mixed(self) -> bool {
        matches!(self, Self::Rw | Self::Randrw)
    }

    /// Whether offsets are random.
    #[must_use]
    pub fn is_random(self) -> bool {
        matches!(self, Self::Randread | Self::Randwrite | Self::Randrw | Self::Randtrim | Self::Randtrimwrite)
    }
}

/// The options of a workload, all defaults made explicit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Access pattern.
    pub rw: Rw,
    /// Percentage of reads in a mix, 0..=100; fio's default is 50. Ignored by unmixed patterns.
    pub rwmixread: u8,
    /// Block size; the smallest one with `bsrange` or `bssplit`.
    pub bs_bytes: u64,
    /// Block sizes are drawn evenly from this range, in multiples of its lower end.
    #[serde(default)]
    pub bsrange: Option<SizeRange>,
    /// Block sizes with their shares of the I/Os, which add up to 100; empty: all alike.
    #[serde(default)]
    pub bssplit: Vec<SizeShare>,
    /// Size of each job's file or region, without what `offset` leaves out.
    pub size_bytes: u64,
    /// What is left out at the begin of each job's file or region.
    #[serde(default)]
    pub offset_bytes: u64,
    /// Number of files that each job's data is divided into.
    #[serde(default = "one")]
    pub nrfiles: u32,
    /// Name of the one file (on a block device: the one region) that all jobs share; `None`: each has its own.
    #[serde(default)]
    pub filename: Option<String>,
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
    /// Whether every write is durable before it completes.
    #[serde(default)]
    pub sync: SyncMode,
    /// Pause after every `thinktime_blocks` I/Os of a job.
    #[serde(default)]
    pub thinktime_us: u64,
    /// How many I/Os are done between two pauses.
    #[serde(default = "one")]
    pub thinktime_blocks: u32,
    /// The trial's measured time; `None`: the experiment's.
    #[serde(default)]
    pub runtime_ms: Option<u64>,
    /// Load before measuring begins; `None`: the experiment's.
    #[serde(default)]
    pub ramp_time_ms: Option<u64>,
    /// Whether the load goes on until its time is up; else it ends when every job went over its data once, if that is sooner.
    #[serde(default = "yes")]
    pub time_based: bool,
    /// fio's `verify`: how blocks are checked, e.g. `crc32c`; `None`: they aren't.
    #[serde(default)]
    pub verify: Option<String>,
    /// fsync at the end of the trial, inside the measured time. Default: true for buffered writes.
    pub end_fsync: bool,
    /// Requested compressibility of what is written, percent, 0: incompressible.
    pub buffer_compress_percentage: u8,
    /// Requested duplicate blocks, percent.
    pub dedupe_percentage: u8,
    /// I/Os per second cap per job; `None`: as fast as it goes.
    pub rate_iops: Option<u64>,
    /// fio's `rate`: bytes per second cap per job; `None`: as fast as it goes.
    #[serde(default)]
    pub rate_bytes_per_second: Option<u64>,
    /// When a rate's I/Os are due.
    #[serde(default)]
    pub rate_process: RateProcess,
    /// Random offsets' distribution, fio's syntax, e.g. `random`, `zipf:1.1`.
    pub random_distribution: String,
    /// Whether every block may be hit more than once before all have been hit.
    pub norandommap: bool,
    /// Any other fio option, handed over as it is (checked against a list of those that would point fio elsewhere).
    pub other: BTreeMap<String, String>,
}

impl Options {
    /// fio's own defaults (but for `time_based`), with O_DIRECT off and io_uring.
    #[must_use]
    pub fn new(rw: Rw, bs_bytes: u64, size_bytes: u64) -> Self {
        Self {
            rw,
            rwmixread: 50,
            bs_bytes,
            bsrange: None,
            bssplit: Vec::new(),
            size_bytes,
            offset_bytes: 0,
            nrfiles: 1,
            filename: None,
            iodepth: 1,
            numjobs: 1,
            direct: false,
            ioengine: "io_uring".to_owned(),
            fsync: 0,
            fdatasync: 0,
            sync: SyncMode::None,
            thinktime_us: 0,
            thinktime_blocks: 1,
            runtime_ms: None,
            ramp_time_ms: None,
            time_based: true,
            verify: None,
            end_fsync: false,
            buffer_compress_percentage: 0,
            dedupe_percentage: 0,
            rate_iops: None,
            rate_bytes_per_second: None,
            rate_process: RateProcess::Linear,
            random_distribution: "random".to_owned(),
            norandommap: false,
            other: BTreeMap::new(),
        }
    }
}

impl Options {
    /// Bytes of one job's files, with what `offset` leaves out of each.
    #[must_use]
    pub fn job_bytes(&self) -> u64 {
        self.size_bytes.saturating_add(self.offset_bytes.saturating_mul(self.nrfiles.into()))
    }

    /// Bytes of all jobs' files; a shared one once.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        match self.filename {
            Some(_) => self.job_bytes(),
            None => self.job_bytes().saturating_mul(self.numjobs.into()),
        }
    }
}

impl Workload {
    /// Bytes of files that a trial makes itself, at most.
    #[must_use]
    pub fn made_bytes(&self) -> u64 {
        match &self.ask {
            Ask::Options(_) | Ask::JobFile { .. } => 0,
            Ask::Copy(ask) => ask.data_bytes(),
            Ask::Bonnie(ask) => ask.data_bytes(),
        }
    }

    /// Bytes that are laid out before a trial; of a job file the most there can be.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        match &self.ask {
            Ask::Options(options) => options.data_bytes(),
            Ask::JobFile { size_bytes, .. } => *size_bytes,
            Ask::Copy(_) | Ask::Bonnie(_) => 0,
        }
    }
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// A range of block sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeRange {
    /// The smallest.
    pub low_bytes: u64,
    /// The largest.
    pub high_bytes: u64,
}

/// One block size of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeShare {
    /// Block size.
    pub bs_bytes: u64,
    /// Percentage of the I/Os.
    pub percent: u8,
}

/// fio's `sync`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// Writes complete when the kernel has them.
    #[default]
    None,
    /// O_DSYNC: when the data is durable.
    Dsync,
    /// O_SYNC: when data and metadata are.
    Sync,
}

/// fio's `rate_process`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateProcess {
    /// At equal distances.
    #[default]
    Linear,
    /// At exponentially distributed distances, as requests of many independent users arrive.
    Poisson,
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

#[cfg(test)]
mod tests {
    use super::{Options, Rw};

    #[test]
    fn data_is_counted_with_gaps_and_a_shared_file_once() {
        let plain = Options::new(Rw::Read, 4096, 1000);
        assert_eq!(plain.data_bytes(), 1000);
        let many = Options { numjobs: 3, nrfiles: 4, offset_bytes: 10, ..plain.clone() };
        assert_eq!((many.job_bytes(), many.data_bytes()), (1040, 3120));
        let shared =
            Options { numjobs: 3, offset_bytes: 10, filename: Some("one".to_owned()), ..plain.clone() };
        assert_eq!(shared.data_bytes(), 1010);
        assert_eq!(Options { numjobs: 3, ..Options::new(Rw::Read, 4096, u64::MAX) }.data_bytes(), u64::MAX);
    }
}
