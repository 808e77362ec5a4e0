//! Shared mappings of a device: a process can write through them after it closed the descriptor.

use crate::check::processes::gone;
use crate::node::{Node, node_at};
use record::roots::Roots;
use std::fs;
use std::io;

/// A line of /proc/PID/maps with a shared mapping of a file.
#[derive(Debug, PartialEq, Eq)]
struct Shared {
    /// The address range as its name in map_files: without padding zeros.
    range: String,
    writes: bool,
}

/// The first of these nodes that a task has mapped and can write to, now or after an mprotect(2).
pub(crate) fn writable(roots: &Roots, task: &str, wanted: &[Node]) -> io::Result<Option<Node>> {
    let dir = roots.proc.join(task);
    let text = match fs::read_to_string(dir.join("maps")) {
        Ok(text) => text,
        Err(error) if gone(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    for shared in text.lines().filter_map(parse) {
        // The device number of the node itself: maps shows the inode of the node, and a second node of the same device has another.
        match node_at(roots, &dir.join("map_files").join(&shared.range)) {
            Ok(node) if wanted.contains(&node) => {
                if shared.writes || may_write(&fs::read_to_string(dir.join("smaps")), &shared.range) {
                    return Ok(Some(node));
                }
            }
            Ok(_) => {}
            // It is no device, or was unmapped meanwhile.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput || gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Parses `7f2c-7f3d rw-s 00000000 00:06 312  /dev/sda` (proc_pid_maps(5)).
fn parse(line: &str) -> Option<Shared> {
    let mut fields = line.split_ascii_whitespace();
    let range = plain(fields.next()?)?;
    let access = fields.next()?.as_bytes();
    let inode = fields.nth(2)?;
    let shared = access.get(3) == Some(&b's') && inode != "0";
    shared.then(|| Shared { range, writes: access.get(1) == Some(&b'w') })
}

fn plain(range: &str) -> Option<String> {
    let (from, to) = range.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(format!("{:x}-{:x}", number(from)?, number(to)?))
}

/// Whether a mapping may become writable (`mw` in smaps). If that is unknown, the answer is yes.
fn may_write(smaps: &io::Result<String>, range: &str) -> bool {
    let Ok(text) = smaps else { return true };
    let begins = |line: &&str| line.split(' ').next().and_then(plain).as_deref() == Some(range);
    let flags = text.lines().skip_while(|line| !begins(line)).find_map(|line| line.strip_prefix("VmFlags:"));
    flags.is_none_or(|flags| flags.split_ascii_whitespace().any(|flag| flag == "mw"))
}

#[cfg(test)]
mod tests {
    use super::{Shared, may_write, parse};

    #[test]
    fn only_shared_mappings_of_files_count() {
        let of = |line: &str| parse(line).map(|Shared { range, writes }| (range, writes));
        let device = "00400000-00401000 rw-s 00000000 00:06 312                        /dev/sda";
        assert_eq!(of(device), Some(("400000-401000".to_owned(), true)));
        let reader = "7f000000-7f001000 r--s 00000000 00:06 312 /dev/disk with spaces";
        assert_eq!(of(reader), Some(("7f000000-7f001000".to_owned(), false)));
        assert_eq!(of("7f000000-7f001000 rw-p 00000000 00:06 312 /dev/sda"), None, "copy on write");
        assert_eq!(of("7f000000-7f001000 rw-s 00000000 00:00 0"), None, "no file");
        assert_eq!(of("nonsense"), None);
    }

    #[test]
    fn what_may_become_writable_is_read_from_the_right_mapping() {
        let text = "00400000-00401000 r--s 0 00:06 312 /dev/sda\nSize: 4 kB\nVmFlags: rd mr me ms \n\
                    00500000-00501000 r--s 0 00:06 312 /dev/sda\nSize: 4 kB\nVmFlags: rd sh mr mw me ms \n";
        assert!(!may_write(&Ok(text.to_owned()), "400000-401000"));
        assert!(may_write(&Ok(text.to_owned()), "500000-501000"));
        assert!(may_write(&Ok(text.to_owned()), "600000-601000"), "gone: unknown");
        assert!(may_write(&Err(std::io::ErrorKind::PermissionDenied.into()), "400000-401000"));
    }
}
