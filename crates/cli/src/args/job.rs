//! The commands and flags of `diskproof job`.

use super::experiment::Experiment;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// The end of `diskproof job --help`.
pub(super) const JOB_HELP: &str = "\
Examples:
  diskproof job submit my.yaml --blocks 20 --gearman queue --to me@desk
  diskproof job work --gearman queue                     on each machine that measures
  diskproof job submit my.yaml --blocks 20 --slurm --to me@desk
  diskproof job submit latest --slurm --to me@desk       submits the missing blocks again

A block is one round on one machine: it measures every cell once. A queue may give a block out twice, and diskproof stores each trial \
once. docs/how-to/queue.md shows all steps.";

const MAKE_HELP: &str = "\
Examples:
  diskproof job make my.yaml --blocks 20 > blocks.ndjson
  diskproof job make my.yaml --to me@desk | while read -r block; do echo \"$block\" | ssh node diskproof job run -; done

It prints each block on a line of at most 4 KB, and stores the run, which has no trials yet. --to names your own machine, by the address at \
which the measuring machines reach it over ssh.";

const RUN_HELP: &str = "\
Examples:
  diskproof job run - < block.json
  diskproof job run blocks.ndjson --nth 3 --results /share/results
  gearman -w -h queue -f diskproof -- diskproof job run -

First it undoes what a killed attempt left on this machine. It measures only trials that the submitter lacks. Ctrl-C ends the trial; \
diskproof undoes what it built and keeps what it measured.";

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

A worker does one block at a time. SIGTERM ends it after the block. Ctrl-C ends the trial and undoes what diskproof built; the server gives \
the block to another worker. Workers with the same --state take turns.";

#[derive(Debug, Args)]
pub(crate) struct Job {
    #[command(subcommand)]
    pub(crate) verb: JobVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobVerb {
    /// Cut a run into blocks, and print each on a line
    #[command(after_help = MAKE_HELP)]
    Make(JobMake),
    /// Measure one block on this machine, and deliver each trial as it ends
    #[command(after_help = RUN_HELP)]
    Run(JobRun),
    /// Submit an experiment's blocks to a queue, or the missing blocks of a run
    #[command(after_help = SUBMIT_HELP)]
    Submit(JobSubmit),
    /// Take blocks from a Gearman server, and measure one after the other
    #[command(after_help = WORK_HELP)]
    Work(JobWork),
    /// Store results from standard input; the measuring machines start this command over ssh
    Receive,
    /// Store results from files that `job run --results` wrote
    Collect(JobCollect),
}

#[derive(Debug, Args)]
pub(crate) struct Cut {
    /// Number of blocks, which is the number of rounds; default: the experiment's `rounds`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) blocks: Option<u32>,
    /// Send results to the store of this machine; DEST is its ssh address for the measuring machines. Default: each of them needs --results
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
    /// Which line has the block, from 0; needed if there are several
    #[arg(long, value_name = "N")]
    pub(crate) nth: Option<usize>,
    /// Write results to a file in this folder, or to standard output (`-`); default: send them to the machine that the block names
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
    /// Path of diskproof on the measuring machines; default: its path here
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<String>,
    /// With --slurm and --kubernetes: the folder for the results, by its path on the measuring machines
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
    /// Print a manifest for Kubernetes. It is untested
    #[arg(long)]
    pub(crate) kubernetes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct JobWork {
    /// The Gearman server
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) gearman: String,
    /// Write results to files in this folder; default: send them to the machine that the blocks name
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) results: Option<PathBuf>,
    /// End when no block is left; default: wait for more
    #[arg(long)]
    pub(crate) until_empty: bool,
}

#[derive(Debug, Args)]
pub(crate) struct JobCollect {
    /// Files, or folders of files that end in .ndjson; `-` for standard input
    #[arg(required = true, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
}
