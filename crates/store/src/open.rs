//! Opening a results file.

use crate::error::StoreError;
use crate::format::{self, FileKind, STORE_FORMAT};
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// An open results file.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Full,
    /// The file system or the permissions forbid writing.
    ReadOnly,
    /// A newer minor version wrote it, so it is only for reading.
    Newer(record::version::FormatVersion),
}

impl Store {
    /// Opens the file, or creates it with its directory if it doesn't exist. A file that can't be written is opened for reading,
    /// and so is a file from a newer diskproof of the same major version.
    ///
    /// # Errors
    /// If the file is not a store, is too new, or can't be opened.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent)
                .map_err(|source| StoreError::Directory { path: path.to_owned(), source })?;
        }
        // SQLite would block until the FIFO has a writer
        if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            return Err(StoreError::NotAStore { path: path.to_owned() });
        }
        let sql = |source| StoreError::sql(path, "open the results", source);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(sql)?;
        configure(&connection).map_err(sql)?;
        let read_only = connection.is_readonly("main").map_err(sql)?;
        let access = match format::prepare(&mut connection, path, read_only)? {
            FileKind::Newer(found) => Access::Newer(found),
            FileKind::Ours if read_only => Access::ReadOnly,
            FileKind::Ours => Access::Full,
        };
        Ok(Self { connection, path: path.to_owned(), access })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses to write to a file that must not be written.
    pub(crate) fn writable(&self) -> Result<(), StoreError> {
        let path = self.path.clone();
        match self.access {
            Access::Full => Ok(()),
            Access::ReadOnly => Err(StoreError::ReadOnly { path }),
            Access::Newer(found) => Err(StoreError::Newer { path, found, ours: STORE_FORMAT }),
        }
    }

    pub(crate) fn sql(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
        move |source| StoreError::sql(&self.path, doing, source)
    }
}

/// Uses a rollback journal, not a write-ahead log: one writer with seconds between writes gains nothing from a log, and the
/// results stay one file that can be copied as a whole. `synchronous = EXTRA` also synchronises the directory after the removal
/// of the journal, which is the instant of commit. FULL could lose an acknowledged trial in a power cut.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "synchronous", "EXTRA")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "recursive_triggers", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Intermediate results must not need space on a full disk.
    connection.pragma_update(None, "temp_store", "MEMORY")
}
