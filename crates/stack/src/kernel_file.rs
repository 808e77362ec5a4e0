//! Files of the kernel: checks that a path from a journal really leads to one.

use crate::error::ActError;
use crate::machine::Machine;
use crate::mounts;
use record::printable::Shown as _;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, fstatfs};
use rustix::io::Errno;
use std::io::{self, Write as _};
use std::path::Path;

/// The magic numbers of `statfs` (linux/magic.h).
const PROC: u64 = 0x9fa0;
const SYSFS: u64 = 0x6265_6572;
const CGROUP: u64 = 0x0027_e0eb;
const CGROUP2: u64 = 0x6367_7270;

/// Writes to a file below /sys or /proc; never creates one, never follows a link.
pub(crate) fn write(machine: &Machine<'_>, path: &Path, value: &str) -> Result<(), ActError> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty());
    let file = file.map_err(|errno| ActError::io("open", path)(errno.into()))?;
    is_of(machine, &file, path, &[PROC, SYSFS])?;
    std::fs::File::from(file).write_all(value.as_bytes()).map_err(ActError::io("write", path))
}

/// Opens a cgroup directly below the cgroup mount; `None` when it doesn't exist.
///
/// # Errors
/// When it isn't a cgroup, or is elsewhere.
pub(crate) fn cgroup(machine: &Machine<'_>, path: &Path) -> Result<Option<OwnedFd>, ActError> {
    let root = path.parent().unwrap_or(Path::new("/"));
    is_cgroup_root(machine, root, path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(found) => is_of(machine, &found, path, &[CGROUP, CGROUP2]).map(|()| Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(ActError::io("open", path)(io::Error::from(errno))),
    }
}

/// Checks that cgroups are mounted at `root`; errors name `what`.
pub(crate) fn is_cgroup_root(machine: &Machine<'_>, root: &Path, what: &Path) -> Result<(), ActError> {
    let proc = &machine.roots.proc;
    let mounted = mounts::read(proc).map_err(ActError::io("read", proc.join("self/mountinfo")))?;
    let top = mounted.iter().rfind(|entry| entry.point == root);
    if top.is_some_and(|entry| matches!(entry.fs_type.as_str(), "cgroup" | "cgroup2")) {
        return Ok(());
    }
    let saw = format!("no cgroups are mounted at {}", root.shown());
    Err(ActError::NotOurs { what: what.shown().to_string(), saw })
}

/// Checks that an open file is on one of these file systems. Skipped for a fake machine of a test.
fn is_of(machine: &Machine<'_>, open: impl AsFd, path: &Path, kinds: &[u64]) -> Result<(), ActError> {
    let about = fstatfs(open).map_err(|errno| ActError::io("look at", path)(errno.into()))?;
    let kind = about.f_type.cast_unsigned() & 0xffff_ffff;
    if kinds.contains(&kind) || !machine.is_real() {
        return Ok(());
    }
    let saw = format!("it is on a file system of kind {kind:#x}, which is not the kernel's");
    Err(ActError::NotOurs { what: path.shown().to_string(), saw })
}
