//! fio's per-I/O logs (`write_lat_log` and similar), read as a stream: memory doesn't grow with the log.
//!
//! [`Reader`] returns rows; [`intervals`] sums the rows of one or several logs (one per job) into time intervals with counts,
//! bytes and latency percentiles. Histograms have fio's own bins, so they merge with those of json+.

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
    #[error("{}, line {line}: {found:?} is no row of fio's log: {expected}", .path.shown())]
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
