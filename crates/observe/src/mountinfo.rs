//! Parses /proc/self/mountinfo (proc(5)).

use crate::error::ReadError;
use crate::roots::Roots;
use crate::text::{devno, lines, required};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One visible mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    pub(crate) devno: (u32, u32),
    /// The mounted directory within its file system.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) options: String,
    pub(crate) fs_type: String,
    pub(crate) source: String,
    pub(crate) super_options: String,
}

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

impl Mount {
    /// Returns the options of the mount and of its file system, each once, as in /proc/mounts.
    pub(crate) fn all_options(&self) -> String {
        let mut all: Vec<&str> = self.options.split(',').collect();
        for option in self.super_options.split(',') {
            // `rw` of the file system has no effect on a mount that is `ro`.
            let overruled = option == "rw" && all.contains(&"ro");
            if !overruled && !all.contains(&option) {
                all.push(option);
            }
        }
        all.retain(|option| !option.is_empty());
        all.join(",")
    }

    /// Whether the file system has an option without a value, e.g. the controller of a cgroup hierarchy.
    pub(crate) fn has_super_option(&self, name: &str) -> bool {
        self.super_options.split(',').any(|option| option == name)
    }

    /// Returns the value of a file system's option, e.g. `upperdir`.
    pub(crate) fn super_option(&self, key: &str) -> Option<&str> {
        self.super_options.split(',').find_map(|option| option.strip_prefix(key)?.strip_prefix('='))
    }
}

fn mount_id(path: &Path) -> Option<u64> {
    let wanted = StatxFlags::MNT_ID;
    let found = statx(CWD, path, AtFlags::NO_AUTOMOUNT, wanted).ok()?;
    StatxFlags::from_bits_retain(found.stx_mask).contains(wanted).then_some(found.stx_mnt_id)
}

fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let mut next = || fields.next();
    let id = text(next()?).parse().ok()?;
    next()?;
    let devno = devno(&text(next()?))?;
    let mut path = || Some(PathBuf::from(OsString::from_vec(unescape(next()?))));
    let (root, point) = (path()?, path()?);
    let options = text(next()?);
    // Optional fields (shared:1 ...) end at a single dash.
    while next()? != b"-" {}
    let fs_type = text(next()?);
    let source = String::from_utf8_lossy(&unescape(next()?)).into_owned();
    let super_options = next().map(text).unwrap_or_default();
    Some(Mount { id, devno, root, point, options, fs_type, source, super_options })
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}

/// Decodes spaces, tabs, line feeds and backslashes, which are written as three octal digits.
pub(crate) fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'\\'
            && let Some((code, tail)) = octal(after)
        {
            plain.push(code);
            rest = tail;
        } else {
            plain.push(byte);
            rest = after;
        }
    }
    plain
}

fn octal(text: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, tail) = text.split_at_checked(3)?;
    let code = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?;
    Some((code, tail))
}

#[cfg(test)]
mod tests {
    use super::{Mounts, parse};
    use std::path::Path;

    fn mounts(text: &str) -> Mounts {
        Mounts(text.lines().map(|line| parse(line.as_bytes()).unwrap()).collect())
    }

    #[test]
    fn escapes_optional_fields_and_options() {
        let mount = parse(
            br"936 1 0:41 /sub /mnt/a\040b\134c ro,noatime shared:1 master:2 - btrfs /dev/loop0 rw,compress=zstd:3,subvol=/sub",
        )
        .unwrap();
        assert_eq!(
            (mount.root.as_path(), mount.point.as_path()),
            (Path::new("/sub"), Path::new(r"/mnt/a b\c"))
        );
        assert_eq!(mount.devno, (0, 41));
        assert_eq!(mount.fs_type, "btrfs");
        assert_eq!(mount.all_options(), "ro,noatime,compress=zstd:3,subvol=/sub");
        assert_eq!(mount.super_option("subvol"), Some("/sub"));
        assert_eq!(mount.super_option("sub"), None);
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

    #[test]
    fn lines_that_are_not_mounts_are_refused() {
        for bad in
            ["", "1 2 3", "900001 1 254:0 / / rw ext4 /dev/vda rw", "x 1 254:0 / / rw - ext4 /dev/vda rw"]
        {
            assert!(parse(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
