//! Bonnie++: what it is asked, and what it told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What Bonnie++ is asked, by its own options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BonnieAsk {
    /// `-s`: bytes of data of the tests of one large file; 0 leaves them out.
    pub size_bytes: u64,
    /// `-s` after the colon: bytes of a block.
    pub chunk_bytes: u64,
    /// `-r`: the memory that Bonnie++ is to take the machine's for, the user's own word; `None`: the machine's.
    pub ram_bytes: Option<u64>,
    /// `-n`: files of the tests of many files, a multiple of 1024; 0 leaves them out.
    pub files: u64,
    /// `-n`: the largest of them.
    pub max_bytes: u64,
    /// `-n`: the smallest of them.
    pub min_bytes: u64,
    /// `-n`: directories they are in.
    pub directories: u32,
    /// Whether single characters are written and read too: not `-f`.
    pub per_character: bool,
    /// `-b`: every write is flushed.
    pub no_buffering: bool,
    /// `-D`: direct I/O, of block output only.
    pub direct: bool,
    /// `-c`: processes at once.
    pub concurrency: u32,
}

impl BonnieAsk {
    /// Bytes that its files take at most.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        let files = self.files.saturating_mul(self.max_bytes);
        self.size_bytes.max(files).saturating_mul(self.concurrency.max(1).into())
    }
}

/// What Bonnie++ told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Bonnie {
    /// Its version.
    pub version: String,
    /// By the names of docs/metrics.md: all that it measured, or was too fast for it.
    pub figures: BTreeMap<String, Figure>,
    /// The machine's memory, as the trial found it.
    pub memory_bytes: Option<u64>,
}

/// A figure, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// A value in the metric's unit.
    Value(f64),
    /// The test ended too quickly to be measured: Bonnie++ prints `+++++`.
    TooFast,
}
