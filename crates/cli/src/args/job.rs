//! The commands and flags of `diskproof job`.

use super::experiment::Experiment;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// The end of `diskproof job --help`.
pub(super) const JOB_HELP: &str = "\
Examples:
  diskproof job submit my.yaml --blocks 20 --gearman queue --to me@desk
  diskproof job work --gearman queue                     on each machine that is to measure
  diskproof job submit my.yaml --blocks 20 --slurm --to me@desk
  diskproof job submit latest --slurm --to me@desk       what is still missing, once more

A block is every cell of one machine once: one round. Queues give a block out at least once; each trial is stored exactly once. \
docs/how-to/queue.md shows all of it.";

const MAKE_HELP: &str = "\
Examples:
  diskproof job make my.yaml --blocks 20 > blocks.ndjson
  diskproof job make my.yaml --to me@desk | while read -r block; do echo \"$block\" | ssh node diskproof job run -; done

It prints one block a line, each of at most 4 KB, and keeps the run without trials in the store. --to is your own machine, as the machines \
that measure reach it by ssh.";

const RUN_HELP: &str = "\
Examples:
  diskproof job run - < block.json
  diskproof job run blocks.ndjson --nth 3 --results /share/results
  gearman -w -h queue -f diskproof -- diskproof job run -

What a killed attempt left on this machine is undone first. Trials that the submitter has are not measured again. Ctrl-C ends the trial, \
undoes what was built and keeps what was measured.";

const SUBMIT_HELP: &str = "\
Examples:
  diskproof job submit my.yaml --blocks 20 --gearman queue:4730 --to me@desk
  diskproof job submit my.yaml --blocks 20 --slurm --to me@desk --dry-run > job.sh; sbatch --partition=disks job.sh
  diskproof job submit 20261126-131500-3f9a --gearman queue --to me@desk     the blocks that lack a trial
  diskproof job submit my.yaml --kubernetes > job.yaml                       untested: read it first";

const WORK_HELP: &str = "\
Examples:
  diskproof job work --gearman queue
  diskproof job work --gearman queue --until-empty --results /share/results

It does one block at a time. SIGTERM ends it after the block. Ctrl-C ends the trial and undoes what was built; the server gives the block \
to another worker. Workers with the same --state take turns.";

#[derive(Debug, Args)]
pub(crate) struct Job {
    #[command(subcommand)]
    pub(crate) verb: JobVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobVerb {
    /// Cut a run into blocks and print them, one a line
    #[command(after_help = MAKE_HELP)]
    Make(JobMake),
    /// Do one block on this machine, and deliver each trial as it ends
    #[command(after_help = RUN_HELP)]
    Run(JobRun),
    /// Give the blocks of an experiment, or those that a run lacks, to a queue
    #[command(after_help = SUBMIT_HELP)]
    Submit(JobSubmit),
    /// Take blocks from a Gearman server and do them, one after the other
    #[command(after_help = WORK_HELP)]
    Work(JobWork),
    /// Store results that come on standard input; the machines that measure start it by ssh
    Receive,
    /// Store results from files that `job run --results` wrote
    Collect(JobCollect),
}

#[derive(Debug, Args)]
pub(crate) struct Cut {
    /// The number of blocks, which is the number of rounds; default: the experiment's `rounds`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) blocks: Option<u32>,
    /// This machine as those that measure reach it by ssh: results go to the store here; default: those that measure say where
    #[arg(long, value_name = "DEST")]
    pub(crate) to: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct JobMake {
    #[command(flatten)]
    pub(crate) experiment: Experiment,
    #[command(flatten)]
    pub(crate) cut: Cut,
    /// Where to write the blocks; default: standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct JobRun {
    /// A file with blocks, or `-` for standard input
    #[arg(default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The line with the block, from 0; default: the only one
    #[arg(long, value_name = "N")]
    pub(crate) nth: Option<usize>,
    /// The folder that gets a file of results, or `-` for standard output; default: to the submitter, as the block says
    #[arg(long, value_name = "DIR|-", value_hint = ValueHint::DirPath)]
    pub(crate) results: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct JobSubmit {
    /// The experiment file, or a run: its name, the beginning of it, `latest`, EXPERIMENT@last or EXPERIMENT@TAG
    #[command(flatten)]
    pub(crate) experiment: Experiment,
    #[command(flatten)]
    pub(crate) cut: Cut,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// With --slurm: print the job's script and submit nothing; with --gearman: print the blocks
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Path of diskproof on the machines that measure; default: its path here
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<String>,
    /// With --slurm and --kubernetes: the folder that gets the results, as the machines that measure see it
    #[arg(long, value_name = "DIR", conflicts_with = "gearman")]
    pub(crate) results: Option<String>,
}

/// The queue.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct EngineArgs {
    /// A Gearman server
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) gearman: Option<String>,
    /// The Slurm cluster of this machine
    #[arg(long)]
    pub(crate) slurm: bool,
    /// Print a manifest for Kubernetes to start from. Untested
    #[arg(long)]
    pub(crate) kubernetes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct JobWork {
    /// The Gearman server
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) gearman: String,
    /// The folder that gets files of results; default: to the submitter, as the blocks say
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) results: Option<PathBuf>,
    /// End when no block is left, instead of waiting for more
    #[arg(long)]
    pub(crate) until_empty: bool,
}

#[derive(Debug, Args)]
pub(crate) struct JobCollect {
    /// Files, or folders of files that end in .ndjson; `-` for standard input
    #[arg(required = true, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
}
