//! The locations of the kernel's files. Tests inject others, to show the guard a fake machine.

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
    /// The run-time directory, e.g. udev's.
    pub run: PathBuf,
}

/// A device node by its device number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Node {
    /// A block device.
    Block(DevNo),
    /// A character device.
    Char(DevNo),
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into(), dev: "/dev".into(), run: "/run".into() }
    }
}

impl Roots {
    /// A path below [`Self::proc`].
    #[must_use]
    pub fn proc(&self, rest: &str) -> PathBuf {
        self.proc.join(rest)
    }

    /// A path below [`Self::sys`].
    #[must_use]
    pub fn sys(&self, rest: &str) -> PathBuf {
        self.sys.join(rest)
    }

    pub(crate) fn is_real(&self) -> bool {
        *self == Self::default()
    }

    /// The block device at a path, under any name: follows links, then takes the device number of the node.
    pub(crate) fn block_at(&self, path: &Path) -> io::Result<DevNo> {
        match self.node_at(path)? {
            Node::Block(number) => Ok(number),
            Node::Char(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a block device")),
        }
    }

    /// The device at a path. In a fake tree, which can't have device nodes, a plain file below [`Self::dev`] with the text
    /// `major:minor` is a block device, and one with `c major:minor` a character device.
    pub(crate) fn node_at(&self, path: &Path) -> io::Result<Node> {
        let about = fs::metadata(path)?;
        let number = DevNo::from_raw(about.rdev());
        if about.file_type().is_block_device() {
            return Ok(Node::Block(number));
        }
        if about.file_type().is_char_device() {
            return Ok(Node::Char(number));
        }
        let made_up = if !self.is_real() && about.is_file() && self.is_made_up(path)? {
            let text = fs::read_to_string(path)?;
            match text.trim().strip_prefix("c ") {
                Some(number) => DevNo::parse(number).map(Node::Char),
                None => DevNo::parse(text.trim()).map(Node::Block),
            }
        } else {
            None
        };
        made_up.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a block device"))
    }

    fn is_made_up(&self, path: &Path) -> io::Result<bool> {
        Ok(path.starts_with(&self.dev) || fs::canonicalize(path)?.starts_with(fs::canonicalize(&self.dev)?))
    }

    /// A path that the kernel printed, with `/dev/...` moved below [`Self::dev`].
    pub(crate) fn relocate(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("/dev") {
            Ok(rest) => self.dev.join(rest),
            Err(_) => path.to_path_buf(),
        }
    }
}
