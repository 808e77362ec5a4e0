//! Whose fault a failure is: it decides the exit code.

use serde::{Deserialize, Serialize};

/// Whose fault a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The input is wrong.
    User,
    /// The machine's fault: the guard refuses, privileges or a tool are missing, or there is no space.
    Machine,
    /// diskproof's own fault, or an undo that failed.
    Ours,
}
