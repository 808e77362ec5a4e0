//! What the worker is told, and what it tells.

use record::copy::{CopiedBy, Copier, CopyOrder, CopySync, Preserve};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A copy to be made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) source: Source,
    /// An existing directory; the copies go below it.
    pub(crate) target: PathBuf,
    pub(crate) copier: Copier,
    pub(crate) writers: Vec<WriterTask>,
    /// Of copiers that are programs: where what they say is kept.
    pub(crate) scratch: PathBuf,
    pub(crate) preserve: Preserve,
    pub(crate) sync: CopySync,
    pub(crate) seed: u64,
}

/// What is copied.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// A generated corpus; and the same as a tree of files, where programs copy it.
    Pack { path: PathBuf, tree: Option<PathBuf> },
    /// A directory of the machine.
    Directory(PathBuf),
}

/// A word of a command. In JSON a path is a plain text, and what is no text is refused.
pub(crate) type Word = PathBuf;

/// One writer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WriterTask {
    /// Name of its copy below the target.
    pub(crate) into: String,
    pub(crate) order: CopyOrder,
    /// Its part of the copy and the number of parts.
    pub(crate) part: (u32, u32),
    /// The commands that copy, each one's output the next one's input; empty for native.
    pub(crate) argv: Vec<Vec<Word>>,
    /// Where the names to copy are written, each ended by a zero byte; `None` where the command finds them itself.
    pub(crate) list: Option<PathBuf>,
    /// Whether the first command reads them from its standard input.
    pub(crate) list_as_input: bool,
}

/// What became of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) source: String,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) sync_seconds: f64,
    pub(crate) writers: Vec<CopiedBy>,
    /// Of all copies.
    pub(crate) directories: u64,
    pub(crate) links: u64,
    /// Space in use before and after; `None` where the file system doesn't tell.
    pub(crate) used_before: Option<u64>,
    pub(crate) used_after: Option<u64>,
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    pub(crate) busiest_thread_seconds: Option<f64>,
    pub(crate) peak_memory_bytes: u64,
    pub(crate) startup_ns: u64,
    pub(crate) failures: Vec<Failure>,
    pub(crate) messages: Vec<String>,
}

/// Something that could not be copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// E.g. `ENOSPC`.
    pub(crate) errno: String,
    /// What and where, e.g. `write diskproof-data.0/a/b at offset 4096`.
    pub(crate) place: String,
}
