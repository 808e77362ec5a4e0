//! The experiment that many commands take.

use clap::ValueHint;
use std::path::PathBuf;

/// An experiment file and the values of its parameters.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Experiment {
    /// The experiment file; with --on a fio job file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Where a fio job file runs: an existing directory, or a claimed disk by its name
    #[arg(long, value_name = "DIR|DISK", value_hint = ValueHint::DirPath)]
    pub(crate) on: Option<String>,
    /// Room for all files of a job file that leaves their size to the device, e.g. 8g
    #[arg(long, value_name = "SIZE", requires = "on")]
    pub(crate) size: Option<String>,
    /// Set a parameter of the experiment, a ${NAME} of the job file, or TARGET.KEY of a driver's target; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of every random choice; default: the file's, else one from the clock
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}
