//! Waiting for the kernel, or for udev's short-lived probes, to let go.

use std::time::{Duration, Instant};

/// How long something that should go away at once may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Tries until it works or patience ends; then the last error.
pub(super) fn until_ok<T, E>(patience: Duration, mut attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let end = Instant::now() + patience;
    let mut pause = Duration::from_millis(2);
    loop {
        match attempt() {
            Err(_) if Instant::now() < end => std::thread::sleep(pause),
            result => return result,
        }
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}
