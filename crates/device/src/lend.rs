//! A directory that its owner lends: we work in a sub-directory of our own, and nowhere else.

use crate::family::mount_of;
use crate::guard::PREFIX;
use crate::mountinfo;
use crate::roots::Roots;
use crate::witness::exclusive::locked_by;
use record::printable::{Shown as _, printable};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// File systems in which files are not files.
const PSEUDO: [&str; 16] = [
    "proc",
    "sysfs",
    "devtmpfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "securityfs",
    "debugfs",
    "tracefs",
    "configfs",
    "efivarfs",
    "bpf",
    "pstore",
    "mqueue",
    "hugetlbfs",
    "autofs",
];

/// A sub-directory of ours in a lent directory. The lent directory is locked against every other diskproof while it lives.
/// Dropping it removes nothing: [`LentDir::remove`] does, or whoever made a note of its name beforehand.
#[derive(Debug)]
pub struct LentDir {
    parent: PathBuf,
    path: PathBuf,
    free_bytes: u64,
    _lock: File,
}

/// A directory that can't be lent.
#[derive(Debug, Error)]
pub enum LendError {
    /// Not absolute.
    #[error("{} is not an absolute path", .path.shown())]
    Relative {
        /// Which path.
        path: PathBuf,
    },
    /// It can't be used.
    #[error("cannot use {}", .path.shown())]
    Access {
        /// Which path.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It isn't one.
    #[error("{} is not a directory; name one that exists", .path.shown())]
    NotADirectory {
        /// Which path.
        path: PathBuf,
    },
    /// Files there are no files.
    #[error("{} is on {kind}; name a directory on a real file system", .path.shown())]
    Pseudo {
        /// Which path.
        path: PathBuf,
        /// The file system.
        kind: String,
    },
    /// There isn't enough space.
    #[error("{} has {free_bytes} bytes free; {need_bytes} are needed; free some space or ask for less", .path.shown())]
    Space {
        /// Which path.
        path: PathBuf,
        /// Free for us.
        free_bytes: u64,
        /// What the experiment needs.
        need_bytes: u64,
    },
    /// Another diskproof works there.
    #[error("{} is in use: {saw}; {remedy}", .path.shown())]
    Locked {
        /// Which path.
        path: PathBuf,
        /// Who.
        saw: String,
        /// What to do.
        remedy: String,
    },
    /// The sub-directory's name isn't one of ours.
    #[error("{name:?} is no name for a directory of ours: it must be a plain name that begins with {PREFIX}")]
    Name {
        /// Which name.
        name: String,
    },
}

/// Borrows a directory: it must exist, be writable, and have `need_bytes` free. Makes the sub-directory `name` in it, whose
/// name must begin with [`PREFIX`]; one that is there already (from an interrupted attempt) is an error.
///
/// # Errors
/// It can't be lent; nothing was made then.
pub fn lend(path: &Path, need_bytes: u64, name: &str) -> Result<LentDir, LendError> {
    if !path.is_absolute() {
        return Err(LendError::Relative { path: path.to_path_buf() });
    }
    if !is_ours(name) {
        return Err(LendError::Name { name: name.to_owned() });
    }
    let access = |source| LendError::Access { path: path.to_path_buf(), source };
    let parent = fs::canonicalize(path).map_err(access)?;
    if !fs::metadata(&parent).map_err(access)?.is_dir() {
        return Err(LendError::NotADirectory { path: path.to_path_buf() });
    }
    refuse_pseudo(&parent)?;
    let lock = lock(&parent)?;
    let free_bytes = free_bytes(&parent).map_err(access)?;
    if free_bytes < need_bytes {
        return Err(LendError::Space { path: parent, free_bytes, need_bytes });
    }
    let own = parent.join(name);
    DirBuilder::new().mode(0o700).create(&own).map_err(access)?;
    Ok(LentDir { parent, path: own, free_bytes, _lock: lock })
}

/// Removes a sub-directory that [`lend`] made, with all that is in it. Safe to call again; never follows a link.
///
/// # Errors
/// Its name isn't one of ours, or it can't be removed.
pub fn remove_lent(path: &Path) -> Result<(), LendError> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if !is_ours(&name) {
        return Err(LendError::Name { name });
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LendError::Access { path: path.to_path_buf(), source: error })
        }
        _ => Ok(()),
    }
}

/// Bytes an ordinary user can still write where a path is.
///
/// # Errors
/// The path can't be looked at.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let space = rustix::fs::statvfs(path)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

impl LentDir {
    /// Our sub-directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that was lent.
    #[must_use]
    pub fn parent(&self) -> &Path {
        &self.parent
    }

    /// Free space found when it was lent, in bytes.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    /// Gives the directory back as it was.
    ///
    /// # Errors
    /// Our sub-directory can't be removed.
    pub fn remove(self) -> Result<(), LendError> {
        remove_lent(&self.path)
    }
}

fn is_ours(name: &str) -> bool {
    name.len() > PREFIX.len() && name.starts_with(PREFIX) && !name.contains('/')
}

fn refuse_pseudo(path: &Path) -> Result<(), LendError> {
    let mounts = mountinfo::own(&Roots::default()).unwrap_or_default();
    match mount_of(&mounts, path) {
        Some(mount) if PSEUDO.contains(&mount.kind.as_str()) => {
            Err(LendError::Pseudo { path: path.to_path_buf(), kind: printable(&mount.kind).into_owned() })
        }
        _ => Ok(()),
    }
}

/// Locks the directory itself, so that nothing has to be made for it. NFS, which can't, goes without.
fn lock(path: &Path) -> Result<File, LendError> {
    let access = |source| LendError::Access { path: path.to_path_buf(), source };
    let file = File::open(path).map_err(access)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let (saw, remedy) = locked_by(&Roots::default(), &file, &path.shown().to_string());
            Err(LendError::Locked { path: path.to_path_buf(), saw, remedy })
        }
        Err(TryLockError::Error(error)) if cannot_lock(&error) => Ok(file),
        Err(TryLockError::Error(error)) => Err(access(error)),
    }
}

fn cannot_lock(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADF | libc::ENOLCK | libc::EOPNOTSUPP | libc::ENOSYS))
}

#[cfg(test)]
mod tests {
    use super::{LendError, free_bytes, lend, remove_lent};
    use std::fs;
    use std::path::Path;

    const NAME: &str = "diskproof-test-lend";

    #[test]
    fn it_makes_one_directory_and_removes_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("precious"), "x").unwrap();
        let lent = lend(dir.path(), 1, NAME).unwrap();
        assert!(lent.path().starts_with(fs::canonicalize(dir.path()).unwrap()));
        fs::create_dir_all(lent.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("precious"), lent.path().join("a/link")).unwrap();
        let path = lent.path().to_path_buf();
        lent.remove().unwrap();
        assert!(!path.exists() && dir.path().join("precious").exists());
        remove_lent(&path).unwrap();
    }

    #[test]
    fn a_second_one_is_refused_by_pid() {
        let dir = tempfile::tempdir().unwrap();
        let lent = lend(dir.path(), 1, NAME).unwrap();
        let error = lend(dir.path(), 1, "diskproof-test-other").unwrap_err();
        assert!(matches!(&error, LendError::Locked { .. }), "{error}");
        assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
        drop(lent);
        lend(dir.path(), 1, "diskproof-test-other").unwrap().remove().unwrap();
    }

    #[test]
    fn too_little_space_is_refused_before_anything_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let need = free_bytes(dir.path()).unwrap() + (1 << 40);
        assert!(matches!(lend(dir.path(), need, NAME), Err(LendError::Space { .. })));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_directory_of_files_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(lend(&file, 0, NAME), Err(LendError::NotADirectory { .. })));
        assert!(matches!(lend(&dir.path().join("no"), 0, NAME), Err(LendError::Access { .. })));
        assert!(matches!(lend(Path::new("tmp"), 0, NAME), Err(LendError::Relative { .. })));
        assert!(matches!(lend(Path::new("/proc/self"), 0, NAME), Err(LendError::Pseudo { .. })));
    }

    #[test]
    fn only_names_of_ours_are_made_or_removed() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["precious", "diskproof-", "diskproof-/../x", ""] {
            assert!(matches!(lend(dir.path(), 0, name), Err(LendError::Name { .. })), "{name}");
        }
        fs::create_dir(dir.path().join("precious")).unwrap();
        assert!(remove_lent(&dir.path().join("precious")).is_err());
        assert!(remove_lent(&dir.path().join("diskproof-x/..")).is_err());
        assert!(dir.path().join("precious").exists());
    }

    #[test]
    fn a_link_in_our_place_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("precious")).unwrap();
        fs::write(dir.path().join("precious/file"), "x").unwrap();
        let link = dir.path().join(NAME);
        std::os::unix::fs::symlink(dir.path().join("precious"), &link).unwrap();
        let _ = remove_lent(&link);
        assert!(dir.path().join("precious/file").exists());
    }
}
