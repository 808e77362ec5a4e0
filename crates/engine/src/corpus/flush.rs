//! Getting what was copied to the device while more is being copied, so that little is left for the end.

use super::space;
use rustix::fd::{AsFd, AsRawFd as _};
use rustix::fs::syncfs;
use rustix::io::Errno;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What is written is flushed by a helper each time that it is so much more: then the device works while files are still being made.
const FLUSH_EVERY_BYTES: u64 = 16 << 20;
/// The largest file that btrfs keeps in its metadata, unless it is mounted with another `max_inline`.
const BTRFS_INLINE_BYTES: u64 = 2048;

/// Flushes the file system again and again while it is written to.
#[derive(Default)]
pub(crate) struct Flusher {
    over: Mutex<bool>,
    told: Condvar,
}

impl Flusher {
    /// Until it is told to end. `written`: bytes so far.
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
                // What fails here fails again in the flush at the end, and is told there.
                let _ = syncfs(target);
            }
        }
    }

    pub(crate) fn end(&self) {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }
}

/// Up to what size a writer is to begin the writing back of its files by itself.
///
/// On btrfs a file that was written to holds room for metadata until its writing back, and writers wait when that runs out. For a file that is
/// kept in the metadata this takes no device, only the processor, of which a writer that doesn't wait has more.
/// Elsewhere, and for larger files, the helper's flush is cheaper, since it writes many files at once.
pub(crate) fn by_writer_bytes(target: &File) -> u64 {
    if space::is_btrfs(target) { BTRFS_INLINE_BYTES } else { 0 }
}

/// Begins to write back what a file has in the page cache.
#[expect(unsafe_code, reason = "rustix has no sync_file_range")]
pub(crate) fn begin(file: impl AsFd) -> Result<(), Errno> {
    // SAFETY: a call with numbers only; the descriptor is open.
    match unsafe { libc::sync_file_range(file.as_fd().as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}
