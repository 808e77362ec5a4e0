//! The command line: its commands and flags. `commands` carries them out.

mod calibrate;
mod driver;
mod experiment;
mod gate;
mod guests;
mod hidden;
mod import;
mod job;
mod kept;
mod lab;
mod lifecycle;
mod machines;
mod money;
mod output;
mod report;
mod share;
mod typed;

pub(crate) use calibrate::{Calibrate, Load};
pub(crate) use driver::{Driver, DriverCheck, DriverVerb};
pub(crate) use experiment::Experiment;
pub(crate) use gate::{Choice, Gate, History, Margin, Tag, Undecided};
pub(crate) use guests::{
    GuestPatterns, Guests, GuestsBuild, GuestsCreate, GuestsDestroy, GuestsList, GuestsMigrate, GuestsShell,
    GuestsStop, GuestsValidate, GuestsVerb, GuestsViewer, Images, ImagesAvail, ImagesBuild, ImagesImport,
    ImagesList, ImagesPush, ImagesRemove, ImagesVerb, OneGuest,
};
pub(crate) use hidden::{EngineNative, Generate};
pub(crate) use import::Import;
pub(crate) use job::{Cut, Job, JobCollect, JobMake, JobRun, JobSubmit, JobVerb, JobWork};
pub(crate) use kept::{List, Undo};
pub(crate) use lab::{Build, Lab, LabVerb, Shape};
pub(crate) use lifecycle::{Destroy, Login, OfExperiment, Test, Trials};
pub(crate) use machines::{
    From, Machines, MachinesGet, MachinesList, MachinesMount, MachinesPut, MachinesRun, MachinesShell,
    MachinesStatus, MachinesTunnel, MachinesVerb, MachinesVerbArgs, MachinesWake, MachinesWatch,
};
pub(crate) use money::{By, Choose, Cost, Wants};
pub(crate) use output::{Events, JsonOnly};
pub(crate) use report::Report;
pub(crate) use share::{Place, Pull, Push, Search};
pub(crate) use typed::Typed;

use crate::formats::Chosen;
use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use std::path::PathBuf;

/// The end of `diskproof --help`: examples and exit codes.
const AFTER_HELP: &str = "\
Examples:
  diskproof quick .            what does this directory's storage really do? A minute, no root
  diskproof new > my.yaml      a commented experiment to start from
  diskproof plan my.yaml       what it would do, how long, how many bytes; changes nothing
  sudo diskproof run my.yaml   do it, take everything down again, answer the question
  diskproof show               the latest answer again
  diskproof report latest -o answer.html       the same with pictures, for a browser
  diskproof gate --baseline fs@nightly         is the latest run worse than the one with that tag?
  diskproof history fs         which run made it worse?
  sudo diskproof calibrate     does the built-in engine agree with fio here?

Exit codes:
  0    fine
  1    an expectation was not met, or `gate` found a regression
  2    the input is wrong: arguments, experiment file, settings
  3    the machine refuses: a disk that isn't free or claimed, privileges, a missing tool, no space
  4    a fault of diskproof, or an undo that failed
  5    `gate` can't tell whether there is a regression, or cells of the baseline are missing
  130  ended by Ctrl-C (143: by SIGTERM); measured trials are kept, `diskproof resume` goes on";

/// Version, commit and its date, where `scripts/build.sh` built the program.
const VERSION: &str = match option_env!("DISKPROOF_VERSION") {
    Some(version) => version,
    None => concat!(env!("CARGO_PKG_VERSION"), " (of an unknown commit)"),
};

/// Honest storage benchmarking: builds storage stacks, measures them, shows where every byte came from, and takes them
/// down again.
#[derive(Debug, Parser)]
#[command(
    name = "diskproof",
    version = VERSION,
    max_term_width = 100,
    after_help = AFTER_HELP,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Settings that every command takes; each is also a key of the configuration file and an environment variable.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Global {
    /// Read settings from this file only (DISKPROOF_CONFIG)
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// The database of results (DISKPROOF_STORE)
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) store: Option<PathBuf>,
    /// The folder of journals, claims, locks and backing files (DISKPROOF_STATE)
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<PathBuf>,
    /// Colours: auto, always or never (DISKPROOF_COLOR)
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) color: Option<String>,
    /// auto: become root by `sudo -n` where needed; never: don't (DISKPROOF_SUDO)
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) sudo: Option<String>,
    /// The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ssh_config: Option<PathBuf>,
    /// How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)
    #[arg(long, global = true, value_name = "HOW")]
    pub(crate) progress: Option<String>,
    /// The same as --progress none
    #[arg(long, short, global = true, conflicts_with = "progress")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure the storage under a directory: about a minute, without root and without an experiment file
    #[command(after_help = "\
Examples:
  diskproof quick                  the current directory
  diskproof quick /mnt/data
  diskproof quick /srv --seconds 20 --rounds 5

It writes its data into a folder of its own inside DIR, and removes it again.")]
    Quick(Quick),
    /// Check the native engine against fio: both measure the same device or file system in turn
    #[command(after_help = "\
Examples:
  sudo diskproof calibrate                       an emulated volume of 500 IOPS, made for it
  sudo diskproof calibrate --iops 80 --workload randread --rounds 10
  diskproof calibrate /mnt/data                  an existing directory, no root
  sudo diskproof calibrate nvme-Samsung_SSD_990_S1234    a claimed disk; everything on it is lost
  diskproof calibrate --run latest --json        judge a run that is kept

Exit code 1: they differ by more than the margin. 0: they agree, or it is undecided; the output says which.")]
    Calibrate(Calibrate),
    /// Write a commented experiment to start from
    #[command(after_help = "\
Examples:
  diskproof new                    print it
  diskproof new my.yaml            write it (an existing file is never overwritten)
  diskproof new my.yaml --kind directory
  diskproof new my.yaml --from my.fio      an experiment around a fio job file")]
    New(New),
    /// Show what an experiment would do: matrix, order, time, bytes, space. Changes nothing
    #[command(after_help = "\
Examples:
  diskproof plan my.yaml
  diskproof plan my.yaml --set n=8 --set bs=16k
  diskproof plan my.yaml --json | jq .plan.cells")]
    Plan(PlanArgs),
    /// Run an experiment and answer its question
    #[command(after_help = "\
Examples:
  sudo diskproof run experiments/striped-volumes.yaml
  diskproof run experiments/lent-directory.yaml --set dir=/mnt/data
  sudo diskproof run my.yaml --json > events.jsonl
  diskproof run my.fio --on /mnt/data      a fio job file as it is, in a directory

Ctrl-C ends the current trial, undoes what was built and keeps what was measured.")]
    Run(RunArgs),
    /// Continue a run that was interrupted or has spent its budget: only the missing trials are run
    #[command(after_help = "\
Examples:
  diskproof resume                 the latest run that isn't complete
  diskproof resume 20261121-2014
  diskproof resume --from s3://results/nvme    the run of a machine that is gone, see docs/how-to/outlive-the-controller.md
  diskproof resume latest --rounds 30    the budget of 12 rounds was spent before the answer was sure enough

A run goes on as if it had not ended: the same order, the same seeds, the same rule of stopping.")]
    Resume(Resume),
    /// Create the machines that an experiment's drivers create, and leave them there
    #[command(after_help = lifecycle::CREATE_HELP)]
    Create(OfExperiment),
    /// Create an experiment's machines where they aren't there, and provision them
    Converge(OfExperiment),
    /// Run an experiment's trials on its created machines, and leave them there
    Verify(Trials),
    /// Destroy the machines that `create`, `converge` or `verify` left
    Destroy(OfExperiment),
    /// Open a shell on a created machine
    Login(Login),
    /// Do all of it anew: destroy, create, converge, verify, destroy
    Test(Test),
    /// Show the result of a run again
    #[command(after_help = "\
Examples:
  diskproof show                   the latest run
  diskproof show 20261121-2014     the run with a name that begins so")]
    Show(Show),
    /// Write a run's result as one HTML file with pictures, or as a folder of pages of all runs
    #[command(after_help = report::REPORT_HELP)]
    Report(Report),
    /// List all runs, or those of one experiment
    List(List),
    /// Store results that fio, Bonnie++ or elbencho measured as a run: show, compare, gate and export work on it
    #[command(after_help = import::IMPORT_HELP)]
    Import(Import),
    /// Send a run to a registry, where others can pull it: names are replaced by pseudonyms
    #[command(after_help = share::PUSH_HELP)]
    Push(Push),
    /// Fetch a run from a registry: it is judged anew here, and compared like any other
    #[command(after_help = share::PULL_HELP)]
    Pull(Pull),
    /// Look for runs in a registry: by device, stack and workload
    #[command(after_help = share::SEARCH_HELP)]
    Search(Search),
    /// Write a run's result for a program or as a page
    #[command(after_help = "\
Examples:
  diskproof export latest --json | jq '.cells[].metrics.iops'
  diskproof export 20261121-2014 --csv -o result.csv
  diskproof export latest --markdown -o answer.md")]
    Export(Export),
    /// Compare the cells of one run, or the same cells of two runs
    #[command(after_help = "\
Examples:
  diskproof compare latest                       every two stacks of a workload, paired within rounds
  diskproof compare latest --stack ext4 --stack xfs --of read_lat_p99
  diskproof compare latest --along depth         every two cells that differ in the depth alone
  diskproof compare 20261121-2014 latest         after / before, cell by cell, and what else differs
  diskproof compare 20261121-2014 latest --json | jq '.lines[].ratio'")]
    Compare(Compare),
    /// Check a run against its baseline, for CI: exit code 0 is no regression, 1 a regression, 5 undecided
    #[command(after_help = gate::GATE_HELP)]
    Gate(Gate),
    /// Show the figures of an experiment run after run: which run made them worse, by how much, how sure
    #[command(after_help = gate::HISTORY_HELP)]
    History(History),
    /// Give a run a name, so that EXPERIMENT@NAME means it
    #[command(after_help = gate::TAG_HELP)]
    Tag(Tag),
    /// Choose the cheapest measured stack that meets your limits, with 95 % confidence, or say that none does
    #[command(after_help = money::CHOOSE_HELP)]
    Choose(Choose),
    /// Compute what the offers of a price list cost: per hour, month and year, and over a term. Needs no run
    #[command(after_help = money::COST_HELP)]
    Cost(Cost),
    /// Judge stored runs again with this version's rules, and show what changed
    #[command(after_help = "\
Examples:
  diskproof judge                  the latest run
  diskproof judge 20261121-2014 20261122-0900
  diskproof judge --all

Stored measurements never change; only the findings are derived again.")]
    Judge(Judge),
    /// Put back what a killed run left behind
    #[command(after_help = "\
Examples:
  sudo diskproof undo              all runs that have no living owner
  sudo diskproof undo 20261121-201455-3f9a
  sudo diskproof undo 20261121-201455-3f9a --give-up nvme-Samsung_SSD_990_S1234

A disk that is away stays in the run's journal: bring it back and undo again, or give it up by name. Safe to run at any time, and twice.")]
    Undo(Undo),
    /// Run any diskproof command on another machine, which needs only sshd
    #[command(after_help = "\
Examples:
  diskproof on root@nas devices
  diskproof on nas --root claim nvme-Samsung_SSD_990_S1234
  diskproof on nas doctor

This program is copied there first, unless it is there already: into ~/.cache/diskproof, under its own digest. Ports, \
keys and names come from ~/.ssh/config. The exit code is that of the command.")]
    On(On),
    /// Ask, command and wake many machines at once, which need only sshd
    #[command(after_help = machines::MACHINES_HELP)]
    Machines(Machines),
    /// Share a run among many machines by a queue (Gearman, Slurm)
    #[command(after_help = job::JOB_HELP)]
    Job(Job),
    /// Create machines and volumes by drivers: list the drivers, check one
    #[command(after_help = driver::DRIVER_HELP)]
    Driver(Driver),
    /// Make, list, start, stop, move and remove guests of libvirt on this and other machines
    #[command(after_help = guests::GUESTS_HELP)]
    Guests(Guests),
    /// Keep images for guests on this and other machines
    #[command(after_help = guests::IMAGES_HELP)]
    Images(Images),
    /// List every disk: whether it is free, and why not
    Devices(JsonOnly),
    /// Declare that a disk is yours and that diskproof may overwrite it
    #[command(after_help = "\
Examples:
  sudo diskproof claim nvme-Samsung_SSD_990_S1234     asks you to type the disk's serial number
  sudo diskproof claim nvme-Samsung_SSD_990_S1234 --yes-i-own S1234
  sudo diskproof claim nvme-Samsung_SSD_990_S1234 --yes-i-own S1234 --overwrite-data

Up to 4096 blocks of 4 KiB all over the disk are read first. If any isn't blank (00 or FF throughout), the claim says how \
many are not, and needs a second confirmation. A blank sample doesn't prove that the disk is blank.

A mounted disk can't be claimed. The claim names the disk by serial number and size, so it doesn't follow a name to \
another disk. A claimed disk is still refused while it is mounted, holds a foreign signature, or is used by anything else.")]
    Claim(Claim),
    /// Remove the claim of a disk
    Unclaim(Unclaim),
    /// Run a Debian guest with emulated disks: try an LVM cache or ZFS without risking a disk
    #[command(after_help = "\
Examples:
  sudo diskproof lab up --disk d1:size=1g,iops=80 --disk ssd:size=1g
  sudo diskproof lab ssh -- lsblk
  sudo diskproof lab ssh                         a shell in the guest
  sudo diskproof lab limit d1 iops=200           at once, also under load
  sudo diskproof lab reset                       fresh guest, fresh disks
  sudo diskproof lab down

The first `up` builds the image (some minutes) and keeps it. A guest needs no privileges; building the image needs root.")]
    Lab(Lab),
    /// Show what this machine can do: tools, privileges, kernel, clock, noise, the native engine's ceiling, settings
    Doctor(Doctor),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  diskproof completions bash > ~/.local/share/bash-completion/completions/diskproof
  diskproof completions zsh > ~/.zfunc/_diskproof")]
    Completions(Completions),
    /// The agent process on the measured machine; speaks to its controller over stdio
    #[command(hide = true)]
    Node,
    /// What this machine lacks for the plan on standard input
    #[command(hide = true)]
    Look,
    /// The native engine's worker process; performs the task in a file
    #[command(hide = true)]
    EngineNative(EngineNative),
    /// The corpus engine's worker process; performs the task in a file
    #[command(hide = true)]
    EngineCorpus(EngineNative),
    /// Write man pages, completions, schema and command reference below a folder
    #[command(hide = true)]
    Generate(Generate),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Quick {
    /// A directory on the storage to measure
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Measured seconds per trial
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
    /// Rounds; each measures every workload once
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Data per trial, e.g. 8g; default: what the storage writes in a third of --seconds, but at least 256m, and at most twice the memory
    /// and a quarter of the free space
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    #[command(flatten)]
    pub(crate) events: Events,
}

#[derive(Debug, clap::Args)]
pub(crate) struct New {
    /// Where to write it; default: standard output
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// The kind of volume in it
    #[arg(long, value_enum, default_value_t = Kind::Emulated, conflicts_with = "from")]
    pub(crate) kind: Kind,
    /// Write an experiment that runs this fio job file in a directory
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from: Option<PathBuf>,
}

/// The kind of volume in a new experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Emulated volumes with IOPS limits (needs root)
    Emulated,
    /// An existing directory (needs no root)
    Directory,
    /// Real disks that you have claimed (needs root, overwrites them)
    Disks,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) experiment: Experiment,
    /// Ask the machines behind ssh, too, and end with 3 if a machine lacks something that the plan needs. diskproof copies itself there
    /// first, as a run does
    #[arg(long)]
    pub(crate) here: bool,
    /// Instead of the plan: rank the stacks by price, with what the model says of the limits; nothing is measured
    #[arg(long, conflicts_with = "here")]
    pub(crate) choose: bool,
    /// With --choose: METRIC >= VALUE or METRIC <= VALUE, separated by commas; default: those of `until: { best: price }`
    #[arg(long, value_name = "LIMITS", value_parser = money::wants, requires = "choose")]
    pub(crate) want: Option<Wants>,
    /// Print the plan and its forecast as JSON; with --choose one JSON document, format diskproof.prospect/1.0 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) experiment: Experiment,
    /// Run every provisioning step again, also where nothing changed since the last time
    #[arg(long)]
    pub(crate) provision: bool,
    /// When to destroy the machines that drivers created for the run
    #[arg(long, value_enum, default_value_t = Destroy::Always, value_name = "WHEN")]
    pub(crate) destroy: Destroy,
    /// Copy each finished trial there as it ends, so that another machine can go on with `resume --from`: s3://BUCKET/PREFIX,
    /// file:///FOLDER or none (DISKPROOF_COPY_TO)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) copy_to: Option<String>,
    /// Speak http with a bucket on another machine: everybody on the way can read and change what is sent (DISKPROOF_PLAIN_HTTP=allow)
    #[arg(long)]
    pub(crate) plain_http: bool,
    #[command(flatten)]
    pub(crate) events: Events,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Resume {
    /// The run: its name, the beginning of it, EXPERIMENT@last or EXPERIMENT@TAG; default: the latest that isn't complete
    pub(crate) run: Option<String>,
    /// Go on with a run that another machine copied there (`copy_to`): fetch it into this store first
    #[arg(long, value_name = "ADDRESS", conflicts_with = "copy_to")]
    pub(crate) from: Option<String>,
    /// Go on although another controller has the run: that one is dead, or shall stop before its next trial
    #[arg(long)]
    pub(crate) take_over: bool,
    /// Copy each finished trial there: s3://BUCKET/PREFIX, file:///FOLDER or none; default: where the run copies them
    /// (DISKPROOF_COPY_TO)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) copy_to: Option<String>,
    /// Speak http with a bucket on another machine: everybody on the way can read and change what is sent (DISKPROOF_PLAIN_HTTP=allow)
    #[arg(long)]
    pub(crate) plain_http: bool,
    /// Raise the budget of rounds; only for a run with `measure: until`, which stops when the result is sure enough
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rounds: Option<u32>,
    /// Raise the budget of time for the whole run, e.g. 2h
    #[arg(long, value_name = "TIME", value_parser = spec::seconds)]
    pub(crate) time: Option<f64>,
    /// Raise the budget of bytes written by the whole run, e.g. 100g
    #[arg(long, value_name = "SIZE", value_parser = spec::bytes)]
    pub(crate) written: Option<u64>,
    /// Raise the budget of money for the whole run, in the currency of its prices
    #[arg(long, value_name = "N")]
    pub(crate) money: Option<f64>,
    /// Old name of --money
    #[arg(long, value_name = "N", hide = true, conflicts_with = "money")]
    pub(crate) cost: Option<f64>,
    /// Run every provisioning step again, also where nothing changed since the last time
    #[arg(long)]
    pub(crate) provision: bool,
    #[command(flatten)]
    pub(crate) events: Events,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The run: its name, the beginning of it, `latest`, EXPERIMENT@last or EXPERIMENT@TAG
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// Print one JSON document, the same as `export --json`
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// The run: its name, the beginning of it, `latest`, EXPERIMENT@last or EXPERIMENT@TAG
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) format: Chosen,
    /// Where to write it; default: standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// The run: its name, the beginning of it, `latest`, EXPERIMENT@last or EXPERIMENT@TAG; the earlier one if two are compared
    pub(crate) run: String,
    /// The later run, if two are compared
    pub(crate) after: Option<String>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Compare cells of one run that differ in this factor alone (`stack`, `workload` or a factor of the experiment), instead of the
    /// stacks of each workload
    #[arg(long, value_name = "FACTOR", conflicts_with = "after")]
    pub(crate) along: Option<String>,
    /// Print one JSON document, format diskproof.comparison/1.1 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Judge {
    /// The runs: names or their beginnings, EXPERIMENT@last or EXPERIMENT@TAG; default: the latest
    #[arg(conflicts_with = "all")]
    pub(crate) run: Vec<String>,
    /// All stored runs
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON document, format diskproof.judge/1.0 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct On {
    /// The machine as ssh takes it: host, user@host, or a name in ~/.ssh/config
    pub(crate) host: String,
    /// Become root there by sudo
    #[arg(long)]
    pub(crate) root: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "VERB")]
    pub(crate) verb: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Claim {
    /// The disk's name in /dev/disk/by-id
    pub(crate) disk: String,
    /// The disk's serial number; diskproof then doesn't ask you to type it
    #[arg(long, value_name = "SERIAL")]
    pub(crate) yes_i_own: Option<String>,
    /// Claim the disk although it holds data; the first run overwrites that data
    #[arg(long)]
    pub(crate) overwrite_data: bool,
    /// Confirm that this disk isn't used by processes that diskproof can't see (outside of its container, or with more rights)
    #[arg(long)]
    pub(crate) unseen_processes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Unclaim {
    /// The disk's name when it was claimed
    pub(crate) disk: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Don't measure the machine's noise (2 seconds)
    #[arg(long)]
    pub(crate) no_noise: bool,
    /// Don't measure the native engine's highest rate here (3 seconds); show the stored one
    #[arg(long)]
    pub(crate) no_ceiling: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

impl Verb {
    /// The settings that only this command takes.
    pub(crate) fn settings(&self) -> Typed {
        let (copy_to, plain_http) = match self {
            Self::Run(run) => (run.copy_to.clone(), run.plain_http),
            Self::Resume(resume) => (resume.copy_to.clone(), resume.plain_http),
            _ => (None, false),
        };
        Typed { json: self.json_events(), copy_to, plain_http }
    }

    /// Whether a run prints its events as JSON.
    fn json_events(&self) -> bool {
        match self {
            Self::Quick(quick) => quick.events.json,
            Self::Run(run) => run.events.json,
            Self::Resume(resume) => resume.events.json,
            Self::Verify(args) => args.events.json,
            Self::Test(args) => args.events.json,
            _ => false,
        }
    }
}
