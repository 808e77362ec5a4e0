//! The commands and flags of `diskproof machines`.

use clap::{Subcommand, ValueHint};
use std::net::SocketAddrV4;
use std::path::PathBuf;

/// The end of `diskproof machines --help`.
pub(super) const MACHINES_HELP: &str = "\
Examples:
  diskproof machines list
  diskproof machines status                      all machines of ~/.config/diskproof/machines.yaml
  diskproof machines status 'ham*' @storage '!ham3'
  diskproof machines run @storage -b -- uname -r
  diskproof machines wake ham2
  diskproof machines devices 'web[01:20]' --machines inventory.ini

A machine needs only sshd. Machines come from --machines (diskproof's own YAML, or an Ansible inventory), from
~/.config/diskproof/machines.yaml, and by name from ~/.ssh/config. ssh, its keys, known hosts and configuration are your own.

A PATTERN is a name, a glob ('ham*', 'ham[0-3]', 'web[01:20]'), a group (@storage), a tag (tag:nvme), or one of these after `!`: all but
those. docs/how-to/machines.md shows all of it.";

const RUN_HELP: &str = "\
Examples:
  diskproof machines run 'ham*' -- uptime
  diskproof machines run @storage -b -- uname -r           machines with the same output are shown together
  diskproof machines run @storage --root -- sh -c 'dmesg | tail -3'

CMD's words reach the program as they are; for pipes and variables there, use `sh -c`. The exit code is 0 if it was 0 everywhere, 3 if a
machine can't be reached, else the highest one of CMD.";

#[derive(Debug, clap::Args)]
pub(crate) struct Machines {
    #[command(flatten)]
    pub(crate) from: From,
    #[command(subcommand)]
    pub(crate) verb: MachinesVerb,
}

/// Where machines are looked up, and how they are asked.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct From {
    /// A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)
    #[arg(
        long = "machines",
        global = true,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        env = "DISKPROOF_MACHINES",
        hide_env = true
    )]
    pub(crate) files: Vec<PathBuf>,
    /// Most machines at once
    #[arg(long, global = true, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=150))]
    pub(crate) fanout: u16,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MachinesVerb {
    /// List the machines of the inventory. Connects to none
    List(MachinesList),
    /// Show which machines are on, and their CPUs, memory, load, guests, unused disks and diskproof's leftovers
    Status(MachinesStatus),
    /// Run a command on machines, at the same time
    #[command(after_help = RUN_HELP)]
    Run(MachinesRun),
    /// Wake machines by their network cards, and wait until ssh answers
    Wake(MachinesWake),
    /// Run `diskproof doctor` on machines
    Doctor(MachinesVerbArgs),
    /// Run `diskproof devices` on machines, as root where sudo needs no password
    Devices(MachinesVerbArgs),
    /// Run `diskproof undo` on machines
    Undo(MachinesVerbArgs),
    /// Open a shell on a machine
    Shell(MachinesShell),
}

#[derive(Debug, clap::Args)]
pub(crate) struct MachinesList {
    /// Which machines; default: all of the inventory, or all hosts of ~/.ssh/config if there is no inventory
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// Show where ssh connects to (`ssh -G`)
    #[arg(long)]
    pub(crate) resolve: bool,
    /// Print one line of JSON per machine
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MachinesStatus {
    /// Which machines; default: all of the inventory
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// Print one line of JSON per machine, as they answer (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask again and again, with this time between: 2s, 1m
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "2s", value_parser = spec::seconds, require_equals = true)]
    pub(crate) watch: Option<f64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MachinesRun {
    /// Which machines
    #[arg(required = true, value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// Show machines with the same output together, when all have ended
    #[arg(long, short = 'b', conflicts_with = "json")]
    pub(crate) fold: bool,
    /// Run it as root, by `sudo -n` where the user isn't root
    #[arg(long)]
    pub(crate) root: bool,
    /// End it on a machine after this time: 30s, 5m; default: no limit
    #[arg(long, value_name = "TIME", value_parser = spec::seconds)]
    pub(crate) timeout: Option<f64>,
    /// Print one line of JSON per machine, as it ends
    #[arg(long)]
    pub(crate) json: bool,
    /// The command and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MachinesWake {
    /// Which machines; each needs its `mac` in the inventory
    #[arg(required = true, value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// How long to wait for ssh
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = spec::seconds)]
    pub(crate) timeout: f64,
    /// Send the packet and don't wait
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Where to send the packet; default: the broadcast address of every network that this machine is in, port 9
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) broadcast: Option<SocketAddrV4>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MachinesVerbArgs {
    /// Which machines
    #[arg(required = true, value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// Print one line of JSON per machine, with what the command prints there by `--json`
    #[arg(long)]
    pub(crate) json: bool,
    /// Arguments of the command, after `--`
    #[arg(last = true, value_name = "ARG")]
    pub(crate) rest: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MachinesShell {
    /// The machine
    #[arg(value_name = "MACHINE")]
    pub(crate) machine: String,
}
