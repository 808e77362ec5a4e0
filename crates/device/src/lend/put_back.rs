//! Removes our sub-directory from an existing directory: finds it by its identity, empties and removes it.

use super::identity::{DirId, LentIds, is_marked, is_own};
use super::walk::{DIRECTORY, Walked, walk};
use crate::mountinfo;
use record::printable::Shown as _;
use record::roots::Roots;
use rustix::fs::{AtFlags, FileType, Mode, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// How often a directory that keeps moving is searched before this gives up.
const MOVED_TIMES: u32 = 1000;

/// The result of emptying our sub-directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Emptied {
    /// It was empty.
    Nothing,
    /// It had files, which are removed.
    Files,
    /// It had been moved here.
    Elsewhere(PathBuf),
    /// It is deleted.
    Gone,
    /// It isn't where it was created, and without root we can't search for it.
    Unseen,
}

/// Why our sub-directory can't be removed.
#[derive(Debug, Error)]
pub enum GiveBackError {
    /// A file operation failed.
    #[error("cannot {doing} {}", .path.shown())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Something else is in its place.
    #[error("diskproof didn't make {}: {saw}; nothing was removed", .path.shown())]
    NotOurs {
        /// The path.
        path: PathBuf,
        /// What is there.
        saw: String,
    },
    /// It isn't where it was created, and can't be found elsewhere.
    #[error("{} is not there any more, and can't be looked for ({why}); put the directory back and undo again", .path.shown())]
    Lost {
        /// Where it was created.
        path: PathBuf,
        /// The cause.
        why: String,
    },
}

enum AtPath {
    There(File),
    Elsewhere(File),
    Gone,
    Unseen,
}

/// Removes the contents of our sub-directory. It is identified by `ids`, not by its name: another directory in its place stays,
/// and a moved one is found (by root) where it is now. Without `ids`, any directory of that name is meant. In every case it must
/// have the mark that [`super::lend`] set.
///
/// # Errors
/// When it can't be found, has no mark, contains a mount, or something in it can't be removed.
pub fn empty_lent(
    path: &Path,
    ids: Option<&LentIds>,
    rebooted: bool,
    roots: &Roots,
) -> Result<Emptied, GiveBackError> {
    give_back(path, ids, rebooted, roots, false)
}

/// The same, and removes the sub-directory itself.
///
/// # Errors
/// As [`empty_lent`]; or when it keeps moving.
pub fn take_back_lent(
    path: &Path,
    ids: &LentIds,
    rebooted: bool,
    roots: &Roots,
) -> Result<Emptied, GiveBackError> {
    give_back(path, Some(ids), rebooted, roots, true)
}

fn give_back(
    path: &Path,
    ids: Option<&LentIds>,
    rebooted: bool,
    roots: &Roots,
    remove: bool,
) -> Result<Emptied, GiveBackError> {
    let found = match ids {
        Some(ids) => find(path, &ids.own, Some(&ids.parent), rebooted)?,
        None => named(path)?,
    };
    let (dir, elsewhere) = match found {
        AtPath::Gone => return Ok(Emptied::Gone),
        AtPath::Unseen => return Ok(Emptied::Unseen),
        AtPath::There(dir) => (dir, None),
        AtPath::Elsewhere(dir) => {
            let now = real_path(&dir).map_err(io_error("find", path))?;
            (dir, Some(now))
        }
    };
    let now = elsewhere.as_deref().unwrap_or(path);
    marked(&dir, path, now)?;
    let mut removed = empty(&dir, now, roots)?;
    if remove {
        remove_open(&dir, now)?;
        removed = true;
    }
    Ok(match elsewhere {
        Some(now) => Emptied::Elsewhere(now),
        None if removed => Emptied::Files,
        None => Emptied::Nothing,
    })
}

/// Checks that a directory has the mark of our `path` before it is emptied: a manipulated journal may name any directory.
fn marked(dir: &File, path: &Path, now: &Path) -> Result<(), GiveBackError> {
    let about = fstat(dir).map_err(|errno| io_error("look at", now)(errno.into()))?;
    if !is_own(&about) {
        return Err(not_ours(
            now,
            format!("it belongs to user {} or may be written by others", about.st_uid),
        ));
    }
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    match is_marked(dir, name).map_err(io_error("look at", now))? {
        Some(true) => Ok(()),
        // Where there are no marks, the name alone must suffice.
        None if now == path => Ok(()),
        _ => Err(not_ours(
            now,
            "it is not marked as a directory that diskproof made (remove it yourself if it is)",
        )),
    }
}

/// Removes our empty sub-directory by its name from the existing directory, even if that was moved. `false`: it doesn't exist.
/// For a sub-directory that was created but not yet identified.
///
/// # Errors
/// When something else has its name, it isn't empty, or the existing directory can't be found.
pub fn remove_lent(path: &Path, parent: Option<&DirId>, rebooted: bool) -> Result<bool, GiveBackError> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(not_ours(path, "it has no parent"));
    };
    let dir = match parent {
        Some(id) => match find(above, id, None, rebooted)? {
            AtPath::There(dir) | AtPath::Elsewhere(dir) => dir,
            AtPath::Gone | AtPath::Unseen => return Ok(false),
        },
        None => match walk(above).map_err(io_error("open", above))? {
            Walked::There(dir) => dir,
            Walked::Until(..) => return Ok(false),
        },
    };
    let about = match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(about) => about,
        Err(Errno::NOENT) => return Ok(false),
        Err(error) => return Err(io_error("look at", path)(error.into())),
    };
    if FileType::from_raw_mode(about.st_mode) != FileType::Directory {
        return Err(not_ours(path, "it is not a directory"));
    }
    if !is_own(&about) {
        let saw = format!("it belongs to user {}, mode {:o}", about.st_uid, about.st_mode & 0o7777);
        return Err(not_ours(path, saw));
    }
    match unlinkat(&dir, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(Errno::NOTDIR) => Err(not_ours(path, "it is not a directory")),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Err(not_ours(path, "it holds files that no step made")),
        Err(error) => Err(io_error("remove", path)(error.into())),
    }
}

/// Finds a directory by its identity: at its old path, or wherever it is now in its file system. `parent` is the directory above
/// it, which shows where to search after a reboot.
fn find(path: &Path, id: &DirId, parent: Option<&DirId>, rebooted: bool) -> Result<AtPath, GiveBackError> {
    if rebooted && id.volatile {
        return Ok(AtPath::Gone);
    }
    let lost = |why: String| Err(GiveBackError::Lost { path: path.to_owned(), why });
    let is = |id: &DirId, dir: &File| id.is(dir, rebooted).map_err(io_error("look at", path));
    if let Walked::There(dir) = walk(path).map_err(io_error("open", path))?
        && is(id, &dir)?
    {
        return Ok(AtPath::There(dir));
    }
    let above = path.parent().unwrap_or(Path::new("/"));
    let walked = walk(above).map_err(io_error("open", above))?;
    let in_place = match (&walked, parent) {
        (Walked::There(dir), Some(parent)) => is(parent, dir)?,
        _ => false,
    };
    // A handle that can't be opened means a deleted directory only in the same file system.
    let anchor = match walked {
        Walked::There(dir) if in_place || (!rebooted && on(&dir, id.dev)) => Ok(dir),
        Walked::Until(dir, _) if !rebooted && on(&dir, id.dev) => reopened(&dir),
        _ => return lost(format!("the file system that it was on is not at {}", above.shown())),
    };
    match anchor.and_then(|anchor| id.open_anywhere(anchor)) {
        Ok(None) => Ok(AtPath::Gone),
        Ok(Some(dir)) if is(id, &dir)? => Ok(AtPath::Elsewhere(dir)),
        Ok(Some(_)) => lost("another directory has its identity now".to_owned()),
        Err(_) if in_place => Ok(AtPath::Unseen),
        Err(error) => lost(error.to_string()),
    }
}

/// Finds the directory with this name.
fn named(path: &Path) -> Result<AtPath, GiveBackError> {
    match walk(path).map_err(io_error("open", path))? {
        Walked::There(dir) => Ok(AtPath::There(dir)),
        Walked::Until(_, error) if error.kind() == io::ErrorKind::NotFound => Ok(AtPath::Gone),
        Walked::Until(_, error) => Err(not_ours(path, error.to_string())),
    }
}

fn not_ours(path: &Path, saw: impl Into<String>) -> GiveBackError {
    GiveBackError::NotOurs { path: path.to_owned(), saw: saw.into() }
}

/// Opens a directory for reading that was opened only by path (O_PATH).
fn reopened(dir: &OwnedFd) -> io::Result<File> {
    Ok(File::from(openat(dir, ".", DIRECTORY, Mode::empty())?))
}

fn on(dir: impl AsFd, dev: u64) -> bool {
    fstat(dir).is_ok_and(|about| about.st_dev == dev)
}

/// The path of an open directory, as the kernel reports it.
fn real_path(dir: &File) -> io::Result<PathBuf> {
    fs::read_link(through(dir))
}

/// A path through the descriptor, which renames don't affect.
fn through(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

/// Removes all contents of our directory, in which no other user can create or rename anything.
fn empty(dir: &File, path: &Path, roots: &Roots) -> Result<bool, GiveBackError> {
    let real = real_path(dir).map_err(io_error("find", path))?;
    let mounts = mountinfo::own(roots).map_err(io_error("read the mounts for", path))?;
    if let Some(mount) = mounts.iter().find(|mount| mount.target.starts_with(&real)) {
        return Err(not_ours(path, format!("something is mounted at {}", mount.target.shown())));
    }
    let mut removed = false;
    for entry in fs::read_dir(through(dir)).map_err(io_error("read", path))? {
        let entry = entry.map_err(io_error("read", path))?;
        let at = || path.join(entry.file_name());
        let is_dir = entry.file_type().map_err(io_error("look at", &at()))?.is_dir();
        let done = if is_dir { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        done.map_err(io_error("remove", &at()))?;
        removed = true;
    }
    Ok(removed)
}

/// Removes an open, empty directory from wherever it is. If another takes its name at that moment, only an empty directory can be
/// removed by mistake.
fn remove_open(dir: &File, shown: &Path) -> Result<(), GiveBackError> {
    let mut attempt = remove_once(dir);
    for _ in 1..MOVED_TIMES {
        match attempt {
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    || error.kind() == io::ErrorKind::NotADirectory =>
            {
                attempt = remove_once(dir);
            }
            result => return result.map_err(io_error("remove", shown)),
        }
    }
    attempt.map_err(io_error("remove (it is moved again and again)", shown))
}

fn remove_once(dir: &File) -> io::Result<()> {
    let own = fstat(dir)?;
    if own.st_nlink == 0 {
        return Ok(());
    }
    let now = real_path(dir)?;
    let name = now.file_name().ok_or(io::ErrorKind::NotFound)?;
    let parent = openat(dir, "..", DIRECTORY, Mode::empty())?;
    let there = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if (there.st_dev, there.st_ino) != (own.st_dev, own.st_ino) {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
}

fn io_error<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> GiveBackError + Clone + 'a {
    move |source| GiveBackError::Io { doing, path: path.to_owned(), source }
}
