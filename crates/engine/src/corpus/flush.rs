//! Flushes copied data during the copy, so that little is left for the end.

use super::space;
use rustix::fd::{AsFd, AsRawFd as _};
use rustix::fs::syncfs;
use rustix::io::Errno;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Bytes between two flushes by a helper thread, which keep the device busy while files are still created.
const FLUSH_EVERY_BYTES: u64 = 16 << 20;
/// The largest file that btrfs keeps in its metadata, unless it is mounted with another `max_inline`.
const BTRFS_INLINE_BYTES: u64 = 2048;

/// Flushes the file system repeatedly while it is written to.
#[derive(Default)]
pub(crate) struct Flusher {
    over: Mutex<bool>,
    told: Condvar,
}

impl Flusher {
    /// Runs until [`Flusher::end`]. `written` is the number of bytes so far.
    pub(crate) fn run(&self, target: &File, written: &AtomicU64) {
        let mut flushed = 0;
        loop {
            let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
            let wait = self.told.wait_timeout(over, Duration::from_millis(5));
            let (over, _) = wait.unwrap_or_else(PoisonError::into_inner);
            if *over {
                return;
            }
            drop(over);
            let now = written.load(Ordering::Relaxed);
            if now - flushed >= FLUSH_EVERY_BYTES {
                flushed = now;
                // A failed flush fails again at the end, and is reported there.
                let _ = syncfs(target);
            }
        }
    }

    pub(crate) fn end(&self) {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }
}

/// The largest file, in bytes, for which a writer starts the write-back itself.
///
/// On btrfs a written file reserves space for metadata until its write-back, and writers wait when that space runs out. The
/// write-back of a file that is kept in the metadata needs no device, only CPU time, and writers that don't wait have more of it.
/// Elsewhere, and for larger files, the helper's flush is cheaper, since it writes many files at once.
pub(crate) fn by_writer_bytes(target: &File) -> u64 {
    if space::is_btrfs(target) { BTRFS_INLINE_BYTES } else { 0 }
}

/// Starts the write-back of a file's pages.
#[expect(unsafe_code, reason = "rustix has no sync_file_range")]
pub(crate) fn begin(file: impl AsFd) -> Result<(), Errno> {
    // SAFETY: a call with numbers only; the descriptor is open.
    match unsafe { libc::sync_file_range(file.as_fd().as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}
