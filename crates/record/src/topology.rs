//! Which block devices lie under a ground, down to the real leaves.

use serde::{Deserialize, Serialize};
use std::fmt;
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
        /// File system that holds the backing file's bytes, e.g. `ext4`, `tmpfs`: the lowest one where several lie on each other
        /// ([`Topology::stacked`]).
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
    /// Where the ground's file system, or a backing file's, lies on another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacked: Vec<Stacked>,
    /// File systems under which nothing can be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Unseen>,
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

/// File systems that lie on each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacked {
    /// The loop device or guest's disk whose backing file is on them; `None`: the ground is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Types of those that pass everything on, the uppermost first, e.g. `overlay`.
    pub through: Vec<String>,
    /// Type of the lowest one: it decides where the bytes go.
    pub fs_type: String,
    /// Its mount options, as the kernel shows them.
    pub mount_options: Option<String>,
}

/// A file system under which nothing can be seen from here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// The loop device or guest's disk whose backing file is on it; `None`: the ground is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its type, e.g. `fuse.sshfs`.
    pub fs_type: String,
    /// What was mounted, as the kernel shows it.
    pub source: String,
    /// Why nothing can be seen.
    pub why: Hidden,
}

/// Why nothing can be seen under a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hidden {
    /// A program serves it (FUSE), and only that program knows what it rests on.
    Program,
    /// The machine that runs this guest serves it.
    Host,
    /// It lies on a directory that isn't where its mount options say, as seen from here: of another mount namespace, moved, or
    /// hidden by a mount.
    Directory,
    /// Too many file systems lie on each other.
    Depth,
    /// It doesn't tell.
    Silent,
}

impl Unseen {
    /// Its name to people: `FUSE (sshfs)`, `overlay`.
    #[must_use]
    pub fn name(&self) -> String {
        match self.fs_type.split_once('.') {
            Some(("fuse" | "fuseblk", program)) => format!("FUSE ({program})"),
            _ if self.fs_type == "fuse" => format!("FUSE (`{}`)", self.source),
            _ => self.fs_type.clone(),
        }
    }
}

/// As the end of a sentence that begins with the place.
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

/// Whether files of this type of file system are in memory and nowhere else.
#[must_use]
pub fn is_memory_fs(fs_type: &str) -> bool {
    matches!(fs_type, "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs")
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
    /// The type of the file system that decides where the ground's bytes go: the lowest one where several lie on each other.
    #[must_use]
    pub fn deciding_fs(&self) -> Option<&str> {
        self.under_ground().map_or(self.fs_type.as_deref(), |under| Some(&under.fs_type))
    }

    /// The mount options of that file system.
    #[must_use]
    pub fn deciding_options(&self) -> Option<&str> {
        self.under_ground().map_or(self.mount_options.as_deref(), |under| under.mount_options.as_deref())
    }

    fn under_ground(&self) -> Option<&Stacked> {
        self.stacked.iter().find(|stacked| stacked.device.is_none())
    }

    /// The file system of the ground, where nothing can be seen under it.
    #[must_use]
    pub fn unseen_ground(&self) -> Option<&Unseen> {
        self.unseen.iter().find(|unseen| unseen.device.is_none())
    }

    /// Why the ground counts as memory, if it does.
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

    /// Devices the ground uses directly.
    pub fn direct(&self) -> impl Iterator<Item = &BlockNode> {
        self.nodes.iter().filter(|n| n.depth == 0)
    }
}
