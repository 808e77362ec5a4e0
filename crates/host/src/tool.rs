//! Every external program, by name and Debian package.

use std::fmt;

/// An external program that diskproof itself uses. Programs of a user's `command` layer are not listed here; see
/// [`crate::Invocation::program`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// Runs playbooks.
    AnsiblePlaybook,
    /// Names of mirrors.
    AptGet,
    /// Low-level probe for signatures on block devices.
    Blkid,
    /// btrfs administration.
    Btrfs,
    /// Encrypted devices.
    Cryptsetup,
    /// Device-mapper devices.
    Dmsetup,
    /// File system benchmark.
    Bonnie,
    /// Copies files.
    Cp,
    /// Copies files.
    Cpio,
    /// The kernel NFS server's table of exports.
    Exportfs,
    /// Load generator.
    Fio,
    /// Addresses of names.
    Getent,
    /// Loop devices.
    Losetup,
    /// Block devices, as others show them.
    Lsblk,
    /// Makes btrfs.
    MkfsBtrfs,
    /// Logical volumes; its first argument says which command, e.g. `lvcreate`.
    Lvm,
    /// Software RAID.
    Mdadm,
    /// Makes ext3.
    MkfsExt3,
    /// Makes ext4.
    MkfsExt4,
    /// Makes xfs.
    MkfsXfs,
    /// Builds a tree of Debian packages.
    Mmdebstrap,
    /// Loads kernel modules.
    Modprobe,
    /// Mounts file systems.
    Mount,
    /// Mounts from NFS servers; mount(8) calls it.
    MountNfs,
    /// Applies manifests.
    Puppet,
    /// Makes disk images.
    QemuImg,
    /// Runs a guest.
    QemuSystem,
    /// Copies into a guest or node.
    Scp,
    /// Has a program end with its starter.
    Setpriv,
    /// The way to a guest or node.
    Ssh,
    /// Makes keys.
    SshKeygen,
    /// Copies files.
    Rsync,
    /// Root rights for the node.
    Sudo,
    /// Services and their states.
    Systemctl,
    /// Copies files.
    Tar,
    /// Waits for device links.
    Udevadm,
    /// Unmounts file systems.
    Umount,
    /// Gives a program mounts and processes of its own.
    Unshare,
    /// Removes signatures.
    Wipefs,
    /// Datasets of ZFS.
    Zfs,
    /// ZFS as a process, where the kernel has none. Not among those that are asked for a version: it has no such option.
    ZfsFuse,
    /// Pools of ZFS.
    Zpool,
}

impl Tool {
    /// All of them, by name.
    pub const ALL: [Self; 41] = [
        Self::AnsiblePlaybook,
        Self::AptGet,
        Self::Blkid,
        Self::Bonnie,
        Self::Btrfs,
        Self::Cryptsetup,
        Self::Dmsetup,
        Self::Cp,
        Self::Cpio,
        Self::Exportfs,
        Self::Fio,
        Self::Getent,
        Self::Losetup,
        Self::Lsblk,
        Self::MkfsBtrfs,
        Self::Lvm,
        Self::Mdadm,
        Self::MkfsExt3,
        Self::MkfsExt4,
        Self::MkfsXfs,
        Self::Mmdebstrap,
        Self::Modprobe,
        Self::Mount,
        Self::MountNfs,
        Self::Puppet,
        Self::QemuImg,
        Self::QemuSystem,
        Self::Scp,
        Self::Setpriv,
        Self::Ssh,
        Self::SshKeygen,
        Self::Rsync,
        Self::Sudo,
        Self::Systemctl,
        Self::Tar,
        Self::Udevadm,
        Self::Umount,
        Self::Unshare,
        Self::Wipefs,
        Self::Zfs,
        Self::Zpool,
    ];

    /// The file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AnsiblePlaybook => "ansible-playbook",
            Self::AptGet => "apt-get",
            Self::Blkid => "blkid",
            Self::Btrfs => "btrfs",
            Self::Cryptsetup => "cryptsetup",
            Self::Dmsetup => "dmsetup",
            Self::Bonnie => "bonnie++",
            Self::Cp => "cp",
            Self::Cpio => "cpio",
            Self::Rsync => "rsync",
            Self::Tar => "tar",
            Self::Exportfs => "exportfs",
            Self::Fio => "fio",
            Self::Getent => "getent",
            Self::Losetup => "losetup",
            Self::Lsblk => "lsblk",
            Self::MkfsBtrfs => "mkfs.btrfs",
            Self::Lvm => "lvm",
            Self::Mdadm => "mdadm",
            Self::MkfsExt3 => "mkfs.ext3",
            Self::MkfsExt4 => "mkfs.ext4",
            Self::MkfsXfs => "mkfs.xfs",
            Self::Mmdebstrap => "mmdebstrap",
            Self::Modprobe => "modprobe",
            Self::Mount => "mount",
            Self::MountNfs => "mount.nfs",
            Self::Puppet => "puppet",
            Self::QemuImg => "qemu-img",
            Self::QemuSystem => "qemu-system-x86_64",
            Self::Scp => "scp",
            Self::Setpriv => "setpriv",
            Self::Ssh => "ssh",
            Self::SshKeygen => "ssh-keygen",
            Self::Sudo => "sudo",
            Self::Systemctl => "systemctl",
            Self::Udevadm => "udevadm",
            Self::Umount => "umount",
            Self::Unshare => "unshare",
            Self::Wipefs => "wipefs",
            Self::Zfs => "zfs",
            Self::ZfsFuse => "zfs-fuse",
            Self::Zpool => "zpool",
        }
    }

    /// The Debian package that brings it.
    #[must_use]
    pub fn package(self) -> &'static str {
        match self {
            Self::AnsiblePlaybook => "ansible-core",
            Self::AptGet => "apt",
            Self::Blkid | Self::Lsblk | Self::Setpriv | Self::Unshare | Self::Wipefs => "util-linux",
            Self::Btrfs | Self::MkfsBtrfs => "btrfs-progs",
            Self::Cryptsetup => "cryptsetup-bin",
            Self::Dmsetup => "dmsetup",
            Self::Bonnie => "bonnie++",
            Self::Cp => "coreutils",
            Self::Cpio => "cpio",
            Self::Rsync => "rsync",
            Self::Tar => "tar",
            Self::Exportfs => "nfs-kernel-server",
            Self::MountNfs => "nfs-common",
            Self::Systemctl => "systemd",
            Self::Fio => "fio",
            Self::Getent => "libc-bin",
            Self::Lvm => "lvm2",
            Self::Mdadm => "mdadm",
            Self::Losetup | Self::Mount | Self::Umount => "mount",
            Self::MkfsExt3 | Self::MkfsExt4 => "e2fsprogs",
            Self::MkfsXfs => "xfsprogs",
            Self::Mmdebstrap => "mmdebstrap",
            Self::Modprobe => "kmod",
            Self::Puppet => "puppet-agent",
            Self::QemuImg => "qemu-utils",
            Self::QemuSystem => "qemu-system-x86",
            Self::Scp | Self::Ssh | Self::SshKeygen => "openssh-client",
            Self::Sudo => "sudo",
            Self::Udevadm => "udev",
            Self::Zfs | Self::Zpool => "zfsutils-linux",
            Self::ZfsFuse => "zfs-fuse",
        }
    }

    /// Whether only the lab uses it, or the way between targets: its version says nothing of a measurement.
    #[must_use]
    pub fn is_of_the_lab(self) -> bool {
        matches!(
            self,
            Self::AptGet
                | Self::Getent
                | Self::Mmdebstrap
                | Self::QemuImg
                | Self::QemuSystem
                | Self::Scp
                | Self::Setpriv
                | Self::SshKeygen
                | Self::Unshare
        )
    }

    /// Whether it only provisions targets: asking it for its version takes a second, so only who uses it does.
    #[must_use]
    pub fn provisions(self) -> bool {
        matches!(self, Self::AnsiblePlaybook | Self::Puppet)
    }

    /// Arguments that make it print its version.
    pub(crate) fn version_argument(self) -> &'static str {
        match self {
            Self::MkfsExt3 | Self::MkfsExt4 | Self::MkfsXfs | Self::MountNfs | Self::Ssh => "-V",
            // what follows is one of its commands
            Self::Lvm => "version",
            _ => "--version",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
