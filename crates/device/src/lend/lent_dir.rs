//! Borrowing a directory, and our sub-directory while it is there.

use super::identity::{DirId, LentIds, is_own, mark};
use super::walk::{DIRECTORY, open_dir};
use crate::family::mount_of;
use crate::guard::PREFIX;
use crate::mountinfo::{self, Mount};
use crate::roots::Roots;
use crate::trusted::only_ours_down_to;
use crate::witness::exclusive::locked_by;
use record::printable::{Shown as _, printable};
use rustix::fs::{Mode, fstat, fstatvfs, mkdirat, openat};
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::AsRawFd as _;
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
/// Dropping it removes nothing: the undo does, by [`super::take_back_lent`].
#[derive(Debug)]
pub struct LentDir {
    parent: PathBuf,
    path: PathBuf,
    ids: LentIds,
    free_bytes: u64,
    /// Our sub-directory, whatever becomes of its name.
    dir: File,
    /// Whether somebody else can rename on the way to it.
    exposed: bool,
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
    /// Who serves the file system decides what we read there, and where links lead.
    #[error("{} is on a file system that user {user} serves (FUSE); run as that user, or name a directory elsewhere", .path.shown())]
    Served {
        /// Which path.
        path: PathBuf,
        /// Who serves it.
        user: u32,
    },
    /// What was made isn't ours alone.
    #[error("{} was made and {saw}; run as the owner of {}, or name another directory", .path.shown(), .path.parent().unwrap_or(.path).shown())]
    NotOwn {
        /// Our sub-directory.
        path: PathBuf,
        /// What it is.
        saw: String,
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
    let space = fstatvfs(&lock).map_err(|errno| access(errno.into()))?;
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    if free_bytes < need_bytes {
        return Err(LendError::Space { path: parent, free_bytes, need_bytes });
    }
    let exposed = only_ours_down_to(&parent).is_err();
    mkdirat(&lock, name, Mode::RWXU).map_err(|errno| access(errno.into()))?;
    let path = parent.join(name);
    let dir =
        File::from(openat(&lock, name, DIRECTORY, Mode::empty()).map_err(|errno| access(errno.into()))?);
    let ids = LentIds { parent: DirId::of(&lock).map_err(access)?, own: DirId::of(&dir).map_err(access)? };
    let lent = LentDir { parent, path, ids, free_bytes, dir, exposed, _lock: lock };
    lent.check_own()?;
    mark(&lent.dir, name).map_err(|source| LendError::Access { path: lent.path.clone(), source })?;
    Ok(lent)
}

/// The identity of a directory that is about to be lent.
///
/// # Errors
/// It can't be opened.
pub fn identify(dir: &Path) -> Result<DirId, LendError> {
    let access = |source| LendError::Access { path: dir.to_path_buf(), source };
    open_dir(dir).and_then(DirId::of).map_err(access)
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

    /// Where load goes. Where somebody else can rename on the way to our sub-directory it leads through our open descriptor
    /// (proc_pid_fd(5)), so it is good only while this lives.
    #[must_use]
    pub fn access(&self) -> PathBuf {
        if !self.exposed {
            return self.path.clone();
        }
        self.through()
    }

    /// A path through our descriptor. It names us by number, so that it leads there for engines' processes too.
    fn through(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.dir.as_raw_fd()))
    }

    /// Whether somebody else can rename on the way to it.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.exposed
    }

    /// What tells it from what somebody puts in its place.
    #[must_use]
    pub fn ids(&self) -> &LentIds {
        &self.ids
    }

    /// Between its making and our opening it somebody may have exchanged it, and some file systems give it to another user.
    fn check_own(&self) -> Result<(), LendError> {
        let access = |source| LendError::Access { path: self.path.clone(), source };
        let about = fstat(&self.dir).map_err(|errno| access(errno.into()))?;
        let saw = if !is_own(&about) {
            format!("belongs to user {} with mode {:o}", about.st_uid, about.st_mode & 0o7777)
        } else if about.st_dev != self.ids.parent.dev {
            "is a mount point now".to_owned()
        } else if fs::read_dir(self.through()).map_err(access)?.next().is_some() {
            "is not empty".to_owned()
        } else {
            return Ok(());
        };
        Err(LendError::NotOwn { path: self.path.clone(), saw })
    }
}

fn is_ours(name: &str) -> bool {
    name.len() > PREFIX.len() && name.starts_with(PREFIX) && !name.contains('/')
}

fn refuse_pseudo(path: &Path) -> Result<(), LendError> {
    let mounts = mountinfo::own(&Roots::default()).unwrap_or_default();
    let us = rustix::process::geteuid().as_raw();
    match mount_of(&mounts, path) {
        Some(Mount { fuse_user: Some(user), .. }) if *user != us && *user != 0 => {
            Err(LendError::Served { path: path.to_path_buf(), user: *user })
        }
        Some(mount) if PSEUDO.contains(&mount.kind.as_str()) => {
            Err(LendError::Pseudo { path: path.to_path_buf(), kind: printable(&mount.kind).into_owned() })
        }
        _ => Ok(()),
    }
}

/// Locks the directory itself, so that nothing has to be made for it. NFS, which can't, goes without.
fn lock(path: &Path) -> Result<File, LendError> {
    let access = |source| LendError::Access { path: path.to_path_buf(), source };
    let file = open_dir(path).map_err(access)?;
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
    use super::super::LentIds;
    use super::super::{Emptied, GiveBackError, empty_lent, remove_lent, take_back_lent};
    use super::{LendError, LentDir, free_bytes, identify, lend};
    use crate::roots::Roots;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    const NAME: &str = "diskproof-test-lend";

    /// Gives everything back, as an undo does.
    fn give_back(lent: LentDir) {
        let (path, ids) = (lent.path().to_path_buf(), lent.ids().clone());
        drop(lent);
        take_back_lent(&path, &ids, false, &Roots::default()).unwrap();
    }

    #[test]
    fn it_makes_one_directory_and_removes_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("precious"), "x").unwrap();
        let lent = lend(dir.path(), 1, NAME).unwrap();
        assert!(lent.path().starts_with(fs::canonicalize(dir.path()).unwrap()));
        fs::create_dir_all(lent.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("precious"), lent.path().join("a/link")).unwrap();
        let (path, ids) = (lent.path().to_path_buf(), lent.ids().clone());
        give_back(lent);
        assert!(!path.exists() && dir.path().join("precious").exists());
        let again = empty_lent(&path, Some(&ids), false, &Roots::default()).unwrap();
        assert!(matches!(again, Emptied::Gone | Emptied::Unseen), "{again:?}");
        assert!(!remove_lent(&path, Some(&ids.parent), false).unwrap());
    }

    #[test]
    fn it_is_reached_through_its_descriptor_where_others_can_rename() {
        let dir = tempfile::tempdir().unwrap();
        let lent = lend(dir.path(), 1, NAME).unwrap();
        assert!(!lent.is_exposed() && lent.access() == lent.path());
        give_back(lent);
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let lent = lend(dir.path(), 1, NAME).unwrap();
        assert!(lent.is_exposed());
        let (elsewhere, foreign) = (dir.path().join("elsewhere"), dir.path().join("foreign"));
        fs::rename(lent.path(), &elsewhere).unwrap();
        fs::create_dir(&foreign).unwrap();
        std::os::unix::fs::symlink(&foreign, lent.path()).unwrap();
        fs::write(lent.access().join("data"), "x").unwrap();
        assert!(elsewhere.join("data").exists() && fs::read_dir(&foreign).unwrap().next().is_none());
    }

    #[test]
    fn one_that_was_moved_is_found_and_what_took_its_place_stays() {
        let dir = tempfile::tempdir().unwrap();
        let lent = lend(dir.path(), 1, NAME).unwrap();
        let (path, ids) = (lent.path().to_path_buf(), lent.ids().clone());
        fs::write(path.join("data"), "x").unwrap();
        let elsewhere = dir.path().canonicalize().unwrap().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("precious"), "x").unwrap();
        let emptied = take_back_lent(&path, &ids, false, &Roots::default()).unwrap();
        if rustix::process::geteuid().is_root() {
            assert_eq!(emptied, Emptied::Elsewhere(elsewhere.clone()));
            assert!(!elsewhere.exists());
        } else {
            assert_eq!(emptied, Emptied::Unseen);
        }
        let error = remove_lent(&path, Some(&ids.parent), false).unwrap_err();
        assert!(matches!(error, GiveBackError::NotOurs { .. }), "{error}");
        assert!(path.join("precious").exists());
    }

    #[test]
    fn a_lent_directory_that_was_moved_is_followed_or_missed() {
        let dir = tempfile::tempdir().unwrap();
        let (given, moved) = (dir.path().join("given"), dir.path().join("moved"));
        fs::create_dir(&given).unwrap();
        let lent = lend(&given, 1, NAME).unwrap();
        let (path, ids) = (lent.path().to_path_buf(), lent.ids().clone());
        fs::write(path.join("data"), "x").unwrap();
        fs::rename(&given, &moved).unwrap();
        let emptied = take_back_lent(&path, &ids, false, &Roots::default());
        if rustix::process::geteuid().is_root() {
            assert!(matches!(emptied, Ok(Emptied::Elsewhere(_))), "{emptied:?}");
            assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
        } else {
            assert!(matches!(emptied, Err(GiveBackError::Lost { .. })), "{emptied:?}");
        }
    }

    #[test]
    fn after_a_reboot_only_the_handle_and_the_lent_directory_count() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let lent = lend(dir.path(), 1, NAME).unwrap();
        let (path, mut ids) = (lent.path().to_path_buf(), lent.ids().clone());
        drop(lent);
        fs::write(path.join("data"), "x").unwrap();
        // devices are numbered anew at each boot
        ids.own.dev += 1;
        ids.parent.dev += 1;
        let other = fs::read_dir(&path).unwrap().count();
        assert_eq!(other, 1);
        let emptied = empty_lent(&path, Some(&ids), true, &Roots::default()).unwrap();
        assert_eq!(emptied, Emptied::Files);
        assert!(remove_lent(&path, Some(&ids.parent), true).unwrap());
    }

    #[test]
    fn a_second_one_is_refused_by_pid() {
        let dir = tempfile::tempdir().unwrap();
        let lent = lend(dir.path(), 1, NAME).unwrap();
        let error = lend(dir.path(), 1, "diskproof-test-other").unwrap_err();
        assert!(matches!(&error, LendError::Locked { .. }), "{error}");
        assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
        drop(lent);
        give_back(lend(dir.path(), 1, "diskproof-test-other").unwrap());
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
    fn only_names_of_ours_are_made() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["precious", "diskproof-", "diskproof-/../x", ""] {
            assert!(matches!(lend(dir.path(), 0, name), Err(LendError::Name { .. })), "{name}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_what_is_an_empty_directory_of_ours_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        fs::create_dir(real.join("precious")).unwrap();
        fs::write(real.join("precious/file"), "x").unwrap();
        std::os::unix::fs::symlink(real.join("precious"), real.join(NAME)).unwrap();
        for name in [NAME, "precious", "precious/file"] {
            assert!(remove_lent(&real.join(name), None, false).is_err(), "{name}");
        }
        assert!(empty_lent(&real.join(NAME), None, false, &Roots::default()).is_err());
        assert!(real.join("precious/file").exists() && real.join(NAME).is_symlink());
    }

    #[test]
    fn a_directory_of_ours_that_was_not_lent_is_not_emptied_whatever_a_journal_says() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let real = dir.path().canonicalize().unwrap();
        let lent = lend(&real, 1, NAME).unwrap();
        for name in ["diskproof-backup", "secret"] {
            let precious = real.join(name);
            fs::create_dir(&precious).unwrap();
            fs::set_permissions(&precious, fs::Permissions::from_mode(0o700)).unwrap();
            fs::write(precious.join("file"), "x").unwrap();
            let own = identify(&precious).unwrap();
            let forged = LentIds { parent: lent.ids().parent.clone(), own };
            for ids in [None, Some(&forged)] {
                let error = empty_lent(&precious, ids, false, &Roots::default()).unwrap_err();
                assert!(matches!(error, GiveBackError::NotOurs { .. }), "{error}");
            }
            // as if it had been moved
            let _ = empty_lent(&real.join("diskproof-moved"), Some(&forged), false, &Roots::default());
            assert!(precious.join("file").exists(), "{name}");
        }
        give_back(lent);
    }
}
