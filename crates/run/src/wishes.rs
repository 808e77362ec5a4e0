//! What the user wants otherwise than planned, while the run goes on.

use record::id::CellId;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What the user wants otherwise than planned. Another thread may say it at any time; the run heeds it before its next trial.
#[derive(Debug, Default)]
pub struct Wishes {
    ends_after_round: AtomicBool,
    skips: Mutex<Vec<CellId>>,
}

impl Wishes {
    /// Asks that the run makes no more trials of this cell. It can't be taken back: the record keeps it.
    pub fn skip(&self, cell: CellId) {
        self.skips.lock().unwrap_or_else(PoisonError::into_inner).push(cell);
    }

    /// Asks that the run ends after the round that is under way, or that it goes on after all.
    pub fn end_after_round(&self, ends: bool) {
        self.ends_after_round.store(ends, Ordering::Relaxed);
    }

    /// Whether the run is to end after the round that is under way.
    #[must_use]
    pub fn ends_after_round(&self) -> bool {
        self.ends_after_round.load(Ordering::Relaxed)
    }

    /// The cells that were skipped since the last call.
    pub(crate) fn take_skips(&self) -> Vec<CellId> {
        std::mem::take(&mut self.skips.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
