//! A log-linear histogram of latencies: 64 bins per octave, like fio's (stat.h), in a fixed array.
//!
//! Below 128 ns every nanosecond has its own bin. Above, a bin has a width of 2^-6 of its octave and stands for its middle, so a
//! latency has an error of at most 2^-7 = 0.78 %.

use record::latency::LatencyHistogram;

/// The bits of a latency that select the bin within its octave.
const BITS: u32 = 6;

/// The octaves with bins of their own: up to 2^42 ns, 73 minutes.
const TOP_BITS: u32 = 42;

/// Number of bins.
pub(crate) const BINS: usize = ((TOP_BITS - BITS + 1) as usize) << BITS;

/// The longest latency with its own bin; longer ones are counted there too.
const LONGEST_NS: u64 = (1 << TOP_BITS) - 1;

/// The bin of a latency.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "less than BINS by construction")]
pub(crate) fn bin(latency_ns: u64) -> usize {
    let ns = latency_ns.min(LONGEST_NS);
    let shift = (63 - (ns | ((1 << BITS) - 1)).leading_zeros()).saturating_sub(BITS);
    ((u64::from(shift) << BITS) + (ns >> shift)) as usize
}

/// The latency for which a bin stands, in ns: its middle.
pub(crate) fn representative_ns(bin: usize) -> u64 {
    let bin = bin as u64;
    let shift = (bin >> BITS).saturating_sub(1);
    let lowest = (bin - (shift << BITS)) << shift;
    lowest + ((1 << shift) >> 1)
}

/// Counts per bin.
#[derive(Clone)]
pub(crate) struct Histogram {
    counts: Box<[u32; BINS]>,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: Box::new([0; BINS]) }
    }

    /// Counts one latency, without an allocation and with a single branch for the limit.
    #[inline]
    pub(crate) fn add(&mut self, latency_ns: u64) {
        if let Some(count) = self.counts.get_mut(bin(latency_ns)) {
            *count += 1;
        }
    }

    /// Calls `each` for every non-empty bin, and empties it.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(u16, u32)) {
        for (index, count) in (0_u16..).zip(self.counts.iter_mut()) {
            if *count > 0 {
                each(index, *count);
                *count = 0;
            }
        }
    }
}

/// Adds bins to a record's histogram.
pub(crate) fn fold(into: &mut LatencyHistogram, bins: &[(u16, u32)]) {
    for &(bin, count) in bins {
        *into.bins_ns.entry(representative_ns(usize::from(bin))).or_default() += u64::from(count);
    }
}

#[cfg(test)]
mod tests {
    use super::{BINS, Histogram, LONGEST_NS, bin, fold, representative_ns};
    use proptest::prelude::{any, prop, proptest};
    use record::latency::LatencyHistogram;

    fn of(latencies: &[u64]) -> LatencyHistogram {
        let mut histogram = Histogram::new();
        latencies.iter().for_each(|ns| histogram.add(*ns));
        let mut bins = Vec::new();
        histogram.drain(|bin, count| bins.push((bin, count)));
        let mut left = 0;
        histogram.drain(|_, _| left += 1);
        assert_eq!(left, 0, "a drained histogram is empty");
        let mut record = LatencyHistogram::default();
        fold(&mut record, &bins);
        record
    }

    #[test]
    fn bins_are_in_order_and_without_gaps() {
        assert_eq!(bin(LONGEST_NS), BINS - 1);
        assert_eq!(bin(u64::MAX), BINS - 1);
        for index in 0..BINS {
            assert_eq!(bin(representative_ns(index)), index);
        }
        let mut last = 0;
        for octave in 0..42 {
            for step in 0..256 {
                let found = bin((1_u64 << octave) + (step << octave) / 256);
                assert!(found == last || found == last + 1, "{found} after {last}");
                last = found;
            }
        }
    }

    proptest! {
        #[test]
        fn a_latency_is_off_by_no_more_than_promised(ns in 0..LONGEST_NS) {
            let off = representative_ns(bin(ns)).abs_diff(ns);
            assert!(off * 128 <= ns, "{ns} is told as {}", representative_ns(bin(ns)));
        }

        #[test]
        fn latencies_of_all_magnitudes(octave in 0_u32..42, low in any::<u64>()) {
            let ns = (1_u64 << octave) | (low & ((1 << octave) - 1));
            assert!(representative_ns(bin(ns)).abs_diff(ns) * 128 <= ns);
        }

        #[test]
        fn merging_parts_is_exact(
            a in prop::collection::vec(0_u64..1 << 43, 0..200),
            b in prop::collection::vec(0_u64..1 << 43, 0..200),
        ) {
            let whole = of(&[a.clone(), b.clone()].concat());
            let (mut ab, mut ba) = (of(&a), of(&b));
            ab.merge(&of(&b));
            ba.merge(&of(&a));
            assert_eq!(ab, whole);
            assert_eq!(ba, whole);
        }
    }
}
