//! Opens files of a state directory: never through a link, never a FIFO or a device. Where diskproof acts on their content, only
//! files that nobody except their owner or root can have written.

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd;
use std::path::Path;

/// The mode bits that let others than the owner write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The access to a file of a state directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateAccess {
    /// Reading; the file must exist.
    Read,
    /// Reading and writing; the file must exist.
    Change,
    /// Reading and writing; a missing file is created with mode 0600.
    ChangeOrMake,
}

/// The reason why a file is not opened although the kernel would open it. It is the inner error of an [`io::Error`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Untrusted {
    /// It is a symbolic link.
    Link,
    /// It is no regular file but of this kind; `None` if it can't be opened and its kind isn't known.
    NotRegular(Option<&'static str>),
    /// It belongs to another user, or others may write it.
    Exposed {
        /// Its owner.
        uid: u32,
        /// Its mode, without the bits for the kind of file.
        mode: u32,
    },
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link => f.write_str("is a symbolic link; move it away"),
            Self::NotRegular(None) => f.write_str("is not a regular file; move it away"),
            Self::NotRegular(Some(kind)) => write!(f, "is a {kind}, not a regular file; move it away"),
            Self::Exposed { uid, mode } => {
                let me = rustix::process::geteuid();
                let who =
                    if me.is_root() { "root".to_owned() } else { format!("user {} or root", me.as_raw()) };
                write!(
                    f,
                    "belongs to user {uid} with mode {:o}; only {who} may write it: look at what it holds, then chown and chmod go-w it",
                    mode & 0o777
                )
            }
        }
    }
}

impl std::error::Error for Untrusted {}

/// Why a file isn't opened.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The kernel's error.
    Kernel(Errno),
    /// Our own reason.
    Untrusted(Untrusted),
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        Self::Kernel(errno)
    }
}

impl From<Untrusted> for Refused {
    fn from(untrusted: Untrusted) -> Self {
        Self::Untrusted(untrusted)
    }
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Kernel(errno) => errno.into(),
            Refused::Untrusted(untrusted) => Self::new(io::ErrorKind::InvalidInput, untrusted),
        }
    }
}

/// Opens a regular file; anything else is refused at once, without waiting for a writer.
///
/// # Errors
/// The kernel's error, or [`Untrusted`].
pub fn open_regular(path: &Path, access: StateAccess) -> io::Result<File> {
    Ok(open_regular_at(CWD, path, access)?)
}

/// Opens a regular file that belongs to this user or root, and that nobody else can write.
///
/// # Errors
/// The kernel's error, or [`Untrusted`].
pub fn open_trusted(path: &Path, access: StateAccess) -> io::Result<File> {
    Ok(open_trusted_at(CWD, path, access)?)
}

fn open_regular_at(dir: impl AsFd, path: &Path, access: StateAccess) -> Result<File, Refused> {
    let how = match access {
        StateAccess::Read => OFlags::RDONLY,
        StateAccess::Change => OFlags::RDWR,
        StateAccess::ChangeOrMake => OFlags::RDWR | OFlags::CREATE,
    };
    let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file =
        File::from(openat(dir, path, flags, Mode::RUSR | Mode::WUSR).map_err(|errno| match errno {
            // from a FIFO without a reader, or a socket
            Errno::NXIO => Refused::Untrusted(Untrusted::NotRegular(None)),
            Errno::LOOP => Refused::Untrusted(Untrusted::Link),
            errno => Refused::Kernel(errno),
        })?);
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file),
        other => Err(Untrusted::NotRegular(Some(named(other))).into()),
    }
}

/// As [`open_trusted`], relative to an open directory.
pub(crate) fn open_trusted_at(dir: impl AsFd, path: &Path, access: StateAccess) -> Result<File, Refused> {
    let file = open_regular_at(dir, path, access)?;
    only_ours(&fstat(&file)?, 0)?;
    Ok(file)
}

/// Checks that only we and root can write to it, or that it has the bit `unless`: a directory that others may write is safe with
/// the sticky bit, because then they can't exchange our files.
pub(crate) fn only_ours(about: &Stat, unless: u32) -> Result<(), Untrusted> {
    let me = rustix::process::geteuid().as_raw();
    let open = about.st_mode & WRITABLE_BY_OTHERS != 0 && about.st_mode & unless == 0;
    if open || (about.st_uid != me && about.st_uid != 0) {
        return Err(Untrusted::Exposed { uid: about.st_uid, mode: about.st_mode & 0o7777 });
    }
    Ok(())
}

/// Returns the content of a file that [`open_trusted`] opens; `None` if there is no file.
///
/// # Errors
/// As for [`open_trusted`].
pub fn read_trusted(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    match open_trusted(path, StateAccess::Read) {
        Ok(mut file) => file.read_to_end(&mut text).map(|_| Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the reason why [`open_regular`] or [`open_trusted`] refused a file; `None` for the kernel's errors.
#[must_use]
pub fn untrusted_by(error: &io::Error) -> Option<&Untrusted> {
    error.get_ref()?.downcast_ref()
}

fn named(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "directory",
        FileType::Fifo => "FIFO",
        FileType::Socket => "socket",
        FileType::BlockDevice => "block device",
        FileType::CharacterDevice => "character device",
        FileType::Symlink => "symbolic link",
        FileType::RegularFile | FileType::Unknown => "thing",
    }
}

#[cfg(test)]
mod tests {
    use super::{StateAccess, open_regular, open_trusted, read_trusted, untrusted_by};
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::time::Duration;

    /// Returns the message of an attempt, which must not block.
    fn soon(path: &Path, access: StateAccess) -> String {
        let (sender, receiver) = std::sync::mpsc::channel();
        let path = path.to_owned();
        std::thread::spawn(move || {
            let said = open_trusted(&path, access).map_err(|error| error.to_string());
            sender.send(said.map_or_else(|error| error, |_| "opened".to_owned()))
        });
        receiver.recv_timeout(Duration::from_secs(10)).expect("it waits for a writer")
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::fs::write(at("file"), "x").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        for access in [StateAccess::Read, StateAccess::Change, StateAccess::ChangeOrMake] {
            for (name, saw) in
                [("fifo", "FIFO"), ("socket", "not a regular"), ("link", "link"), ("/dev/null", "character")]
            {
                let said = soon(&dir.path().join(name), access);
                assert!(said.contains(saw), "{name} {access:?}: {said}");
            }
            assert_eq!(soon(&at("file"), access), "opened", "{access:?}");
        }
        assert!(open_regular(dir.path(), StateAccess::Read).unwrap_err().to_string().contains("directory"));
    }

    #[test]
    fn what_others_may_write_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        assert_eq!(read_trusted(&path).unwrap(), None);
        drop(open_trusted(&path, StateAccess::ChangeOrMake).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, "x").unwrap();
        for (mode, trusted) in [(0o644, true), (0o620, false), (0o602, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = read_trusted(&path);
            assert_eq!(read.is_ok(), trusted, "{mode:o}");
            if let Err(error) = read {
                let said = untrusted_by(&error).unwrap().to_string();
                assert!(said.contains(&format!("mode {mode:o}")), "{said}");
                assert!(open_regular(&path, StateAccess::Read).is_ok(), "only who obeys it cares");
            }
        }
        assert!(untrusted_by(&std::io::Error::from(std::io::ErrorKind::NotFound)).is_none());
    }
}
