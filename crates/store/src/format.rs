//! Versions of the file format, and the upgrade of older files.

use crate::error::StoreError;
use record::version::FormatVersion;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use std::path::Path;

/// The format of the results file that this build writes.
///
/// * 1.0: first.
/// * 1.1: budgets of a run may be raised (`run_raised`).
/// * 1.2: runs may have tags (`run_tag`).
/// * 1.3: trials that were cut off beside those that were made in their place (`trial.cut_off`).
/// * 1.4: runs may come from elsewhere (`run_origin`).
pub const STORE_FORMAT: FormatVersion = FormatVersion { major: 1, minor: 4 };

/// Marks diskproof's files in SQLite's header, so that `file` and diskproof recognize them: "dprf".
const APPLICATION_ID: i32 = 0x6470_7266;

/// The SQL that upgrades a file from one version to the next, in order; the version of the last one is [`STORE_FORMAT`].
const MIGRATIONS: [(FormatVersion, &str); 5] = [
    (FormatVersion { major: 1, minor: 0 }, include_str!("../schema/001_first.sql")),
    (FormatVersion { major: 1, minor: 1 }, include_str!("../schema/002_raised.sql")),
    (FormatVersion { major: 1, minor: 2 }, include_str!("../schema/003_tags.sql")),
    (FormatVersion { major: 1, minor: 3 }, include_str!("../schema/004_cut_off.sql")),
    (FormatVersion { major: 1, minor: 4 }, include_str!("../schema/005_origin.sql")),
];

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A store in the current version, perhaps after an upgrade.
    Ours,
    /// A store of the same major version and a newer minor version: only for reading.
    Newer(FormatVersion),
}

/// Checks the file, and upgrades it to the current version if that is permitted.
pub(crate) fn prepare(
    connection: &mut Connection,
    path: &Path,
    read_only: bool,
) -> Result<FileKind, StoreError> {
    let sql = |source| StoreError::sql(path, "read the format", source);
    // Most opens find a file of the current version and need no write lock. The check must see one instant: with the mark from
    // before and the tables from after another process created the file, it would look like a foreign database.
    let look = connection.transaction().map_err(sql)?;
    let found = current(&look, path)?;
    drop(look);
    if let Some(found) = found {
        return Ok(found);
    }
    if read_only {
        let found = version(connection).map_err(sql)?;
        return if found.is_some() {
            Ok(FileKind::Ours)
        } else {
            Err(StoreError::NotAStore { path: path.to_owned() })
        };
    }
    let doing = |source| StoreError::sql(path, "bring the format up to date", source);
    // A table that others refer to is made anew, and the references hold again at the end. Inside a transaction this has no effect.
    connection.pragma_update(None, "foreign_keys", false).map_err(doing)?;
    let kind = upgrade(connection, path)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(doing)?;
    Ok(kind)
}

/// Brings the file to the current version in one transaction.
fn upgrade(connection: &mut Connection, path: &Path) -> Result<FileKind, StoreError> {
    let doing = |source| StoreError::sql(path, "bring the format up to date", source);
    // Another process may have done it while this one waited for the lock, so it checks again inside the transaction.
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate).map_err(doing)?;
    if let Some(found) = current(&transaction, path)? {
        return Ok(found);
    }
    let from = version(&transaction).map_err(doing)?;
    for (to, script) in MIGRATIONS.iter().filter(|(to, _)| from.is_none_or(|from| *to > from)) {
        transaction.execute_batch(script).map_err(doing)?;
        transaction
            .execute("INSERT OR REPLACE INTO format VALUES (1, ?1, ?2)", (to.major, to.minor))
            .map_err(doing)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(doing)?;
    transaction.commit().map_err(doing)?;
    Ok(FileKind::Ours)
}

/// Returns the kind of the file. `None` when it needs work: the file is empty, or of an older minor version.
fn current(connection: &Connection, path: &Path) -> Result<Option<FileKind>, StoreError> {
    let sql = |source| StoreError::sql(path, "read the format", source);
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(sql)?;
    if id != APPLICATION_ID {
        let objects: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sql)?;
        // A foreign database stays unchanged.
        return if objects == 0 && id == 0 {
            Ok(None)
        } else {
            Err(StoreError::NotAStore { path: path.to_owned() })
        };
    }
    let ours = STORE_FORMAT;
    match version(connection).map_err(sql)? {
        Some(found) if !ours.reads(found) => Err(StoreError::TooNew { path: path.to_owned(), found, ours }),
        Some(found) if found > ours => Ok(Some(FileKind::Newer(found))),
        Some(found) if found == ours => Ok(Some(FileKind::Ours)),
        Some(_) => Ok(None),
        None => Err(StoreError::NotAStore { path: path.to_owned() }),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<Option<FormatVersion>> {
    let has_table: bool = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'format')",
        [],
        |row| row.get(0),
    )?;
    if !has_table {
        return Ok(None);
    }
    let row = |row: &rusqlite::Row<'_>| Ok(FormatVersion { major: row.get(0)?, minor: row.get(1)? });
    connection.query_row("SELECT major, minor FROM format", [], row).optional()
}
