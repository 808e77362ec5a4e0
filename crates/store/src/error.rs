//! Errors of a store.

use record::id::{RunId, TrialId};
use record::printable::Shown as _;
use record::version::FormatVersion;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// An error of a store. None of them loses anything that was stored before.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory for the file could not be created.
    #[error(
        "cannot make the directory for the results file {}: set HOME to your own directory, or choose another file by --store",
        path.shown()
    )]
    Directory {
        /// Path of the results file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The file is not a store.
    #[error("{} is not a diskproof results file; choose another with DISKPROOF_STORE", path.shown())]
    NotAStore {
        /// Path of the file.
        path: PathBuf,
    },
    /// A diskproof that is too new for this one wrote the file.
    #[error(
        "{} has results format {found}, this diskproof reads {ours}: use the diskproof that wrote it, or a newer one",
        path.shown()
    )]
    TooNew {
        /// Path of the file.
        path: PathBuf,
        /// Format of the file.
        found: FormatVersion,
        /// Format that this diskproof reads.
        ours: FormatVersion,
    },
    /// The file may be read but not written, because a newer diskproof keeps data in it that this one would lose.
    #[error(
        "{} has results format {found}; this diskproof ({ours}) can read it but must not write it: use a newer one, or another file by DISKPROOF_STORE",
        path.shown()
    )]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Format of the file.
        found: FormatVersion,
        /// Format that this diskproof writes.
        ours: FormatVersion,
    },
    /// This user can't write the file or its directory.
    #[error("the results file {} is read-only for this user", path.shown())]
    ReadOnly {
        /// Path of the file.
        path: PathBuf,
    },
    /// No space is left. What was stored before is kept.
    #[error(
        "no space is left for the results file {} ({}); what was stored before is kept: free some space, then resume",
        path.shown(), free_text(*free_bytes)
    )]
    Full {
        /// Path of the file.
        path: PathBuf,
        /// Bytes that an ordinary user can still write there.
        free_bytes: Option<u64>,
    },
    /// Another process locked the file for too long.
    #[error("the results file {} is being used by another process", path.shown())]
    Busy {
        /// Path of the file.
        path: PathBuf,
    },
    /// The trial is already stored.
    #[error("run {run} already has a trial of cell {} in round {}", trial.cell, trial.round)]
    DuplicateTrial {
        /// The run.
        run: RunId,
        /// The trial.
        trial: TrialId,
    },
    /// The run is already stored.
    #[error("there is already a run {run}")]
    RunExists {
        /// The run.
        run: RunId,
    },
    /// There is no such run.
    #[error("there is no run `{}` in {}", wanted.shown(), path.shown())]
    NoSuchRun {
        /// The name that was searched for.
        wanted: String,
        /// Path of the file.
        path: PathBuf,
    },
    /// The store has no runs.
    #[error("there are no runs in {} yet", path.shown())]
    NoRuns {
        /// Path of the file.
        path: PathBuf,
    },
    /// Several runs begin with this name.
    #[error("`{}` could be any of {}: give more of it", wanted.shown(), listed(candidates))]
    Ambiguous {
        /// The name that was searched for.
        wanted: String,
        /// The first few runs that match.
        candidates: Vec<RunId>,
    },
    /// No run of this experiment measured anything.
    #[error(
        "no run of `{}` has measured anything{}; there are runs of: {}",
        experiment.shown(), before.as_ref().map(|run| format!(" before run {run}")).unwrap_or_default(), names(known)
    )]
    NoRunOf {
        /// The experiment's name.
        experiment: String,
        /// The run that must come later.
        before: Option<RunId>,
        /// The experiments of the latest runs.
        known: Vec<String>,
    },
    /// No run of the experiment has this tag.
    #[error("no run of {} has the tag `{}`; its tags are: {} (`diskproof tag RUN NAME` gives one)", experiment.shown(), tag.shown(), names(known))]
    NoSuchTag {
        /// The experiment's name.
        experiment: String,
        /// The tag that was searched for.
        tag: String,
        /// The experiment's latest tags.
        known: Vec<String>,
    },
    /// The run doesn't have this tag.
    #[error("run {run} doesn't have the tag `{}`", tag.shown())]
    NotTagged {
        /// The tag.
        tag: String,
        /// The run.
        run: RunId,
    },
    /// Another run of the experiment has this tag.
    #[error("run {run} has the tag `{tag}` already: --move takes it from there")]
    TagTaken {
        /// The tag.
        tag: String,
        /// The run that has it.
        run: RunId,
    },
    /// The name can't be a tag.
    #[error(
        "`{}` can't be a tag: expected letters, digits and . _ -, beginning with a letter or digit, at most {longest} characters, and not `last` or `latest`",
        tag.shown()
    )]
    NotATag {
        /// The name.
        tag: String,
        /// The most characters.
        longest: usize,
    },
    /// A diskproof that is too new for this one wrote a plan or trial.
    #[error("{what} has format {found}, this diskproof reads {ours}: use a newer diskproof")]
    RecordTooNew {
        /// The plan or trial.
        what: String,
        /// Its format.
        found: FormatVersion,
        /// Format that this diskproof reads.
        ours: FormatVersion,
    },
    /// Stored data can't be read.
    #[error("{what} in {} is damaged", path.shown())]
    Damaged {
        /// The data.
        what: String,
        /// Path of the file.
        path: PathBuf,
        /// The error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The data can't be stored so that it can be read back, e.g. because of a NaN.
    #[error("{what} can't be stored: it would not read back")]
    Unstorable {
        /// The data.
        what: String,
        /// The error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Any other error of SQLite.
    #[error("cannot {doing} in {}", path.shown())]
    Sql {
        /// What was being done.
        doing: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The error.
        source: rusqlite::Error,
    },
}

/// Number of bytes that are written to test whether writing is possible.
const PROBE_BYTES: usize = 64 << 10;

impl StoreError {
    pub(crate) fn sql(path: &Path, doing: &'static str, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, NotADatabase, ReadOnly, SystemIoFailure,
        };
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(DiskFull) => Self::full(path),
            // Some file systems report a full disk only when a file is created or synchronised, and an exceeded quota isn't
            // reported as a full disk. SQLite has other error codes for these.
            Some(CannotOpen | SystemIoFailure) if is_full(&path) => Self::full(path),
            Some(DatabaseBusy | DatabaseLocked) => Self::Busy { path },
            Some(NotADatabase) => Self::NotAStore { path },
            Some(ReadOnly) => Self::ReadOnly { path },
            _ => Self::Sql { doing, path, source },
        }
    }

    fn full(path: PathBuf) -> Self {
        let free_bytes = free_bytes(&path);
        Self::Full { path, free_bytes }
    }
}

/// Tests whether the disk is full, by writing next to the file.
fn is_full(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push("-probe");
    let probe = PathBuf::from(name);
    let written = File::create_new(&probe).and_then(|mut file| {
        file.write_all(&[0x5a; PROBE_BYTES])?;
        file.sync_all()
    });
    // It does no harm if the file can't be removed, and there is already an error to report.
    let _ = fs::remove_file(&probe);
    written.is_err_and(|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

/// Returns the free space where the file is, or would be.
fn free_bytes(path: &Path) -> Option<u64> {
    let found =
        rustix::fs::statvfs(path).or_else(|error| path.parent().map_or(Err(error), rustix::fs::statvfs));
    let found = found.ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

fn free_text(free_bytes: Option<u64>) -> String {
    free_bytes.map_or_else(|| "free space unknown".to_owned(), |free| format!("{free} bytes free"))
}

/// Names in a sentence; `none` if there are none.
fn names(known: &[String]) -> String {
    let shown: Vec<String> = known.iter().map(|name| name.shown().to_string()).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

fn listed(candidates: &[RunId]) -> String {
    candidates.iter().map(|run| run.0.shown().to_string()).collect::<Vec<_>>().join(", ")
}
