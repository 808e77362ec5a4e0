//! Finds all devices under a device or file system, breadth first.

use crate::mountinfo::Mounts;
use crate::topology::device_name::name_of;
use crate::topology::{block_node, mounted};
use record::printable::Shown as _;
use record::roots::Roots;
use record::topology::{Exported, Topology};
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

/// File systems that don't report their devices: ZFS, and NFS that this machine serves itself.
const SILENT: [&str; 4] = ["zfs", "fuse.zfs", "nfs", "nfs4"];

/// Returns the devices and file systems under the load.
///
/// `ground_devices` are device files (`/dev/loop3`, a by-id link). `mount` is the directory under test, or any path below its
/// mount point. With a mount, the kernel's information gives its direct devices, and those of `ground_devices` are added that are
/// not among them or below them. Without both, nothing is known.
///
/// It never fails: [`Topology::unknown`] has what can't be traced.
#[must_use]
pub fn topology(roots: &Roots, ground_devices: &[PathBuf], mount: Option<&Path>) -> Topology {
    let mut found = Topology::default();
    let mounts = Mounts::read(roots).unwrap_or_else(|error| {
        found.unknown.push(error.to_string());
        Mounts::default()
    });
    let mut direct = Vec::new();
    if let Some(path) = mount {
        direct = under_mount(roots, &mounts, path, &mut found);
        let silent = found.fs_type.as_deref().is_some_and(|fs| SILENT.contains(&fs));
        if silent && !ground_devices.is_empty() {
            // the mount doesn't show its devices, but the caller knows them
            found.unknown.clear();
            found.unseen.clear();
        }
    }
    walk(roots, &mounts, direct, &mut found);
    let mut more = Vec::new();
    for path in ground_devices {
        match name_of(roots, path) {
            Some(name) => more.push(name),
            None => found.unknown.push(format!("{}: no such block device", path.shown())),
        }
    }
    more.retain(|name| !found.nodes.iter().any(|node| node.name == *name));
    walk(roots, &mounts, more, &mut found);
    found.nodes.sort_by_key(|node| node.depth);
    found
}

/// Returns the topology of a directory that this machine exports by NFS and mounts again at `mount`: the devices are those of
/// `exported`, and the file system under test is NFS.
#[must_use]
pub fn topology_exported(
    roots: &Roots,
    ground_devices: &[PathBuf],
    exported: &Path,
    mount: &Path,
) -> Topology {
    let mut found = topology(roots, ground_devices, Some(exported));
    let fs_type = found.deciding_fs().map(str::to_owned);
    let mount_options = found.deciding_options().map(str::to_owned);
    found.stacked.retain(|stacked| stacked.device.is_some());
    (found.fs_type, found.mount_options) = (None, None);
    found.exported = Some(Exported { fs_type, mount_options });
    if let Ok(mounts) = Mounts::read(roots)
        && let Some(entry) = mounts.holding(mount)
    {
        found.fs_type = Some(entry.fs_type.clone());
        found.mount_options = Some(entry.all_options());
    }
    found
}

fn under_mount(roots: &Roots, mounts: &Mounts, path: &Path, found: &mut Topology) -> Vec<String> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(mount) = mounts.holding(&real) else {
        found.unknown.push(format!("{}: no mount holds it", real.shown()));
        return Vec::new();
    };
    found.fs_type = Some(mount.fs_type.clone());
    found.mount_options = Some(mount.all_options());
    mounted::Under::path(roots, mounts, mount, &real).told(None, found)
}

/// Adds these devices and all devices below them. A device that was already seen isn't followed again, so a ring ends.
fn walk(roots: &Roots, mounts: &Mounts, direct: Vec<String>, found: &mut Topology) {
    let mut seen: BTreeSet<String> = found.nodes.iter().map(|node| node.name.clone()).collect();
    let mut queue: VecDeque<(String, u32)> = direct.into_iter().map(|name| (name, 0)).collect();
    while let Some((name, depth)) = queue.pop_front() {
        if !seen.insert(name.clone()) {
            continue;
        }
        if let Some(node) = block_node::read(roots, mounts, &name, depth, found) {
            queue.extend(block_node::below(&node.kind).into_iter().map(|member| (member, depth + 1)));
            found.nodes.push(node);
        }
    }
}
