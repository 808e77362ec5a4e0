//! Places of the kernel's files. Tests use fake trees.

use std::path::{Path, PathBuf};

/// Roots of the directory trees that the kernel fills. `default()` is this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// procfs, normally `/proc`.
    pub proc: PathBuf,
    /// sysfs, normally `/sys`.
    pub sys: PathBuf,
    /// Device nodes, normally `/dev`.
    pub dev: PathBuf,
    /// The run-time directory, e.g. udev's; normally `/run`.
    pub run: PathBuf,
    /// The machine's configuration, normally `/etc`.
    pub etc: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self::under(Path::new("/"))
    }
}

impl Roots {
    /// Returns roots under one directory: `DIR/proc`, `DIR/sys`, `DIR/dev`, `DIR/run`, `DIR/etc`.
    #[must_use]
    pub fn under(dir: &Path) -> Self {
        Self {
            proc: dir.join("proc"),
            sys: dir.join("sys"),
            dev: dir.join("dev"),
            run: dir.join("run"),
            etc: dir.join("etc"),
        }
    }

    /// Whether these are the roots of this machine.
    #[must_use]
    pub fn is_real(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a path below [`Self::proc`].
    #[must_use]
    pub fn proc(&self, rest: &str) -> PathBuf {
        self.proc.join(rest)
    }

    /// Returns a path below [`Self::sys`].
    #[must_use]
    pub fn sys(&self, rest: &str) -> PathBuf {
        self.sys.join(rest)
    }

    /// Returns the /sys directory of a block device or partition, by kernel name.
    #[must_use]
    pub fn block(&self, name: &str) -> PathBuf {
        self.sys.join("class/block").join(name)
    }

    /// Returns the place in this tree of a path that the kernel names below `/sys`.
    #[must_use]
    pub fn in_sys(&self, path: &Path) -> PathBuf {
        path.strip_prefix("/sys").map_or_else(|_| path.to_owned(), |rest| self.sys.join(rest))
    }

    /// Returns the place in this tree of a path that the kernel names below `/dev`.
    #[must_use]
    pub fn in_dev(&self, path: &Path) -> PathBuf {
        path.strip_prefix("/dev").map_or_else(|_| path.to_owned(), |rest| self.dev.join(rest))
    }
}
