//! The commands and flags of `diskproof lab`.

use clap::Subcommand;
use lab::DiskSpec;

#[derive(Debug, clap::Args)]
pub(crate) struct Lab {
    #[command(subcommand)]
    pub(crate) verb: LabVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabVerb {
    /// Build the image if there is none yet; start no guest
    Build(Build),
    /// Start a guest; a running guest keeps running and gets the disks that it lacks
    Up(Up),
    /// List the guests with their state and disks
    Status(Status),
    /// Run a command in a guest as root, or a shell if none is given
    Ssh(Ssh),
    /// Change a disk's limits at once
    Limit(Limit),
    /// Replace a guest by a fresh one with fresh disks of the same kinds
    Reset(Named),
    /// Stop a guest and remove its disks
    Down(Down),
}

/// How the image is built.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Build {
    /// Build without ZFS; its kernel modules take minutes to compile, once
    #[arg(long)]
    pub(crate) without_zfs: bool,
    /// Debian's mirror; default: the one that apt uses on this machine (DISKPROOF_LAB_MIRROR)
    #[arg(long, value_name = "URL", env = "DISKPROOF_LAB_MIRROR", hide_env = true)]
    pub(crate) mirror: Option<String>,
}

/// Which guest.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Named {
    /// The guest
    #[arg(long, default_value = "lab")]
    pub(crate) name: String,
}

/// The size of the guest, and its ssh port.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Shape {
    /// The guest's memory, e.g. 2g
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = spec::bytes)]
    pub(crate) memory: u64,
    /// The guest's processors
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) cpus: u32,
    /// The port on 127.0.0.1 that is forwarded to the guest's ssh server; default: a free one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) named: Named,
    #[command(flatten)]
    pub(crate) shape: Shape,
    #[command(flatten)]
    pub(crate) build: Build,
    /// An emulated disk, e.g. d1:size=1g,iops=80 (all keys: docs/lab.md); repeatable
    #[arg(long, value_name = "NAME:KEY=VALUE,...")]
    pub(crate) disk: Vec<DiskSpec>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// Only this guest
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Ssh {
    #[command(flatten)]
    pub(crate) named: Named,
    /// The command and its arguments, after `--`
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Limit {
    #[command(flatten)]
    pub(crate) named: Named,
    /// The disk
    pub(crate) disk: String,
    /// Its new limits, e.g. iops=200,bps=10m; an empty text removes all limits
    #[arg(value_name = "KEY=VALUE,...")]
    pub(crate) limits: lab::Throttle,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Down {
    #[command(flatten)]
    pub(crate) named: Named,
    /// All guests
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// All guests, and everything that was built: images, modules, saved states
    #[arg(long, conflicts_with = "name")]
    pub(crate) images: bool,
}
