//! The input and output of the worker process: JSON, stored in the record as the engine's input and output.

use super::arrival::Rate;
use super::batching::Batches;
use super::distribution::Distribution;
use super::kind::Kind;
use super::sizes::Sizes;
use super::think::Pause;
use record::latency::{LatencyHistogram, LatencySteps};
use record::trial::{Departure, ErrorCount, Verified};
use record::workload::{Rw, SyncMode};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How I/O is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Issue {
    /// io_uring; pread and pwrite in threads where it is refused, which is then reported.
    IoUring,
    /// pread and pwrite, one thread per I/O in flight.
    Threads,
}

/// The place of a job's I/O.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Its file's number among the files of all jobs; jobs that share a file have the same.
    pub(crate) number: u32,
    pub(crate) path: PathBuf,
    pub(crate) offset_bytes: u64,
    pub(crate) size_bytes: u64,
    pub(crate) block_device: bool,
}

/// The work of one job. Names are fio's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobTask {
    /// Its name, for messages.
    pub(crate) name: String,
    /// Its files, or spans of the block device.
    pub(crate) places: Vec<Place>,
    pub(crate) rw: Rw,
    pub(crate) rwmixread: u8,
    pub(crate) sizes: Sizes,
    pub(crate) iodepth: u32,
    /// The sizes of batches, if they are set.
    #[serde(default)]
    pub(crate) batches: Option<Batches>,
    pub(crate) direct: bool,
    pub(crate) fsync: u32,
    pub(crate) fdatasync: u32,
    pub(crate) end_fsync: bool,
    pub(crate) sync: SyncMode,
    pub(crate) pause: Option<Pause>,
    /// Whether it ends after one pass over its data.
    pub(crate) once: bool,
    pub(crate) buffer_compress_percentage: u8,
    pub(crate) dedupe_percentage: u8,
    pub(crate) rate: Option<Rate>,
    pub(crate) random_distribution: Distribution,
    pub(crate) norandommap: bool,
    /// Whether blocks are stamped when written and checked when read.
    #[serde(default)]
    pub(crate) verify: bool,
    pub(crate) issue: Issue,
    pub(crate) continue_on_error: Tolerance,
    /// Poll for completions (IORING_SETUP_IOPOLL).
    pub(crate) hipri: bool,
    /// Let a kernel thread submit (IORING_SETUP_SQPOLL).
    pub(crate) sqthread_poll: bool,
}

impl JobTask {
    /// How its I/O is issued where io_uring is available: on most kernels a ring can't discard.
    pub(crate) fn issued_by(&self) -> Issue {
        if self.discards() { Issue::Threads } else { self.issue }
    }

    /// Whether it trims a block device.
    pub(crate) fn discards(&self) -> bool {
        self.rw.trims() && self.places.iter().any(|place| place.block_device)
    }

    /// Whether every block is trimmed, then written.
    pub(crate) fn trims_first(&self) -> bool {
        matches!(self.rw, Rw::Trimwrite | Rw::Randtrimwrite)
    }

    /// Whether blocks may be accessed again before all have been, because sizes differ.
    pub(crate) fn repeats(&self) -> bool {
        let random = self.rw.is_random() && self.random_distribution == Distribution::Random;
        random && self.sizes.vary() && !self.norandommap
    }

    /// The number of blocks of the smallest size in a place.
    pub(crate) fn blocks(&self, place: &Place) -> u64 {
        place.size_bytes / self.sizes.smallest().max(1)
    }

    /// The size of a buffer.
    pub(crate) fn buffer_bytes(&self) -> usize {
        usize::try_from(self.sizes.largest()).unwrap_or(usize::MAX)
    }
}

/// Failures that don't end the trial: fio's `continue_on_error`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tolerance {
    pub(crate) read: bool,
    /// Writes, and as in fio also trims and flushes.
    pub(crate) write: bool,
    /// Wrong content.
    pub(crate) verify: bool,
}

impl Tolerance {
    /// Parses fio's values.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let of = |read, write, verify| Some(Self { read, write, verify });
        match text {
            "none" | "0" => of(false, false, false),
            "read" => of(true, false, false),
            "write" => of(false, true, false),
            "io" => of(true, true, false),
            "verify" => of(false, false, true),
            "all" | "1" | "" => of(true, true, true),
            _ => None,
        }
    }

    /// Whether the load continues after such an I/O failed.
    pub(crate) fn of(self, kind: Kind) -> bool {
        match kind {
            Kind::Read => self.read,
            Kind::Write | Kind::Trim | Kind::Sync => self.write,
        }
    }
}

/// The work of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The jobs, each on its own lane.
    pub(crate) jobs: Vec<JobTask>,
    /// Drop the data's pages from the page cache first.
    pub(crate) invalidate: bool,
    pub(crate) seed: u64,
    /// The trial's number in blocks under `verify`; 0 where no job verifies.
    #[serde(default)]
    pub(crate) proof: u64,
    pub(crate) ramp_ns: u64,
    pub(crate) trial_ns: u64,
    /// CLOCK_MONOTONIC when the agent process started the worker.
    pub(crate) asked_ns: u64,
    /// CLOCK_MONOTONIC when the load begins; `None`: as soon as all jobs are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begins_at_ns: Option<u64>,
    /// Whether the worker tells what completes while the load runs, in the memory that is its standard input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) live: bool,
}

impl Task {
    /// Whether any job verifies.
    pub(crate) fn verifies(&self) -> bool {
        self.jobs.iter().any(|job| job.verify)
    }

    /// Whether the load continues and counts despite an error.
    pub(crate) fn tolerates(&self, error: &ErrorSeen) -> bool {
        let tolerance = self.jobs.get(error.job as usize).map(|job| job.continue_on_error);
        tolerance.is_some_and(|t| if error.content { t.verify } else { t.of(error.kind) })
    }

    /// Whether any job reads.
    pub(crate) fn reads(&self) -> bool {
        self.jobs.iter().any(|job| job.rw.reads())
    }

    /// Whether any job writes.
    pub(crate) fn writes(&self) -> bool {
        self.jobs.iter().any(|job| job.rw.writes())
    }

    /// Whether any job trims.
    pub(crate) fn trims(&self) -> bool {
        self.jobs.iter().any(|job| job.rw.trims())
    }

    /// Whether a flush belongs to the measured time.
    pub(crate) fn open_end(&self) -> bool {
        self.jobs.iter().any(|job| job.end_fsync && job.rw.writes())
    }

    /// The length of an interval of the series: 100 ms, more in trials of over five minutes.
    pub(crate) fn interval_ns(&self) -> u64 {
        const SHORTEST_NS: u64 = 100_000_000;
        const MOST: u64 = 3000;
        self.trial_ns.div_ceil(MOST).max(SHORTEST_NS)
    }
}

/// One kind of I/O over all jobs in the measured time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Side {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    pub(crate) latency_sum_ns: u64,
    pub(crate) latency_max_ns: u64,
    pub(crate) latency: LatencyHistogram,
}

/// One kind of I/O over all jobs in one interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Point {
    /// The begin, from the beginning of the measured time.
    pub(crate) start_ms: u64,
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
    pub(crate) max_ns: u64,
}

/// A kind of error and its places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ErrorSeen {
    /// The error's name, `short read`, `short write`, or the fault of the content.
    pub(crate) errno: String,
    pub(crate) kind: Kind,
    /// Whether the I/O itself succeeded, but read wrong content.
    #[serde(default)]
    pub(crate) content: bool,
    pub(crate) job: u32,
    pub(crate) count: u64,
    /// The first few.
    pub(crate) offsets_bytes: Vec<u64>,
}

impl ErrorSeen {
    /// The error in the record's form.
    pub(crate) fn count(&self) -> ErrorCount {
        let offsets: Vec<String> = self.offsets_bytes.iter().map(u64::to_string).collect();
        let more = if self.count > self.offsets_bytes.len() as u64 { ", ..." } else { "" };
        let kind = format!("{:?}", self.kind).to_lowercase();
        let place = format!("job{}: {kind} at offset {}{more}", self.job, offsets.join(", "));
        ErrorCount { errno: self.errno.clone(), count: self.count, place: Some(place) }
    }
}

/// The cost of the generator itself in the measured time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    /// Of these, those of the busiest lane's own thread.
    #[serde(default)]
    pub(crate) busiest_thread_seconds: Option<f64>,
    /// Instructions in user mode per completed I/O.
    #[serde(default)]
    pub(crate) user_instructions_per_io: Option<f64>,
    /// CPU time of the whole worker per completed I/O, including system time.
    pub(crate) cpu_ns_per_io: Option<f64>,
    /// The peak resident memory, including I/O buffers.
    pub(crate) peak_memory_bytes: u64,
    pub(crate) buffer_bytes: u64,
}

/// The output of the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// How I/O was actually issued.
    pub(crate) issued_by: String,
    /// The clock of the latencies.
    pub(crate) clock: String,
    /// CLOCK_MONOTONIC when the load began.
    pub(crate) begin_ns: u64,
    /// The time from the request to the beginning of the load.
    pub(crate) startup_ns: u64,
    /// The begin of the measured time, CLOCK_MONOTONIC.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) read: Side,
    pub(crate) write: Side,
    pub(crate) trim: Side,
    /// fsync and fdatasync.
    pub(crate) sync: Side,
    /// Writes, with the time from their submission until they were durable.
    #[serde(default)]
    pub(crate) durable: Side,
    pub(crate) errors: Vec<ErrorSeen>,
    pub(crate) verified: Option<Verified>,
    pub(crate) cost: Cost,
    pub(crate) interval_ms: u64,
    pub(crate) read_series: Vec<Point>,
    pub(crate) write_series: Vec<Point>,
    pub(crate) trim_series: Vec<Point>,
    /// Latencies over time, in the record's form.
    #[serde(default)]
    pub(crate) read_latency: Option<LatencySteps>,
    #[serde(default)]
    pub(crate) write_latency: Option<LatencySteps>,
    pub(crate) messages: Vec<String>,
    /// The differences from the request; each is also among the messages.
    #[serde(default)]
    pub(crate) departures: Vec<Departure>,
}
