//! Every external program, by name and Debian package.

use std::fmt;

/// An external program that diskproof itself uses. Programs of a user's `command` layer are not listed here; see
/// [`crate::Invocation::program`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// Low-level probe for signatures on block devices.
    Blkid,
    /// btrfs administration.
    Btrfs,
    /// Load generator.
    Fio,
    /// Loop devices.
    Losetup,
    /// Block devices, as others show them.
    Lsblk,
    /// Makes ext3.
    MkfsExt3,
    /// Makes ext4.
    MkfsExt4,
    /// Makes xfs.
    MkfsXfs,
    /// Makes btrfs.
    MkfsBtrfs,
    /// Loads kernel modules.
    Modprobe,
    /// Mounts file systems.
    Mount,
    /// The way to other machines.
    Ssh,
    /// Root rights for the node.
    Sudo,
    /// Waits for device links.
    Udevadm,
    /// Unmounts file systems.
    Umount,
    /// Removes signatures.
    Wipefs,
}

impl Tool {
    /// All of them, by name.
    pub const ALL: [Self; 16] = [
        Self::Blkid,
        Self::Btrfs,
        Self::Fio,
        Self::Losetup,
        Self::Lsblk,
        Self::MkfsExt3,
        Self::MkfsExt4,
        Self::MkfsXfs,
        Self::MkfsBtrfs,
        Self::Modprobe,
        Self::Mount,
        Self::Ssh,
        Self::Sudo,
        Self::Udevadm,
        Self::Umount,
        Self::Wipefs,
    ];

    /// The file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blkid => "blkid",
            Self::Btrfs => "btrfs",
            Self::Fio => "fio",
            Self::Losetup => "losetup",
            Self::Lsblk => "lsblk",
            Self::MkfsExt3 => "mkfs.ext3",
            Self::MkfsExt4 => "mkfs.ext4",
            Self::MkfsXfs => "mkfs.xfs",
            Self::MkfsBtrfs => "mkfs.btrfs",
            Self::Modprobe => "modprobe",
            Self::Mount => "mount",
            Self::Ssh => "ssh",
            Self::Sudo => "sudo",
            Self::Udevadm => "udevadm",
            Self::Umount => "umount",
            Self::Wipefs => "wipefs",
        }
    }

    /// The Debian package that brings it.
    #[must_use]
    pub fn package(self) -> &'static str {
        match self {
            Self::Blkid | Self::Lsblk | Self::Wipefs => "util-linux",
            Self::Btrfs | Self::MkfsBtrfs => "btrfs-progs",
            Self::Fio => "fio",
            Self::Losetup | Self::Mount | Self::Umount => "mount",
            Self::MkfsExt3 | Self::MkfsExt4 => "e2fsprogs",
            Self::MkfsXfs => "xfsprogs",
            Self::Modprobe => "kmod",
            Self::Ssh => "openssh-client",
            Self::Sudo => "sudo",
            Self::Udevadm => "udev",
        }
    }

    /// Arguments that make it print its version.
    pub(crate) fn version_argument(self) -> &'static str {
        match self {
            Self::MkfsExt3 | Self::MkfsExt4 | Self::MkfsXfs | Self::Ssh => "-V",
            _ => "--version",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
