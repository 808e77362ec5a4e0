//! File locks, so that one process at a time changes a guest. The kernel releases a lock when its process ends.

use crate::error::LabError;
use host::StateAccess;
use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Waits for the lock; calls `waiting` if another process holds it.
pub(crate) fn lock(path: &Path, waiting: impl Fn()) -> Result<Lock, LabError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(LabError::file("make", folder))?;
    }
    loop {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting();
                file.lock().map_err(LabError::file("lock", path))?;
            }
            Err(TryLockError::Error(source)) => return Err(LabError::file("lock", path)(source)),
        }
        // The process before may have removed the file with the guest; then another one may hold a newer file.
        if is_still(&file, path) {
            return Ok(Lock { _file: file });
        }
    }
}

/// Whether a process holds the lock now.
pub(crate) fn is_held(path: &Path) -> bool {
    let Ok(file) = host::open_regular(path, StateAccess::Read) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn open(path: &Path) -> Result<File, LabError> {
    host::open_regular(path, StateAccess::ChangeOrMake).map_err(LabError::file("open", path))
}

/// Whether a path still leads to the opened file.
pub(crate) fn is_still(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_held, lock};
    use std::time::{Duration, Instant};

    #[test]
    fn a_lock_is_seen_while_it_is_held_and_may_be_removed_by_its_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/x.lock");
        assert!(!is_held(&path));
        let held = lock(&path, || ()).unwrap();
        assert!(is_held(&path));
        std::fs::remove_file(&path).unwrap();
        drop(held);
        let again = lock(&path, || ()).unwrap();
        assert!(is_held(&path));
        drop(again);
        // A process that another test starts has the lock, too, until it becomes another program.
        let until = Instant::now() + Duration::from_secs(60);
        while is_held(&path) {
            assert!(Instant::now() < until, "the lock outlives its holder");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
