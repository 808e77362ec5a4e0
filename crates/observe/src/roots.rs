//! Places of the kernel's files.

use std::path::{Path, PathBuf};

/// Roots of the directory trees to read. Tests use fake trees.
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
    /// Returns roots under one directory: `DIR/proc`, `DIR/sys`, `DIR/etc`.
    #[must_use]
    pub fn under(dir: &Path) -> Self {
        Self { proc: dir.join("proc"), sys: dir.join("sys"), etc: dir.join("etc") }
    }

    /// Returns the /sys directory of a block device or partition, by kernel name.
    pub(crate) fn block(&self, name: &str) -> PathBuf {
        self.sys.join("class/block").join(name)
    }

    /// Returns the place in this tree of a path that the kernel names below `/sys`.
    pub(crate) fn in_sys(&self, path: &Path) -> PathBuf {
        path.strip_prefix("/sys").map_or_else(|_| path.to_owned(), |rest| self.sys.join(rest))
    }
}
