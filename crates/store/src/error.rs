//! What can go wrong with a store.

use record::id::{RunId, TrialId};
use record::printable::Shown as _;
use record::version::FormatVersion;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A store could not do what was asked. Nothing that was stored before is lost by any of these.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory for the file could not be made.
    #[error("cannot make the directory for the results file {}", path.shown())]
    Directory {
        /// The results file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{} is not a diskproof results file; choose another with DISKPROOF_STORE", path.shown())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a diskproof too new for us.
    #[error(
        "{} has results format {found}, this diskproof reads {ours}: use the diskproof that wrote it, or a newer one",
        path.shown()
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: FormatVersion,
        /// Ours.
        ours: FormatVersion,
    },
    /// The file may be read but not written, because a newer diskproof keeps things in it that we would lose.
    #[error(
        "{} has results format {found}; this diskproof ({ours}) can read it but must not write it: use a newer one, or another file by DISKPROOF_STORE",
        path.shown()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: FormatVersion,
        /// Ours.
        ours: FormatVersion,
    },
    /// The file or its directory can't be written by us.
    #[error("the results file {} is read-only for this user", path.shown())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// No space is left. What was stored before is kept.
    #[error(
        "no space is left for the results file {} ({}); what was stored before is kept: free some space, then resume",
        path.shown(), free_text(*free_bytes)
    )]
    Full {
        /// The file.
        path: PathBuf,
        /// Bytes an ordinary user could still write there.
        free_bytes: Option<u64>,
    },
    /// Another process held the file for too long.
    #[error("the results file {} is being used by another process", path.shown())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The trial is there already.
    #[error("run {run} already has a trial of cell {} in round {}", trial.cell, trial.round)]
    DuplicateTrial {
        /// The run.
        run: RunId,
        /// The trial.
        trial: TrialId,
    },
    /// The run is there already.
    #[error("there is already a run {run}")]
    RunExists {
        /// The run.
        run: RunId,
    },
    /// There is no such run.
    #[error("there is no run `{}` in {}", wanted.shown(), path.shown())]
    NoSuchRun {
        /// What was looked for.
        wanted: String,
        /// The file.
        path: PathBuf,
    },
    /// There are no runs at all.
    #[error("there are no runs in {} yet", path.shown())]
    NoRuns {
        /// The file.
        path: PathBuf,
    },
    /// Several runs begin like this.
    #[error("`{}` could be any of {}: give more of it", wanted.shown(), listed(candidates))]
    Ambiguous {
        /// What was looked for.
        wanted: String,
        /// What it could be; the first few.
        candidates: Vec<RunId>,
    },
    /// A plan or trial was written by a diskproof too new for us.
    #[error("{what} has format {found}, this diskproof reads {ours}: use a newer diskproof")]
    RecordTooNew {
        /// Which plan or trial.
        what: String,
        /// Its format.
        found: FormatVersion,
        /// Ours.
        ours: FormatVersion,
    },
    /// Something stored can't be read back.
    #[error("{what} in {} is damaged", path.shown())]
    Damaged {
        /// What it is.
        what: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something can't be written in a way that could be read back, e.g. a number that is not a number.
    #[error("{what} can't be stored: it would not read back")]
    Unstorable {
        /// What it is.
        what: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Anything else SQLite says.
    #[error("cannot {doing} in {}", path.shown())]
    Sql {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}

/// What is written to see whether anything can still be written.
const PROBE_BYTES: usize = 64 << 10;

impl StoreError {
    pub(crate) fn sql(path: &Path, doing: &'static str, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, NotADatabase, ReadOnly, SystemIoFailure,
        };
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(DiskFull) => Self::full(path),
            // Some file systems run full only when a file is made or synchronised, and a quota isn't called a full disk:
            // SQLite has other names for these.
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

/// Tries it out beside the file.
fn is_full(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push("-probe");
    let probe = PathBuf::from(name);
    let written = File::create_new(&probe).and_then(|mut file| {
        file.write_all(&[0x5a; PROBE_BYTES])?;
        file.sync_all()
    });
    // Nothing is lost if it can't be removed, and there is an error to tell already.
    let _ = fs::remove_file(&probe);
    written.is_err_and(|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

/// Free space where the file is, or would be.
fn free_bytes(path: &Path) -> Option<u64> {
    let found =
        rustix::fs::statvfs(path).or_else(|error| path.parent().map_or(Err(error), rustix::fs::statvfs));
    let found = found.ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

fn free_text(free_bytes: Option<u64>) -> String {
    free_bytes.map_or_else(|| "free space unknown".to_owned(), |free| format!("{free} bytes free"))
}

fn listed(candidates: &[RunId]) -> String {
    candidates.iter().map(|run| run.0.shown().to_string()).collect::<Vec<_>>().join(", ")
}
