//! Latency histograms. Histograms merge; percentiles never do.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Completion latencies as counts per bin. Merging is exact, associative and commutative.
///
/// Each bin's key is its representative latency in nanoseconds, as the engine reported it. fio's bins have a relative width of at
/// most 2^-6, so a percentile is off by at most 2^-7 = 0.78 % (fio's stat.h).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyHistogram {
    /// Representative latency in ns -> number of I/Os. JSON has a list of pairs, in order.
    #[serde(with = "pairs")]
    pub bins_ns: BTreeMap<u64, u64>,
}

impl LatencyHistogram {
    /// Adds another histogram's counts.
    pub fn merge(&mut self, other: &Self) {
        for (&ns, &count) in &other.bins_ns {
            *self.bins_ns.entry(ns).or_default() += count;
        }
    }

    /// Returns the number of I/Os.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.bins_ns.values().sum()
    }

    /// Returns the latency in ns that a share `q` (0..=1) of all I/Os did not exceed, or `None` when there are no I/Os.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are far below 2^52, q is within 0..=1"
    )]
    pub fn percentile_ns(&self, q: f64) -> Option<u64> {
        let total = self.count();
        let rank = ((total as f64 * q.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        for (&ns, &count) in &self.bins_ns {
            seen += count;
            if seen >= rank {
                return Some(ns);
            }
        }
        None
    }
}

/// The latencies of one kind of call over the measured time, e.g. of all syncs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Number of calls that ended in the measured time.
    pub count: u64,
    /// Mean latency in nanoseconds; `None` if the engine doesn't report it.
    pub mean_ns: Option<f64>,
    /// Longest latency in nanoseconds; `None` if the engine doesn't report it.
    pub max_ns: Option<u64>,
    /// Histogram; empty if the engine knows only the mean.
    pub histogram: LatencyHistogram,
}

/// The fewest I/Os from which the p99 of a step is given: of fewer, it would be the longest one.
pub const LEAST_FOR_P99: u64 = 100;

/// Latencies of one kind of I/O over the time of a trial, in equal steps from the begin of its series, all jobs together. All lists
/// have the same length. They are exact to the width of a bin, like other percentiles. Those of several steps can't be merged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencySteps {
    /// Length of a step in nanoseconds: a multiple of that of the series, so long that most steps have enough I/Os for their p99.
    pub step_ns: u64,
    /// Median latency of the I/Os that completed in each step, in nanoseconds; `None`: none did.
    pub p50_ns: Vec<Option<u64>>,
    /// 99th percentile, in nanoseconds; `None`: fewer than [`LEAST_FOR_P99`] I/Os completed.
    pub p99_ns: Vec<Option<u64>>,
    /// Latency of the slowest I/O, in nanoseconds; `None`: none completed.
    pub max_ns: Vec<Option<u64>>,
}

impl LatencySteps {
    /// Makes steps of the histograms of a series' steps, of this length in nanoseconds. As many as needed are merged into one: until
    /// one has on average twice as many I/Os as its p99 needs, but never so many that fewer than [`LEAST_STEPS`] are left. Up to as many
    /// steps of the series as there are merged ones may be left out at the end. `None` without an I/O.
    #[must_use]
    pub fn of(step_ns: u64, histograms: &[LatencyHistogram]) -> Option<Self> {
        let count = histograms.len() as u64;
        let ios: u64 = histograms.iter().map(LatencyHistogram::count).sum();
        let wanted = (2 * LEAST_FOR_P99).saturating_mul(count).div_ceil(ios.max(1));
        let together = wanted.clamp(1, (count / LEAST_STEPS).max(1));
        // The same number of steps, but evenly over the whole time.
        let together = count.checked_div(count / together)?;
        if ios == 0 {
            return None;
        }
        let mut all = Self { step_ns: step_ns.saturating_mul(together), ..Self::default() };
        for parts in histograms.chunks_exact(usize::try_from(together).ok()?) {
            let mut whole = LatencyHistogram::default();
            parts.iter().for_each(|part| whole.merge(part));
            all.p50_ns.push(whole.percentile_ns(0.5));
            all.p99_ns.push(whole.percentile_ns(0.99).filter(|_| whole.count() >= LEAST_FOR_P99));
            all.max_ns.push(whole.bins_ns.keys().next_back().copied());
        }
        Some(all)
    }
}

/// The fewest steps that are left when several are merged.
const LEAST_STEPS: u64 = 8;

/// Writes a map with numeric keys as pairs: JSON's keys are text, and serde's tagged enums can't read numbers from them.
mod pairs {
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::collections::BTreeMap;

    pub(super) fn serialize<S: Serializer>(bins: &BTreeMap<u64, u64>, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(bins.iter())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<u64, u64>, D::Error> {
        Ok(Vec::<(u64, u64)>::deserialize(d)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST_FOR_P99, LatencyHistogram, LatencySteps};
    use proptest::prelude::{any, prop, proptest};

    fn of(bins: &[(u64, u64)]) -> LatencyHistogram {
        let mut h = LatencyHistogram::default();
        for &(ns, n) in bins {
            *h.bins_ns.entry(ns).or_default() += n;
        }
        h
    }

    #[test]
    fn percentiles_by_rank() {
        let h = of(&[(10, 50), (20, 49), (1000, 1)]);
        assert_eq!(h.percentile_ns(0.5), Some(10));
        assert_eq!(h.percentile_ns(0.51), Some(20));
        assert_eq!(h.percentile_ns(0.99), Some(20));
        assert_eq!(h.percentile_ns(1.0), Some(1000));
        assert_eq!(LatencyHistogram::default().percentile_ns(0.5), None);
    }

    #[test]
    fn written_as_pairs() {
        let text = serde_json::to_string(&of(&[(20, 1), (10, 2)])).unwrap();
        assert_eq!(text, r#"{"bins_ns":[[10,2],[20,1]]}"#);
        assert_eq!(serde_json::from_str::<LatencyHistogram>(&text).unwrap(), of(&[(20, 1), (10, 2)]));
    }

    /// The histogram of a step with so many I/Os of this latency.
    fn step(ns: u64, ios: u64) -> LatencyHistogram {
        of(&[(ns, ios)])
    }

    #[test]
    fn a_stall_is_seen_in_its_own_step_only() {
        let mut steps = vec![step(100, 1000); 20];
        steps[7] = of(&[(100, 900), (5_000, 32)]);
        let found = LatencySteps::of(10, &steps).unwrap();
        assert_eq!((found.step_ns, found.p50_ns), (10, vec![Some(100); 20]));
        let seen: Vec<usize> = (0..20).filter(|at| found.p99_ns[*at] != Some(100)).collect();
        assert_eq!((seen, found.p99_ns[7], found.max_ns[7]), (vec![7], Some(5_000), Some(5_000)));
        assert_eq!(found.max_ns.iter().filter(|max| **max == Some(100)).count(), 19);
    }

    #[test]
    fn a_step_with_too_few_ios_has_no_p99_and_one_without_any_has_nothing() {
        let mut steps = vec![step(100, 1000); 10];
        (steps[2], steps[3], steps[4]) =
            (step(9_000, LEAST_FOR_P99 - 1), of(&[]), step(9_000, LEAST_FOR_P99));
        let found = LatencySteps::of(10, &steps).unwrap();
        let at = |place: usize| (found.p50_ns[place], found.p99_ns[place], found.max_ns[place]);
        assert_eq!(at(2), (Some(9_000), None, Some(9_000)), "it isn't hidden that it was slow");
        assert_eq!(at(3), (None, None, None));
        assert_eq!(at(4), (Some(9_000), Some(9_000), Some(9_000)));
        assert_eq!(LatencySteps::of(10, &[]), None);
        assert_eq!(LatencySteps::of(10, &vec![of(&[]); 5]), None);
    }

    #[test]
    fn slow_loads_get_longer_steps_but_no_fewer_than_eight() {
        let of = |ios: u64, steps: usize| {
            let found = LatencySteps::of(100, &vec![step(7, ios); steps]).unwrap();
            let known = found.p99_ns.iter().flatten().count();
            (found.step_ns / 100, found.p50_ns.len(), known)
        };
        assert_eq!(of(200, 150), (1, 150, 150));
        assert_eq!(of(50, 150), (4, 37, 37));
        assert_eq!(of(8, 150), (18, 8, 8), "144 I/Os in each");
        assert_eq!(of(1, 150), (18, 8, 0));
        assert_eq!(of(1, 5), (1, 5, 0));
    }

    proptest! {
        /// Percentiles are in order in each step, each is that of the I/Os of its time, and nothing is counted twice.
        #[test]
        fn the_percentiles_of_steps_are_in_order(
            steps in prop::collection::vec(prop::collection::vec((1_u64..1 << 40, 1_u64..60), 0..20), 1..60),
        ) {
            let steps: Vec<LatencyHistogram> = steps.iter().map(|bins| of(bins)).collect();
            let found = LatencySteps::of(100, &steps);
            assert_eq!(found.is_none(), steps.iter().all(|step| step.count() == 0));
            let Some(found) = found else { return Ok(()) };
            let together = (found.step_ns / 100) as usize;
            assert_eq!((found.p50_ns.len(), found.max_ns.len()), (steps.len() / together, steps.len() / together));
            assert!(steps.len() - together * found.p50_ns.len() < found.p50_ns.len());
            for (at, parts) in steps.chunks_exact(together).enumerate() {
                let mut whole = LatencyHistogram::default();
                parts.iter().for_each(|part| whole.merge(part));
                let (p50, p99, max) = (found.p50_ns[at], found.p99_ns[at], found.max_ns[at]);
                assert_eq!((p50, p99.is_some()), (whole.percentile_ns(0.5), whole.count() >= LEAST_FOR_P99));
                assert!(p50 <= max && p99.is_none_or(|p99| p50 <= Some(p99) && Some(p99) <= max));
            }
        }

        #[test]
        fn merge_is_associative_and_counts_add(
            a in prop::collection::vec((any::<u64>(), 0_u64..1 << 40), 0..20),
            b in prop::collection::vec((any::<u64>(), 0_u64..1 << 40), 0..20),
            c in prop::collection::vec((any::<u64>(), 0_u64..1 << 40), 0..20),
        ) {
            let (a, b, c) = (of(&a), of(&b), of(&c));
            let mut ab_c = a.clone();
            ab_c.merge(&b);
            ab_c.merge(&c);
            let mut bc = b.clone();
            bc.merge(&c);
            let mut a_bc = a.clone();
            a_bc.merge(&bc);
            assert_eq!(ab_c, a_bc);
            assert_eq!(ab_c.count(), a.count() + b.count() + c.count());
        }
    }
}
