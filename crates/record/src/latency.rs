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
    use super::LatencyHistogram;
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

    proptest! {
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
