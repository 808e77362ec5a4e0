//! Images of Debian for guests of libvirt: made by mmdebstrap as the lab's own image, but with cloud-init, which reads a guest's settings at
//! its first boot, and without keys.

use crate::apt::mirror;
use crate::build::kernel_in;
use crate::error::LabError;
use crate::lock::{Lock, lock};
use crate::namespaces::{PATIENCE, contained};
use crate::prerequisite::{need_space, need_tools};
use crate::recipe::LEFT_OUT;
use crate::steps::{Ear, StepEvent, folder, put, remove, step, with_end};
use host::{Invocation, Runner, Tool};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The free space that tree and image need.
const SPACE_MIB: u64 = 3072;
/// The size of the disk, in bytes: a guest's own may be larger, and its file system grows with it at the first boot.
const DISK_BYTES: u64 = 2 << 30;
const NEEDED: [Tool; 6] =
    [Tool::Mmdebstrap, Tool::MkfsExt4, Tool::QemuImg, Tool::Unshare, Tool::Setpriv, Tool::AptGet];
/// The packages besides minbase.
const PACKAGES: [&str; 14] = [
    "linux-image-cloud-amd64",
    "systemd-sysv",
    "systemd-resolved",
    "udev",
    "dbus",
    "kmod",
    "procps",
    "openssh-server",
    "openssh-sftp-server",
    "iproute2",
    "ca-certificates",
    "cloud-init",
    "e2fsprogs",
    "sudo",
];
/// What the tree has before the packages are installed.
const FILES: [(&str, &str); 4] = [
    ("etc/fstab", "/dev/vda / ext4 rw,noatime 0 1\n"),
    ("etc/initramfs-tools/conf.d/diskproof", "MODULES=list\nCOMPRESS=zstd\nRESUME=none\n"),
    (
        "usr/share/initramfs-tools/modules.d/diskproof",
        "virtio_pci\nvirtio_blk\nvirtio_net\next4\ncrc32c_generic\n",
    ),
    // Without the list, cloud-init would look for all clouds at each boot.
    ("etc/cloud/cloud.cfg.d/90_diskproof.cfg", "datasource_list: [ NoCloud, None ]\n"),
];

/// An image of Debian that can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debian {
    /// Its name, e.g. `debian-12`.
    pub name: &'static str,
    /// Debian's name of the release.
    pub suite: &'static str,
}

/// The images that can be made.
pub const DEBIANS: [Debian; 1] = [Debian { name: "debian-12", suite: "bookworm" }];

/// The folder of an image that was made: `disk.qcow2`, `vmlinuz` and `initrd`. As long as this value lives, no other process makes the image
/// anew in it.
#[derive(Debug)]
pub struct MadeImage {
    folder: PathBuf,
    _lock: Lock,
}

impl MadeImage {
    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the folder.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn remove(self) -> Result<(), LabError> {
        remove(&self.folder)
    }
}

/// Makes an image in a folder, anew.
///
/// # Errors
/// A program, root, space or a mirror is missing, or a step failed.
pub fn debian(
    state: &Path,
    wanted: Debian,
    asked_mirror: Option<&str>,
    runner: &dyn Runner,
    ear: &dyn Fn(&StepEvent),
) -> Result<MadeImage, LabError> {
    let base = state.join("images");
    if !rustix::process::geteuid().is_root() {
        return Err(LabError::ImageNeedsRoot);
    }
    need_tools(&NEEDED)?;
    folder(&base)?;
    need_space(&base, "building the image", SPACE_MIB)?;
    let place = base.join(format!("building-{}", wanted.name));
    let held = lock(&with_end(&place, ".lock"), || {
        ear(&StepEvent::Note("somebody else is building it; waiting".to_owned()));
    })?;
    remove(&place)?;
    folder(&place)?;
    let made = make(&place, wanted, asked_mirror, runner, ear);
    if made.is_err() {
        remove(&place)?;
    }
    made.map(|()| MadeImage { folder: place, _lock: held })
}

fn make(
    place: &Path,
    wanted: Debian,
    asked_mirror: Option<&str>,
    runner: &dyn Runner,
    ear: Ear<'_>,
) -> Result<(), LabError> {
    let mirror = mirror(runner, asked_mirror)?;
    let name = format!("Debian {} and {} packages, from {mirror}", wanted.suite, PACKAGES.len());
    let tree = place.join("tree");
    step(ear, &name, "about a minute", || make_tree(place, &tree, wanted, &mirror, runner))?;
    step(ear, "disk", "some seconds", || make_disk(place, &tree, runner))
}

fn make_tree(
    place: &Path,
    tree: &Path,
    wanted: Debian,
    mirror: &str,
    runner: &dyn Runner,
) -> Result<(), LabError> {
    let overlay = place.join("overlay");
    for (path, text) in FILES {
        let path = overlay.join(path);
        path.parent().map_or(Ok(()), folder)?;
        fs::write(&path, text).map_err(LabError::file("write", &path))?;
    }
    let unit = overlay.join("etc/systemd/system/multi-user.target.wants/systemd-networkd.service");
    unit.parent().map_or(Ok(()), folder)?;
    symlink("/lib/systemd/system/systemd-networkd.service", &unit).map_err(LabError::file("link", &unit))?;
    let mut build = contained(Tool::Mmdebstrap)?
        .args(["--mode=root", "--variant=minbase", "--format=directory", "--components=main"])
        .arg(format!("--essential-hook=sync-in {} /", overlay.to_string_lossy()))
        .arg(format!("--include={}", PACKAGES.join(",")))
        // Each guest gets its own, with its settings.
        .arg("--customize-hook=rm -f \"$1\"/etc/ssh/ssh_host_*_key \"$1\"/etc/ssh/ssh_host_*_key.pub \"$1\"/etc/machine-id")
        .arg("--customize-hook=touch \"$1\"/etc/machine-id");
    for path in LEFT_OUT {
        build = build.arg(format!("--dpkgopt=path-exclude={path}"));
    }
    let build = build.arg(wanted.suite).arg(tree).arg(mirror);
    runner.run(&build).map_err(LabError::command("building the image's tree with mmdebstrap"))?;
    remove(&overlay)
}

fn make_disk(place: &Path, tree: &Path, runner: &dyn Runner) -> Result<(), LabError> {
    let kernel = kernel_in(&tree.join("boot"))?;
    for (from, to) in [(format!("vmlinuz-{kernel}"), "vmlinuz"), (format!("initrd.img-{kernel}"), "initrd")] {
        let from = tree.join("boot").join(from);
        fs::copy(&from, place.join(to)).map_err(LabError::file("copy", &from))?;
    }
    let raw = place.join("raw");
    let file = fs::File::create(&raw).map_err(LabError::file("make", &raw))?;
    file.set_len(DISK_BYTES).map_err(LabError::file("size", &raw))?;
    let mkfs = Invocation::new(Tool::MkfsExt4)
        .args(["-q", "-F", "-L", "root", "-E", "assume_storage_prezeroed=1", "-d"])
        .args([tree, &raw])
        .timeout(PATIENCE);
    runner.run(&mkfs).map_err(LabError::command("making the image's file system"))?;
    let made = place.join("disk.tmp");
    let convert = Invocation::new(Tool::QemuImg)
        .args(["convert", "-f", "raw", "-O", "qcow2"])
        .args([&raw, &made])
        .timeout(PATIENCE);
    runner.run(&convert).map_err(LabError::command("making the image's disk"))?;
    remove(&raw)?;
    remove(tree)?;
    put(&made, &place.join("disk.qcow2"))
}
