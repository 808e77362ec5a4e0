//! Where the kernel's files are.

use std::path::{Path, PathBuf};

/// Roots of the trees that are read. Tests put captured trees here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Normally `/proc`.
    pub proc: PathBuf,
    /// Normally `/sys`.
    pub sys: PathBuf,
    /// Normally `/etc`.
    pub etc: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into(), etc: "/etc".into() }
    }
}

impl Roots {
    /// All trees under one directory: `DIR/proc`, `DIR/sys`, `DIR/etc`.
    #[must_use]
    pub fn under(dir: &Path) -> Self {
        Self { proc: dir.join("proc"), sys: dir.join("sys"), etc: dir.join("etc") }
    }

    /// The /sys directory of a block device or partition, by kernel name.
    pub(crate) fn block(&self, name: &str) -> PathBuf {
        self.sys.join("class/block").join(name)
    }

    /// Where a path that the kernel names below `/sys` is in the injected tree.
    pub(crate) fn in_sys(&self, path: &Path) -> PathBuf {
        path.strip_prefix("/sys").map_or_else(|_| path.to_owned(), |rest| self.sys.join(rest))
    }
}
