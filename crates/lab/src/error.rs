//! Errors of a lab, with their remedies.

use crate::qmp::QmpError;
use host::CommandFailure;
use record::printable::Shown as _;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// An operation on a lab failed.
#[derive(Debug, Error)]
pub enum LabError {
    /// The name can't be that of a file and a machine.
    #[error("`{name}` can't name a lab: 1 to 40 of a-z, 0-9 and -, beginning with a letter or digit")]
    Name {
        /// As asked.
        name: String,
    },
    /// The folder's path is too long for a socket, or has characters that mean something else to QEMU, ssh or mmdebstrap.
    #[error(
        "the lab can't live in {}: {why}; choose another folder with --state (DISKPROOF_STATE)", path.shown()
    )]
    Place {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// No machine can have this shape.
    #[error("{0}")]
    Shape(String),
    /// Building an image of Debian needs root.
    #[error(
        "an image of Debian holds files of many owners, so building it needs root: run it by sudo, or take one that somebody else built \
         by `diskproof images import`"
    )]
    ImageNeedsRoot,
    /// Building the image needs root.
    #[error(
        "there is no image in {} yet, and building it needs root (it holds files of many owners): run `sudo diskproof lab build` once; \
         with --state, a lab of your own can then use that folder if you may write there", path.shown()
    )]
    NeedsRoot {
        /// Where the image would be.
        path: PathBuf,
    },
    /// Programs are missing.
    #[error("the lab needs {}, not on this machine; on Debian: apt-get install {}", .tools.join(", "), .packages.join(" "))]
    Tools {
        /// Their names.
        tools: Vec<&'static str>,
        /// Debian's packages.
        packages: Vec<&'static str>,
    },
    /// There is too little free space.
    #[error(
        "{} has {free_mib} MiB free, and {what} needs about {needed_mib} MiB; free some, or choose another folder with --state (DISKPROOF_STATE)",
        path.shown()
    )]
    Space {
        /// Where.
        path: PathBuf,
        /// What for.
        what: &'static str,
        /// The free space.
        free_mib: u64,
        /// The space that is needed.
        needed_mib: u64,
    },
    /// apt on this machine has no mirror of Debian.
    #[error(
        "apt on this machine names no mirror of Debian; name one with --mirror URL (DISKPROOF_LAB_MIRROR), e.g. the one nearest to you"
    )]
    NoMirror,
    /// A program failed.
    #[error("{doing} failed")]
    Command {
        /// What failed.
        doing: &'static str,
        /// The program's failure.
        source: CommandFailure,
    },
    /// QEMU says no version.
    #[error(
        "qemu-system-x86_64 --version prints nothing, so saved states of guests can't be told apart; is Debian's qemu-system-x86 whole?"
    )]
    NoVersion,
    /// A file could not be read or written.
    #[error("can't {doing} {}", path.shown())]
    File {
        /// The operation.
        doing: &'static str,
        /// Which.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A folder has a mount in it and isn't removed.
    #[error("{} holds a mount ({mount}); unmount it, then try again", path.shown())]
    Mounted {
        /// What was to be removed.
        path: PathBuf,
        /// What is mounted in it.
        mount: String,
    },
    /// A step's result isn't as it should be.
    #[error(
        "{what}; `diskproof lab down --images` removes what was built, and the next `lab up` builds it anew"
    )]
    Broken {
        /// What was found.
        what: String,
    },
    /// The requested port is in use.
    #[error("port {port} of 127.0.0.1 is busy; leave --port out, and a free one is taken")]
    Port {
        /// Which.
        port: u16,
    },
    /// A guest didn't start.
    #[error("the guest {name} {how}{}", quoted_console(.console))]
    Guest {
        /// Its name.
        name: String,
        /// What happened instead.
        how: String,
        /// The end of its console.
        console: String,
    },
    /// A guest still uses what would be removed.
    #[error("the lab {name} is still there; `diskproof lab down --name {name}` first")]
    InUse {
        /// Its name.
        name: String,
    },
    /// The guest isn't up.
    #[error("the lab {name} {how}; `diskproof lab up --name {name}` starts it")]
    NotUp {
        /// Its name.
        name: String,
        /// Its state.
        how: &'static str,
    },
    /// The guest runs with another shape.
    #[error("the lab {name} runs with {has}, not with {wanted}; `diskproof lab down --name {name}` first")]
    OtherShape {
        /// Its name.
        name: String,
        /// What it has.
        has: String,
        /// What was asked.
        wanted: String,
    },
    /// Another run uses the guest.
    #[error(
        "process {process} is at work in the lab {name}; two at once would share its processors and measure each other: wait until it ends, or name another guest"
    )]
    Occupied {
        /// The lab.
        name: String,
        /// The process that runs it.
        process: u32,
    },
    /// The guest has a disk of that name already.
    #[error("the lab {name} has a disk {disk} already")]
    DiskThere {
        /// The lab.
        name: String,
        /// The disk.
        disk: String,
    },
    /// The guest has no such disk.
    #[error("the lab {name} has no disk {disk}; it has {has}")]
    NoDisk {
        /// The lab.
        name: String,
        /// The disk.
        disk: String,
        /// The disks that it has.
        has: String,
    },
    /// All virtio-blk slots are taken.
    #[error(
        "the lab {name} has room for {most} virtio-blk and nvme disks; give others bus=virtio-scsi, which has room for 200"
    )]
    Full {
        /// The lab.
        name: String,
        /// The number of slots.
        most: usize,
    },
    /// QEMU's monitor refused a command.
    #[error("{doing} failed")]
    Monitor {
        /// What failed.
        doing: String,
        /// Why.
        source: QmpError,
    },
}

fn quoted_console(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("; the end of its console:\n{text}") }
}

impl LabError {
    /// Whether the cause is the user's input.
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Name { .. }
                | Self::Place { .. }
                | Self::Shape(_)
                | Self::Port { .. }
                | Self::InUse { .. }
                | Self::NotUp { .. }
                | Self::OtherShape { .. }
                | Self::Occupied { .. }
                | Self::DiskThere { .. }
                | Self::NoDisk { .. }
                | Self::Full { .. }
        )
    }

    /// The error of a file operation.
    pub(crate) fn file(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { doing, path, source }
    }

    /// The error of a program.
    pub(crate) fn command(doing: &'static str) -> impl FnOnce(CommandFailure) -> Self {
        move |source| Self::Command { doing, source }
    }
}
