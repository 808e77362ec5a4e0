//! Directories that no other user can change, and the files in them.

use crate::state_file::{Refused, StateAccess, Untrusted, only_ours, open_trusted_at};
use record::printable::Shown as _;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, renameat, unlinkat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// The kernel's limit on the number of links in a path.
const LINKS: u32 = 40;
const STICKY: u32 = 0o1000;

/// An open directory that only we and root can replace: neither it nor any directory or link on its path belongs to another user
/// or is writable by one.
#[derive(Debug)]
pub struct TrustedDir {
    fd: OwnedFd,
    path: PathBuf,
}

/// Why a file or directory can't be trusted.
#[derive(Debug, Error)]
pub enum TrustError {
    /// It can't be opened, read or written.
    #[error("{}", .path.shown())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another user owns it, or may write to it.
    #[error("{} belongs to user {uid} or may be written by others (mode {mode:o}); chown root and chmod go-w it", .path.shown())]
    Open {
        /// The path.
        path: PathBuf,
        /// Its owner.
        uid: u32,
        /// Its mode.
        mode: u32,
    },
    /// It is not a regular file: a link, a FIFO, a device...
    #[error("{} {what}; put a plain file there", .path.shown())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// The kind of file.
        what: &'static str,
    },
}

impl TrustError {
    fn io(path: &Path) -> impl FnOnce(Errno) -> Self {
        let path = path.to_path_buf();
        move |errno| Self::Io { path, source: errno.into() }
    }

    fn of_file(path: PathBuf, refused: Refused) -> Self {
        match refused {
            Refused::Kernel(Errno::ISDIR) | Refused::Untrusted(Untrusted::NotRegular(_)) => {
                Self::NotAFile { path, what: NO_FILE }
            }
            Refused::Kernel(errno) => Self::Io { path, source: errno.into() },
            Refused::Untrusted(Untrusted::Link) => Self::NotAFile { path, what: "is a link" },
            Refused::Untrusted(Untrusted::Exposed { uid, mode }) => Self::Open { path, uid, mode },
        }
    }

    /// Whether nothing of that name exists.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Checks a directory, and every directory and link on its path: none may belong to another user or be writable by one.
///
/// # Errors
/// The first one that another user can replace, or that can't be examined.
pub fn only_ours_down_to(dir: &Path) -> Result<(), TrustError> {
    let absolute =
        std::path::absolute(dir).map_err(|source| TrustError::Io { path: dir.to_path_buf(), source })?;
    walk(&absolute).map(drop)
}

/// Checks a state directory: its path and each directory in it, since their contents are trusted too.
///
/// # Errors
/// As [`only_ours_down_to`].
pub fn only_ours_in(state_dir: &Path) -> Result<(), TrustError> {
    only_ours_down_to(state_dir)?;
    let io = |source| TrustError::Io { path: state_dir.to_path_buf(), source };
    for entry in std::fs::read_dir(state_dir).map_err(io)? {
        let path = entry.map_err(io)?.path();
        // A file is checked when it is opened, and a link without a target does no harm.
        if std::fs::metadata(&path).is_ok_and(|about| about.is_dir()) {
            only_ours_down_to(&path)?;
        }
    }
    Ok(())
}

impl TrustedDir {
    /// Opens a directory, one part of its path after the other. Without root it opens only the directory itself and doesn't check
    /// those above it.
    ///
    /// # Errors
    /// When it doesn't exist, or another user can replace it.
    pub fn open(path: &Path) -> Result<Self, TrustError> {
        let absolute = std::path::absolute(path)
            .map_err(|source| TrustError::Io { path: path.to_path_buf(), source })?;
        let fd = if rustix::process::geteuid().is_root() { walk(&absolute)? } else { whole(&absolute)? };
        Ok(Self { fd, path: path.to_path_buf() })
    }

    /// The whole text of a file in it; `None` when there is no such file.
    ///
    /// # Errors
    /// When it isn't a regular file, another user owns it or may write to it, or it can't be read.
    pub fn read(&self, name: &str) -> Result<Option<String>, TrustError> {
        let path = self.path.join(name);
        let Some(mut file) = self.open_file(name, StateAccess::Read)? else { return Ok(None) };
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|source| TrustError::Io { path, source })?;
        Ok(Some(text))
    }

    /// Opens a file in it, creates it if missing, and waits for its lock.
    ///
    /// # Errors
    /// When it isn't a regular file of ours, or can't be created or locked.
    pub fn lock(&self, name: &str) -> Result<File, TrustError> {
        let path = self.path.join(name);
        let file = self.open_file(name, StateAccess::ChangeOrMake)?;
        let file = file.ok_or(Errno::NOENT).map_err(TrustError::io(&path))?;
        file.lock().map_err(|source| TrustError::Io { path, source })?;
        Ok(file)
    }

    /// Replaces a file in it, with mode 0644: atomically, and durable when this returns. Hold a lock meanwhile.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn replace(&self, name: &str, text: &str) -> Result<(), TrustError> {
        let fresh = format!("{name}.new");
        let path = self.path.join(&fresh);
        match unlinkat(&self.fd, &fresh, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(TrustError::io(&path)(error)),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file =
            openat(&self.fd, &fresh, flags, Mode::from_raw_mode(0o644)).map_err(TrustError::io(&path))?;
        let mut file = File::from(file);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|source| TrustError::Io { path: path.clone(), source })?;
        renameat(&self.fd, &fresh, &self.fd, name).map_err(TrustError::io(&self.path.join(name)))?;
        let itself =
            openat(&self.fd, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        itself.and_then(rustix::fs::fsync).map_err(TrustError::io(&self.path))
    }

    fn open_file(&self, name: &str, access: StateAccess) -> Result<Option<File>, TrustError> {
        match open_trusted_at(&self.fd, Path::new(name), access) {
            Ok(file) => Ok(Some(file)),
            Err(Refused::Kernel(Errno::NOENT)) => Ok(None),
            Err(refused) => Err(TrustError::of_file(self.path.join(name), refused)),
        }
    }
}

const NO_FILE: &str = "is not a regular file";

fn whole(path: &Path) -> Result<OwnedFd, TrustError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).map_err(TrustError::io(path))
}

/// Opens every part of a path from `/` down, including links: each must be one that no other user could have put there.
fn walk(path: &Path) -> Result<OwnedFd, TrustError> {
    let root = whole(Path::new("/"))?;
    check(Path::new("/"), &fstat(&root).map_err(TrustError::io(Path::new("/")))?, STICKY)?;
    let mut way = vec![(root, PathBuf::from("/"))];
    let mut next = parts(path);
    let mut links = 0;
    while let Some(part) = next.pop_front() {
        if part == ".." {
            // Above `/` is `/`.
            way.truncate(way.len().saturating_sub(1).max(1));
            continue;
        }
        let Some((at, above)) = way.last() else { break };
        let here = above.join(&part);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(at, &*part, flags, Mode::empty()).map_err(TrustError::io(&here))?;
        let about = fstat(&fd).map_err(TrustError::io(&here))?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => {
                check(&here, &about, STICKY)?;
                way.push((fd, here));
            }
            FileType::Symlink => {
                links += 1;
                if links > LINKS {
                    return Err(TrustError::io(path)(Errno::LOOP));
                }
                // A link's mode means nothing; its owner counts.
                check(&here, &about, u32::MAX)?;
                let target = readlinkat(&fd, "", Vec::new()).map_err(TrustError::io(&here))?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    way.truncate(1);
                }
                parts(&target).into_iter().rev().for_each(|part| next.push_front(part));
            }
            _ => return Err(TrustError::io(&here)(Errno::NOTDIR)),
        }
    }
    way.pop().map(|(fd, _)| fd).ok_or(Errno::NOENT).map_err(TrustError::io(path))
}

/// Checks a directory or link on a path; see [`only_ours`].
fn check(path: &Path, about: &Stat, unless: u32) -> Result<(), TrustError> {
    only_ours(about, unless)
        .map_err(|untrusted| TrustError::of_file(path.to_path_buf(), Refused::Untrusted(untrusted)))
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        _ => None,
    };
    path.components().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::{TrustError, only_ours_down_to, only_ours_in};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_directory_that_others_may_write_is_named_wherever_it_is_on_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        mode(&dir.path().join("a"), 0o755);
        mode(&below, 0o700);
        only_ours_down_to(&below).unwrap();
        mode(&dir.path().join("a"), 0o775);
        let error = only_ours_down_to(&below).unwrap_err();
        assert!(matches!(&error, TrustError::Open { path, .. } if path.ends_with("a")), "{error}");
        mode(&dir.path().join("a"), 0o1777);
        only_ours_down_to(&below).unwrap();
    }

    #[test]
    fn a_link_counts_as_what_it_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let (state, open) = (dir.path().join("state"), dir.path().join("open"));
        fs::create_dir(&state).unwrap();
        fs::create_dir(&open).unwrap();
        mode(&state, 0o700);
        mode(&open, 0o777);
        only_ours_in(&state).unwrap();
        std::os::unix::fs::symlink(&open, state.join("volumes")).unwrap();
        let error = only_ours_in(&state).unwrap_err();
        assert!(matches!(&error, TrustError::Open { path, .. } if path.ends_with("open")), "{error}");
    }
}
