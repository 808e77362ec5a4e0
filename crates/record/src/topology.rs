//! The block devices under the device or file system under test, down to the leaves.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// One block device under the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockNode {
    /// Kernel name, e.g. `loop3`, `sda1`, `dm-0`. A `host:` prefix marks a device of the host that runs a guest, a `server:`
    /// prefix one of the machine that serves the file system under test.
    pub name: String,
    /// Major and minor number.
    pub devno: (u32, u32),
    /// Number of devices between it and the load: 0 for the devices that lie directly under the load.
    pub depth: u32,
    /// Kind of the device, and the devices or files that it rests on.
    pub kind: BlockKind,
    /// Whether the kernel reports it as rotational; `None` if it doesn't report this.
    pub rotational: Option<bool>,
    /// I/O scheduler in use, if it has one.
    pub scheduler: Option<String>,
    /// Size in bytes, if the kernel reports it.
    pub size_bytes: Option<u64>,
}

/// Prefixes of kernel names of a hypervisor's disks: virtio and Xen.
const VIRTUAL: [&str; 2] = ["vd", "xvd"];

impl BlockNode {
    /// Whether the name shows that a hypervisor provides the disk. Nobody knows what lies behind such a disk.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        let name = self.kernel_name();
        let after = |prefix: &&str| {
            name.strip_prefix(*prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
        };
        VIRTUAL.iter().any(after)
    }

    /// Whether it is a rotational disk, as far as the kernel can know. For disks of a hypervisor the kernel's flag is only a default.
    #[must_use]
    pub fn turns(&self) -> bool {
        self.rotational == Some(true) && !self.is_virtual()
    }
}

/// Kind of a block device, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// A device that rests on nothing that this kernel can see.
    Disk,
    /// A partition of a disk.
    Partition {
        /// Name of the whole disk.
        of: String,
    },
    /// A loop device over a file, or a guest's disk over a file of its host.
    Loop {
        /// The backing file; `None` where it is not visible.
        backing_file: Option<PathBuf>,
        /// Whether the device bypasses the page cache of the backing file.
        direct_io: Option<bool>,
        /// File system that holds the bytes of the backing file, e.g. `ext4`, `tmpfs`. For stacked file systems it is the lowest
        /// one ([`Topology::stacked`]).
        backing_fs: Option<String>,
        /// Names of the devices under that file system; empty when memory-backed or unknown.
        members: Vec<String>,
        /// Whether it is a guest's disk. The devices under it are the host's then, with a `host:` prefix.
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

/// The devices under the load, and the file system of the load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// All devices, topmost first; each device once.
    pub nodes: Vec<BlockNode>,
    /// File system type under test, e.g. `btrfs`; `None` for a raw block device.
    pub fs_type: Option<String>,
    /// Mount options in force, as the kernel shows them.
    pub mount_options: Option<String>,
    /// The exported file system, if the load runs on an NFS mount of diskproof's own export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exported: Option<Exported>,
    /// Stacked file systems under the load or under a backing file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacked: Vec<Stacked>,
    /// File systems whose devices are not visible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Unseen>,
    /// What could not be traced, in words.
    pub unknown: Vec<String>,
}

/// A file system that is exported over NFS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    /// Type of the file system.
    pub fs_type: Option<String>,
    /// Mount options of the file system, as the kernel shows them.
    pub mount_options: Option<String>,
}

/// Stacked file systems: each passes its bytes on to the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacked {
    /// The loop device or guest's disk whose backing file is on them; `None`: the load runs on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Types of the file systems that pass all bytes on, topmost first, e.g. `overlay`.
    pub through: Vec<String>,
    /// Type of the lowest file system, which decides where the bytes go.
    pub fs_type: String,
    /// Mount options of the lowest file system, as the kernel shows them.
    pub mount_options: Option<String>,
}

/// A file system whose devices are not visible from this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// The loop device or guest's disk whose backing file is on it; `None`: the load runs on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Type of the file system, e.g. `fuse.sshfs`.
    pub fs_type: String,
    /// Source of the mount, as the kernel shows it.
    pub source: String,
    /// The reason why the devices are not visible.
    pub why: Hidden,
}

/// Reasons why the devices under a file system are not visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hidden {
    /// A program serves the file system (FUSE), and only that program knows what it rests on.
    Program,
    /// The host of this guest serves the file system.
    Host,
    /// The mount options name a directory that is a different one when seen from here: it is in another mount namespace, was
    /// moved, or is hidden by a mount.
    Directory,
    /// Too many file systems are stacked.
    Depth,
    /// The file system doesn't report what it rests on.
    Silent,
}

impl Unseen {
    /// Returns its name for people: `FUSE (sshfs)`, `overlay`.
    #[must_use]
    pub fn name(&self) -> String {
        match self.fs_type.split_once('.') {
            Some(("fuse" | "fuseblk", program)) => format!("FUSE ({program})"),
            _ if self.fs_type == "fuse" => format!("FUSE (`{}`)", self.source),
            _ => self.fs_type.clone(),
        }
    }
}

/// The end of a sentence that begins with the place.
impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self.why {
            Hidden::Program => write!(f, "on {name}, and what lies below can't be seen from here"),
            Hidden::Host => write!(
                f,
                "on {name} (`{}`), which the machine that runs this guest serves, and what lies below can't be seen from here",
                self.source
            ),
            Hidden::Directory => {
                write!(
                    f,
                    "on {name}, and the directory that it lies on can't be seen from here (as in a container)"
                )
            }
            Hidden::Depth => {
                write!(
                    f,
                    "on {name} over more file systems than are followed, so what lies below isn't known"
                )
            }
            Hidden::Silent => {
                write!(f, "on {name} (`{}`), and what lies below can't be seen from here", self.source)
            }
        }
    }
}

/// Whether a file system of this type keeps its files only in memory.
#[must_use]
pub fn is_memory_fs(fs_type: &str) -> bool {
    matches!(fs_type, "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs")
}

impl BlockNode {
    /// Returns its name in its own kernel, without a prefix.
    #[must_use]
    pub fn kernel_name(&self) -> &str {
        self.name.rsplit(':').next().unwrap_or(&self.name)
    }

    /// Whether it belongs to a different machine than the one that generates the load. If so, device numbers are not comparable.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        self.name.contains(':')
    }
}

impl Topology {
    /// Returns the type of the file system that decides where the bytes go: the lowest one of stacked file systems.
    #[must_use]
    pub fn deciding_fs(&self) -> Option<&str> {
        self.under_ground().map_or(self.fs_type.as_deref(), |under| Some(&under.fs_type))
    }

    /// Returns the mount options of that file system.
    #[must_use]
    pub fn deciding_options(&self) -> Option<&str> {
        self.under_ground().map_or(self.mount_options.as_deref(), |under| under.mount_options.as_deref())
    }

    fn under_ground(&self) -> Option<&Stacked> {
        self.stacked.iter().find(|stacked| stacked.device.is_none())
    }

    /// Returns the file system under test, if its devices are not visible.
    #[must_use]
    pub fn unseen_ground(&self) -> Option<&Unseen> {
        self.unseen.iter().find(|unseen| unseen.device.is_none())
    }

    /// Returns why the device or file system under test counts as memory, if it does.
    #[must_use]
    pub fn memory(&self) -> Option<String> {
        let through = |device: Option<&str>| {
            let stacked = self.stacked.iter().find(|stacked| stacked.device.as_deref() == device)?;
            Some(format!(" (through {})", stacked.through.join(" and ")))
        };
        if let Some(fs) = self.deciding_fs().filter(|fs| is_memory_fs(fs)) {
            return Some(match through(None) {
                Some(through) => format!("it lies on {fs}{through}"),
                None => format!("it is a {fs}"),
            });
        }
        let exported = self.exported.as_ref().and_then(|exported| exported.fs_type.as_deref());
        if let Some(fs) = exported.filter(|fs| is_memory_fs(fs)) {
            return Some(format!("what its server exports lies on {fs}"));
        }
        self.nodes.iter().find_map(|node| match &node.kind {
            BlockKind::Memory => Some(format!("{} is memory", node.name)),
            BlockKind::Loop { backing_fs: Some(fs), .. } if is_memory_fs(fs) => Some(format!(
                "the backing file of {} lies on {fs}{}",
                node.name,
                through(Some(&node.name)).unwrap_or_default()
            )),
            _ => None,
        })
    }

    /// Returns the devices that lie directly under the load.
    pub fn direct(&self) -> impl Iterator<Item = &BlockNode> {
        self.nodes.iter().filter(|n| n.depth == 0)
    }
}
