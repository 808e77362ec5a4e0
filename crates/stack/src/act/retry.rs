//! Waits for the kernel, or for udev's short-lived probes, to release a device.

use crate::error::ActError;
use rustix::fs::{Mode, OFlags};
use std::path::Path;
use std::time::{Duration, Instant};

/// The usual wait for a change that should take effect at once.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How long a udev probe may take on a slow machine: udev opens every device that appeared or was written to.
const PROBES_LAST: Duration = Duration::from_secs(20);

/// Retries until it works or time runs out; then returns the last error.
pub(super) fn until_ok<T, E>(patience: Duration, attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    until(|| patience, attempt)
}

/// Retries until it works. The wait is short where the device is mounted or stacked on, and longer where a process only has it
/// open, because that may be a probe.
pub(super) fn until_closed<T>(
    node: &Path,
    attempt: impl FnMut() -> Result<T, ActError>,
) -> Result<T, ActError> {
    until(|| if is_taken(node) { PATIENCE } else { PROBES_LAST }, attempt)
}

/// The same with a wait that is chosen anew after each failure. It counts from the first failure: on a slow machine an attempt may take
/// longer than the wait.
pub(super) fn until<T, E>(
    patience: impl Fn() -> Duration,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let mut first_failure = None;
    let mut pause = Duration::from_millis(2);
    loop {
        let failed = match attempt() {
            Err(failed) => failed,
            done => return done,
        };
        if first_failure.get_or_insert_with(Instant::now).elapsed() >= patience() {
            return Err(failed);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

/// Whether it is mounted or a device is stacked on it: the kernel grants exclusive use only once.
pub(super) fn is_taken(node: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
    matches!(rustix::fs::open(node, flags, Mode::empty()), Err(rustix::io::Errno::BUSY))
}

#[cfg(test)]
mod tests {
    use super::until_ok;
    use std::time::Duration;

    #[test]
    fn an_attempt_that_takes_longer_than_the_wait_is_made_again() {
        let mut attempts = 0;
        let done = until_ok(Duration::from_millis(20), || {
            attempts += 1;
            std::thread::sleep(Duration::from_millis(30));
            if attempts == 2 { Ok(()) } else { Err(()) }
        });
        assert_eq!((done, attempts), (Ok(()), 2));
        assert!(until_ok(Duration::ZERO, || Err::<(), ()>(())).is_err());
    }
}
