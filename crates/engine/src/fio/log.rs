//! fio's per-I/O logs (`write_lat_log` and its like), read as a stream: memory doesn't grow with the log.
//!
//! [`Reader`] gives rows; [`intervals`] folds the rows of one or several logs (one per job) into spans of time with counts,
//! bytes and latency percentiles. Histograms have the same bins as fio's own, so they merge with those of json+.

mod bins;
mod columns;
mod intervals;
mod reader;

pub use bins::Bins;
pub(in crate::fio) use bins::representative;
pub use columns::Columns;
pub use intervals::{DirectionStats, Interval, Summary, intervals};
pub use reader::{Direction, Reader, Row};

use record::printable::Shown as _;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A log could not be read.
#[derive(Debug, Error)]
pub enum LogError {
    /// The file itself.
    #[error("cannot read {}", .path.shown())]
    Io {
        /// Which log.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line isn't what fio writes.
    #[error("{}, line {line}: {found:?} is no row of fio's log: {expected}", .path.shown())]
    Malformed {
        /// Which log.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// The line, cut to a readable length.
        found: String,
        /// What was expected instead.
        expected: &'static str,
    },
}
