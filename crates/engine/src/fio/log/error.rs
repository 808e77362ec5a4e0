//! Why a log could not be read.

use record::printable::Shown as _;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a log could not be read.
#[derive(Debug, Error)]
pub enum LogError {
    /// The file can't be read.
    #[error("cannot read {}", .path.shown())]
    Io {
        /// The log.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A line isn't in fio's format.
    #[error("{}, line {line}: {found:?} is not a row of fio's log: {expected}", .path.shown())]
    Malformed {
        /// The log.
        path: PathBuf,
        /// The line number, from 1.
        line: u64,
        /// The line, truncated.
        found: String,
        /// The expected text.
        expected: &'static str,
    },
}
