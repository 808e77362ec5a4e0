//! Why a file can't be imported.

use record::bonnie_csv::CsvError;
use thiserror::Error;

/// What is recognized without being a result.
pub(crate) const JOB_FILE: &str = "a fio job file";

/// Why a file can't be imported. The caller names the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// No format fits.
    #[error(
        "it is not a result that diskproof can read; it reads JSON of fio (--output-format=json or json+), logs of fio, CSV of Bonnie++ and of elbencho (--csvfile)"
    )]
    Unknown,
    /// The file is of a tool or in a form that diskproof recognizes and doesn't read.
    #[error("it is {what}, which diskproof doesn't read: {way_out}")]
    Refused {
        /// The tool, or the form.
        what: &'static str,
        /// What the user can do.
        way_out: &'static str,
    },
    /// A JSON document of fio has no end.
    #[error(
        "its last JSON document has no end: fio was killed, or its disk was full; the documents before it are no final results"
    )]
    CutOff,
    /// A file looks like fio's output but has no document that can be read.
    #[error("there is no JSON document of fio in it that can be read")]
    NoDocument,
    /// No job did any I/O.
    #[error("none of its jobs did any I/O")]
    NothingDone,
    /// A line of Bonnie++ can't be read.
    #[error("line {line}: {why}")]
    Bonnie {
        /// The line, from 1.
        line: usize,
        /// Why.
        why: CsvError,
    },
    /// A column is missing.
    #[error("the column {column:?} is missing")]
    NoColumn {
        /// Its name.
        column: &'static str,
    },
    /// A field is no number.
    #[error("line {line}: {column:?} is {found:?}, which is not a number")]
    NoNumber {
        /// The line, from 1.
        line: usize,
        /// Name of the column.
        column: String,
        /// What stands there.
        found: String,
    },
    /// A line of one of fio's logs can't be read.
    #[error("line {line}: {found:?} is not a row of a log of fio")]
    LogRow {
        /// The line, from 1.
        line: usize,
        /// The line, cut.
        found: String,
    },
    /// A log of fio has no rows.
    #[error("the log is empty")]
    EmptyLog,
    /// Logs without the one that counts I/Os.
    #[error(
        "the logs of its job don't contain both I/Os and bytes: averaged logs need both _bw and _iops, one of each for each job (per_job_logs=1); or import fio's JSON"
    )]
    NoCount,
}

impl ReadError {
    /// Whether the file is no result of anything: then it is no loss if it was only found in a folder.
    #[must_use]
    pub fn is_no_result(&self) -> bool {
        matches!(self, Self::Unknown | Self::Refused { what: JOB_FILE, .. })
    }
}
