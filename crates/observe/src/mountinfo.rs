//! Parses /proc/self/mountinfo (proc(5)).

use crate::error::ReadError;
use crate::text::{lines, required};
use record::mountinfo::{Mount, parse};
use record::roots::Roots;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use std::path::Path;

/// All mounts in the kernel's order: a mount over another one comes later.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mounts(pub(crate) Vec<Mount>);

const EXPECTED: &str = "`id parent major:minor root point options ... - type source options`";

impl Mounts {
    pub(crate) fn read(roots: &Roots) -> Result<Self, ReadError> {
        let path = roots.proc.join("self/mountinfo");
        let text = required(&path)?.unwrap_or_default();
        let mounts = lines(&text).map(|(line_number, line)| {
            parse(line).ok_or_else(|| ReadError::parse(&path, line_number, line, EXPECTED))
        });
        Ok(Self(mounts.collect::<Result<_, _>>()?))
    }

    /// Returns the mount that contains a path. The path's symbolic links should be resolved.
    ///
    /// The kernel's answer (statx) decides, since a mount may hide others. Kernels before 5.8 don't give one. Then it is the
    /// longest mount point above the path, the latest if there are several.
    pub(crate) fn holding(&self, path: &Path) -> Option<&Mount> {
        let above = || self.0.iter().filter(|mount| path.starts_with(&mount.point));
        let exact = mount_id(path).and_then(|id| above().find(|mount| mount.id == id));
        exact.or_else(|| above().max_by_key(|mount| mount.point.as_os_str().len()))
    }
}

fn mount_id(path: &Path) -> Option<u64> {
    let wanted = StatxFlags::MNT_ID;
    let found = statx(CWD, path, AtFlags::NO_AUTOMOUNT, wanted).ok()?;
    StatxFlags::from_bits_retain(found.stx_mask).contains(wanted).then_some(found.stx_mnt_id)
}

#[cfg(test)]
mod tests {
    use super::Mounts;
    use record::mountinfo::parse;
    use std::path::Path;

    fn mounts(text: &str) -> Mounts {
        Mounts(text.lines().map(|line| parse(line.as_bytes()).unwrap()).collect())
    }

    #[test]
    fn the_innermost_and_latest_mount_holds_a_path() {
        let mounts = mounts(
            "900001 1 254:0 / / rw - ext4 /dev/vda rw\n900002 1 7:0 / /nowhere/a rw - ext4 /dev/loop0 rw\n\
             900003 1 7:1 / /nowhere/a rw - xfs /dev/loop1 rw\n900004 1 7:2 / /nowhere/ab rw - xfs /dev/loop2 rw",
        );
        let held = |path: &str| mounts.holding(Path::new(path)).map(|mount| mount.id);
        assert_eq!(held("/nowhere/a/x/y"), Some(900_003));
        assert_eq!(held("/nowhere/abc"), Some(900_001));
        assert_eq!(held("/nowhere/ab"), Some(900_004));
    }
}
