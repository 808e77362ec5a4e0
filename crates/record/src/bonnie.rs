//! Bonnie++: its options and its results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The options of a Bonnie++ run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BonnieAsk {
    /// `-s`: size of the data of the large-file tests, in bytes; 0 leaves these tests out.
    pub size_bytes: u64,
    /// `-s` after the colon: size of a block, in bytes.
    pub chunk_bytes: u64,
    /// `-r`: memory size in bytes that the data size is compared with; `None`: that of the machine, and `-r 0` turns
    /// the check of Bonnie++ itself off.
    pub ram_bytes: Option<u64>,
    /// `-n`: number of files of the many-files tests, a multiple of 1024; 0 leaves these tests out.
    pub files: u64,
    /// `-n`: size of the largest of these files, in bytes.
    pub max_bytes: u64,
    /// `-n`: size of the smallest of these files, in bytes.
    pub min_bytes: u64,
    /// `-n`: number of directories that hold these files.
    pub directories: u32,
    /// Whether the per-character tests run too: `-f` is not given.
    pub per_character: bool,
    /// `-b`: fsync after every write.
    pub no_buffering: bool,
    /// `-D`: direct I/O, for block output only.
    pub direct: bool,
    /// `-c`: number of concurrent processes.
    pub concurrency: u32,
}

impl BonnieAsk {
    /// Returns the most bytes that its files take.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        let files = self.files.saturating_mul(self.max_bytes);
        self.size_bytes.max(files).saturating_mul(self.concurrency.max(1).into())
    }
}

/// The results of a Bonnie++ run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Bonnie {
    /// Version of Bonnie++.
    pub version: String,
    /// Figures by the metric names of docs/metrics.md, including those of tests that ended too quickly to be measured.
    pub figures: BTreeMap<String, Figure>,
    /// Memory of the machine at the time of the trial, in bytes.
    pub memory_bytes: Option<u64>,
}

/// A figure, or the reason why it is missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// A value in the metric's unit.
    Value(f64),
    /// The test ended too quickly to be measured: Bonnie++ prints `+++++`.
    TooFast,
}
