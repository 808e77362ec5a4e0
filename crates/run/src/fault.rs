//! Whose fault a failure is: it decides the exit code.

use record::printable::indented;
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

/// An error and all its sources, outermost first, behind each other. Some quote what strangers said: nothing of that can be obeyed by a
/// terminal, and its further lines are indented.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = indented(&error.to_string()).into_owned();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&indented(&cause.to_string()));
        source = cause.source();
    }
    text
}
