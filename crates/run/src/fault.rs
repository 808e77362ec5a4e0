//! Whose fault a failure is: it decides the exit code.

use serde::{Deserialize, Serialize};

/// Whose fault a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The input is wrong.
    User,
    /// The machine refuses: guard, privileges, a missing tool, no space.
    Machine,
    /// Our own fault, or an undo that failed.
    Ours,
}
