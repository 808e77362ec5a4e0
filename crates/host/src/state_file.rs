//! Opens files of a state directory: never through a link, never a FIFO or a device. Where diskproof acts on their content, only
//! files that nobody except their owner or root can have written.

use rustix::fs::{FileType, Mode, OFlags};
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
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
pub struct Untrusted(String);

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Untrusted {}

/// Opens a regular file; anything else is refused at once, without waiting for a writer.
///
/// # Errors
/// The kernel's error, or [`Untrusted`].
pub fn open_regular(path: &Path, access: StateAccess) -> io::Result<File> {
    let how = match access {
        StateAccess::Read => OFlags::RDONLY,
        StateAccess::Change => OFlags::RDWR,
        StateAccess::ChangeOrMake => OFlags::RDWR | OFlags::CREATE,
    };
    let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR);
    let file = File::from(opened.map_err(|errno| match errno {
        // from a FIFO without a reader, a socket, or a link
        rustix::io::Errno::NXIO => untrusted("is no regular file; move it away".to_owned()),
        rustix::io::Errno::LOOP => untrusted("is a symbolic link; move it away".to_owned()),
        errno => errno.into(),
    })?);
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file),
        other => Err(untrusted(format!("is a {}, not a regular file; move it away", named(other)))),
    }
}

/// Opens a regular file that belongs to this user or root, and that nobody else can write.
///
/// # Errors
/// The kernel's error, or [`Untrusted`].
pub fn open_trusted(path: &Path, access: StateAccess) -> io::Result<File> {
    let file = open_regular(path, access)?;
    let about = rustix::fs::fstat(&file)?;
    let me = rustix::process::geteuid().as_raw();
    if (about.st_uid == me || about.st_uid == 0) && about.st_mode & WRITABLE_BY_OTHERS == 0 {
        return Ok(file);
    }
    let (owner, mode) = (about.st_uid, about.st_mode & 0o777);
    let who = if me == 0 { "root".to_owned() } else { format!("user {me} or root") };
    Err(untrusted(format!(
        "belongs to user {owner} with mode {mode:o}; only {who} may write it: look at what it holds, then chown and chmod go-w it"
    )))
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

fn untrusted(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, Untrusted(what))
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
                [("fifo", "FIFO"), ("socket", "no regular"), ("link", "link"), ("/dev/null", "character")]
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
