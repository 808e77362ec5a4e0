//! How many I/Os are submitted to the kernel at once, and how many completions are taken at once.
//!
//! The kernel issues the I/Os of one call only after it has seen all of them, so a device gets work in bursts with gaps in
//! between. One call per I/O costs more CPU time. So I/Os are submitted one by one as long as that fills the depth: then the
//! device is the slower side. If the depth is never reached, the processor is the slower side, and batches save its time.

use serde::{Deserialize, Serialize};

/// The largest batch: few system calls, and its I/Os still fit the CPU's caches.
const MOST: usize = 32;

/// If at least this many I/Os are submitted without reaching the depth, the processor is the slower side. A larger depth needs
/// more.
const EVIDENCE: usize = 64;

/// The user's settings: fio's `iodepth_batch_submit`, `iodepth_batch_complete_min`, `iodepth_batch_complete_max` and
/// `iodepth_low`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Batches {
    /// The I/Os per submission; 0: the depth.
    pub(crate) submit: u32,
    /// The completions to wait for when the depth is reached; 0: one.
    pub(crate) complete_min: u32,
    /// The most completions taken at once; at least `complete_min`.
    pub(crate) complete_max: u32,
    /// After the depth was reached, nothing is issued until this few I/Os are in flight; 0: the depth.
    pub(crate) low: u32,
}

impl Batches {
    /// fio's defaults.
    pub(crate) const FIO: Self = Self { submit: 1, complete_min: 1, complete_max: 0, low: 0 };
}

/// How a ring submits and completes I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Batching {
    /// One by one, or in batches, depending on the load.
    Adaptive {
        /// The I/Os per submission.
        lot: usize,
        /// The I/Os submitted since the depth was last reached.
        short: usize,
        /// The value of `short` at which the processor counts as the slower side.
        evidence: usize,
    },
    /// As the user sets it.
    Asked {
        /// The I/Os per submission.
        submit: usize,
        /// The completions to wait for.
        least: usize,
        /// The most completions taken at once.
        most: usize,
        /// The number of I/Os in flight at which the queue is filled again.
        low: usize,
        /// Whether the depth was reached, and too many I/Os are still in flight to fill it again.
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

    /// The most I/Os per submission.
    #[inline]
    pub(crate) fn lot(&self) -> usize {
        match self {
            Self::Adaptive { lot, .. } => *lot,
            Self::Asked { draining: true, .. } => 0,
            Self::Asked { submit, .. } => *submit,
        }
    }

    /// The completions to wait for when there is nothing else to do.
    #[inline]
    pub(crate) fn least(&self, in_flight: usize) -> usize {
        match self {
            Self::Adaptive { .. } => 1,
            Self::Asked { least, .. } => (*least).min(in_flight).max(1),
        }
    }

    /// The most completions to take at once. fio takes none while it has something to issue.
    #[inline]
    pub(crate) fn most(&self, waited: bool) -> usize {
        match self {
            Self::Adaptive { .. } => usize::MAX,
            Self::Asked { .. } if !waited => 0,
            Self::Asked { most, .. } => *most,
        }
    }

    /// Whether to wait for the device although slots are free.
    #[inline]
    pub(crate) fn drains(&self) -> bool {
        matches!(self, Self::Asked { draining: true, .. })
    }

    /// Whether to check for completions before a wait: a batch may fill the depth by itself, so only the check shows which side
    /// is slower.
    #[inline]
    pub(crate) fn looks_first(&self) -> bool {
        matches!(self, Self::Adaptive { lot: 2.., .. })
    }

    /// Records that I/Os were submitted and slots are left.
    #[inline]
    pub(crate) fn gave(&mut self, count: usize) {
        let Self::Adaptive { lot, short, evidence } = self else { return };
        *short += count;
        if *short >= *evidence {
            *short = 0;
            *lot = (*lot * 2).min(MOST);
        }
    }

    /// Records that there is nothing to do but wait: the processor isn't the slower side.
    #[inline]
    pub(crate) fn waits(&mut self) {
        if let Self::Adaptive { lot, short, .. } = self {
            (*lot, *short) = (1, 0);
        }
    }

    /// Records that the depth is reached.
    #[inline]
    pub(crate) fn full(&mut self) {
        if let Self::Asked { draining, .. } = self {
            *draining = true;
        }
    }

    /// Records that completions were taken, with the number of I/Os still in flight.
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
            // A device that completes one at a time, or all at once after a pause of ours.
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
        // 0 or more than the depth means the depth; the most is at least the least; 0 waits for one when the depth is reached.
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
