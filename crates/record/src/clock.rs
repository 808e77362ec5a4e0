//! The clocks of machines that work together.

use serde::{Deserialize, Serialize};

/// Both clocks of a machine, read one right after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub monotonic_ns: u64,
    /// CLOCK_REALTIME, in nanoseconds since the epoch.
    pub realtime_ns: u64,
}

/// The offset of a machine's clock. The machine is asked for its time between two readings of the controller's clock; of several
/// such exchanges the quickest counts (Cristian 1989, "Probabilistic clock synchronization", Distributed Computing 3:146-158).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The controller's CLOCK_MONOTONIC at the midpoint of the exchange, in nanoseconds.
    pub at_ns: u64,
    /// The machine's CLOCK_MONOTONIC minus the controller's, in nanoseconds.
    pub ahead_ns: i64,
    /// The largest error of the offsets, in nanoseconds: half of the round trip.
    pub uncertain_ns: u64,
    /// The machine's CLOCK_REALTIME minus the controller's, in nanoseconds.
    pub wall_ahead_ns: i64,
}
