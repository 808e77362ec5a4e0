//! From a mount to the block devices under it.

use crate::mountinfo::{Mount, Mounts};
use crate::roots::Roots;
use crate::topology::block_node;
use record::printable::Shown as _;
use std::fs;
use std::path::Path;

/// File systems that live in memory.
const IN_MEMORY: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];

/// Overlays over overlays are followed this far.
const OVERLAYS: u32 = 8;

/// Kernel names of the devices under a mount, or in words why they can't be told. Memory has none.
pub(crate) fn devices(roots: &Roots, mounts: &Mounts, mount: &Mount) -> Result<Vec<String>, String> {
    let mut mount = mount;
    for _ in 0..OVERLAYS {
        if mount.fs_type != "overlay" {
            return under(roots, mount);
        }
        // What is written goes to the upper layer; that is where a load's files are.
        let Some(upper) = mount.super_option("upperdir") else { return Err(untold(mount)) };
        mount = mounts.holding(Path::new(upper)).ok_or_else(|| untold(mount))?;
    }
    Err(untold(mount))
}

fn under(roots: &Roots, mount: &Mount) -> Result<Vec<String>, String> {
    if IN_MEMORY.contains(&mount.fs_type.as_str()) {
        return Ok(Vec::new());
    }
    let sources: Vec<String> = if mount.devno.0 == 0 {
        // An anonymous number (btrfs, bcachefs): the source names one device, or several with colons between.
        mount.source.split(':').filter_map(|path| block_node::name_of(roots, Path::new(path))).collect()
    } else {
        let named = block_node::name_of_devno(roots, mount.devno);
        named.or_else(|| block_node::name_of(roots, Path::new(&mount.source))).into_iter().collect()
    };
    if sources.is_empty() {
        return Err(untold(mount));
    }
    let mut names = Vec::new();
    if mount.fs_type == "btrfs" {
        names = btrfs_members(roots, &sources);
    }
    let outside = ["logdev", "rtdev"].into_iter().filter_map(|key| mount.super_option(key));
    for name in
        sources.into_iter().chain(outside.filter_map(|path| block_node::name_of(roots, Path::new(path))))
    {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// The members of the file system that one of these devices belongs to: /sys/fs/btrfs/UUID/devices.
fn btrfs_members(roots: &Roots, sources: &[String]) -> Vec<String> {
    let Ok(file_systems) = fs::read_dir(roots.sys.join("fs/btrfs")) else { return Vec::new() };
    for file_system in file_systems.flatten() {
        let Ok(devices) = fs::read_dir(file_system.path().join("devices")) else { continue };
        let mut members: Vec<String> =
            devices.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        if members.iter().any(|member| sources.contains(member)) {
            members.sort();
            return members;
        }
    }
    Vec::new()
}

fn untold(mount: &Mount) -> String {
    let (point, fs_type, source) = (mount.point.shown(), &mount.fs_type, &mount.source);
    format!("{point}: the devices under {fs_type} (`{source}`) can't be seen from here")
}
