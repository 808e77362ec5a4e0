//! Waiting for the kernel, or for udev's short-lived probes, to let go.

use crate::error::ActError;
use rustix::fs::{Mode, OFlags};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long something that should go away at once may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How long udev may look at a device, on a slow machine: it opens whatever was written to or appeared.
const PROBES_LAST: Duration = Duration::from_secs(20);

/// Tries until it works or patience ends; then the last error.
pub(super) fn until_ok<T, E>(patience: Duration, attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    until(|| patience, attempt)
}

/// Tries until it works. Where the device is mounted or stacked on, patience ends soon; where somebody merely has it open, who
/// may be a probe, it is longer.
pub(super) fn until_closed<T>(
    node: &Path,
    attempt: impl FnMut() -> Result<T, ActError>,
) -> Result<T, ActError> {
    until(|| if is_taken(node) { PATIENCE } else { PROBES_LAST }, attempt)
}

/// The same with a patience that is asked for anew after each failure.
pub(super) fn until<T, E>(
    patience: impl Fn() -> Duration,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        match attempt() {
            Err(_) if begun.elapsed() < patience() => std::thread::sleep(pause),
            result => return result,
        }
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

/// Whether it is mounted, or something is stacked on it: the kernel gives exclusive use to one at a time.
fn is_taken(node: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
    matches!(rustix::fs::open(node, flags, Mode::empty()), Err(rustix::io::Errno::BUSY))
}
