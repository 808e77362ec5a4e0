//! The kinds of I/O.

use serde::{Deserialize, Serialize};

/// The kinds of I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Read,
    Write,
    Trim,
    Sync,
}

pub(crate) const KINDS: [Kind; 4] = [Kind::Read, Kind::Write, Kind::Trim, Kind::Sync];
