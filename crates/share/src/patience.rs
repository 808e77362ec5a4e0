//! How often something is tried again.

use crate::error::ShareError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Statuses of a server that is busy: the same request may succeed later.
const BUSY: [u16; 6] = [408, 429, 500, 502, 503, 504];

/// How often a pause looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(100);

/// How often a request is tried again when the connection breaks or the server is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Tries in a row without any progress.
    pub tries: u32,
    /// Pause after the first failure; it doubles with each further one, up to 16 times.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { tries: 6, pause: Duration::from_millis(500) }
    }
}

impl Patience {
    /// Waits after that many failures in a row; false: it is time to give up, or `cancel` was set.
    pub(crate) fn waits(self, failures: u32, cancel: &AtomicBool) -> bool {
        let mut left = self.pause * 2_u32.pow(failures.saturating_sub(1).min(4));
        while failures < self.tries && !cancel.load(Ordering::Relaxed) {
            if left.is_zero() {
                return true;
            }
            let step = left.min(LOOK);
            thread::sleep(step);
            left -= step;
        }
        false
    }
}

/// Whether it may succeed a little later.
pub(crate) fn may_pass(error: &ShareError) -> bool {
    match error {
        ShareError::Http(error) => error.may_pass(),
        ShareError::Answer { status, .. } => is_busy(*status),
        _ => false,
    }
}

pub(crate) fn is_busy(status: u16) -> bool {
    BUSY.contains(&status)
}
