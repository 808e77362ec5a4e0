//! The commands for machines that drivers create.

use super::experiment::Experiment;
use super::output::Events;
use clap::ValueEnum;

/// The end of `diskproof create --help`.
pub(super) const CREATE_HELP: &str = "\
Examples:
  diskproof create my.yaml           the machines and volumes of all targets with `driver:`
  diskproof converge my.yaml         the same, and the experiment's provisioning steps
  diskproof verify my.yaml           the same, and a run; the machines stay
  diskproof login my.yaml --target big
  diskproof list --live
  diskproof destroy my.yaml
  diskproof test my.yaml --destroy passing

Each command works from any state. The machines are in the journal of this machine, so a killed command loses none: `destroy`, or \
`undo --all`, finds them. `diskproof run` creates machines of its own and destroys them.";

/// When created machines are destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Destroy {
    /// In every case
    Always,
    /// If the run ended well and all expectations were met
    Passing,
    /// Not at all
    Never,
}

/// An experiment whose machines are meant.
#[derive(Debug, clap::Args)]
pub(crate) struct OfExperiment {
    #[command(flatten)]
    pub(crate) experiment: Experiment,
}

/// An experiment whose trials run on its machines.
#[derive(Debug, clap::Args)]
pub(crate) struct Trials {
    #[command(flatten)]
    pub(crate) experiment: Experiment,
    #[command(flatten)]
    pub(crate) events: Events,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Login {
    #[command(flatten)]
    pub(crate) experiment: Experiment,
    /// The target; needed if there are several created machines
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// A command to run there, in place of a shell
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Test {
    #[command(flatten)]
    pub(crate) experiment: Experiment,
    /// When to destroy the machines at the end
    #[arg(long, value_enum, default_value_t = Destroy::Passing, value_name = "WHEN")]
    pub(crate) destroy: Destroy,
    #[command(flatten)]
    pub(crate) events: Events,
}
