//! The identity of a directory, which stays the same when it is renamed.

use rustix::fs::{OFlags, Stat, XattrFlags, fgetxattr, fsetxattr, fstat, fstatfs};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};

/// The largest size of a handle: MAX_HANDLE_SZ of linux/fs.h.
const MOST_BYTES: usize = 128;
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;

/// A directory's identity in its file system.
///
/// A free inode number is used again, so the kernel's file handle counts too: it contains the inode's generation
/// (name_to_handle_at(2)), and root can open a directory by it wherever it was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirId {
    /// The device number of the file system; it may change in a reboot.
    pub dev: u64,
    /// The inode number.
    pub inode: u64,
    /// The kernel's handle, `type:hex`; `None` where the file system has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Whether the file system is in memory, so that a reboot removes the directory with all its contents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub volatile: bool,
}

/// The identities of our sub-directory and of the existing directory around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LentIds {
    /// The existing directory.
    pub parent: DirId,
    /// Our sub-directory.
    pub own: DirId,
}

impl DirId {
    pub(super) fn of(dir: impl AsFd) -> io::Result<Self> {
        let about = fstat(&dir)?;
        let volatile = [TMPFS, RAMFS].contains(&fstatfs(&dir)?.f_type);
        let handle = handle_of(dir.as_fd().as_raw_fd());
        Ok(Self { dev: about.st_dev, inode: about.st_ino, handle, volatile })
    }

    /// Whether an open directory is this one. After a reboot the device number means nothing; then the handle decides.
    pub(super) fn is(&self, dir: impl AsFd, rebooted: bool) -> io::Result<bool> {
        let now = Self::of(dir)?;
        let same = self.inode == now.inode && self.handle == now.handle;
        Ok(same && if rebooted { self.handle.is_some() || self.dev == now.dev } else { self.dev == now.dev })
    }

    /// Opens the directory by its handle, wherever it is now in the file system of `anchor`. `None`: it is deleted.
    ///
    /// # Errors
    /// When there is no handle, this user or file system can't open by one, or it opens another directory.
    pub(super) fn open_anywhere(&self, anchor: impl AsFd) -> io::Result<Option<File>> {
        let Some(mut handle) = self.handle.as_deref().and_then(Handle::parse) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let flags = i32::try_from(flags.bits()).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: `handle` has the layout of `struct file_handle` with space for all of its `bytes`, and outlives the call, which
        // only reads it. The result is a new descriptor that only this code owns, or -1.
        #[expect(unsafe_code, reason = "no safe wrapper for this call exists")]
        let opened = unsafe {
            let fd = libc::open_by_handle_at(anchor.as_fd().as_raw_fd(), (&raw mut handle).cast(), flags);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
        };
        match opened {
            Ok(fd) => {
                // Deleted while a process has it open.
                if fstat(&fd)?.st_nlink == 0 { Ok(None) } else { Ok(Some(File::from(fd))) }
            }
            Err(error) if matches!(error.raw_os_error(), Some(libc::ESTALE | libc::ENOENT)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether only we may write to an open directory: then we created it, and nobody exchanged it.
pub(super) fn is_own(about: &Stat) -> bool {
    about.st_uid == rustix::process::geteuid().as_raw() && about.st_mode & 0o022 == 0
}

/// The extended attribute that marks our sub-directory. It holds the directory's original name.
const MARK: &str = "user.diskproof";

/// Marks a directory that was created under a name. Does nothing on file systems without extended attributes.
pub(super) fn mark(dir: impl AsFd, name: &str) -> io::Result<()> {
    match fsetxattr(dir, MARK, name.as_bytes(), XattrFlags::empty()) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a directory has the mark of this name; `None` on file systems without extended attributes.
pub(super) fn is_marked(dir: impl AsFd, name: &str) -> io::Result<Option<bool>> {
    let mut held = [0; 256];
    match fgetxattr(dir, MARK, &mut held[..]) {
        Ok(bytes) => Ok(Some(held[..bytes] == *name.as_bytes())),
        Err(Errno::NODATA | Errno::RANGE) => Ok(Some(false)),
        Err(Errno::OPNOTSUPP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// `struct file_handle` of linux/fcntl.h with space for the largest handle.
#[repr(C)]
struct Handle {
    bytes: u32,
    kind: i32,
    data: [u8; MOST_BYTES],
}

impl Handle {
    fn parse(text: &str) -> Option<Self> {
        let (kind, hex) = text.split_once(':')?;
        let mut data = [0; MOST_BYTES];
        let bytes = hex.len() / 2;
        if hex.len() % 2 != 0 || bytes > MOST_BYTES || !hex.is_ascii() {
            return None;
        }
        for (place, byte) in data.iter_mut().take(bytes).enumerate() {
            *byte = u8::from_str_radix(&hex[2 * place..2 * place + 2], 16).ok()?;
        }
        Some(Self { bytes: u32::try_from(bytes).ok()?, kind: kind.parse().ok()?, data })
    }

    fn text(&self) -> String {
        let used = usize::try_from(self.bytes).unwrap_or(0).min(MOST_BYTES);
        let hex: String = self.data[..used].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}:{hex}", self.kind)
    }
}

fn handle_of(fd: i32) -> Option<String> {
    let mut handle = Handle { bytes: u32::try_from(MOST_BYTES).ok()?, kind: 0, data: [0; MOST_BYTES] };
    let mut mount = 0;
    // SAFETY: `fd` is open, the path is an empty C string, and `handle` has the layout of `struct file_handle` with space for as
    // many bytes as it says; the kernel writes no more than that.
    #[expect(unsafe_code, reason = "no safe wrapper for this call exists")]
    let result = unsafe {
        libc::name_to_handle_at(
            fd,
            c"".as_ptr(),
            (&raw mut handle).cast(),
            &raw mut mount,
            libc::AT_EMPTY_PATH,
        )
    };
    (result == 0).then(|| handle.text())
}

#[cfg(test)]
mod tests {
    use super::{DirId, Handle};
    use std::fs::{self, File};

    #[test]
    fn a_directory_is_known_by_its_identity_and_no_other_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::create_dir(dir.path().join("b")).unwrap();
        let open = |name: &str| File::open(dir.path().join(name)).unwrap();
        let id = DirId::of(open("a")).unwrap();
        assert!(id.is(open("a"), false).unwrap() && !id.is(open("b"), false).unwrap());
        fs::rename(dir.path().join("a"), dir.path().join("c")).unwrap();
        assert!(id.is(open("c"), false).unwrap());
        let text = serde_json::to_string(&id).unwrap();
        assert_eq!(serde_json::from_str::<DirId>(&text).unwrap(), id);
    }

    #[test]
    fn handles_are_written_and_read() {
        for text in ["1:0a0b0cff", "-1:", "129:00"] {
            assert_eq!(Handle::parse(text).unwrap().text(), text);
        }
        for text in ["", "1", "1:0", "x:00", "1:0g", "1:\u{e9}"] {
            assert!(Handle::parse(text).is_none(), "{text}");
        }
        assert!(Handle::parse(&format!("1:{}", "00".repeat(129))).is_none());
    }
}
