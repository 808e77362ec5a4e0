//! The mount tables of all visible mount namespaces (proc_pid_mountinfo(5)).

use crate::block::names_in;
use crate::devno::DevNo;
use record::mountinfo;
use record::roots::Roots;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) devno: DevNo,
    pub(crate) target: PathBuf,
    pub(crate) kind: String,
    /// The source as the kernel prints it; for a block device its path at the time and in the namespace of the mount.
    pub(crate) source: PathBuf,
    /// The user id of the server, if it is a FUSE file system.
    pub(crate) fuse_user: Option<u32>,
}

/// The mounts of one namespace.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// A process in it.
    pub(crate) pid: String,
    /// Whether it is our own namespace.
    pub(crate) own: bool,
    pub(crate) mounts: Vec<Mount>,
}

/// The visible tables, and the number of hidden ones.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) tables: Vec<Table>,
    /// The least number of live processes with tables that could not be read.
    pub(crate) hidden: usize,
}

pub(crate) fn parse(text: &[u8]) -> Vec<Mount> {
    lines(text).map(Mount::of).collect()
}

fn lines(text: &[u8]) -> impl DoubleEndedIterator<Item = mountinfo::Mount> {
    text.split(|&byte| byte == b'\n').filter_map(mountinfo::parse)
}

impl Mount {
    fn of(line: mountinfo::Mount) -> Self {
        let served = line.fs_type.starts_with("fuse").then(|| line.super_option("user_id")?.parse().ok());
        Self {
            devno: DevNo { major: line.devno.0, minor: line.devno.1 },
            fuse_user: served.flatten(),
            target: line.point,
            kind: line.fs_type,
            source: line.source.into(),
        }
    }
}

/// The options of the topmost mount of a kind at a path: those of the mount and those of its file system.
pub(crate) fn parse_options(text: &[u8], kind: &str, target: &Path) -> Vec<String> {
    let Some(mount) = lines(text).rfind(|m| m.fs_type == kind && m.point == target) else {
        return Vec::new();
    };
    let both = [mount.options.as_str(), mount.super_options.as_str()];
    both.into_iter().flat_map(|options| options.split(',')).map(str::to_owned).collect()
}

/// The mounts of our own namespace.
pub(crate) fn own(roots: &Roots) -> io::Result<Vec<Mount>> {
    Ok(parse(&fs::read(roots.proc("self/mountinfo"))?))
}

/// The mounts of each namespace, each once, our own first.
pub(crate) fn all(roots: &Roots) -> io::Result<Tables> {
    let own_namespace = fs::read_link(roots.proc("self/ns/mnt")).ok();
    let mut seen: BTreeSet<PathBuf> = own_namespace.into_iter().collect();
    let mut found = Tables::default();
    found.tables.push(Table { pid: "self".into(), own: true, mounts: own(roots)? });
    let pids: Vec<_> =
        names_in(&roots.proc)?.into_iter().filter(|n| n.bytes().all(|b| b.is_ascii_digit())).collect();
    // Process 1 always exists: if it is invisible, other users' processes are hidden from us (hidepid).
    if !pids.iter().any(|pid| pid == "1") {
        found.hidden += 1;
    }
    for pid in pids {
        // A process with more capabilities than ours hides its namespace, but may show its mounts.
        let namespace = match fs::read_link(roots.proc.join(&pid).join("ns/mnt")) {
            Ok(namespace) => Some(namespace),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => None,
        };
        if namespace.as_ref().is_some_and(|n| seen.contains(n)) {
            continue;
        }
        match fs::read(roots.proc.join(&pid).join("mountinfo")) {
            Ok(text) => {
                seen.extend(namespace);
                found.tables.push(Table { pid, own: false, mounts: parse(&text) });
            }
            Err(error) if gone(&error) => {}
            Err(_) => found.hidden += 1,
        }
    }
    Ok(found)
}

/// Whether the process ended meanwhile, or is a zombie, which has no mounts.
fn gone(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    error.kind() == io::ErrorKind::NotFound || code == Some(libc::ESRCH) || code == Some(libc::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_options};
    use std::path::Path;

    #[test]
    fn options_of_the_uppermost_mount_count() {
        let text = b"22 1 0:21 / /proc rw,nosuid - proc proc rw,hidepid=2\n\
                    23 1 0:22 / /proc rw - tmpfs none rw,hidepid=1\n\
                    24 1 0:23 / /proc ro - proc proc rw,gid=5,hidepid=invisible\n";
        let options = parse_options(text, "proc", Path::new("/proc"));
        assert_eq!(options, ["ro", "rw", "gid=5", "hidepid=invisible"]);
        assert!(parse_options(text, "proc", Path::new("/other")).is_empty());
    }

    #[test]
    fn optional_fields_and_escapes_are_understood() {
        let text = b"36 35 98:0 /mnt1 /mnt/two\\040words rw,noatime master:1 shared:7 - ext3 /dev/root rw\n\
                    22 1 0:21 / /proc rw - proc proc rw\nnonsense\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].devno.to_string(), "98:0");
        assert_eq!(mounts[0].target, Path::new("/mnt/two words"));
        assert_eq!((mounts[0].kind.as_str(), mounts[0].source.as_path()), ("ext3", Path::new("/dev/root")));
        assert!(mounts[1].devno.is_anonymous());
    }
}
