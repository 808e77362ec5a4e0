//! A workload's requests, as far as there is a model for them.

use super::geometry::{Geometry, float, gcd};
use record::workload::{EngineKind, Layout, Options, SyncMode, Workload};

/// The requests of a workload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Load {
    /// Sizes and their shares of the requests, which add up to 1.
    pub(crate) sizes: Vec<(u64, f64)>,
    /// Requests begin at `base` plus a multiple of this, in bytes.
    pub(crate) step: u64,
    pub(crate) base: u64,
    pub(crate) random: bool,
    pub(crate) read_share: f64,
    /// The number of requests in flight, all jobs together.
    pub(crate) depth: f64,
    /// The number of jobs; each has its own part of the data.
    pub(crate) streams: f64,
    /// The requested rate, in requests per second, if there is one.
    pub(crate) cap: Option<f64>,
}

impl Load {
    /// The load of a workload; `None` if requests and device I/Os have no fixed relation: buffered I/O, flushes, holes, trims, pauses,
    /// several jobs.
    pub(crate) fn of(workload: &Workload) -> Option<Self> {
        let o = workload.only_options()?;
        let plain = o.direct
            && workload.layout == Layout::Written
            && !o.rw.trims()
            && (o.fsync, o.fdatasync, o.sync) == (0, 0, SyncMode::None)
            && !o.end_fsync
            && o.thinktime_us == 0
            && o.verify.is_none()
            && o.random_distribution == "random"
            && o.other.is_empty();
        if !plain || (o.rw.is_mixed() && (o.rate_iops.is_some() || o.rate_bytes_per_second.is_some())) {
            return None;
        }
        let sizes = sizes(o)?;
        let step = if o.rw.is_random() { o.bs_bytes } else { sizes.iter().fold(0, |g, s| gcd(g, s.0)) };
        let (jobs, deep) = (f64::from(o.numjobs.max(1)), f64::from(o.iodepth.max(1)));
        let one_by_one =
            matches!(o.ioengine.as_str(), "psync" | "sync" | "vsync" | "pvsync" | "pvsync2" | "mmap");
        let mean: f64 = sizes.iter().map(|(bytes, share)| float(*bytes) * share).sum();
        let rate = o.rate_iops.map(float).or_else(|| o.rate_bytes_per_second.map(|b| float(b) / mean));
        Some(Self {
            step,
            base: o.offset_bytes,
            random: o.rw.is_random(),
            read_share: match (o.rw.reads(), o.rw.writes()) {
                (true, true) => f64::from(o.rwmixread) / 100.0,
                (reads, _) => f64::from(u8::from(reads)),
            },
            depth: if one_by_one && workload.engine == EngineKind::Fio { jobs } else { jobs * deep },
            streams: jobs,
            cap: rate.map(|r| r * jobs),
            sizes,
        })
    }

    pub(crate) fn mean_bytes(&self) -> f64 {
        self.sizes.iter().map(|(bytes, share)| float(*bytes) * share).sum()
    }

    pub(crate) fn largest_bytes(&self) -> u64 {
        self.sizes.iter().map(|s| s.0).max().unwrap_or(0)
    }

    /// The mean number of device I/Os of one copy of a request.
    pub(crate) fn chunks_touched(&self, geometry: &Geometry) -> f64 {
        self.sizes
            .iter()
            .map(|(bytes, share)| share * geometry.chunks_touched(*bytes, self.step, self.base))
            .sum()
    }

    /// Whether every member always gets its share of the I/Os in flight: each request touches all members, or a sequential stream covers a
    /// whole row of chunks. `None` if a sequential stream is on fewer members at a time.
    pub(crate) fn is_even(&self, geometry: &Geometry) -> Option<bool> {
        if self.sizes.iter().all(|(bytes, _)| geometry.covers_all(*bytes, self.step, self.base)) {
            return Some(true);
        }
        if self.random {
            return Some(false);
        }
        let row = float(geometry.chunk_bytes?) * f64::from(geometry.columns());
        (self.depth * self.mean_bytes() >= row * self.streams).then_some(true)
    }
}

/// Sizes with their shares; `None` if they don't add up to 1.
fn sizes(o: &Options) -> Option<Vec<(u64, f64)>> {
    if let Some(range) = o.bsrange {
        let count = range.high_bytes.checked_div(range.low_bytes).filter(|&n| (1..=65_536).contains(&n))?;
        return Some((1..=count).map(|i| (i * range.low_bytes, 1.0 / float(count))).collect());
    }
    if o.bssplit.is_empty() {
        return (o.bs_bytes > 0).then(|| vec![(o.bs_bytes, 1.0)]);
    }
    let all: u32 = o.bssplit.iter().map(|s| u32::from(s.percent)).sum();
    (all == 100 && o.bssplit.iter().all(|s| s.bs_bytes > 0))
        .then(|| o.bssplit.iter().map(|s| (s.bs_bytes, f64::from(s.percent) / 100.0)).collect())
}

/// The measured time that the workload itself sets, in seconds.
pub(crate) fn runtime_seconds(workload: &Workload) -> Option<f64> {
    // The native engine runs all jobs of a file for the same time.
    workload.all_options().first()?.runtime_ms.map(|ms| float(ms) / 1e3)
}
