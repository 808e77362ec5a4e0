//! The issue times of I/Os in an open loop: at a fixed rate or as Poisson arrivals, from the beginning of the load.
//!
//! An I/O that is issued late keeps its due time, and its latency counts from there, so that a stall isn't hidden.

use super::random::Random;
use serde::{Deserialize, Serialize};

/// A rate and its regularity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rate {
    /// I/Os or bytes per second of one job.
    pub(crate) per_second: u64,
    /// Whether the rate counts bytes instead of I/Os.
    pub(crate) bytes: bool,
    /// Whether gaps are exponentially distributed (fio's `rate_process=poisson`) instead of equal.
    pub(crate) poisson: bool,
}

/// The due times of one job.
#[derive(Debug, Clone)]
pub(crate) struct Arrivals {
    rate: Rate,
    begin_ns: u64,
    /// The I/Os or bytes issued so far.
    count: u128,
    after_ns: f64,
    due_ns: u64,
    random: Random,
}

impl Arrivals {
    /// Starts the arrivals; the first gap of Poisson arrivals is that after an I/O of `smallest` bytes.
    pub(crate) fn new(rate: Rate, smallest: u64, begin_ns: u64, random: Random) -> Self {
        let mut arrivals = Self { rate, begin_ns, count: 0, after_ns: 0.0, due_ns: begin_ns, random };
        if rate.poisson {
            arrivals.issued(smallest);
        }
        arrivals
    }

    /// The due time of the next I/O.
    #[inline]
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Records an issued I/O of this size, and computes the next due time.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "nanoseconds of a trial are far below 2^52"
    )]
    #[inline]
    pub(crate) fn issued(&mut self, bytes: u64) {
        let units = if self.rate.bytes { bytes } else { 1 };
        let per_second = self.rate.per_second.max(1);
        let after = if self.rate.poisson {
            // unit() is below 1, so the logarithm is finite.
            self.after_ns += -(1.0 - self.random.unit()).ln() * 1e9 * units as f64 / per_second as f64;
            self.after_ns as u64
        } else {
            self.count += u128::from(units);
            // From the total count, not from gap to gap, so that rounding errors don't add up.
            (self.count * 1_000_000_000 / u128::from(per_second)) as u64
        };
        self.due_ns = self.begin_ns.saturating_add(after);
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Rate};
    use crate::native::random::Random;
    use crate::native::testing::kolmogorov;
    use proptest::prelude::{any, proptest};

    const SECOND: u64 = 1_000_000_000;

    fn arrivals(iops: u64, poisson: bool, seed: u64) -> Arrivals {
        let rate = Rate { per_second: iops, bytes: false, poisson };
        Arrivals::new(rate, 4096, 5 * SECOND, Random::new(seed, 0))
    }

    /// Takes the next I/O if it is due, and returns its due time.
    fn take(arrivals: &mut Arrivals, now_ns: u64) -> Option<u64> {
        let due = arrivals.due_ns();
        (due <= now_ns).then(|| {
            arrivals.issued(4096);
            due
        })
    }

    /// Issues all I/Os that are due each time that the clock jumps by up to `step_ns`.
    fn issued(arrivals: &mut Arrivals, seconds: u64, step_ns: u64, seed: u64) -> Vec<(u64, u64)> {
        let mut random = Random::new(seed, 1);
        let mut now = 5 * SECOND;
        let mut found = Vec::new();
        while now < (5 + seconds) * SECOND {
            while let Some(due) = take(arrivals, now) {
                found.push((now, due));
            }
            now += 1 + random.below(step_ns);
        }
        found
    }

    proptest! {
        #[test]
        fn a_fixed_rate_is_held_without_bursts(iops in 1_u64..200_000, seed in any::<u64>()) {
            let found = issued(&mut arrivals(iops, false, seed), 1, 50_000, seed);
            // The first one is due at once; those due after the clock's last jump are still to come.
            assert!(found.len() as u64 <= iops);
            assert!(found.len() as u64 * 1000 + 1000 + iops / 20 >= iops * 995, "{} of {iops}", found.len());
            for two in found.windows(2) {
                let gap = two[1].1 - two[0].1;
                assert!(gap == SECOND / iops || gap == SECOND / iops + 1, "gap {gap}");
            }
            assert!(found.iter().all(|(now, due)| due <= now && now - due <= 50_000));
        }
    }

    #[test]
    fn what_a_stall_delays_keeps_its_due_time() {
        let mut arrivals = arrivals(1000, false, 0);
        assert_eq!(take(&mut arrivals, 5 * SECOND), Some(5 * SECOND));
        assert_eq!(take(&mut arrivals, 5 * SECOND), None);
        // Nothing could be issued for 10 ms.
        let late: Vec<u64> = std::iter::from_fn(|| take(&mut arrivals, 5 * SECOND + 10_000_000)).collect();
        assert_eq!(late, (1..=10).map(|ms| 5 * SECOND + ms * 1_000_000).collect::<Vec<_>>());
        assert_eq!(arrivals.due_ns(), 5 * SECOND + 11_000_000);
    }

    #[test]
    fn rates_that_dont_divide_a_second_dont_drift() {
        let mut arrivals = arrivals(300_007, false, 0);
        let count = std::iter::from_fn(|| take(&mut arrivals, 105 * SECOND - 1)).count();
        assert_eq!(count, 30_000_700);
    }

    proptest! {
        #[test]
        fn a_rate_in_bytes_is_held_whatever_the_sizes(
            rate in 1_u64 << 20..1 << 33, seed in any::<u64>(), kib in 1_u64..1024,
        ) {
            let rate = Rate { per_second: rate, bytes: true, poisson: false };
            let mut arrivals = Arrivals::new(rate, 1024, 0, Random::new(seed, 0));
            let mut random = Random::new(seed, 1);
            let mut bytes = 0;
            for _ in 0..200 {
                let size = 1024 * (1 + random.below(kib));
                let due = u128::from(arrivals.due_ns());
                assert_eq!(due, bytes * u128::from(SECOND) / u128::from(rate.per_second));
                arrivals.issued(size);
                bytes += u128::from(size);
            }
        }
    }

    #[test]
    fn poisson_bytes_have_their_rate() {
        let rate = Rate { per_second: 100 << 20, bytes: true, poisson: true };
        let mut arrivals = Arrivals::new(rate, 4096, 0, Random::new(3, 0));
        let mut bytes = 0_u32;
        while arrivals.due_ns() < 10 * SECOND {
            let size = if bytes.is_multiple_of(3) { 4096 } else { 65536 };
            arrivals.issued(size);
            bytes += u32::try_from(size).unwrap();
        }
        // About 16,000 arrivals or more: five standard deviations are below 4 %.
        assert!((f64::from(bytes) / (1000.0 * f64::from(1 << 20)) - 1.0).abs() < 0.06, "{bytes}");
    }

    #[test]
    fn poisson_arrivals_have_exponential_gaps_and_their_rate() {
        let mut arrivals = arrivals(50_000, true, 3);
        let dues: Vec<u64> = std::iter::from_fn(|| take(&mut arrivals, 9 * SECOND)).collect();
        let n = f64::from(u32::try_from(dues.len()).unwrap());
        // Five standard deviations of a Poisson count.
        assert!((n - 200_000.0).abs() < 5.0 * 200_000_f64.sqrt(), "{n}");
        let mut gaps: Vec<f64> =
            dues.windows(2).map(|two| f64::from(u32::try_from(two[1] - two[0]).unwrap()) / 1e9).collect();
        let distance = kolmogorov(&mut gaps, |gap| 1.0 - (-gap * 50_000.0).exp());
        assert!(distance < 1.95, "{distance}");
    }
}
