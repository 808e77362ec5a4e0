//! Identities of machines, runs, cells and trials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name of the controller's machine, where an experiment names none.
pub const LOCAL: &str = "local";

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// One execution of an experiment, e.g. `20261121-201455-3f9a`: sorts by start (UTC), safe in file names.
    RunId
}
text_id! {
    /// A cell's identity: 16 hex digits of a hash over target, stack, workload and levels. The same cell of the same
    /// experiment has the same id in every run.
    CellId
}

/// The identity of a trial: one measurement of one cell in one round.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialId {
    /// The cell.
    pub cell: CellId,
    /// The round, from 0.
    pub round: u32,
}
