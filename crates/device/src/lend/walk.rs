//! Opens a directory without following any link on the path.

use rustix::fs::{Mode, OFlags, open, openat};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

/// The flags to open a directory for reading, whatever its name.
pub(super) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// The flags for a directory on the path: it needn't be readable.
const PASSED: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The result of a walk.
pub(super) enum Walked {
    /// The directory.
    There(File),
    /// The last directory that exists, and the error after it.
    Until(OwnedFd, io::Error),
}

/// Opens an absolute path without `.`, `..` and links, one directory after the other.
pub(super) fn walk(path: &Path) -> io::Result<Walked> {
    let mut at = open("/", PASSED, Mode::empty())?;
    let mut parts = path.components().filter(|part| *part != Component::RootDir).peekable();
    if parts.peek().is_none() {
        return Ok(Walked::There(File::from(open("/", DIRECTORY, Mode::empty())?)));
    }
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
        let last = parts.peek().is_none();
        match openat(&at, name, if last { DIRECTORY } else { PASSED }, Mode::empty()) {
            Ok(fd) if last => return Ok(Walked::There(File::from(fd))),
            Ok(fd) => at = fd,
            Err(error) => return Ok(Walked::Until(at, error.into())),
        }
    }
    Err(io::ErrorKind::InvalidInput.into())
}

/// Opens a directory; a missing one, or a link on the path, is an error.
pub(super) fn open_dir(path: &Path) -> io::Result<File> {
    match walk(path)? {
        Walked::There(file) => Ok(file),
        Walked::Until(_, error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::{Walked, open_dir, walk};
    use std::path::Path;

    #[test]
    fn it_goes_as_far_as_there_are_directories_and_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        std::os::unix::fs::symlink("a", real.join("link")).unwrap();
        open_dir(&real.join("a/b")).unwrap();
        open_dir(Path::new("/")).unwrap();
        for path in ["a/c", "link", "link/b", "a/b/c/d"] {
            assert!(matches!(walk(&real.join(path)).unwrap(), Walked::Until(..)), "{path}");
        }
        assert!(open_dir(&real.join("a/../a")).is_err());
    }
}
