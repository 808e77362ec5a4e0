//! One workload from several machines at the same time: each machine's part of a trial, the offset of its clock, and their sum.

mod merge;
mod mounted;

pub use merge::merged;
pub use mounted::mounted;

use crate::clock::{ClockOffset, Reading};
use crate::trial::{Part, Window};

/// When the machines of a trial ran, by the controller's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overlap {
    /// From the first start to the last end of a measured time, in nanoseconds.
    pub any_ns: u64,
    /// From the last start to the first end, in nanoseconds; 0 if there was no moment at which all ran.
    pub all_ns: u64,
    /// From the first to the last start, in nanoseconds.
    pub start_spread_ns: u64,
    /// The largest error of these times: twice that of the least certain clock, in nanoseconds.
    pub uncertain_ns: u64,
}

impl Overlap {
    /// Of the time in which any machine ran, returns the share in which all of them did.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "spans are far below 2^52 ns")]
    pub fn share(&self) -> f64 {
        if self.any_ns == 0 { 0.0 } else { self.all_ns as f64 / self.any_ns as f64 }
    }
}

impl Part {
    /// Returns the measured time by the controller's clock. Each end is converted by the clock's offset nearest to it. `None` if the
    /// engine has no result, or the clock was never compared.
    #[must_use]
    pub fn window(&self) -> Option<Window> {
        let own = self.record.engine.as_ref()?.window;
        let before = self.clock_before?;
        let after = self.clock_after.unwrap_or(before);
        Some(Window { start_ns: at(own.start_ns, before)?, end_ns: at(own.end_ns, after)? })
    }

    /// Returns by how much its CLOCK_REALTIME moved against its CLOCK_MONOTONIC during the load, in nanoseconds: a step of the clock, or
    /// a suspend. `None` if the load didn't begin or end.
    #[must_use]
    pub fn clock_step_ns(&self) -> Option<i64> {
        let (began, ended) = (self.began?, self.ended?);
        let difference = |r: Reading| i128::from(r.realtime_ns) - i128::from(r.monotonic_ns);
        i64::try_from(difference(ended) - difference(began)).ok()
    }
}

/// A time of a machine by the controller's clock.
fn at(ns: u64, clock: ClockOffset) -> Option<u64> {
    u64::try_from(i128::from(ns) - i128::from(clock.ahead_ns)).ok()
}

/// Returns when the machines ran; `None` if the measured time of one of them isn't known.
#[must_use]
pub fn overlap(parts: &[Part]) -> Option<Overlap> {
    let windows: Vec<Window> = parts.iter().map(Part::window).collect::<Option<_>>()?;
    let starts = || windows.iter().map(|w| w.start_ns);
    let ends = || windows.iter().map(|w| w.end_ns);
    let (first, last) = (starts().min()?, starts().max()?);
    let clocks = parts.iter().flat_map(|part| [part.clock_before, part.clock_after]).flatten();
    let uncertain = clocks.map(|clock| clock.uncertain_ns).max()?;
    Some(Overlap {
        any_ns: ends().max()?.saturating_sub(first),
        all_ns: ends().min()?.saturating_sub(last),
        start_spread_ns: last - first,
        uncertain_ns: uncertain.saturating_mul(2),
    })
}

#[cfg(test)]
mod tests;
