//! Removes what tests left behind, and nothing else.

use crate::machine_state::{arrays, exports, forgotten_loops, loops, mapped, mounts};
use crate::ownership::{
    FIRST_OWN_LOOP, HOLDER, is_our_export, is_our_mapping, is_ours, our_pool_servers, our_pools, our_servers,
};
use crate::{PREFIX, keep_wreck, tool};
use std::path::{Path, PathBuf};

/// Removes every mount, loop device, cgroup and file that has [`PREFIX`] in its name. It repeats while it makes progress, since a
/// loop device may use a file in another one's mount. Does nothing with `DISKPROOF_TEST_KEEP=1`.
pub fn cleanup() {
    if keep_wreck() {
        return;
    }
    for _ in 0..8 {
        let progress = pools()
            | release()
            | unmount()
            | unexport()
            | unmap()
            | detach()
            | remove_cgroups(Path::new("/sys/fs/cgroup"), 0)
            | remove_files();
        if !progress {
            break;
        }
    }
    // each reading of the machine's state would wait for them
    for number in forgotten_loops().iter().filter_map(|name| name.strip_prefix("loop")?.parse().ok()) {
        let _ = device::loop_control::remove(Path::new("/dev"), number);
    }
}

/// Removes the tests' pools, and the tests' processes that serve them.
fn pools() -> bool {
    let mut progress = false;
    for pool in our_pools() {
        progress |= tool::run("zpool", &["destroy", "-f", &pool]).is_ok();
    }
    for pid in our_pool_servers() {
        progress |= tool::run("kill", &["-9", &pid]).is_ok();
    }
    progress
}

/// Ends the processes that hold mount namespaces of machines that tests made.
fn release() -> bool {
    let mut progress = false;
    for pid in our_servers(&[HOLDER]) {
        progress |= tool::run("kill", &["-9", &pid]).is_ok();
    }
    progress
}

fn unmount() -> bool {
    let ours: Vec<String> =
        loops().into_iter().filter(|(_, file)| is_ours(file)).map(|(dev, _)| dev).collect();
    let mut progress = false;
    // a mount whose server is stuck would hold up whoever looks at it; without its server it only fails
    for pid in our_servers(&["sshfs", "bindfs"]) {
        progress |= tool::run("kill", &["-9", &pid]).is_ok();
    }
    for mount in mounts().into_iter().rev() {
        if is_ours(&mount.target) || ours.contains(&mount.source) {
            // a test that was killed may have left its file system frozen, and whoever writes to it would wait forever
            if ours.contains(&mount.source) {
                let _ = tool::run("fsfreeze", &["--unfreeze".as_ref(), mount.target.as_os_str()]);
            }
            progress |= tool::run("umount", &[mount.target.as_os_str()]).is_ok();
        }
    }
    progress
}

/// Removes the tests' exports, because an exported file system can't be unmounted.
fn unexport() -> bool {
    let mut progress = false;
    for export in exports().into_iter().filter(|export| is_our_export(export)) {
        let Some((path, rest)) = export.split_once('\t') else { continue };
        let client = rest.split('(').next().unwrap_or_default();
        progress |= tool::run("exportfs", &["-u", &format!("{client}:{path}")]).is_ok();
    }
    progress
}

/// Removes the tests' device-mapper devices, and arrays of the tests' loop devices.
fn unmap() -> bool {
    let mut progress = false;
    for name in mapped().into_iter().filter(|name| is_our_mapping(name)) {
        progress |= tool::run("dmsetup", &["remove", "--noudevsync", "--noudevrules", &name]).is_ok();
    }
    let devices = loops();
    for (array, members) in arrays() {
        if members.iter().any(|member| devices.get(member).is_some_and(|file| is_ours(file))) {
            progress |= tool::run("mdadm", &["--stop", "--quiet", &format!("/dev/{array}")]).is_ok();
        }
    }
    progress
}

fn detach() -> bool {
    let mut progress = false;
    for (device, backing) in loops() {
        if is_ours(&backing) {
            // the kernel keeps a btrfs member registered until this command
            let _ = tool::run("btrfs", &["device", "scan", "--forget", &device]);
            let _ = tool::run("losetup", &["-d", &device]);
            progress |= !loops().contains_key(&device);
            let number = device.strip_prefix("/dev/loop").and_then(|number| number.parse().ok());
            if let Some(number) = number.filter(|number| *number >= FIRST_OWN_LOOP) {
                let _ = device::loop_control::remove(Path::new("/dev"), number);
            }
        }
    }
    progress
}

fn remove_cgroups(dir: &Path, depth: u32) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else { return false };
    let mut progress = false;
    for entry in entries.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir())) {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            progress |= remove_cgroup(&entry.path());
        } else if depth < 3 {
            progress |= remove_cgroups(&entry.path(), depth + 1);
        }
    }
    progress
}

/// Removes a cgroup and those in it. The kernel counts a process for a moment after it has ended, so it tries for a while.
pub(crate) fn remove_cgroup(dir: &Path) -> bool {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_cgroup(&entry.path());
        }
    }
    let gone = || std::fs::remove_dir(dir).is_ok() || !dir.exists();
    (0..20).any(|_| {
        gone() || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            false
        }
    })
}

fn remove_files() -> bool {
    let mut progress = false;
    for path in own_files() {
        let gone = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        progress |= gone.is_ok();
    }
    progress
}

fn own_files() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .map(|entry| entry.path())
        .collect()
}
