//! Lets one loop test run at a time on the whole machine.

use std::fs::{File, OpenOptions};

/// Exclusive use of the machine's loop devices, mounts and cgroups by one test, until it is dropped.
#[derive(Debug)]
pub struct Exclusive {
    _lock: File,
}

/// Waits until no other test on this machine holds the lock, then cleans up after earlier tests. `cargo test` runs several test
/// binaries, so a mutex inside one process isn't enough.
///
/// # Panics
/// If the lock file can't be created or locked.
#[must_use]
pub fn exclusive() -> Exclusive {
    let path = std::env::temp_dir().join("diskproof-exclusive.lock");
    let file = match OpenOptions::new().create(true).truncate(false).write(true).open(&path) {
        Ok(file) => file,
        Err(error) => panic!("{}: {error}", path.to_string_lossy()),
    };
    if let Err(error) = file.lock() {
        panic!("locking {}: {error}", path.to_string_lossy());
    }
    crate::cleanup();
    Exclusive { _lock: file }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        crate::cleanup();
    }
}

/// Whether this process may attach loop devices and mount.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether `DISKPROOF_TEST_KEEP=1` asks to leave everything in place for inspection.
#[must_use]
pub fn keep_wreck() -> bool {
    std::env::var_os("DISKPROOF_TEST_KEEP").is_some_and(|value| value == "1")
}
