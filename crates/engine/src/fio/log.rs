//! fio's per-I/O logs (`write_lat_log` and similar), read as a stream: memory doesn't grow with the log.
//!
//! [`Reader`] returns rows; [`intervals`] sums the rows of one or several logs (one per job) into time intervals with counts,
//! bytes and latency percentiles. Histograms have fio's own bins, so they merge with those of json+.

mod bins;
mod columns;
mod error;
mod intervals;
mod reader;

pub use bins::Bins;
pub(super) use bins::representative;
pub use columns::Columns;
pub use error::LogError;
pub use intervals::{DirectionStats, Interval, Summary, intervals};
pub use reader::{Direction, Reader, Row};
