//! The commands for what is kept and for what is left behind.

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// Only runs of this experiment
    #[arg(long, value_name = "NAME")]
    pub(crate) experiment: Option<String>,
    /// Also runs that ended and measured nothing: refused, failed, or interrupted before the first trial was done
    #[arg(long)]
    pub(crate) all: bool,
    /// Instead of runs: the machines that drivers created, and whether they exist
    #[arg(long, conflicts_with = "all")]
    pub(crate) live: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Undo {
    /// Only this run: its whole name, EXPERIMENT@last or EXPERIMENT@TAG
    pub(crate) run: Option<String>,
    /// Also the machines that `diskproof create` made and that were to stay
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    /// A disk that never comes back, by name or serial number: what diskproof wrote on it stays there. A disk that is present is undone.
    /// Or a claim of created machines, by its id: it ends, also if its driver can't destroy what it has
    #[arg(long, value_name = "DISK|CLAIM", requires = "run")]
    pub(crate) give_up: Option<String>,
}
