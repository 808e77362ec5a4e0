//! The counts of a load that runs: each lane adds its own at the end of an interval, so an I/O costs nothing more for it.

use super::histogram::{BINS, fold};
use crate::contract::Progress;
use record::latency::{LEAST_FOR_P99, LatencyHistogram};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The sums of all lanes.
#[derive(Debug)]
pub(crate) struct Board {
    /// Reads and writes by the bin of their latency, since the last write.
    bins: Vec<AtomicU32>,
    /// Their bytes.
    bytes: AtomicU64,
}

impl Board {
    pub(crate) fn new() -> Self {
        Self { bins: (0..BINS).map(|_| AtomicU32::new(0)).collect(), bytes: AtomicU64::new(0) }
    }

    /// Adds the I/Os of a lane that have latencies of one bin.
    pub(crate) fn add(&self, bin: u16, count: u32) {
        if let Some(sum) = self.bins.get(usize::from(bin)) {
            sum.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Adds the bytes of a lane.
    pub(crate) fn moved(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes what was added since the last time, for this span.
    pub(crate) fn take(&self, from_ns: u64, to_ns: u64) -> Progress {
        let bins = self.bins.iter().zip(0_u16..).map(|(sum, bin)| (bin, sum.swap(0, Ordering::Relaxed)));
        let bins: Vec<(u16, u32)> = bins.filter(|(_, count)| *count > 0).collect();
        let mut latency = LatencyHistogram::default();
        fold(&mut latency, &bins);
        let ios = latency.count();
        let p99_ns = latency.percentile_ns(0.99).filter(|_| ios >= LEAST_FOR_P99);
        Progress { from_ns, to_ns, ios, bytes: self.bytes.swap(0, Ordering::Relaxed), p99_ns }
    }
}
