//! What commands print.

/// How a run reports its events.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Events {
    /// Print every event as one line of JSON; the same as --progress json
    #[arg(long, conflicts_with_all = ["quiet", "progress"])]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct JsonOnly {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
