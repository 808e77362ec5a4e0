//! How many I/Os are given to the kernel at once, and how many are taken from it.
//!
//! The kernel holds back what comes in one call until it has seen all of it, so a device gets work in bursts and is short of it in
//! between. One call for each I/O costs the processor more. So I/Os go out one by one as long as that fills the depth: then the
//! device is the slower side. Where the depth is never reached, the processor is, and batches save its time.

use serde::{Deserialize, Serialize};

/// The largest batch: few system calls, while what is given still fits the CPU's caches.
const MOST: usize = 32;

/// At least this many I/Os without the depth being reached show that the processor is the slower side; more where the depth is larger.
const EVIDENCE: usize = 64;

/// What the user asks for: fio's `iodepth_batch_submit`, `iodepth_batch_complete_min`, `iodepth_batch_complete_max` and `iodepth_low`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Batches {
    /// I/Os given to the kernel at once; 0: as many as the depth.
    pub(crate) submit: u32,
    /// Completions waited for at once when the depth is reached; 0: one.
    pub(crate) complete_min: u32,
    /// Completions taken at once; at least `complete_min`.
    pub(crate) complete_max: u32,
    /// Once the depth was reached, nothing is issued before so few are in flight; 0: the depth.
    pub(crate) low: u32,
}

impl Batches {
    /// fio's defaults.
    pub(crate) const FIO: Self = Self { submit: 1, complete_min: 1, complete_max: 0, low: 0 };
}

/// A ring's way of giving and taking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Batching {
    /// One by one, or in batches, as the load shows.
    Adaptive {
        /// I/Os given at once.
        lot: usize,
        /// I/Os given since the depth was last held.
        short: usize,
        /// So many show that the processor is the slower side.
        evidence: usize,
    },
    /// As the user asks.
    Asked {
        /// I/Os given at once.
        submit: usize,
        /// Completions waited for.
        least: usize,
        /// Completions taken at once.
        most: usize,
        /// I/Os in flight at which the queue is filled again.
        low: usize,
        /// Whether the depth was reached, and too many are still in flight to fill it again.
        draining: bool,
    },
}

impl Batching {
    pub(crate) fn new(asked: Option<Batches>, depth: usize) -> Self {
        let Some(asked) = asked else {
            return Self::Adaptive { lot: 1, short: 0, evidence: EVIDENCE.max(depth.saturating_mul(2)) };
        };
        let within = |n: u32| match n as usize {
            0 => depth,
            n => n.min(depth),
        };
        let least = (asked.complete_min as usize).max(1);
        Self::Asked {
            submit: within(asked.submit),
            least,
            most: (asked.complete_max as usize).max(least),
            low: within(asked.low),
            draining: false,
        }
    }

    /// I/Os to be given at once, at most.
    #[inline]
    pub(crate) fn lot(&self) -> usize {
        match self {
            Self::Adaptive { lot, .. } => *lot,
            Self::Asked { draining: true, .. } => 0,
            Self::Asked { submit, .. } => *submit,
        }
    }

    /// Completions to wait for when there is nothing else to do.
    #[inline]
    pub(crate) fn least(&self, in_flight: usize) -> usize {
        match self {
            Self::Adaptive { .. } => 1,
            Self::Asked { least, .. } => (*least).min(in_flight).max(1),
        }
    }

    /// Completions to be taken at once, at most. fio takes none as long as there is something to issue.
    #[inline]
    pub(crate) fn most(&self, waited: bool) -> usize {
        match self {
            Self::Adaptive { .. } => usize::MAX,
            Self::Asked { .. } if !waited => 0,
            Self::Asked { most, .. } => *most,
        }
    }

    /// Whether the device is to be waited for although there are free slots.
    #[inline]
    pub(crate) fn drains(&self) -> bool {
        matches!(self, Self::Asked { draining: true, .. })
    }

    /// Whether a look without waiting tells which side is slower: a batch may fill the depth by itself.
    #[inline]
    pub(crate) fn looks_first(&self) -> bool {
        matches!(self, Self::Adaptive { lot: 2.., .. })
    }

    /// I/Os were given, and slots are left.
    #[inline]
    pub(crate) fn gave(&mut self, count: usize) {
        let Self::Adaptive { lot, short, evidence } = self else { return };
        *short += count;
        if *short >= *evidence {
            *short = 0;
            *lot = (*lot * 2).min(MOST);
        }
    }

    /// There is nothing to do but to wait: the processor isn't the slower side.
    #[inline]
    pub(crate) fn waits(&mut self) {
        if let Self::Adaptive { lot, short, .. } = self {
            (*lot, *short) = (1, 0);
        }
    }

    /// The depth is reached.
    #[inline]
    pub(crate) fn full(&mut self) {
        if let Self::Asked { draining, .. } = self {
            *draining = true;
        }
    }

    /// Completions were taken; so many I/Os are still in flight.
    #[inline]
    pub(crate) fn took(&mut self, in_flight: usize) {
        if let Self::Asked { draining, low, .. } = self
            && in_flight <= *low
        {
            *draining = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Batches, Batching, EVIDENCE, MOST};

    #[test]
    fn ios_go_out_one_by_one_while_the_depth_is_reached() {
        let mut batching = Batching::new(None, 32);
        for _ in 0..1000 {
            // A device that gives back one at a time, or all at once after a pause of ours.
            for _ in 0..32 {
                assert_eq!(batching.lot(), 1);
                batching.gave(1);
            }
            assert!(!batching.looks_first());
            batching.waits();
        }
    }

    #[test]
    fn batches_grow_where_the_depth_is_never_reached_and_end_at_the_first_wait() {
        for depth in [2, 32, 1024] {
            let mut batching = Batching::new(None, depth);
            let mut given = 0;
            while batching.lot() < MOST {
                assert!(given < 6 * EVIDENCE.max(2 * depth), "{batching:?}");
                given += batching.lot();
                batching.gave(batching.lot());
            }
            assert!(given >= 2 * depth, "filling the depth for the first time is no evidence");
            assert!(batching.looks_first());
            batching.gave(10 * given);
            assert_eq!(batching.lot(), MOST);
            batching.waits();
            assert_eq!(batching, Batching::new(None, depth));
        }
    }

    #[test]
    fn what_is_asked_is_kept_as_fio_keeps_it() {
        let asked = |submit, complete_min, complete_max, low| {
            Batching::new(Some(Batches { submit, complete_min, complete_max, low }), 16)
        };
        let defaults = Batching::new(Some(Batches::FIO), 16);
        assert_eq!((defaults.lot(), defaults.least(16), defaults.most(true)), (1, 1, 1));
        let batches = asked(8, 4, 12, 0);
        assert_eq!((batches.lot(), batches.least(16), batches.least(3), batches.most(true)), (8, 4, 3, 12));
        // 0 and more than the depth are the depth; the most is at least the least; with 0 one is waited for when the depth is reached.
        assert_eq!(asked(0, 0, 0, 0).lot(), 16);
        assert_eq!(asked(99, 0, 0, 0).lot(), 16);
        assert_eq!((asked(1, 6, 2, 0).most(true), asked(1, 0, 0, 0).least(16)), (6, 1));
        assert!(!batches.looks_first());
        assert_eq!((batches.most(false), Batching::new(None, 16).most(false)), (0, usize::MAX));
    }

    #[test]
    fn below_the_depth_nothing_is_issued_before_the_low_mark() {
        let mut batching =
            Batching::new(Some(Batches { submit: 4, complete_min: 1, complete_max: 1, low: 10 }), 16);
        assert_eq!((batching.lot(), batching.drains()), (4, false));
        batching.full();
        for in_flight in [15, 12, 11] {
            batching.took(in_flight);
            assert_eq!((batching.lot(), batching.drains()), (0, true), "{in_flight}");
        }
        batching.took(10);
        assert_eq!((batching.lot(), batching.drains()), (4, false));
        let mut plain = Batching::new(Some(Batches::FIO), 16);
        plain.full();
        plain.took(15);
        assert_eq!(plain.lot(), 1);
    }
}
