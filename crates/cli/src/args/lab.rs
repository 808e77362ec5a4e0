//! What may be typed after `diskproof lab`.

use clap::Subcommand;
use lab::DiskSpec;

#[derive(Debug, clap::Args)]
pub(crate) struct Lab {
    #[command(subcommand)]
    pub(crate) verb: LabVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabVerb {
    /// Build the image, if there is none yet, and start no guest
    Build(Build),
    /// Start a guest; one that runs already keeps running and gets the disks it lacks
    Up(Up),
    /// Tell which guests there are, and how they are
    Status(Status),
    /// Run a command in a guest as root; without one, a shell
    Ssh(Ssh),
    /// Change what a disk may do, at once
    Limit(Limit),
    /// Begin anew: a fresh guest with fresh disks of the same kinds
    Reset(Named),
    /// End a guest and remove its disks
    Down(Down),
}

/// How the image is built.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Build {
    /// Leave out ZFS, whose kernel modules take minutes to compile once
    #[arg(long)]
    pub(crate) without_zfs: bool,
    /// Debian's mirror; default: the one apt uses on this machine (DISKPROOF_LAB_MIRROR)
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

/// What machine it is.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Shape {
    /// Its memory, e.g. 2g
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = spec::bytes)]
    pub(crate) memory: u64,
    /// Its processors
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) cpus: u32,
    /// The port of 127.0.0.1 that leads to its ssh server; default: a free one
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
    /// An emulated disk, e.g. d1:size=1g,iops=80 (docs/lab.md tells all keys); repeatable
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
    /// What it may do from now on, e.g. iops=200,bps=10m; an empty text takes all limits away
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
    /// All guests, and all that was built: images, modules, saved states
    #[arg(long, conflicts_with = "name")]
    pub(crate) images: bool,
}
