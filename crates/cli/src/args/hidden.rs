//! Commands that help doesn't list.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Generate {
    /// The folder; created if it doesn't exist
    pub(crate) folder: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EngineNative {
    /// The task's file
    pub(crate) task: PathBuf,
}
