//! How large I/Os are.

use serde::{Deserialize, Serialize};

/// The sizes of a job's I/Os.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sizes {
    /// All alike.
    One(u32),
}

impl Sizes {
    /// Blocks are counted in this size, and random offsets are multiples of it.
    pub(crate) fn smallest(&self) -> u64 {
        match self {
            Self::One(bytes) => (*bytes).into(),
        }
    }

    /// What a buffer must hold.
    pub(crate) fn largest(&self) -> u64 {
        match self {
            Self::One(bytes) => (*bytes).into(),
        }
    }
}
