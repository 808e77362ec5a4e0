//! Takes an existing directory into use: creates our sub-directory in it.

use super::identity::{DirId, LentIds, is_own, mark};
use super::walk::{DIRECTORY, open_dir};
use crate::PREFIX;
use crate::check::exclusive::locked_by;
use crate::family::mount_of;
use crate::mountinfo::{self, Mount};
use host::only_ours_down_to;
use record::printable::{Shown as _, printable};
use record::roots::Roots;
use rustix::fs::{Mode, fstat, fstatvfs, mkdirat, openat};
use rustix::io::Errno;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// File systems without regular files.
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

/// Our sub-directory in an existing directory. The existing directory is locked against every other diskproof while this exists.
/// Dropping it removes nothing; the undo does, with [`super::take_back_lent`].
#[derive(Debug)]
pub struct LentDir {
    parent: PathBuf,
    path: PathBuf,
    ids: LentIds,
    free_bytes: u64,
    /// Our sub-directory, whatever happens to its name.
    dir: File,
    /// Whether another user can rename a directory on the path to it.
    exposed: bool,
    _lock: File,
}

/// Why a directory can't be used.
#[derive(Debug, Error)]
pub enum LendError {
    /// The path isn't absolute.
    #[error("{} is not an absolute path", .path.shown())]
    Relative {
        /// The path.
        path: PathBuf,
    },
    /// It can't be accessed.
    #[error("cannot use {}", .path.shown())]
    Access {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It isn't a directory.
    #[error("{} is not a directory; name one that exists", .path.shown())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// It is on a file system without regular files.
    #[error("{} is on {kind}; name a directory on a real file system", .path.shown())]
    Pseudo {
        /// The path.
        path: PathBuf,
        /// The file system.
        kind: String,
    },
    /// There isn't enough space.
    #[error("{} has {free_bytes} bytes free; {need_bytes} are needed; free some space or ask for less", .path.shown())]
    Space {
        /// The path.
        path: PathBuf,
        /// The bytes free for us.
        free_bytes: u64,
        /// The bytes that the experiment needs.
        need_bytes: u64,
    },
    /// Another diskproof uses it.
    #[error("{} is in use: {saw}; {remedy}", .path.shown())]
    Locked {
        /// The path.
        path: PathBuf,
        /// The process.
        saw: String,
        /// The remedy.
        remedy: String,
    },
    /// Another user serves the file system, and so decides what we read there and where links lead.
    #[error("{} is on a file system that user {user} serves (FUSE); run as that user, or name a directory elsewhere", .path.shown())]
    Served {
        /// The path.
        path: PathBuf,
        /// The user id of the server.
        user: u32,
    },
    /// The new sub-directory isn't ours alone.
    #[error("{} was made and {saw}; run as the owner of {}, or name another directory", .path.shown(), .path.parent().unwrap_or(.path).shown())]
    NotOwn {
        /// Our sub-directory.
        path: PathBuf,
        /// What was found.
        saw: String,
    },
    /// The sub-directory's name doesn't have our prefix.
    #[error(
        "{name:?} can't name a directory of diskproof's: it must be a plain name that begins with {PREFIX}"
    )]
    Name {
        /// The name.
        name: String,
    },
}

/// Takes an existing directory into use: it must exist, be writable, and have `need_bytes` free. Creates the sub-directory `name`
/// in it; the name must begin with [`PREFIX`]. A sub-directory that already exists (from an interrupted attempt) is an error.
///
/// # Errors
/// When the directory can't be used. Then nothing was created, but with [`LendError::NotOwn`]: an empty sub-directory that its owner exchanged at
/// that moment.
pub fn lend(path: &Path, need_bytes: u64, name: &str) -> Result<LentDir, LendError> {
    take(path, need_bytes, name, Lock::Exclusive)
}

/// As [`lend`], for a directory that other machines of the same run use at the same time, each with a sub-directory of its own. A
/// diskproof that wants the directory for itself is kept out, and keeps this one out.
///
/// # Errors
/// As [`lend`].
pub fn lend_shared(path: &Path, name: &str) -> Result<LentDir, LendError> {
    take(path, 0, name, Lock::Shared)
}

#[derive(Clone, Copy)]
enum Lock {
    Exclusive,
    Shared,
}

fn take(path: &Path, need_bytes: u64, name: &str, wanted: Lock) -> Result<LentDir, LendError> {
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
    let lock = lock(&parent, wanted)?;
    let space = fstatvfs(&lock).map_err(|errno| access(errno.into()))?;
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    if free_bytes < need_bytes {
        return Err(LendError::Space { path: parent, free_bytes, need_bytes });
    }
    let exposed = only_ours_down_to(&parent).is_err();
    mkdirat(&lock, name, Mode::RWXU).map_err(|errno| access(errno.into()))?;
    let path = parent.join(name);
    // The owner of the existing directory may have exchanged it since.
    let exchanged = |errno: Errno| LendError::NotOwn {
        path: path.clone(),
        saw: format!("is something else now ({})", io::Error::from(errno)),
    };
    let dir = File::from(openat(&lock, name, DIRECTORY, Mode::empty()).map_err(exchanged)?);
    let ids = LentIds { parent: DirId::of(&lock).map_err(access)?, own: DirId::of(&dir).map_err(access)? };
    let lent = LentDir { parent, path, ids, free_bytes, dir, exposed, _lock: lock };
    lent.check_own()?;
    mark(&lent.dir, name).map_err(|source| LendError::Access { path: lent.path.clone(), source })?;
    Ok(lent)
}

/// The identity of an existing directory that is about to be used.
///
/// # Errors
/// When it can't be opened.
pub fn identify(dir: &Path) -> Result<DirId, LendError> {
    let access = |source| LendError::Access { path: dir.to_path_buf(), source };
    open_dir(dir).and_then(DirId::of).map_err(access)
}

/// The bytes that an ordinary user can still write at a path.
///
/// # Errors
/// When the path can't be examined.
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

    /// The existing directory.
    #[must_use]
    pub fn parent(&self) -> &Path {
        &self.parent
    }

    /// The bytes that were free when it was taken into use.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    /// The path for the load. Where another user can rename a directory on the path to our sub-directory, it leads through our
    /// open descriptor (proc_pid_fd(5)), so it is valid only while this exists.
    #[must_use]
    pub fn access(&self) -> PathBuf {
        if !self.exposed {
            return self.path.clone();
        }
        self.through()
    }

    /// A path through our descriptor. It contains our process id, so it works for the engines' processes too.
    fn through(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.dir.as_raw_fd()))
    }

    /// Whether another user can rename a directory on the path to it.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.exposed
    }

    /// Its identity, which distinguishes it from another directory in its place.
    #[must_use]
    pub fn ids(&self) -> &LentIds {
        &self.ids
    }

    /// Another user may have exchanged it between its creation and our opening it, and some file systems give it to another user.
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

/// Locks the directory itself, so that this needs no lock file. On NFS, which can't do this, there is no lock.
fn lock(path: &Path, wanted: Lock) -> Result<File, LendError> {
    let access = |source| LendError::Access { path: path.to_path_buf(), source };
    let file = open_dir(path).map_err(access)?;
    let locked = match wanted {
        Lock::Exclusive => file.try_lock(),
        Lock::Shared => file.try_lock_shared(),
    };
    match locked {
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
