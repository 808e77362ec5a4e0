//! Finds the block devices under a mount.

use crate::mountinfo::Mounts;
use crate::topology::device_name::{name_of, name_of_devno};
use crate::topology::stacked::{Lower, lower};
use record::mountinfo::Mount;
use record::printable::Shown as _;
use record::roots::Roots;
use record::topology::{Hidden, Stacked, Topology, Unseen, is_memory_fs};
use std::fs;
use std::path::{Path, PathBuf};

/// Largest number of stacked file systems that are followed.
const STACKED: u32 = 8;

/// File systems without their own device number whose mount source is a block device. The source of all other such file systems
/// is free text (a directory, a server's path, a tag), which may end like the name of a disk.
const ON_NAMED_DEVICES: [&str; 2] = ["btrfs", "bcachefs"];

/// File systems of the host that runs this guest.
const OF_THE_HOST: [&str; 4] = ["virtiofs", "vboxsf", "prl_fs", "hostfs"];

/// The file systems and devices under a path.
#[derive(Debug)]
pub(crate) struct Under {
    /// Types of the file systems that pass all bytes on, topmost first.
    through: Vec<String>,
    /// Type of the lowest visible mount.
    fs_type: String,
    mount_options: String,
    source: String,
    point: PathBuf,
    /// Kernel names of its devices; none for memory.
    devices: Result<Vec<String>, Hidden>,
}

impl Under {
    /// Follows the mount that contains a path down to the file system that holds the path's bytes.
    pub(crate) fn path(roots: &Roots, mounts: &Mounts, mount: &Mount, path: &Path) -> Self {
        let (mut mount, mut path) = (mount, path.to_owned());
        let mut through = Vec::new();
        let mut devices = Err(Hidden::Depth);
        for _ in 0..STACKED {
            let directory = match lower(mount, &path) {
                Lower::None => {
                    devices = devices_of(roots, mount);
                    break;
                }
                Lower::At(directory) => fs::canonicalize(&directory).unwrap_or(directory),
                Lower::Hidden => {
                    devices = Err(Hidden::Directory);
                    break;
                }
            };
            let Some(next) = mounts.holding(&directory) else {
                devices = Err(Hidden::Directory);
                break;
            };
            through.push(mount.fs_type.clone());
            (mount, path) = (next, directory);
        }
        Self {
            through,
            fs_type: mount.fs_type.clone(),
            mount_options: mount.all_options(),
            source: mount.source.to_string_lossy().into_owned(),
            point: mount.point.clone(),
            devices,
        }
    }

    /// Returns the type of the deciding file system.
    pub(crate) fn fs_type(&self) -> &str {
        &self.fs_type
    }

    /// Returns the devices. The file systems between them and the load, or the backing file of `device`, are added to `found`.
    pub(crate) fn told(self, device: Option<&str>, found: &mut Topology) -> Vec<String> {
        let device = device.map(str::to_owned);
        let devices = self.devices.unwrap_or_else(|why| {
            let (fs_type, source) = (self.fs_type.clone(), self.source.shown().to_string());
            let unseen = Unseen { device: device.clone(), fs_type, source, why };
            found.unknown.push(format!("{}: {unseen}", self.point.shown()));
            found.unseen.push(unseen);
            Vec::new()
        });
        if !self.through.is_empty() {
            found.stacked.push(Stacked {
                device,
                through: self.through,
                fs_type: self.fs_type,
                mount_options: Some(self.mount_options),
            });
        }
        devices
    }
}

/// Returns the kernel names of the devices that a file system itself uses.
fn devices_of(roots: &Roots, mount: &Mount) -> Result<Vec<String>, Hidden> {
    let fs_type = mount.fs_type.as_str();
    if is_memory_fs(fs_type) {
        return Ok(Vec::new());
    }
    if fs_type == "fuse" || fs_type.starts_with("fuse.") {
        return Err(Hidden::Program);
    }
    let virtio = fs_type == "9p" && mount.super_option("trans") == Some("virtio");
    if virtio || OF_THE_HOST.contains(&fs_type) {
        return Err(Hidden::Host);
    }
    let sources: Vec<String> = if mount.devno.0 != 0 {
        let named = name_of_devno(roots, mount.devno);
        named.or_else(|| name_of(roots, Path::new(&mount.source))).into_iter().collect()
    } else if ON_NAMED_DEVICES.contains(&fs_type) {
        // The source names one device, or several with colons between.
        mount.source.to_string_lossy().split(':').filter_map(|path| name_of(roots, Path::new(path))).collect()
    } else {
        Vec::new()
    };
    if sources.is_empty() {
        return Err(Hidden::Silent);
    }
    let mut names = Vec::new();
    if mount.fs_type == "btrfs" {
        names = btrfs_members(roots, &sources);
    }
    let outside = ["logdev", "rtdev"].into_iter().filter_map(|key| mount.super_option(key));
    for name in sources.into_iter().chain(outside.filter_map(|path| name_of(roots, Path::new(path)))) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Returns the members of the btrfs that one of these devices belongs to: /sys/fs/btrfs/UUID/devices.
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
