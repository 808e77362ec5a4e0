//! Whose fault a failure is: it decides the exit code.

use record::printable::indented;
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

/// Joins an error and all its sources, outermost first. Some quote text of other programs, so control characters are escaped and
/// further lines are indented.
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
