//! Workloads: the load on the device or file system under test, with fio's option names and meanings.

use crate::bonnie::BonnieAsk;
use crate::copy::CopyAsk;
use crate::find::Find;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A resolved workload. Field names are fio's option names, plus the unit where fio's value is a size or time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name with its levels filled in, e.g. `randrw-16k`.
    pub name: String,
    /// Engine that runs it.
    pub engine: EngineKind,
    /// The options of the engine.
    pub ask: Ask,
    /// How the data is laid out before the trial.
    pub layout: Layout,
    /// What the page cache holds when the trial begins.
    pub cache: CacheStart,
    /// The machines that run it at the same time on a ground that they share, by the names of targets; empty: the machine that
    /// the cell's stack is loaded from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
}

/// The engine that runs a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// Jens Axboe's fio; also imported results of other tools whose options have fio's meaning.
    Fio,
    /// diskproof's own engine, on io_uring.
    Native,
    /// Copies of a tree of files.
    Corpus,
    /// Russell Coker's Bonnie++.
    Bonnie,
}

/// The options of an engine, or a user's own fio job file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Options with fio's names.
    Options(Options),
    /// A user's own job file. `spec` checks it, and fio runs it with only the paths replaced.
    JobFile {
        /// Path of the file, as written in the experiment.
        path: String,
        /// Text of the file when the plan was made.
        text: String,
        /// The most data its jobs will lay out, in bytes.
        size_bytes: u64,
        /// Its jobs as options, if they only use options that the native engine supports; else empty.
        #[serde(default)]
        jobs: Vec<NamedJob>,
    },
    /// A tree of files that the `corpus` engine copies to completion.
    Copy(CopyAsk),
    /// A run of Bonnie++.
    Bonnie(BonnieAsk),
}

/// A job section of a job file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedJob {
    /// Name of the section in the file.
    pub name: String,
    /// Its options, including all that it inherits.
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
    /// Sequential trims: blocks are returned to the device or file system.
    Trim,
    /// Random trims.
    Randtrim,
    /// Sequential; each block is trimmed, then written.
    Trimwrite,
    /// Random; each block is trimmed, then written.
    Randtrimwrite,
}

impl Rw {
    /// All patterns, in fio's order.
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

    /// Returns fio's spelling.
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

/// The options of a workload, with all defaults made explicit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Access pattern.
    pub rw: Rw,
    /// Percentage of reads in a mix, 0..=100; fio's default is 50. Patterns without a mix ignore it.
    pub rwmixread: u8,
    /// Block size in bytes; the smallest one with `bsrange` or `bssplit`.
    pub bs_bytes: u64,
    /// Range from which block sizes are drawn evenly, in multiples of its lower end.
    #[serde(default)]
    pub bsrange: Option<SizeRange>,
    /// Block sizes with their shares of the I/Os, which add up to 100; empty: one block size.
    #[serde(default)]
    pub bssplit: Vec<SizeShare>,
    /// Size of each job's file or region in bytes, without the part that `offset` skips.
    pub size_bytes: u64,
    /// Bytes that are skipped at the beginning of each job's file or region.
    #[serde(default)]
    pub offset_bytes: u64,
    /// Number of files that each job's data is divided into.
    #[serde(default = "one")]
    pub nrfiles: u32,
    /// Name of the one file (on a block device: the one region) that all jobs share; `None`: each job has its own.
    #[serde(default)]
    pub filename: Option<String>,
    /// I/Os in flight per job.
    pub iodepth: u32,
    /// Number of identical jobs, each with its own file or region.
    pub numjobs: u32,
    /// Whether O_DIRECT is used.
    pub direct: bool,
    /// fio's I/O engine, e.g. `libaio`, `io_uring`, `psync`, `sync`.
    pub ioengine: String,
    /// Number of writes after which an fsync follows; 0: never.
    pub fsync: u32,
    /// Number of writes after which an fdatasync follows; 0: never.
    pub fdatasync: u32,
    /// Whether each write must be durable before it completes.
    #[serde(default)]
    pub sync: SyncMode,
    /// Pause of a job after every `thinktime_blocks` I/Os, in microseconds.
    #[serde(default)]
    pub thinktime_us: u64,
    /// The part of a pause, from its begin, in which the job keeps its processor busy, in microseconds.
    // Left out if 0: the names of cells come from this form, and those of earlier plans stay.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub thinktime_spin_us: u64,
    /// Number of I/Os between two pauses.
    #[serde(default = "one")]
    pub thinktime_blocks: u32,
    /// Measured time of a trial in milliseconds; `None`: as the experiment says.
    #[serde(default)]
    pub runtime_ms: Option<u64>,
    /// Time of load before the measurement begins, in milliseconds; `None`: as the experiment says.
    #[serde(default)]
    pub ramp_time_ms: Option<u64>,
    /// Whether the load runs until its time is up. If false, it ends earlier once every job has gone over its data.
    #[serde(default = "yes")]
    pub time_based: bool,
    /// fio's `verify`: how the content of blocks is checked, e.g. `crc32c`; `None`: it isn't.
    #[serde(default)]
    pub verify: Option<String>,
    /// Whether an fsync follows at the end of the trial, inside the measured time. Default: true for buffered writes.
    pub end_fsync: bool,
    /// Compressibility of the written data, in percent; 0: incompressible.
    pub buffer_compress_percentage: u8,
    /// Percentage of duplicate blocks in the written data.
    pub dedupe_percentage: u8,
    /// Limit of I/Os per second per job; `None`: no limit.
    pub rate_iops: Option<u64>,
    /// Whether `rate_iops` counts the I/Os of all directions of a mix together; if not, fio holds each direction to it.
    // Left out if not, as above.
    #[serde(default, skip_serializing_if = "is_off")]
    pub rate_of_all: bool,
    /// fio's `rate`: limit of bytes per second per job; `None`: no limit.
    #[serde(default)]
    pub rate_bytes_per_second: Option<u64>,
    /// Distribution of the times at which a rate's I/Os are due.
    #[serde(default)]
    pub rate_process: RateProcess,
    /// Distribution of random offsets in fio's syntax, e.g. `random`, `zipf:1.1`.
    pub random_distribution: String,
    /// Whether a block may be accessed again before all blocks have been accessed.
    pub norandommap: bool,
    /// Other fio options, passed on unchanged (after a check against a list of options that would point fio elsewhere).
    pub other: BTreeMap<String, String>,
    /// The search that varies one of these options; the option then has its highest level here.
    // Left out where there is none, as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub find: Option<Find>,
}

impl Options {
    /// Returns fio's own defaults (except `time_based`), with O_DIRECT off and io_uring.
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
            thinktime_spin_us: 0,
            thinktime_blocks: 1,
            runtime_ms: None,
            ramp_time_ms: None,
            time_based: true,
            verify: None,
            end_fsync: false,
            buffer_compress_percentage: 0,
            dedupe_percentage: 0,
            rate_iops: None,
            rate_of_all: false,
            rate_bytes_per_second: None,
            rate_process: RateProcess::Linear,
            random_distribution: "random".to_owned(),
            norandommap: false,
            other: BTreeMap::new(),
            find: None,
        }
    }
}

impl Options {
    /// Whether blocks have several sizes.
    #[must_use]
    pub fn has_several_sizes(&self) -> bool {
        self.bsrange.is_some_and(|range| range.low_bytes != range.high_bytes) || self.bssplit.len() > 1
    }

    /// Whether syncs follow its writes: `fsync`, `fdatasync` or fio's `sync_file_range`.
    #[must_use]
    pub fn syncs(&self) -> bool {
        let range = self.other.get("sync_file_range").is_some_and(|range| range != "0");
        self.rw.writes() && (self.fsync > 0 || self.fdatasync > 0 || range)
    }

    /// Whether writes become durable one after another while it runs: by `fsync`, `fdatasync` or `sync`. `sync_file_range` makes nothing
    /// durable: it flushes neither metadata nor the device's own cache.
    #[must_use]
    pub fn writes_become_durable(&self) -> bool {
        self.rw.writes() && (self.fsync > 0 || self.fdatasync > 0 || self.sync != SyncMode::None)
    }

    /// Whether each write waits for its own sync, and nothing else is in flight: `fsync: 1` or `fdatasync: 1` at a depth of 1.
    #[must_use]
    pub fn syncs_each_write(&self) -> bool {
        let one = self.iodepth == 1
            || matches!(self.ioengine.as_str(), "psync" | "sync" | "vsync" | "pvsync" | "pvsync2" | "mmap");
        self.rw.writes() && one && self.sync == SyncMode::None && (self.fsync == 1 || self.fdatasync == 1)
    }

    /// Returns the bytes of one job's files, including the part that `offset` skips in each.
    #[must_use]
    pub fn job_bytes(&self) -> u64 {
        self.size_bytes.saturating_add(self.offset_bytes.saturating_mul(self.nrfiles.into()))
    }

    /// Returns the bytes of all jobs' files; a shared file counts once.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        match self.filename {
            Some(_) => self.job_bytes(),
            None => self.job_bytes().saturating_mul(self.numjobs.into()),
        }
    }
}

impl Workload {
    /// Returns the most bytes of files that a trial makes itself.
    #[must_use]
    pub fn made_bytes(&self) -> u64 {
        match &self.ask {
            Ask::Options(_) | Ask::JobFile { .. } => 0,
            Ask::Copy(ask) => ask.data_bytes(),
            Ask::Bonnie(ask) => ask.data_bytes(),
        }
    }

    /// Returns the bytes that are laid out before a trial; for a job file, the most that there can be.
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

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_off(switch: &bool) -> bool {
    !switch
}

/// A range of block sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeRange {
    /// The smallest size in bytes.
    pub low_bytes: u64,
    /// The largest size in bytes.
    pub high_bytes: u64,
}

/// One block size of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeShare {
    /// Block size in bytes.
    pub bs_bytes: u64,
    /// Percentage of the I/Os.
    pub percent: u8,
}

/// fio's `sync`: when a write completes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// When the kernel has the data.
    #[default]
    None,
    /// O_DSYNC: when the data is durable.
    Dsync,
    /// O_SYNC: when data and metadata are durable.
    Sync,
}

/// fio's `rate_process`: the times at which I/Os are due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateProcess {
    /// At equal intervals.
    #[default]
    Linear,
    /// At exponentially distributed intervals, like requests of many independent users.
    Poisson,
}

/// How the data is laid out before the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Written in full, with the declared compressibility, and flushed. The honest default.
    Written,
    /// Space reserved (fallocate) but never written, as fio itself does on most file systems.
    Unwritten,
    /// As a sparse file, without any allocated space.
    Hole,
}

/// What the page cache holds when the trial begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheStart {
    /// Nothing: the cache is dropped, and the drop is verified. The honest default.
    Cold,
    /// The whole data set: it is read once beforehand.
    Warm,
    /// Whatever it already held.
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
