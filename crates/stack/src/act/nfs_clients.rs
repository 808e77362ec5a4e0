//! Clients of the kernel's NFS server that still have our files open after their export is gone: clients on another machine whose
//! diskproof was killed or couldn't be told to unmount, and on a busy machine this one, because its delegations return after it
//! unmounts. Their open files keep the file system busy; the server would keep them for a day.

use crate::mounts;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time in which live clients may close files by themselves.
const GRACE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);

/// Waits for clients that have files open below `exported`, a mount point, and makes the server expire those that keep them open.
/// A client with open files of other file systems too isn't expired, because it isn't ours alone. If one remains, unmounting the
/// file system fails and says so.
pub(super) fn dismiss(proc: &Path, exported: &Path) {
    let Some(superblock) = superblock(proc, exported) else { return };
    let until = Instant::now() + GRACE;
    while !on(proc, &superblock).is_empty() && Instant::now() < until {
        std::thread::sleep(PAUSE);
    }
    for client in on(proc, &superblock).iter().filter(|client| client.only) {
        // Without this file in the kernel, the following unmount reports the problem.
        let _ = std::fs::write(client.folder.join("ctl"), "expire\n");
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Holder {
    folder: PathBuf,
    /// Whether the client has no other files open.
    only: bool,
}

/// The server's name for a file system: `major:minor` of its superblock, in hexadecimal. `None` when nothing is mounted there.
fn superblock(proc: &Path, exported: &Path) -> Option<String> {
    let mounts = mounts::read(proc).ok()?;
    let (major, minor) = mounts.iter().rfind(|entry| entry.point == exported)?.devno;
    Some(format!("{major:02x}:{minor:02x}:"))
}

/// The clients that have files of a file system open: /proc/fs/nfsd/clients/N/states has a line for each file, with `superblock:
/// "fe:10:131"`.
fn on(proc: &Path, superblock: &str) -> Vec<Holder> {
    let clients = std::fs::read_dir(proc.join("fs/nfsd/clients")).into_iter().flatten().flatten();
    let holder = |folder: PathBuf| {
        let states = std::fs::read_to_string(folder.join("states")).unwrap_or_default();
        let mut all = states.lines().filter_map(|line| line.split_once("superblock: \"").map(|(_, of)| of));
        let ours = all.clone().any(|of| of.starts_with(superblock));
        ours.then(|| Holder { folder, only: all.all(|of| of.starts_with(superblock)) })
    };
    clients.filter_map(|entry| holder(entry.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::{dismiss, on};
    use std::fs;
    use std::path::Path;

    fn machine(states: &[&str]) -> tempfile::TempDir {
        let proc = tempfile::tempdir().unwrap();
        fs::create_dir_all(proc.path().join("self")).unwrap();
        let mounted = "43 27 254:16 / /m/diskproof-r-4 rw - xfs /dev/vdb rw\n";
        fs::write(proc.path().join("self/mountinfo"), mounted).unwrap();
        for (number, states) in states.iter().enumerate() {
            let folder = proc.path().join(format!("fs/nfsd/clients/{number}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("states"), states).unwrap();
            fs::write(folder.join("ctl"), "").unwrap();
        }
        proc
    }

    const OURS: &str =
        "- 0x01: { type: open, access: rw, deny: --, superblock: \"fe:10:131\", filename: \"m/data\" }\n";
    const THEIRS: &str =
        "- 0x02: { type: open, access: rw, deny: --, superblock: \"fe:00:7\", filename: \"srv/x\" }\n";

    #[test]
    fn those_who_hold_a_file_system_are_known_by_its_number() {
        let both = format!("{OURS}{THEIRS}");
        let proc = machine(&[OURS, THEIRS, &both, ""]);
        let mut found = on(proc.path(), "fe:10:");
        found.sort_by(|a, b| a.folder.cmp(&b.folder));
        let told: Vec<(bool, bool)> = found.iter().map(|h| (h.folder.ends_with("0"), h.only)).collect();
        assert_eq!(told, [(true, true), (false, false)]);
    }

    #[test]
    fn nobody_is_waited_for_or_forgotten_without_a_file_of_ours() {
        let proc = machine(&[THEIRS]);
        let begun = std::time::Instant::now();
        dismiss(proc.path(), Path::new("/m/diskproof-r-4"));
        dismiss(proc.path(), Path::new("/m/nothing-mounted"));
        assert!(begun.elapsed().as_secs() < 5);
        assert_eq!(fs::read_to_string(proc.path().join("fs/nfsd/clients/0/ctl")).unwrap(), "");
    }
}
