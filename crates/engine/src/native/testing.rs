//! Statistics for tests of random numbers, and a task.

use super::distribution::Distribution;
use super::sizes::Sizes;
use super::task::{Issue, JobTask, Task, Tolerance};
use record::workload::{Rw, SyncMode};

/// Pearson's statistic of counts against shares that add up to 1.
pub(crate) fn chi_square(counts: &[u64], shares: &[f64]) -> f64 {
    let total: u64 = counts.iter().sum();
    let float = |n: u64| f64::from(u32::try_from(n).unwrap());
    counts
        .iter()
        .zip(shares)
        .map(|(count, share)| {
            let expected = share * float(total);
            (float(*count) - expected).powi(2) / expected
        })
        .sum()
}

/// The value that the statistic exceeds in one of 1000 cases (Wilson and Hilferty's approximation).
pub(crate) fn chi_square_limit(freedom: usize) -> f64 {
    let k = f64::from(u32::try_from(freedom).unwrap());
    let z = 3.0902;
    k * (1.0 - 2.0 / (9.0 * k) + z * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

/// The largest distance between the samples' distribution and `cumulative`, times the square root of their number (Kolmogorov and
/// Smirnov); above 1.95 in one of 1000 cases.
pub(crate) fn kolmogorov(samples: &mut [f64], cumulative: impl Fn(f64) -> f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let n = f64::from(u32::try_from(samples.len()).unwrap());
    let distance = samples.iter().zip(0_u32..).map(|(x, i)| {
        let (below, above) = (f64::from(i) / n, f64::from(i + 1) / n);
        (cumulative(*x) - below).abs().max((cumulative(*x) - above).abs())
    });
    distance.fold(0.0, f64::max) * n.sqrt()
}

/// A job of 4 KiB blocks without a place.
pub(crate) fn job(rw: Rw) -> JobTask {
    JobTask {
        name: "job".to_owned(),
        places: Vec::new(),
        rw,
        rwmixread: 50,
        sizes: Sizes::One(4096),
        iodepth: 4,
        batches: None,
        direct: true,
        fsync: 0,
        fdatasync: 0,
        end_fsync: false,
        sync: SyncMode::None,
        pause: None,
        once: false,
        buffer_compress_percentage: 0,
        dedupe_percentage: 0,
        rate: None,
        random_distribution: Distribution::Random,
        norandommap: false,
        verify: false,
        issue: Issue::IoUring,
        continue_on_error: Tolerance::default(),
        hipri: false,
        sqthread_poll: false,
    }
}

/// A task with one such job.
pub(crate) fn task(rw: Rw) -> Task {
    Task {
        jobs: vec![job(rw)],
        invalidate: false,
        seed: 1,
        proof: 0,
        ramp_ns: 0,
        trial_ns: 1_000_000_000,
        asked_ns: 0,
        begins_at_ns: None,
        live: false,
    }
}
