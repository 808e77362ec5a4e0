//! Lets one loop test run at a time on the whole machine.

use std::fs::{File, OpenOptions};

/// Exclusive use of the machine's loop devices, mounts and cgroups by one test, until it is dropped.
#[derive(Debug)]
pub struct Exclusive {
    _lock: Lock,
}

/// A lock of the whole machine, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Waits until no other test on this machine holds the lock, then cleans up after earlier tests. `cargo test` runs several test
/// binaries, so a mutex inside one process isn't enough.
///
/// # Panics
/// If the lock file can't be created or locked.
#[must_use]
pub fn exclusive() -> Exclusive {
    let lock = lock("diskproof-exclusive.lock");
    crate::cleanup();
    Exclusive { _lock: lock }
}

/// Waits until no other test on this machine uses the guests. Such tests leave nothing on the machine itself, so those of [`exclusive`] may
/// run at the same time, where they have another directory for temporary files: they clean theirs.
///
/// # Panics
/// If the lock file can't be created or locked.
#[must_use]
pub fn exclusive_guests() -> Lock {
    lock("diskproof-exclusive-guests.lock")
}

fn lock(name: &str) -> Lock {
    let path = std::env::temp_dir().join(name);
    let file = match OpenOptions::new().create(true).truncate(false).write(true).open(&path) {
        Ok(file) => file,
        Err(error) => panic!("{}: {error}", path.to_string_lossy()),
    };
    if let Err(error) = file.lock() {
        panic!("locking {}: {error}", path.to_string_lossy());
    }
    Lock { _file: file }
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
