//! Writes to the store. Each function is one transaction, durable when it returns.

use crate::error::StoreError;
use crate::open::Store;
use crate::pack;
use record::environment::Environment;
use record::event::Stopped;
use record::id::{RunId, TrialId};
use record::plan::{Plan, Raised};
use record::trial::{Outcome, TrialRecord};
use record::version::FormatVersion;
use record::volume::VolumeFacts;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::mpsc::channel;
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of packed trials that are handed over at once: to wake a thread for each takes longer than to store one.
const HANDED_OVER: usize = 32;
/// SQLITE_CONSTRAINT_UNIQUE.
const NOT_UNIQUE: i32 = 2067;

impl Store {
    /// Begins a run: stores its plan and its machine.
    ///
    /// # Errors
    /// If the run already exists, or the file can't be written.
    pub fn create_run(&self, run: &RunId, plan: &Plan, environment: &Environment) -> Result<(), StoreError> {
        self.writable()?;
        let planned = u64::from(plan.measure.rounds).saturating_mul(plan.cells.len() as u64);
        let sql = self.sql("begin a run");
        let transaction = self.transaction().map_err(&sql)?;
        insert_run(&transaction, run, plan, environment, (planned, now_unix_ms()), &sql)?;
        transaction.commit().map_err(sql)
    }

    /// Stores a run that others measured, with all its trials: all of it or nothing.
    ///
    /// # Errors
    /// If the run already exists, two trials are of one cell and round, or the file can't be written.
    pub fn import_run(
        &self,
        run: &RunId,
        plan: &Plan,
        environment: &Environment,
        trials: Vec<TrialRecord>,
        stopped: &Stopped,
    ) -> Result<(), StoreError> {
        self.writable()?;
        let sql = self.sql("import a run");
        // A cache that overflows writes and synchronises before the commit does it again.
        self.connection.pragma_update(None, "cache_spill", false).map_err(&sql)?;
        let transaction = self.transaction().map_err(&sql)?;
        let counted = (trials.len() as u64, now_unix_ms());
        let seq = insert_run(&transaction, run, plan, environment, counted, &sql)?;
        packed(run, trials, |trial| insert_trial(&transaction, seq, run, trial?, &sql))?;
        insert_fact(&transaction, seq, run, "stopped", stopped, &sql)?;
        transaction.commit().map_err(sql)
    }

    /// Stores one finished trial. After the return, the trial survives a kill and a power cut.
    ///
    /// # Errors
    /// If the run already has a trial of this cell and round that was not cut off, there is no such run, or the disk is full.
    pub fn append_trial(&self, run: &RunId, trial: &TrialRecord) -> Result<(), StoreError> {
        self.writable()?;
        let trial = Packed::of(run, trial.clone())?;
        let sql = self.sql("store a trial");
        let transaction = self.transaction().map_err(&sql)?;
        let seq = self.seq(&transaction, run)?;
        insert_trial(&transaction, seq, run, trial, &sql)?;
        transaction.commit().map_err(sql)
    }

    /// Stores why a run ended. It may be called again after a resume; the latest value counts.
    ///
    /// # Errors
    /// If there is no such run, or the file can't be written.
    pub fn finish_run(&self, run: &RunId, stopped: &Stopped) -> Result<(), StoreError> {
        self.add_fact(run, "stopped", stopped)
    }

    /// Stores the volumes of a run as found. The latest value counts.
    ///
    /// # Errors
    /// If there is no such run, or the file can't be written.
    pub fn set_volumes(&self, run: &RunId, volumes: &[VolumeFacts]) -> Result<(), StoreError> {
        self.add_fact(run, "volumes", &volumes.to_vec())
    }

    /// Stores the machine again, e.g. as the agent process or a resume found it. The latest value counts.
    ///
    /// # Errors
    /// If there is no such run, or the file can't be written.
    pub fn set_environment(&self, run: &RunId, environment: &Environment) -> Result<(), StoreError> {
        self.add_fact(run, "environment", environment)
    }

    /// Raises budgets of a run. `raised` must have all raised budgets, since the latest value counts.
    ///
    /// # Errors
    /// If there is no such run, or the file can't be written.
    pub fn raise_budgets(&self, run: &RunId, raised: &Raised) -> Result<(), StoreError> {
        self.writable()?;
        let body = pack::json(raised)
            .map_err(|source| StoreError::Unstorable { what: format!("budgets of run {run}"), source })?;
        let sql = self.sql("raise a run's budgets");
        let transaction = self.transaction().map_err(&sql)?;
        let seq = self.seq(&transaction, run)?;
        transaction
            .execute(
                "INSERT INTO run_raised (run, at_unix_ms, body) VALUES (?1, ?2, ?3)",
                (seq, now_unix_ms(), body),
            )
            .map_err(&sql)?;
        transaction.commit().map_err(sql)
    }

    /// Caches a judgement of a run, so that showing the run need not judge again. `revision` is the run's at the time of reading
    /// ([`crate::RunHead::revision`]). If the run has changed since, nothing is kept.
    ///
    /// # Errors
    /// If there is no such run, or the file can't be written.
    pub fn cache_judgement(
        &self,
        run: &RunId,
        judge: &str,
        revision: u64,
        json: &str,
    ) -> Result<(), StoreError> {
        self.writable()?;
        let what = || format!("the judgement of run {run}");
        let body = pack::compress(json.as_bytes())
            .map_err(|source| StoreError::Unstorable { what: what(), source })?;
        let sql = self.sql("keep a judgement");
        let transaction = self.transaction().map_err(&sql)?;
        let seq = self.seq(&transaction, run)?;
        transaction
            .execute(
                "INSERT OR REPLACE INTO judgement (run, judge, revision, body)
                 SELECT seq, ?2, revision, ?4 FROM run WHERE seq = ?1 AND revision = ?3",
                (seq, judge, signed(revision), body),
            )
            .map_err(&sql)?;
        transaction.commit().map_err(sql)
    }

    fn add_fact<T: Serialize + DeserializeOwned>(
        &self,
        run: &RunId,
        kind: &'static str,
        fact: &T,
    ) -> Result<(), StoreError> {
        self.writable()?;
        let sql = self.sql("store what became of a run");
        let transaction = self.transaction().map_err(&sql)?;
        let seq = self.seq(&transaction, run)?;
        insert_fact(&transaction, seq, run, kind, fact, &sql)?;
        transaction.commit().map_err(sql)
    }

    /// Takes the write lock at once, so that nothing changes between reading and writing.
    pub(crate) fn transaction(&self) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }

    /// Returns the run's number in the file.
    pub(crate) fn seq(&self, connection: &rusqlite::Connection, run: &RunId) -> Result<i64, StoreError> {
        let found = connection
            .query_row("SELECT seq FROM run WHERE id = ?1", [&run.0], |row| row.get(0))
            .optional()
            .map_err(self.sql("find a run"))?;
        found.ok_or_else(|| StoreError::NoSuchRun { wanted: run.0.clone(), path: self.path.clone() })
    }
}

/// A trial as it is stored: its columns, and in three parts the data for the judge, the samples, and the engine's text.
pub(crate) struct Packed {
    pub(crate) id: TrialId,
    pub(crate) format: FormatVersion,
    pub(crate) started_unix_ms: u64,
    pub(crate) failed: bool,
    pub(crate) cut_off: bool,
    pub(crate) record: Vec<u8>,
    pub(crate) samples: Vec<u8>,
    pub(crate) raw: Option<Vec<u8>>,
}

impl Packed {
    pub(crate) fn of(run: &RunId, mut trial: TrialRecord) -> Result<Self, StoreError> {
        let samples = std::mem::take(&mut trial.evidence.samples);
        let raw = trial.engine.as_mut().map(|engine| std::mem::take(&mut engine.raw));
        let parts = || {
            let raw = raw.map(|raw| pack::compress(raw.as_bytes())).transpose()?;
            Ok((pack::pack(&trial)?, pack::pack(&samples)?, raw))
        };
        let (record, samples, raw) = parts().map_err(|source| {
            let TrialId { cell, round } = &trial.id;
            StoreError::Unstorable { what: format!("trial {cell} round {round} of run {run}"), source }
        })?;
        Ok(Self {
            record,
            samples,
            raw,
            format: trial.format,
            started_unix_ms: trial.started_unix_ms,
            failed: matches!(trial.outcome, Outcome::Failed(_)),
            cut_off: trial.cut_off,
            id: trial.id,
        })
    }
}

/// Packs trials on all processors, and passes each on in their order while the next ones are packed. The first error ends it.
fn packed(
    run: &RunId,
    trials: Vec<TrialRecord>,
    mut each: impl FnMut(Result<Packed, StoreError>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let size = trials.len().div_ceil(threads).max(1);
    let mut trials = trials.into_iter();
    std::thread::scope(|scope| {
        let mut parts = Vec::new();
        loop {
            let part: Vec<TrialRecord> = trials.by_ref().take(size).collect();
            if part.is_empty() {
                break;
            }
            let (sender, receiver) = channel();
            let pack = move || {
                let mut part = part.into_iter();
                loop {
                    let some: Vec<_> =
                        part.by_ref().take(HANDED_OVER).map(|trial| Packed::of(run, trial)).collect();
                    // Without a receiver the import has failed.
                    if some.is_empty() || sender.send(some).is_err() {
                        break;
                    }
                }
            };
            parts.push((scope.spawn(pack), receiver));
        }
        for (thread, receiver) in parts {
            receiver.iter().flatten().try_for_each(&mut each)?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        Ok(())
    })
}

/// Inserts a run with its plan, its machine, the number of planned trials and its start (UTC, milliseconds since the epoch), and
/// returns its number in the file.
pub(crate) fn insert_run(
    transaction: &Transaction<'_>,
    run: &RunId,
    plan: &Plan,
    environment: &Environment,
    (trials_planned, started_unix_ms): (u64, i64),
    sql: impl Fn(rusqlite::Error) -> StoreError,
) -> Result<i64, StoreError> {
    let what = || format!("the plan of run {run}");
    let plan_bytes = pack::pack(plan).map_err(|source| StoreError::Unstorable { what: what(), source })?;
    let inserted = transaction.execute(
        "INSERT INTO run (id, experiment, started_unix_ms, trials_planned) VALUES (?1, ?2, ?3, ?4)",
        (&run.0, &plan.experiment, started_unix_ms, signed(trials_planned)),
    );
    if let Err(error) = inserted {
        return Err(if is_duplicate(&error) {
            StoreError::RunExists { run: run.clone() }
        } else {
            sql(error)
        });
    }
    let seq = transaction.last_insert_rowid();
    transaction
        .execute(
            "INSERT INTO run_plan (run, major, minor, plan) VALUES (?1, ?2, ?3, ?4)",
            (seq, plan.format.major, plan.format.minor, plan_bytes),
        )
        .map_err(&sql)?;
    insert_fact(transaction, seq, run, "environment", environment, &sql)?;
    Ok(seq)
}

pub(crate) fn insert_trial(
    transaction: &Transaction<'_>,
    seq: i64,
    run: &RunId,
    trial: Packed,
    sql: impl Fn(rusqlite::Error) -> StoreError,
) -> Result<(), StoreError> {
    let Packed { id, format, started_unix_ms, failed, cut_off, record, samples, raw } = trial;
    let started = signed(started_unix_ms);
    let number = if cut_off { cut_off_number(transaction, seq, run, &id, started, &sql)? } else { 0 };
    let head = "INSERT INTO trial (run, cell, round, started_unix_ms, failed, cut_off) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut statement = transaction.prepare_cached(head).map_err(&sql)?;
    let inserted = statement.insert((seq, &id.cell.0, id.round, started, failed, number));
    let trial = inserted.map_err(|error| {
        let duplicate = is_duplicate(&error);
        if duplicate { duplicate_of(run, &id) } else { sql(error) }
    })?;
    let body =
        "INSERT INTO trial_body (trial, major, minor, record, samples, raw) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut statement = transaction.prepare_cached(body).map_err(&sql)?;
    statement.execute((trial, format.major, format.minor, record, samples, raw)).map(|_| ()).map_err(sql)
}

/// The number of a trial that was cut off among those of its cell and round.
fn cut_off_number(
    transaction: &Transaction<'_>,
    seq: i64,
    run: &RunId,
    id: &TrialId,
    started_unix_ms: i64,
    sql: impl Fn(rusqlite::Error) -> StoreError,
) -> Result<i64, StoreError> {
    let known = "SELECT coalesce(max(cut_off), 0), coalesce(max(started_unix_ms = ?4), 0)
        FROM trial WHERE run = ?1 AND cell = ?2 AND round = ?3 AND cut_off > 0";
    let mut statement = transaction.prepare_cached(known).map_err(&sql)?;
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?));
    let (number, is_known) =
        statement.query_row((seq, &id.cell.0, id.round, started_unix_ms), row).map_err(sql)?;
    if is_known { Err(duplicate_of(run, id)) } else { Ok(number + 1) }
}

pub(crate) fn insert_fact<T: Serialize + DeserializeOwned>(
    transaction: &Transaction<'_>,
    seq: i64,
    run: &RunId,
    kind: &'static str,
    fact: &T,
    sql: impl Fn(rusqlite::Error) -> StoreError,
) -> Result<(), StoreError> {
    let body = pack::json(fact)
        .map_err(|source| StoreError::Unstorable { what: format!("`{kind}` of run {run}"), source })?;
    transaction
        .execute(
            "INSERT INTO run_fact (run, kind, at_unix_ms, body) VALUES (?1, ?2, ?3, ?4)",
            (seq, kind, now_unix_ms(), body),
        )
        .map_err(sql)?;
    Ok(())
}

fn is_duplicate(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == NOT_UNIQUE)
}

fn duplicate_of(run: &RunId, trial: &TrialId) -> StoreError {
    StoreError::DuplicateTrial { run: run.clone(), trial: trial.clone() }
}

/// The time, UTC, milliseconds since the epoch.
pub(crate) fn now_unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Converts to SQLite's signed numbers; all stored numbers are far below the limit.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
