//! Device numbers, which identify a block device under any name.

use std::fmt;

/// A block device's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DevNo {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl DevNo {
    pub(crate) fn from_raw(dev: u64) -> Self {
        Self { major: rustix::fs::major(dev), minor: rustix::fs::minor(dev) }
    }

    /// Parses `8:17`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }

    /// Whether the major number is 0: a file system without its own block device (btrfs, zfs, tmpfs, nfs, overlay...).
    pub(crate) fn is_anonymous(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for DevNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}
