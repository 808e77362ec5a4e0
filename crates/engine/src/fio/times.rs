//! The parts of a trial's time, and how often fio logs in them.

/// The size of a row of 1856 numbers, most of them 0, in bytes.
const ROW_BYTES: u64 = 5700;

/// The most bytes of all logs of a trial.
const MAX_LOG_BYTES: u64 = 20 << 20;

/// The parts of a trial's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    /// The load before the measured time.
    pub(super) ramp_ms: u64,
    /// The measured time.
    pub(super) trial_ms: u64,
    /// The time between two rows.
    pub(super) row_ms: u64,
    /// Whether written data are flushed at the end, inside the measured time.
    pub(super) final_flush: bool,
    /// The agreed moment at which a load on several machines begins, on CLOCK_MONOTONIC. Without it, the load begins when fio begins.
    pub(super) agreed_ms: Option<u64>,
}

impl Times {
    /// Chooses 50 ms between rows; less in short trials, more when many jobs or a long trial would make large logs.
    pub(super) fn new(ramp_ms: u64, trial_ms: u64, jobs: u64, directions: u64, final_flush: bool) -> Self {
        Self::with_rows(50, (ramp_ms, trial_ms), (jobs, directions), final_flush)
    }

    /// The same for a load that begins at an agreed moment on several machines, with 10 ms between rows: the measured time begins and
    /// ends at a row, so machines that load together differ by as much.
    pub(super) fn agreed(self, at_ms: u64, jobs: u64, directions: u64) -> Self {
        let fine = Self::with_rows(10, (self.ramp_ms, self.trial_ms), (jobs, directions), self.final_flush);
        Self { agreed_ms: Some(at_ms), ..fine }
    }

    fn with_rows(
        most_ms: u64,
        (ramp_ms, trial_ms): (u64, u64),
        (jobs, directions): (u64, u64),
        final_flush: bool,
    ) -> Self {
        let wanted = (trial_ms / 50).clamp(10, most_ms);
        let rows = (MAX_LOG_BYTES / ROW_BYTES / jobs.max(1) / directions.max(1)).max(1);
        let affordable = (ramp_ms + trial_ms) / rows;
        let row_ms = wanted.max(affordable).min((trial_ms / 10).max(10));
        Self { ramp_ms, trial_ms, row_ms, final_flush, agreed_ms: None }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_LOG_BYTES, ROW_BYTES, Times};

    #[test]
    fn rows_are_dense_enough_and_logs_small_enough() {
        for (ramp, trial, jobs) in
            [(2000, 10_000, 1), (0, 500, 1), (2000, 20_000, 16), (60_000, 3_600_000, 4), (0, 100, 64)]
        {
            let times = Times::new(ramp, trial, jobs, 2, false);
            assert!(trial / times.row_ms >= 10, "{times:?}");
            let bytes = (ramp + trial) / times.row_ms * jobs * 2 * ROW_BYTES;
            assert!(bytes <= MAX_LOG_BYTES * 3 / 2 || times.row_ms == trial / 10, "{times:?}: {bytes}");
        }
        let short = Times::new(2000, 10_000, 1, 1, false);
        assert_eq!((short.row_ms, short.agreed(7, 1, 1).row_ms), (50, 10));
        assert!(
            Times::new(2000, 600_000, 16, 2, false).agreed(7, 16, 2).row_ms > 50,
            "large logs stay bounded"
        );
    }
}
