//! A log of fio.

use super::rows::Row;

/// What a log holds. The order is that of preference for counting I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Histograms of completion latencies.
    Bins,
    /// Completion latencies.
    Completion,
    /// Latencies from submission on.
    Whole,
    /// Submission latencies.
    Submission,
    /// I/Os per second.
    Iops,
    /// KiB per second.
    Bandwidth,
}

impl Kind {
    /// Whether its rows are latencies of whole I/Os.
    pub(super) fn is_latency(self) -> bool {
        matches!(self, Self::Whole | Self::Completion)
    }
}

/// The end of a log's name before `.log` and the job's number; `_clat_hist` comes before what it ends with.
pub(super) const KINDS: [(&str, Kind); 6] = [
    ("_clat_hist", Kind::Bins),
    ("_clat", Kind::Completion),
    ("_slat", Kind::Submission),
    ("_lat", Kind::Whole),
    ("_iops", Kind::Iops),
    ("_bw", Kind::Bandwidth),
];

/// One log.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// Path of the file.
    pub(super) file: String,
    /// Folders of the file.
    pub(super) folders: Vec<String>,
    /// When it was last changed, UTC, milliseconds since the epoch.
    pub(super) modified_unix_ms: u64,
    /// The path before `_bw`, `_iops`...
    pub(super) prefix: String,
    /// The number of the job; empty: all jobs wrote one log.
    pub(super) job: String,
    /// What it holds.
    pub(super) kind: Kind,
    /// Whether its latencies are shown to be nanoseconds; if not, they may be microseconds of fio before 3.
    pub(super) is_of_fio_3: bool,
    /// Its rows.
    pub(super) rows: Vec<Row>,
}
