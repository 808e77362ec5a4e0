//! Which block devices lie under a ground, down to the real leaves.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One block device under a ground.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockNode {
    /// Kernel name, e.g. `loop3`, `sda1`, `dm-0`; with `host:` before it if it is of the machine that runs a guest, with `server:` if it is of
    /// the node that serves the ground.
    pub name: String,
    /// Major and minor number.
    pub devno: (u32, u32),
    /// Distance from the ground: 0 for the devices the ground uses directly.
    pub depth: u32,
    /// What it is and what it rests on.
    pub kind: BlockKind,
    /// Whether the kernel calls it rotational, if it says.
    pub rotational: Option<bool>,
    /// I/O scheduler in use, if it has one.
    pub scheduler: Option<String>,
    /// Size in bytes, if it says.
    pub size_bytes: Option<u64>,
}

/// Kernel names of disks that a hypervisor makes: virtio and Xen.
const VIRTUAL: [&str; 2] = ["vd", "xvd"];

impl BlockNode {
    /// Whether the name says that a hypervisor made the disk; then nobody knows what lies behind it.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        let name = self.kernel_name();
        let after = |prefix: &&str| {
            name.strip_prefix(*prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
        };
        VIRTUAL.iter().any(after)
    }

    /// Whether it turns, as far as the kernel can know: its flag is the default for disks of a hypervisor.
    #[must_use]
    pub fn turns(&self) -> bool {
        self.rotational == Some(true) && !self.is_virtual()
    }
}

/// What a block device rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// Rests on nothing this kernel can see.
    Disk,
    /// A partition of a disk.
    Partition {
        /// The whole disk's name.
        of: String,
    },
    /// A loop device over a file, or a guest's disk over a file of the machine that runs the guest.
    Loop {
        /// The backing file; `None` where it can't be seen.
        backing_file: Option<PathBuf>,
        /// Whether it bypasses the page cache of the backing file.
        direct_io: Option<bool>,
        /// File system that holds the backing file, e.g. `ext4`, `tmpfs`.
        backing_fs: Option<String>,
        /// Names of the devices under that file system; empty when memory-backed or unknown.
        members: Vec<String>,
        /// Whether it is a guest's disk: what lies under it is the host's, with `host:` before each name.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        guest: bool,
    },
    /// Device-mapper, md or any other device with members.
    Composite {
        /// Names of its members.
        members: Vec<String>,
    },
    /// Memory: zram, brd, null_blk.
    Memory,
}

/// The devices under a ground and what kind of file system holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// All devices, shallow first; no device twice.
    pub nodes: Vec<BlockNode>,
    /// File system type of the ground, e.g. `btrfs`; `None` for a raw block device.
    pub fs_type: Option<String>,
    /// Mount options in force, as the kernel shows them.
    pub mount_options: Option<String>,
    /// Of a ground that is mounted by NFS from an export of ours: the file system that is exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exported: Option<Exported>,
    /// What could not be followed, in words.
    pub unknown: Vec<String>,
}

/// A file system that is exported by NFS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    /// Its type.
    pub fs_type: Option<String>,
    /// Its own mount options, as the kernel shows them.
    pub mount_options: Option<String>,
}

impl BlockNode {
    /// Its name as its own kernel has it.
    #[must_use]
    pub fn kernel_name(&self) -> &str {
        self.name.rsplit(':').next().unwrap_or(&self.name)
    }

    /// Whether it is of another machine than the one that is loaded: numbers of devices are not comparable then.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        self.name.contains(':')
    }
}

impl Topology {
    /// Devices the ground uses directly.
    pub fn direct(&self) -> impl Iterator<Item = &BlockNode> {
        self.nodes.iter().filter(|n| n.depth == 0)
    }
}
