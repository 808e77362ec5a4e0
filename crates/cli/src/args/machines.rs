//! The commands and flags of `diskproof machines`.

use super::output::JsonOnly;
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

const GET_HELP: &str = "\
Examples:
  diskproof machines get ham0:/var/log/syslog .
  diskproof machines get '@storage:/etc/fstab' here      here/ham0/fstab, here/ham1/fstab, ...

The copy is checked by its SHA-256, and has its name only when it is whole.";

const PUT_HELP: &str = "\
Examples:
  diskproof machines put image.raw ham0:/srv/images/
  diskproof machines put my.fio '@storage:/tmp/my.fio'

The copy is checked by its SHA-256, and has its name only when it is whole. What is there already isn't sent again.";

const TUNNEL_HELP: &str = "\
Examples:
  diskproof machines tunnel ham0 8080:localhost:80       127.0.0.1:8080 here is port 80 of ham0
  diskproof machines tunnel ham0 5900:localhost:5900 5901:localhost:5901";

const MOUNT_HELP: &str = "\
Examples:
  diskproof machines mount ham0:/srv /mnt/ham0
  diskproof machines mount --end /mnt/ham0";

const WATCH_HELP: &str = "\
Examples:
  diskproof machines watch --every 1m --alert /usr/local/bin/tell-me
  diskproof machines watch @storage --once --alert ./tell-me      one look, for cron

PROGRAM gets each alert as JSON on its standard input (docs/formats.md). If it fails, it gets the alert again at the next look. What is known
is kept in the file of --known, so a restart neither forgets nor repeats. examples/systemd/diskproof-watch.service starts it at boot.";

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
    #[arg(long, global = true, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=150))]
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
    /// Copy a file from machines; a copy that broke off goes on where it was
    #[command(after_help = GET_HELP)]
    Get(MachinesGet),
    /// Copy a file to machines; a copy that broke off goes on where it was
    #[command(after_help = PUT_HELP)]
    Put(MachinesPut),
    /// Forward ports of this machine through a machine, until Ctrl-C; it connects again by itself
    #[command(after_help = TUNNEL_HELP)]
    Tunnel(MachinesTunnel),
    /// Mount a folder of a machine here by sshfs
    #[command(after_help = MOUNT_HELP)]
    Mount(MachinesMount),
    /// List what runs left at providers: machines and volumes of any diskproof, with their price per day
    Leftovers(JsonOnly),
    /// Look at machines regularly, and run a program when one dies, comes back, or has a run that hangs
    /// or nears its deadline
    #[command(after_help = WATCH_HELP)]
    Watch(MachinesWatch),
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

#[derive(Debug, clap::Args)]
pub(crate) struct MachinesGet {
    /// Which machines, and the file there
    #[arg(value_name = "PATTERN:FILE", value_parser = place)]
    pub(crate) from: Place,
    /// Where to put it: a file or a folder; with several machines, a folder in which each gets a folder
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, default_value = ".")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MachinesPut {
    /// The file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Which machines, and the file or folder there
    #[arg(value_name = "PATTERN:PATH", value_parser = place)]
    pub(crate) to: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MachinesTunnel {
    /// The machine
    #[arg(value_name = "MACHINE")]
    pub(crate) machine: String,
    /// What to forward, as ssh's -L takes it
    #[arg(required = true, value_name = "[ADDRESS:]PORT:HOST:PORT", value_parser = forward)]
    pub(crate) forwards: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MachinesMount {
    /// Which machine, and the folder there
    #[arg(value_name = "MACHINE:DIR", value_parser = place, required_unless_present = "end")]
    pub(crate) from: Option<Place>,
    /// Where to mount it: an empty folder
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "end")]
    pub(crate) at: Option<PathBuf>,
    /// Unmount it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["from", "at"])]
    pub(crate) end: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MachinesWatch {
    /// Which machines; default: all of the inventory
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// The time between two looks
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = spec::seconds)]
    pub(crate) every: f64,
    /// The program that gets the alerts; default: they are printed only
    #[arg(long, value_name = "PROGRAM", value_hint = ValueHint::ExecutablePath)]
    pub(crate) alert: Option<PathBuf>,
    /// How many times in succession a machine must be missed before that is an alert
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) misses: u32,
    /// How long a run may change nothing on a machine before that is an alert
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = spec::seconds)]
    pub(crate) stalled: f64,
    /// How long before a run's time budget is spent there is an alert, if the run isn't done by then
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = spec::seconds)]
    pub(crate) deadline: f64,
    /// Look once
    #[arg(long)]
    pub(crate) once: bool,
    /// The file that keeps what is known; default: watch.json in the folder of --state
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) known: Option<PathBuf>,
}

/// Checks an argument of ssh's -L as far as it could be something else.
fn forward(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let port = |at: usize| parts.get(at).is_some_and(|part| part.parse::<u16>().is_ok_and(|port| port > 0));
    let last = parts.len().saturating_sub(1);
    if (3..=4).contains(&parts.len())
        && port(last)
        && port(parts.len() - 3)
        && parts.iter().all(|part| !part.is_empty())
    {
        Ok(text.to_owned())
    } else {
        Err("expected PORT:HOST:PORT, e.g. 8080:localhost:80".to_owned())
    }
}

/// A path on machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which machines.
    pub(crate) pattern: String,
    /// The path there; a relative one begins at the user's home.
    pub(crate) path: String,
}

/// Splits `PATTERN:PATH`. The colon of a range stands in brackets, and that of `tag:` follows this word.
fn place(text: &str) -> Result<Place, String> {
    let mut depth = 0_usize;
    let from = text.strip_prefix("tag:").map_or(0, |rest| text.len() - rest.len());
    let colon = text[from..].char_indices().find(|(_, c)| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *c == ':' && depth == 0
    });
    match colon.map(|(at, _)| (&text[..from + at], &text[from + at + 1..])) {
        Some((pattern, path)) if !pattern.is_empty() && !path.is_empty() && !path.starts_with('-') => {
            Ok(Place { pattern: pattern.to_owned(), path: path.to_owned() })
        }
        _ => Err("expected MACHINE:PATH, e.g. ham0:/tmp/file".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn the_colon_of_a_range_or_tag_belongs_to_the_pattern() {
        let parts = |text| place(text).map(|place| (place.pattern, place.path));
        let expect = |a: &str, b: &str| Ok((a.to_owned(), b.to_owned()));
        assert_eq!(parts("ham0:/a:b"), expect("ham0", "/a:b"));
        assert_eq!(parts("web[01:20]:x"), expect("web[01:20]", "x"));
        assert_eq!(parts("tag:nvme:/x"), expect("tag:nvme", "/x"));
        assert!([":x", "ham0", "ham0:", "ham0:-x"].into_iter().all(|text| parts(text).is_err()));
    }
}
