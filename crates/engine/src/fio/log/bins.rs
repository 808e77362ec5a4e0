//! fio's latency bins: 64 per power of two, so a value has an error of at most 2^-7 = 0.78 % (fio's stat.h).

use record::latency::LatencyHistogram;

const BITS: u32 = 6;
const PER_GROUP: usize = 1 << BITS;
/// The number of bins: fio stops at 29 groups (17 s); with 59 every 64-bit value has its bin.
const COUNT: usize = 59 * PER_GROUP;

/// The counts per bin, in a fixed size of 30 KB.
#[derive(Debug, Clone)]
pub struct Bins {
    counts: Box<[u64; COUNT]>,
    total: u64,
    low: usize,
    high: usize,
}

impl Default for Bins {
    fn default() -> Self {
        Self { counts: Box::new([0; COUNT]), total: 0, low: COUNT, high: 0 }
    }
}

impl Bins {
    /// Counts one value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let index = index(value);
        if let Some(count) = self.counts.get_mut(index) {
            *count += 1;
        }
        self.total += 1;
        self.low = self.low.min(index);
        self.high = self.high.max(index);
    }

    /// The number of values.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The values at ranks `ceil(total * q)`, for ascending `q` in 0..=1; zeros when there are no values.
    #[must_use]
    pub fn percentiles<const N: usize>(&self, ascending: [f64; N]) -> [u64; N] {
        let mut found = [0; N];
        let mut seen = 0;
        let mut next = 0;
        for index in self.low..=self.high {
            seen += self.counts.get(index).copied().unwrap_or(0);
            while let (Some(q), Some(slot)) = (ascending.get(next), found.get_mut(next)) {
                if self.total == 0 || seen < rank(self.total, *q) {
                    break;
                }
                *slot = representative(index);
                next += 1;
            }
        }
        found
    }

    /// The histogram in the record's form.
    #[must_use]
    pub fn histogram(&self) -> LatencyHistogram {
        let filled = (self.low..=self.high).filter_map(|i| Some((i, *self.counts.get(i)?)));
        let bins = filled.filter(|(_, n)| *n > 0).map(|(i, n)| (representative(i), n));
        LatencyHistogram { bins_ns: bins.collect() }
    }

    /// Adds another histogram's counts.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine += theirs;
        }
        self.total += other.total;
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        if let Some(used) = self.counts.get_mut(self.low..=self.high) {
            used.fill(0);
        }
        (self.total, self.low, self.high) = (0, COUNT, 0);
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are far below 2^52, q is within 0..=1"
)]
fn rank(total: u64, q: f64) -> u64 {
    ((total as f64 * q.clamp(0.0, 1.0)).ceil() as u64).max(1)
}

/// fio's `plat_val_to_idx`.
#[inline]
fn index(value: u64) -> usize {
    let highest = 63 - (value | 1).leading_zeros();
    if highest <= BITS {
        return usize::try_from(value).unwrap_or(0);
    }
    let dropped = highest - BITS;
    let within = (value >> dropped) & ((1 << BITS) - 1);
    (((dropped + 1) << BITS) as usize) + usize::try_from(within).unwrap_or(0)
}

/// fio's `plat_idx_to_val`: the middle of the bin; for a larger index that of the last bin.
pub(crate) fn representative(index: usize) -> u64 {
    let index = index.min(COUNT - 1);
    if index < 2 * PER_GROUP {
        return index as u64;
    }
    let dropped = (index >> BITS) - 1;
    let base = 1_u64 << (dropped + BITS as usize);
    base + (((index % PER_GROUP) as u64) << dropped) + (1 << (dropped - 1))
}

#[cfg(test)]
mod tests {
    use super::{Bins, COUNT, index, representative};
    use proptest::prelude::{any, prop, proptest};

    #[test]
    fn bins_are_those_of_fio() {
        // Keys that fio 3.33 wrote into json+ documents.
        for ns in [21376, 58112, 61696, 66048, 72192, 73216, 152_576, 189_440, 8_224_768] {
            assert_eq!(representative(index(ns)), ns);
        }
        assert_eq!((index(0), index(127), index(128)), (0, 127, 128));
        assert!(index(u64::MAX) < COUNT);
    }

    #[test]
    fn percentiles_and_clearing() {
        let mut bins = Bins::default();
        assert_eq!(bins.percentiles([0.5, 1.0]), [0, 0]);
        (0..50).for_each(|_| bins.add(10));
        (0..49).for_each(|_| bins.add(20));
        bins.add(100);
        assert_eq!(bins.percentiles([0.5, 0.51, 0.99, 1.0]), [10, 20, 20, 100]);
        bins.clear();
        assert_eq!((bins.total(), bins.histogram().count()), (0, 0));
        bins.add(7);
        assert_eq!(bins.percentiles([0.0, 1.0]), [7, 7]);
    }

    proptest! {
        #[test]
        fn a_value_is_off_by_less_than_one_percent(value in any::<u64>(), shift in 0_u32..64) {
            let value = value >> shift;
            let off = representative(index(value)).abs_diff(value);
            assert!(off <= value >> 7, "{value} is shown as {}", representative(index(value)));
        }

        #[test]
        fn percentiles_are_those_of_the_records_histogram(
            values in prop::collection::vec(0_u64..1 << 30, 1..300), q in 0.0..1.0_f64,
        ) {
            let mut bins = Bins::default();
            values.iter().for_each(|v| bins.add(*v));
            let histogram = bins.histogram();
            assert_eq!(histogram.count(), values.len() as u64);
            assert_eq!(Some(bins.percentiles([q])[0]), histogram.percentile_ns(q));
        }
    }
}
