//! The closed list of acts.

use super::arc::SetArcMax;
use super::backing_file::WriteBackingFile;
use super::bcache::{FormatBcache, StartBcache};
use super::cgroup::{EnableController, MakeCgroup, SetThrottle};
use super::command::CommandUp;
use super::directory::{KeepLentDir, LendDir, MakeDir, UseLentDir};
use super::doing::{Doing, Reversible, Undoing, Undone};
use super::knob::SetKnob;
use super::loop_device::AttachLoop;
use super::luks::{FormatLuks, OpenLuks};
use super::lvm::{ChangeGroup, MakeGroup};
use super::md::MakeArray;
use super::mkfs::Mkfs;
use super::mount::Mount;
use super::nfs_export::ExportNfs;
use super::nfs_mount::MountNfs;
use super::nfs_server::StartNfsServer;
use super::pool::CreatePool;
use super::zfs_fuse::StartZfsFuse;
use crate::error::ActError;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! acts {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// One change to a machine, with all that its undo needs. `Display` says what it does.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "act")]
        pub enum Act {
            $($(#[$doc])* #[serde(rename = $text)] $name($name),)*
        }

        impl Act {
            /// The name of the act in the journal.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => $text,)* }
            }

            fn inner(&self) -> &dyn Reversible {
                match self { $(Self::$name(act) => act,)* }
            }
        }
    };
}

acts! {
    /// Fills a file.
    WriteBackingFile = "write_backing_file",
    /// Attaches a loop device of our own to it.
    AttachLoop = "attach_loop",
    /// Creates the run's cgroup.
    MakeCgroup = "make_cgroup",
    /// Enables the I/O controller for a cgroup's children (v2).
    EnableController = "enable_controller",
    /// Limits one direction of one device.
    SetThrottle = "set_throttle",
    /// Writes a value under /sys or /proc.
    SetKnob = "set_knob",
    /// Creates a mount point.
    MakeDir = "make_dir",
    /// Creates our sub-directory in an existing directory.
    LendDir = "lend_dir",
    /// Records the identity of our sub-directory.
    KeepLentDir = "keep_lent_dir",
    /// Lets a trial write into our sub-directory.
    UseLentDir = "use_lent_dir",
    /// Makes a file system.
    Mkfs = "mkfs",
    /// Mounts it.
    Mount = "mount",
    /// Creates a volume group.
    MakeGroup = "make_group",
    /// Creates, changes or caches a logical volume.
    ChangeGroup = "change_group",
    /// Creates an md array.
    MakeArray = "make_array",
    /// Writes a LUKS2 header.
    FormatLuks = "format_luks",
    /// Opens the encrypted device.
    OpenLuks = "open_luks",
    /// Writes the superblocks of bcache.
    FormatBcache = "format_bcache",
    /// Starts bcache.
    StartBcache = "start_bcache",
    /// Limits ARC.
    SetArcMax = "set_arc_max",
    /// Starts zfs-fuse.
    StartZfsFuse = "start_zfs_fuse",
    /// Creates a ZFS pool.
    CreatePool = "create_pool",
    /// Starts the NFS server.
    StartNfsServer = "start_nfs_server",
    /// Exports a directory by NFS.
    ExportNfs = "export_nfs",
    /// Mounts an NFS export.
    MountNfs = "mount_nfs",
    /// Runs the user's programs.
    CommandUp = "command_up",
}

impl Act {
    pub(crate) fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        doing.check_cancel()?;
        self.inner().perform(doing)
    }

    pub(crate) fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        self.inner().undo(undoing)
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner().fmt(f)
    }
}
