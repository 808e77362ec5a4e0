//! `diskproof driver`.

/// A built-in driver.
#[derive(Debug, clap::Args)]
pub(crate) struct Driver {
    /// Its name
    pub(crate) name: String,
}
