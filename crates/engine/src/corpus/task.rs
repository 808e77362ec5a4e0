//! The worker's input and output.

use crate::errno;
use record::copy::{CopiedBy, Copier, CopyOrder, CopySync, Preserve};
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// A copy to make.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) source: Source,
    /// An existing directory for the copies.
    pub(crate) target: PathBuf,
    pub(crate) copier: Copier,
    pub(crate) writers: Vec<WriterTask>,
    /// The directory for the output of copy programs.
    pub(crate) scratch: PathBuf,
    pub(crate) preserve: Preserve,
    pub(crate) sync: CopySync,
    pub(crate) seed: u64,
}

/// The source of the copy.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// A generated corpus; `tree` is the same as files, for copy programs.
    Pack { path: PathBuf, tree: Option<PathBuf> },
    /// A directory of the machine.
    Directory(PathBuf),
}

/// A word of a command. In JSON a path is text, so one that isn't UTF-8 is refused.
pub(crate) type Word = PathBuf;

/// One writer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WriterTask {
    /// The name of its copy below the target.
    pub(crate) into: String,
    pub(crate) order: CopyOrder,
    /// Its part of the copy, and the number of parts.
    pub(crate) part: (u32, u32),
    /// The commands that copy, each with its output piped into the next; empty for native.
    pub(crate) argv: Vec<Vec<Word>>,
    /// The file for the list of names, each ended by a zero byte; `None` where the command finds the files itself.
    pub(crate) list: Option<PathBuf>,
    /// Whether the first command reads the list from its standard input.
    pub(crate) list_as_input: bool,
}

/// The result of a copy.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) source: String,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) sync_seconds: f64,
    pub(crate) writers: Vec<CopiedBy>,
    /// The directories of all copies.
    pub(crate) directories: u64,
    pub(crate) links: u64,
    /// The used space before and after, in bytes; `None` where the file system doesn't report it.
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

/// A file that could not be copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// The error's name, e.g. `ENOSPC`.
    pub(crate) errno: String,
    /// The operation and its place, e.g. `write diskproof-data.0/a/b at offset 4096`.
    pub(crate) place: String,
}

impl Failure {
    /// The failure of an operation on a path.
    pub(crate) fn of_io(action: &str, path: &Path, error: &io::Error) -> Self {
        let errno =
            error.raw_os_error().map_or_else(|| error.to_string(), |number| errno::name(number.into()));
        Self { errno, place: format!("{action} {}", path.shown()) }
    }
}
