//! The closed list of acts.

use super::arc::SetArcMax;
use super::backing_file::WriteBackingFile;
use super::cgroup::{EnableController, MakeCgroup, SetThrottle};
use super::command::CommandUp;
use super::directory::{KeepLentDir, LendDir, MakeDir, UseLentDir};
use super::knob::SetKnob;
use super::loop_device::AttachLoop;
use super::lvm::{ChangeGroup, MakeGroup};
use super::md::MakeArray;
use super::mkfs::{FormatLuks, Mkfs, OpenLuks};
use super::mount::Mount;
use super::nfs_export::ExportNfs;
use super::nfs_mount::MountNfs;
use super::nfs_server::StartNfsServer;
use super::pool::CreatePool;
use super::zfs_fuse::StartZfsFuse;
use crate::error::ActError;
use crate::machine::Machine;
use record::id::RunId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// What an act needs while it is done.
pub(crate) struct Doing<'a> {
    pub(crate) machine: &'a Machine<'a>,
    /// Told the share that is done, 0..=1.
    pub(crate) progress: &'a mut dyn FnMut(f64),
    pub(crate) cancel: &'a AtomicBool,
    /// Programs that were run, for the record.
    pub(crate) argv: &'a mut Vec<Vec<String>>,
}

impl Doing<'_> {
    pub(crate) fn check_cancel(&self) -> Result<(), ActError> {
        if self.cancel.load(Ordering::Relaxed) { Err(ActError::Cancelled) } else { Ok(()) }
    }

    /// Runs a program and keeps its argument vector.
    pub(crate) fn run(&mut self, doing: &str, what: &host::Invocation) -> Result<host::Output, ActError> {
        let output = self.machine.runner.run(what).map_err(ActError::tool(doing))?;
        self.argv.push(output.argv.clone());
        Ok(output)
    }

    /// The same for what may take long, and may be ended at any moment: it is, when the user asks to stop.
    pub(crate) fn run_until(
        &mut self,
        doing: &str,
        what: &host::Invocation,
    ) -> Result<host::Output, ActError> {
        let output = self.machine.runner.run_until(what, self.cancel).map_err(|failure| match failure {
            host::CommandFailure::Cancelled { .. } => ActError::Cancelled,
            failure => ActError::tool(doing)(failure),
        })?;
        self.argv.push(output.argv.clone());
        Ok(output)
    }
}

/// What an undo needs.
pub(crate) struct Undoing<'a> {
    pub(crate) machine: &'a Machine<'a>,
    /// The run: the names of what it made begin with it.
    pub(crate) run: &'a RunId,
    /// A disk that never returns, as its owner said, by the name or the serial number that the journal knows.
    pub(crate) given_up: Option<&'a str>,
    /// Whether the machine was booted since: devices, mounts, cgroups and knobs are gone then, files are not.
    pub(crate) rebooted: bool,
}

/// How an undo ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undone {
    /// It was undone.
    Done,
    /// It was undone here, where somebody had moved it.
    Elsewhere(PathBuf),
    /// There was nothing to undo.
    Nothing,
    /// Left alone on purpose, for this reason; it isn't ours to undo any more.
    Left(String),
}

/// An act and its undo. The undo works from what the act itself holds; it must be safe when the act was never begun,
/// half done or done, and when it has been undone already.
pub(crate) trait Reversible: fmt::Display {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError>;
    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError>;
}

macro_rules! acts {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// One change to a machine, with everything its undo needs. `Display` says what it does.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "act")]
        pub enum Act {
            $($(#[$doc])* #[serde(rename = $text)] $name($name),)*
        }

        impl Act {
            /// Its name in the journal.
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
    /// Puts a loop device of our own over it.
    AttachLoop = "attach_loop",
    /// Makes the run's cgroup.
    MakeCgroup = "make_cgroup",
    /// Lets a cgroup's children limit I/O (v2).
    EnableController = "enable_controller",
    /// Limits one direction of one device.
    SetThrottle = "set_throttle",
    /// Writes a value of /sys or /proc.
    SetKnob = "set_knob",
    /// Makes a mount point.
    MakeDir = "make_dir",
    /// Makes our sub-directory in a lent directory.
    LendDir = "lend_dir",
    /// Knows our sub-directory by what it is.
    KeepLentDir = "keep_lent_dir",
    /// Lets a trial write into our sub-directory.
    UseLentDir = "use_lent_dir",
    /// Makes a file system.
    Mkfs = "mkfs",
    /// Mounts it.
    Mount = "mount",
    /// Makes a volume group.
    MakeGroup = "make_group",
    /// Makes, changes or caches a logical volume.
    ChangeGroup = "change_group",
    /// Makes an md array.
    MakeArray = "make_array",
    /// Writes a LUKS2 header.
    FormatLuks = "format_luks",
    /// Opens the encrypted device.
    OpenLuks = "open_luks",
    /// Limits ZFS's cache in memory.
    SetArcMax = "set_arc_max",
    /// Starts zfs-fuse.
    StartZfsFuse = "start_zfs_fuse",
    /// Makes a ZFS pool.
    CreatePool = "create_pool",
    /// Starts the NFS server.
    StartNfsServer = "start_nfs_server",
    /// Exports a directory by NFS.
    ExportNfs = "export_nfs",
    /// Mounts it.
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
