//! All external programs, with their names and Debian packages.

use std::fmt;

/// An external program that diskproof itself uses. The programs of a user's `command` layer are not listed here; see
/// [`crate::Invocation::program`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// Lists the hosts of an inventory.
    AnsibleInventory,
    /// Runs playbooks.
    AnsiblePlaybook,
    /// Lists the mirrors of Debian packages.
    AptGet,
    /// Calls the services of Amazon, or of those that are compatible.
    Aws,
    /// Low-level probe for signatures on block devices.
    Blkid,
    /// btrfs administration.
    Btrfs,
    /// Encrypted devices.
    Cryptsetup,
    /// Speaks HTTP; see [`crate::http`].
    Curl,
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
    /// Unmounts what sshfs mounts.
    Fusermount,
    /// Google Cloud's tool: it knows the user's account.
    Gcloud,
    /// Looks up the addresses of names.
    Getent,
    /// Loop devices.
    Losetup,
    /// Lists block devices, as other tools show them.
    Lsblk,
    /// Makes btrfs.
    MkfsBtrfs,
    /// Makes the devices of bcache.
    MakeBcache,
    /// Manages logical volumes; its first argument is the command, e.g. `lvcreate`.
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
    /// Gives a job to Slurm.
    Sbatch,
    /// Copies files to a guest or another machine.
    Scp,
    /// Makes a program end with the process that started it.
    Setpriv,
    /// Connects to a guest or another machine.
    Ssh,
    /// Makes keys.
    SshKeygen,
    /// Copies files.
    Rsync,
    /// Lists the jobs of Slurm.
    Squeue,
    /// Mounts directories of other machines.
    Sshfs,
    /// Runs the agent process as root.
    Sudo,
    /// Services and their states.
    Systemctl,
    /// Copies files.
    Tar,
    /// Checks the metadata of a thin pool; LVM calls it.
    ThinCheck,
    /// Waits for device links.
    Udevadm,
    /// Unmounts file systems.
    Umount,
    /// Gives a program its own mount and process namespaces.
    Unshare,
    /// Removes signatures.
    Wipefs,
    /// Datasets of ZFS.
    Zfs,
    /// ZFS as a process, where the kernel has no ZFS. It has no option to print its version.
    ZfsFuse,
    /// Pools of ZFS.
    Zpool,
}

impl Tool {
    /// All tools, by name.
    pub const ALL: [Self; 51] = [
        Self::AnsibleInventory,
        Self::AnsiblePlaybook,
        Self::AptGet,
        Self::Aws,
        Self::Blkid,
        Self::Bonnie,
        Self::Btrfs,
        Self::Cryptsetup,
        Self::Curl,
        Self::Dmsetup,
        Self::Cp,
        Self::Cpio,
        Self::Exportfs,
        Self::Fio,
        Self::Fusermount,
        Self::Gcloud,
        Self::Getent,
        Self::Losetup,
        Self::Lsblk,
        Self::MkfsBtrfs,
        Self::MakeBcache,
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
        Self::Sbatch,
        Self::Scp,
        Self::Setpriv,
        Self::Squeue,
        Self::Ssh,
        Self::SshKeygen,
        Self::Sshfs,
        Self::Rsync,
        Self::Sudo,
        Self::Systemctl,
        Self::Tar,
        Self::ThinCheck,
        Self::Udevadm,
        Self::Umount,
        Self::Unshare,
        Self::Wipefs,
        Self::Zfs,
        Self::Zpool,
    ];

    /// Returns the file name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AnsibleInventory => "ansible-inventory",
            Self::AnsiblePlaybook => "ansible-playbook",
            Self::AptGet => "apt-get",
            Self::Aws => "aws",
            Self::Blkid => "blkid",
            Self::Btrfs => "btrfs",
            Self::Cryptsetup => "cryptsetup",
            Self::Curl => "curl",
            Self::Dmsetup => "dmsetup",
            Self::Bonnie => "bonnie++",
            Self::Cp => "cp",
            Self::Cpio => "cpio",
            Self::Rsync => "rsync",
            Self::Tar => "tar",
            Self::ThinCheck => "thin_check",
            Self::Exportfs => "exportfs",
            Self::Fio => "fio",
            Self::Fusermount => "fusermount3",
            Self::Gcloud => "gcloud",
            Self::Getent => "getent",
            Self::Losetup => "losetup",
            Self::Lsblk => "lsblk",
            Self::MkfsBtrfs => "mkfs.btrfs",
            Self::MakeBcache => "make-bcache",
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
            Self::Sbatch => "sbatch",
            Self::Scp => "scp",
            Self::Squeue => "squeue",
            Self::Setpriv => "setpriv",
            Self::Ssh => "ssh",
            Self::SshKeygen => "ssh-keygen",
            Self::Sshfs => "sshfs",
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

    /// Returns its Debian package.
    #[must_use]
    pub fn package(self) -> &'static str {
        match self {
            Self::AnsibleInventory | Self::AnsiblePlaybook => "ansible-core",
            Self::AptGet => "apt",
            Self::Aws => "awscli",
            Self::Blkid | Self::Lsblk | Self::Setpriv | Self::Unshare | Self::Wipefs => "util-linux",
            Self::Btrfs | Self::MkfsBtrfs => "btrfs-progs",
            Self::Cryptsetup => "cryptsetup-bin",
            Self::Curl => "curl",
            Self::Dmsetup => "dmsetup",
            Self::Bonnie => "bonnie++",
            Self::Cp => "coreutils",
            Self::Cpio => "cpio",
            Self::Rsync => "rsync",
            Self::Tar => "tar",
            Self::ThinCheck => "thin-provisioning-tools",
            Self::Exportfs => "nfs-kernel-server",
            Self::MountNfs => "nfs-common",
            Self::Systemctl => "systemd",
            Self::Fio => "fio",
            Self::Fusermount => "fuse3",
            // of Google's own repository; Debian has none
            Self::Gcloud => "google-cloud-cli",
            Self::Getent => "libc-bin",
            Self::MakeBcache => "bcache-tools",
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
            Self::Sbatch | Self::Squeue => "slurm-client",
            Self::Sshfs => "sshfs",
            Self::Sudo => "sudo",
            Self::Udevadm => "udev",
            Self::Zfs | Self::Zpool => "zfsutils-linux",
            Self::ZfsFuse => "zfs-fuse",
        }
    }

    /// Whether only the lab, a queue, a driver or connections between machines use it: its version doesn't affect a measurement.
    #[must_use]
    pub fn is_of_the_lab(self) -> bool {
        matches!(
            self,
            Self::AptGet
                | Self::Aws
                | Self::Curl
                | Self::Fusermount
                | Self::Gcloud
                | Self::Getent
                | Self::Mmdebstrap
                | Self::QemuImg
                | Self::QemuSystem
                | Self::Sbatch
                | Self::Scp
                | Self::Setpriv
                | Self::Squeue
                | Self::SshKeygen
                | Self::Sshfs
                | Self::Unshare
        )
    }

    /// Whether it only provisions machines, or lists them. Printing its version takes a second, so this is done only where it is used.
    #[must_use]
    pub fn provisions(self) -> bool {
        matches!(self, Self::AnsibleInventory | Self::AnsiblePlaybook | Self::Puppet)
    }

    /// Returns the arguments that make it print its version.
    pub(crate) fn version_argument(self) -> &'static str {
        match self {
            Self::MkfsExt3 | Self::MkfsExt4 | Self::MkfsXfs | Self::MountNfs | Self::Ssh => "-V",
            // the argument is one of its commands
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
