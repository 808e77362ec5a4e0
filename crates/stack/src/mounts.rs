//! The mounts of this namespace, from mountinfo.

use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// One line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountEntry {
    /// Device number; for btrfs an anonymous one.
    pub(crate) devno: (u32, u32),
    /// The mount point.
    pub(crate) target: PathBuf,
    /// File system type.
    pub(crate) fs_type: String,
    /// The source, as mount(8) got it.
    pub(crate) source: PathBuf,
    /// The file system's own options.
    pub(crate) super_options: String,
}

/// All mounts, in the order they were made.
pub(crate) fn read(proc: &Path) -> io::Result<Vec<MountEntry>> {
    Ok(parse(&std::fs::read_to_string(proc.join("self/mountinfo"))?))
}

/// Whether it is a mount from an NFS server.
pub(crate) fn is_nfs(entry: &MountEntry) -> bool {
    matches!(entry.fs_type.as_str(), "nfs" | "nfs4")
}

fn parse(text: &str) -> Vec<MountEntry> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<MountEntry> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let (major, minor) = left.next()?.split_once(':')?;
    let target = unescape(left.nth(1)?);
    let mut right = right.split(' ');
    Some(MountEntry {
        devno: (major.parse().ok()?, minor.parse().ok()?),
        target,
        fs_type: right.next()?.to_owned(),
        source: unescape(right.next()?),
        super_options: right.next().unwrap_or_default().to_owned(),
    })
}

/// mountinfo writes space, tab, newline and backslash as three octal digits.
fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes
            .get(at + 1..at + 4)
            .filter(|_| bytes[at] == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 4 } else { 1 };
    }
    PathBuf::from(std::ffi::OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use super::{parse, unescape};
    use std::path::Path;

    #[test]
    fn lines_are_read() {
        let text =
            "43 27 0:39 / /tmp/a\\040b rw,relatime shared:1 - btrfs /dev/loop0 rw,space_cache=v2\nbroken\n";
        let found = parse(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].target, Path::new("/tmp/a b"));
        assert_eq!(found[0].devno, (0, 39));
        assert_eq!(
            (found[0].fs_type.as_str(), found[0].source.as_path()),
            ("btrfs", Path::new("/dev/loop0"))
        );
    }

    #[test]
    fn odd_escapes_stay() {
        assert_eq!(unescape("a\\zz\\"), Path::new("a\\zz\\"));
        assert_eq!(unescape("\\134\\012"), Path::new("\\\n"));
    }
}
