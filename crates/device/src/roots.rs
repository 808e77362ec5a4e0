//! Where the kernel's files are. Injected, so that tests can show the guard a machine that isn't there.

use crate::devno::DevNo;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The roots of the kernel's file systems. `default()` is this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// procfs.
    pub proc: PathBuf,
    /// sysfs.
    pub sys: PathBuf,
    /// Device nodes.
    pub dev: PathBuf,
    /// What runs, udev among it.
    pub run: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into(), dev: "/dev".into(), run: "/run".into() }
    }
}

impl Roots {
    /// A path under [`Self::proc`].
    #[must_use]
    pub fn proc(&self, rest: &str) -> PathBuf {
        self.proc.join(rest)
    }

    /// A path under [`Self::sys`].
    #[must_use]
    pub fn sys(&self, rest: &str) -> PathBuf {
        self.sys.join(rest)
    }

    pub(crate) fn is_real(&self) -> bool {
        *self == Self::default()
    }

    /// Which block device a path leads to, whatever the path is called: links are followed, then the node's own
    /// number counts. In a made-up tree, which can't hold device nodes, a plain file with `major:minor` as its text is one.
    pub(crate) fn block_at(&self, path: &Path) -> io::Result<DevNo> {
        let about = fs::metadata(path)?;
        if about.file_type().is_block_device() {
            return Ok(DevNo::from_raw(about.rdev()));
        }
        let made_up = !self.is_real() && about.is_file() && path.starts_with(&self.dev);
        let number = if made_up { DevNo::parse(fs::read_to_string(path)?.trim()) } else { None };
        number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a block device"))
    }

    /// A path that the kernel printed, `/dev/...` moved below [`Self::dev`].
    pub(crate) fn relocate(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("/dev") {
            Ok(rest) => self.dev.join(rest),
            Err(_) => path.to_path_buf(),
        }
    }
}

/// Undoes the octal escapes of mountinfo and swaps (`\040` is a space).
pub(crate) fn unescape(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = bytes.get(at + 1..at + 4).filter(|_| bytes[at] == b'\\');
        let value = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        if let Some(value) = value {
            out.push(value);
            at += 4;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::unescape;
    use std::path::Path;

    #[test]
    fn octal_escapes_are_undone() {
        assert_eq!(unescape(r"/mnt/two\040words\011tab"), Path::new("/mnt/two words\ttab"));
        assert_eq!(unescape(r"/back\134slash"), Path::new(r"/back\slash"));
        assert_eq!(unescape(r"/odd\04"), Path::new(r"/odd\04"));
        assert_eq!(unescape(r"/odd\999"), Path::new(r"/odd\999"));
    }
}
