//! A store with very many trials, written directly to the file, since the library's durable writes are slow.

use record::trial::TrialRecord;
use rusqlite::Connection;
use std::path::Path;

/// Adds `rounds` trials for each of the run's `cells` cells, all with the body of this one. Triggers count them.
pub(crate) fn fill(path: &Path, cells: u32, rounds: u32, body_of: &TrialRecord) -> rusqlite::Result<()> {
    let packed = |json: Vec<u8>| zstd::encode_all(json.as_slice(), 3).unwrap();
    let mut slim = body_of.clone();
    let samples = packed(serde_json::to_vec(&std::mem::take(&mut slim.evidence.samples)).unwrap());
    let raw = slim.engine.as_mut().map(|engine| packed(std::mem::take(&mut engine.raw).into_bytes()));
    let record = packed(serde_json::to_vec(&slim).unwrap());
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA temp_store = MEMORY; BEGIN",
    )?;
    connection.execute(
        "WITH RECURSIVE round (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM round WHERE n + 1 < ?2),
                        cell (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM cell WHERE n + 1 < ?1)
         INSERT INTO trial (run, cell, round, started_unix_ms, failed)
         SELECT (SELECT max(seq) FROM run), printf('%016x', cell.n), round.n, 1795000000000 + round.n, 0
         FROM round, cell",
        (cells, rounds),
    )?;
    connection.execute(
        "INSERT INTO trial_body (trial, major, minor, record, samples, raw)
         SELECT seq, 1, 0, ?1, ?2, ?3 FROM trial WHERE run = (SELECT max(seq) FROM run)",
        (record, samples, raw),
    )?;
    connection.execute_batch("COMMIT")
}
