//! Trials that arrive slowly wait in a file of their own, which SQLite removes. So the store is locked only while they are copied, and
//! a run that measures can write to it meanwhile.

use crate::error::StoreError;
use crate::write::Packed;
use record::id::{CellId, TrialId};
use record::version::FormatVersion;
use rusqlite::{Connection, Row};

const OPEN: &str = "ATTACH '' AS incoming;
    CREATE TABLE incoming.trial (
        seq INTEGER PRIMARY KEY, cell TEXT, round INTEGER, started_unix_ms INTEGER, failed INTEGER, cut_off INTEGER,
        major INTEGER, minor INTEGER, record BLOB, samples BLOB, raw BLOB
    )";
const INSERT: &str = "INSERT INTO incoming.trial
    (cell, round, started_unix_ms, failed, cut_off, major, minor, record, samples, raw)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const SELECT: &str =
    "SELECT cell, round, started_unix_ms, failed, cut_off, major, minor, record, samples, raw
    FROM incoming.trial ORDER BY seq";

/// Trials beside the store.
pub(crate) struct Incoming<'a> {
    connection: &'a Connection,
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        // It goes with the connection at the latest.
        let _ = self.connection.execute_batch("DETACH incoming");
    }
}

impl<'a> Incoming<'a> {
    /// Takes all trials, one in memory at a time.
    pub(crate) fn fill<E: From<StoreError>>(
        connection: &'a Connection,
        trials: impl Iterator<Item = Result<Packed, E>>,
        sql: impl Fn(rusqlite::Error) -> StoreError,
    ) -> Result<Self, E> {
        connection.execute_batch(OPEN).map_err(&sql)?;
        let incoming = Self { connection };
        {
            // It writes to the file beside the store alone, so it doesn't lock the store.
            let transaction = connection.unchecked_transaction().map_err(&sql)?;
            let mut statement = transaction.prepare(INSERT).map_err(&sql)?;
            for trial in trials {
                let Packed { id, format, started_unix_ms, failed, cut_off, record, samples, raw } = trial?;
                let started = i64::try_from(started_unix_ms).unwrap_or(i64::MAX);
                let (cell, FormatVersion { major, minor }) = (id.cell.0, format);
                let row = (cell, id.round, started, failed, cut_off, major, minor, record, samples, raw);
                statement.execute(row).map_err(&sql)?;
            }
            drop(statement);
            transaction.commit().map_err(&sql)?;
        }
        Ok(incoming)
    }

    /// Gives all trials, in their order, one in memory at a time.
    pub(crate) fn each(
        &self,
        sql: impl Fn(rusqlite::Error) -> StoreError,
        mut each: impl FnMut(Packed) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare(SELECT).map_err(&sql)?;
        let rows = statement.query_map([], trial).map_err(&sql)?;
        for row in rows {
            each(row.map_err(&sql)?)?;
        }
        Ok(())
    }
}

fn trial(row: &Row<'_>) -> rusqlite::Result<Packed> {
    let started: i64 = row.get(2)?;
    Ok(Packed {
        id: TrialId { cell: CellId(row.get(0)?), round: row.get(1)? },
        started_unix_ms: started.unsigned_abs(),
        failed: row.get(3)?,
        cut_off: row.get(4)?,
        format: FormatVersion { major: row.get(5)?, minor: row.get(6)? },
        record: row.get(7)?,
        samples: row.get(8)?,
        raw: row.get(9)?,
    })
}
