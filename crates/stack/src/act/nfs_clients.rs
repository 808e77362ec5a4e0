//! Clients of the kernel's NFS server that still have files of ours open when their export is gone: those of another node that was
//! killed, or that nothing could tell to unmount, and on a busy machine this one, whose delegations come back after it has unmounted.
//! What they have open holds the file system; the server would keep it for a day.

use crate::mounts;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long clients that are alive may take to let go by themselves.
const GRACE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);

/// Waits for those who have files open below `exported`, where a file system of its own is mounted; has the server forget those that
/// don't let go. One that has files of other file systems open as well is left alone: it isn't ours alone. What remains shows when the
/// file system is unmounted.
pub(super) fn dismiss(proc: &Path, exported: &Path) {
    let Some(superblock) = superblock(proc, exported) else { return };
    let until = Instant::now() + GRACE;
    while !on(proc, &superblock).is_empty() && Instant::now() < until {
        std::thread::sleep(PAUSE);
    }
    for client in on(proc, &superblock).iter().filter(|client| client.only) {
        // the kernel's word for it; where it has no such file, the unmount that follows says what is the matter
        let _ = std::fs::write(client.folder.join("ctl"), "expire\n");
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Holder {
    folder: PathBuf,
    /// Whether it has nothing else open.
    only: bool,
}

/// As the server names a file system: `major:minor` of its superblock, in hexadecimal. `None`: nothing is mounted there.
fn superblock(proc: &Path, exported: &Path) -> Option<String> {
    let mounts = mounts::read(proc).ok()?;
    let (major, minor) = mounts.iter().rfind(|entry| entry.point == exported)?.devno;
    Some(format!("{major:02x}:{minor:02x}:"))
}

/// Those that have files of a file system open: /proc/fs/nfsd/clients/N/states has a line for each, with `superblock: "fe:10:131"`.
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
