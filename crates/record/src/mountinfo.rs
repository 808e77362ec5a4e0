//! Lines of `/proc/PID/mountinfo` (proc_pid_mountinfo(5)), and the octal escapes that the kernel writes in paths.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The mount's number, unique while it lives.
    pub id: u64,
    /// Major and minor number of the file system; major 0 where it has no block device of its own (btrfs, ZFS, NFS, tmpfs...).
    pub devno: (u32, u32),
    /// The directory within its file system that is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Options of the mount, separated by commas.
    pub options: String,
    /// Type of the file system.
    pub fs_type: String,
    /// What is mounted, as the kernel prints it: for a block device its path at the time and in the namespace of mounting.
    pub source: OsString,
    /// Options of the file system, separated by commas.
    pub super_options: String,
}

impl Mount {
    /// Options of the mount and of its file system, none twice, as `/proc/mounts` shows them.
    #[must_use]
    pub fn all_options(&self) -> String {
        let mut all: Vec<&str> = self.options.split(',').collect();
        for option in self.super_options.split(',') {
            // `rw` of the file system says nothing about a mount that is `ro`.
            let overruled = option == "rw" && all.contains(&"ro");
            if !overruled && !all.contains(&option) {
                all.push(option);
            }
        }
        all.retain(|option| !option.is_empty());
        all.join(",")
    }

    /// Whether the file system has an option without a value, such as a cgroup hierarchy's controller.
    #[must_use]
    pub fn has_super_option(&self, name: &str) -> bool {
        self.super_options.split(',').any(|option| option == name)
    }

    /// The value of a file system's option, such as `upperdir`.
    #[must_use]
    pub fn super_option(&self, key: &str) -> Option<&str> {
        self.super_options.split(',').find_map(|option| option.strip_prefix(key)?.strip_prefix('='))
    }
}

/// Reads one line, without its end. `None`: it is not a line of mountinfo.
#[must_use]
pub fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let mut next = || fields.next();
    let id = text(next()?).parse().ok()?;
    next()?;
    let devno = devno(&text(next()?))?;
    let mut path = || Some(OsString::from_vec(unescape(next()?)));
    let (root, point) = (path()?.into(), path()?.into());
    let options = text(next()?);
    // Optional fields (shared:1 ...) up to a single dash.
    while next()? != b"-" {}
    let fs_type = text(next()?);
    let source = OsString::from_vec(unescape(next()?));
    let super_options = next().map(text).unwrap_or_default();
    Some(Mount { id, devno, root, point, options, fs_type, source, super_options })
}

/// Replaces each `\nnn` of three octal digits by its byte: the kernel writes blank, tab, line feed and backslash so.
#[must_use]
pub fn unescape(field: &[u8]) -> Vec<u8> {
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

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}

fn devno(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn octal(text: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, tail) = text.split_at_checked(3)?;
    let code = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?;
    Some((code, tail))
}

#[cfg(test)]
mod tests {
    use super::{parse, unescape};
    use std::path::Path;

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
        assert_eq!((mount.id, mount.devno), (936, (0, 41)));
        assert_eq!((mount.fs_type.as_str(), mount.source.to_str()), ("btrfs", Some("/dev/loop0")));
        assert_eq!(mount.all_options(), "ro,noatime,compress=zstd:3,subvol=/sub");
        assert_eq!((mount.super_option("subvol"), mount.super_option("sub")), (Some("/sub"), None));
        assert!(mount.has_super_option("rw") && !mount.has_super_option("compress"));
    }

    #[test]
    fn lines_that_are_not_mounts_are_refused() {
        for bad in
            ["", "1 2 3", "900001 1 254:0 / / rw ext4 /dev/vda rw", "x 1 254:0 / / rw - ext4 /dev/vda rw"]
        {
            assert!(parse(bad.as_bytes()).is_none(), "{bad}");
        }
    }

    #[test]
    fn escapes_are_undone_and_odd_ones_stay() {
        let plain = |text: &str| String::from_utf8(unescape(text.as_bytes())).unwrap();
        assert_eq!(plain(r"/mnt/two\040words\011tab"), "/mnt/two words\ttab");
        assert_eq!(plain(r"/back\134slash\012"), "/back\\slash\n");
        for odd in [r"/odd\04", r"/odd\999", r"a\zz\"] {
            assert_eq!(plain(odd), odd);
        }
    }
}
