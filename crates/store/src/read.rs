//! Reading from the store.

use crate::error::StoreError;
use crate::open::Store;
use crate::pack;
use record::environment::Environment;
use record::event::Stopped;
use record::id::{CellId, RunId, TrialId};
use record::plan::{Plan, Raised};
use record::trial::TrialRecord;
use record::version::FormatVersion;
use record::volume::VolumeFacts;
use rusqlite::{OptionalExtension, Row};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// One line of a list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// Identity of the run.
    pub id: RunId,
    /// Name of its experiment.
    pub experiment: String,
    /// Start time, UTC, milliseconds since the epoch.
    pub started_unix_ms: u64,
    /// Number of stored trials, including failed ones, without those that were cut off.
    pub trials_done: u64,
    /// Number of failed trials, without those that were cut off.
    pub trials_failed: u64,
    /// Number of planned trials.
    pub trials_planned: u64,
    /// The reason why it ended.
    pub stopped: Stopped,
    /// Its tags, in the order in which they were given.
    pub tags: Vec<String>,
}

/// A run without its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHead {
    /// Identity of the run.
    pub id: RunId,
    /// Its plan, with the budgets as last raised.
    pub plan: Plan,
    /// The machine, as last stored.
    pub environment: Environment,
    /// The volumes, as last stored; empty before they were ready.
    pub volumes: Vec<VolumeFacts>,
    /// The reason why it ended.
    pub stopped: Stopped,
    /// Number of stored trials, including failed ones, without those that were cut off.
    pub trials_done: u64,
    /// Counter of all changes of the run; pass it to [`Store::cache_judgement`] with a judgement.
    pub revision: u64,
}

/// A run with all its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct RunData {
    /// Identity of the run.
    pub id: RunId,
    /// Its plan.
    pub plan: Plan,
    /// The machine, as last stored.
    pub environment: Environment,
    /// The volumes, as last stored; empty before they were ready.
    pub volumes: Vec<VolumeFacts>,
    /// The reason why it ended.
    pub stopped: Stopped,
    /// As in [`RunHead::revision`].
    pub revision: u64,
    /// The trials in the order of measurement.
    pub trials: Vec<TrialRecord>,
}

pub(crate) const RUNS: &str =
    "SELECT id, experiment, started_unix_ms, trials_done, trials_failed, trials_planned, stopped
    FROM run ORDER BY started_unix_ms DESC, seq DESC";
/// A run without a measured trial is no result: it is the latest only if there is no other.
pub(crate) const LATEST: &str =
    "SELECT id FROM run ORDER BY trials_done > trials_failed DESC, started_unix_ms DESC, seq DESC LIMIT 1";
pub(crate) const JUDGEMENT: &str = "SELECT judgement.body FROM run JOIN judgement
    ON judgement.run = run.seq AND judgement.revision = run.revision AND judgement.judge = ?2 WHERE run.id = ?1";
const KEPT: &str = "SELECT judgement.judge, judgement.body FROM run JOIN judgement
    ON judgement.run = run.seq AND judgement.revision = run.revision WHERE run.id = ?1 ORDER BY judgement.rowid DESC LIMIT 1";
pub(crate) const TRIALS: &str =
    "SELECT trial.seq, body.major, body.minor, body.record, body.samples, body.raw
    FROM trial JOIN trial_body AS body ON body.trial = trial.seq
    WHERE trial.run = ?1 AND trial.seq > ?2 ORDER BY trial.seq LIMIT ?3";
/// The trials of one cell, whose rounds are measured one after the other; without the raw output of the engine.
pub(crate) const OF_CELL: &str = "SELECT trial.seq, body.major, body.minor, body.record, body.samples, NULL
    FROM trial JOIN trial_body AS body ON body.trial = trial.seq
    WHERE trial.run = ?1 AND trial.cell = ?2 ORDER BY trial.round, trial.seq";
const HAS_RAISED: &str =
    "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'run_raised')";
/// A file of a format before 1.3 that was opened only for reading has no trials that were cut off.
const HAS_CUT_OFF: &str = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('trial') WHERE name = 'cut_off')";
const RAISED: &str = "SELECT body FROM run_raised WHERE run = ?1 ORDER BY seq DESC LIMIT 1";
pub(crate) const FACT: &str =
    "SELECT body FROM run_fact WHERE run = ?1 AND kind = ?2 ORDER BY seq DESC LIMIT 1";

/// Number of trials that are read at a time, so that a long reading never blocks the run that writes to the file.
const BATCH: i64 = 16;

impl Store {
    /// Returns all runs, the latest first. Reads one small row per run.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let sql = self.sql("list the runs");
        let mut statement = self.connection.prepare_cached(RUNS).map_err(&sql)?;
        let rows = statement.query_map([], |row| {
            let stopped: String = row.get(6)?;
            Ok((summary(row)?, stopped))
        });
        let rows: Vec<_> = rows.and_then(Iterator::collect).map_err(&sql)?;
        let mut tags = self.tags()?;
        rows.into_iter()
            .map(|(mut summary, stopped)| {
                summary.tags = tags.remove(&summary.id).unwrap_or_default();
                summary.stopped = self.parse(&stopped, || format!("why run {} ended", summary.id))?;
                Ok(summary)
            })
            .collect()
    }

    /// Returns the run that began last.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn latest(&self) -> Result<Option<RunId>, StoreError> {
        let found = self.connection.query_row(LATEST, [], |row| row.get(0).map(RunId)).optional();
        found.map_err(self.sql("find the latest run"))
    }

    /// Returns a run without its trials.
    ///
    /// # Errors
    /// If there is no such run, or it can't be read.
    pub fn head(&self, run: &RunId) -> Result<RunHead, StoreError> {
        let sql = self.sql("read a run");
        // One consistent view of the file for all following reads.
        let view = self.connection.unchecked_transaction().map_err(&sql)?;
        let seq = self.seq(&view, run)?;
        let (done, revision, stopped, plan, format) = view
            .query_row(
                "SELECT trials_done, revision, stopped, plan, major, minor
                 FROM run JOIN run_plan ON run_plan.run = run.seq WHERE run.seq = ?1",
                [seq],
                |row| {
                    let stopped: String = row.get(2)?;
                    let plan: Vec<u8> = row.get(3)?;
                    Ok((unsigned(row, 0)?, unsigned(row, 1)?, stopped, plan, version(row, 4)?))
                },
            )
            .map_err(&sql)?;
        let what = || format!("the plan of run {run}");
        readable(format, what)?;
        let mut plan: Plan = pack::unpack(&plan).map_err(|source| self.damaged(what(), source))?;
        if let Some(raised) = self.raised(seq, run)? {
            raised.apply(&mut plan);
        }
        Ok(RunHead {
            id: run.clone(),
            plan,
            environment: self.fact(seq, run, "environment")?.unwrap_or_default(),
            volumes: self.fact(seq, run, "volumes")?.unwrap_or_default(),
            stopped: self.parse(&stopped, || format!("why run {run} ended"))?,
            trials_done: done,
            revision,
        })
    }

    /// Returns a run's plan as it was made, without what the user changed since.
    ///
    /// # Errors
    /// If there is no such run, or it can't be read.
    pub fn plan_as_made(&self, run: &RunId) -> Result<Plan, StoreError> {
        let sql = self.sql("read a plan");
        let seq = self.seq(&self.connection, run)?;
        let (plan, format) = self
            .connection
            .query_row("SELECT plan, major, minor FROM run_plan WHERE run = ?1", [seq], |row| {
                Ok((row.get::<_, Vec<u8>>(0)?, version(row, 1)?))
            })
            .map_err(&sql)?;
        let what = || format!("the plan of run {run}");
        readable(format, what)?;
        pack::unpack(&plan).map_err(|source| self.damaged(what(), source))
    }

    /// Returns a run with all its trials in memory; [`Store::trials`] keeps only a few in memory.
    ///
    /// # Errors
    /// If there is no such run, or it can't be read.
    pub fn load(&self, run: &RunId) -> Result<RunData, StoreError> {
        let RunHead { id, plan, environment, volumes, stopped, revision, .. } = self.head(run)?;
        let mut trials = Vec::new();
        self.trials(run, |trial| trials.push(trial))?;
        Ok(RunData { id, plan, environment, volumes, stopped, revision, trials })
    }

    /// Passes the trials of a run to `each` in the order of measurement, with a few in memory at a time.
    ///
    /// # Errors
    /// If there is no such run, or a trial can't be read; `each` has then received the trials before it.
    pub fn trials(&self, run: &RunId, mut each: impl FnMut(TrialRecord)) -> Result<(), StoreError> {
        self.batches(run, BATCH, |batch| {
            for stored in batch {
                each(self.unpack(run, &stored)?);
            }
            Ok(())
        })
    }

    /// Passes the trials of a run as they are stored to `each`, in the order of measurement and at most `most` at a time.
    pub(crate) fn batches(
        &self,
        run: &RunId,
        most: i64,
        mut each: impl FnMut(Vec<Stored>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = self.sql("read trials");
        let seq = self.seq(&self.connection, run)?;
        let mut after = 0_i64;
        loop {
            let mut statement = self.connection.prepare_cached(TRIALS).map_err(&sql)?;
            let batch = statement.query_map((seq, after, most), stored).and_then(Iterator::collect);
            let batch: Vec<Stored> = batch.map_err(&sql)?;
            let Some(last) = batch.last() else { return Ok(()) };
            after = last.seq;
            each(batch)?;
        }
    }

    /// Passes the trials of one cell as they are stored to `each`, in the order of measurement.
    pub(crate) fn of_cell(
        &self,
        run: &RunId,
        cell: &CellId,
        mut each: impl FnMut(Stored) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = self.sql("read trials");
        let seq = self.seq(&self.connection, run)?;
        let mut statement = self.connection.prepare_cached(OF_CELL).map_err(&sql)?;
        let rows = statement.query_map((seq, &cell.0), stored).map_err(&sql)?;
        rows.into_iter().try_for_each(|row| each(row.map_err(&sql)?))
    }

    /// Returns which trials of a run are stored, including failed ones. A trial that was cut off is missing until it is made again.
    ///
    /// # Errors
    /// If there is no such run, or the file can't be read.
    pub fn done(&self, run: &RunId) -> Result<BTreeSet<TrialId>, StoreError> {
        let sql = self.sql("list the trials of a run");
        let seq = self.seq(&self.connection, run)?;
        let can_be_cut_off: bool =
            self.connection.query_row(HAS_CUT_OFF, [], |row| row.get(0)).map_err(&sql)?;
        let which = if can_be_cut_off { " AND cut_off = 0" } else { "" };
        let query = format!("SELECT cell, round FROM trial WHERE run = ?1{which}");
        let mut statement = self.connection.prepare_cached(&query).map_err(&sql)?;
        let rows =
            statement.query_map([seq], |row| Ok(TrialId { cell: CellId(row.get(0)?), round: row.get(1)? }));
        rows.and_then(Iterator::collect).map_err(sql)
    }

    /// Returns the cached judgement of a run by this judge; `None` when there is none, or the run has changed since.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn judgement(&self, run: &RunId, judge: &str) -> Result<Option<String>, StoreError> {
        let sql = self.sql("read a judgement");
        let mut statement = self.connection.prepare_cached(JUDGEMENT).map_err(&sql)?;
        let body: Option<Vec<u8>> =
            statement.query_row((&run.0, judge), |row| row.get(0)).optional().map_err(sql)?;
        body.map(|body| self.judgement_text(run, &body)).transpose()
    }

    /// Returns the latest cached judgement of a run, and its judge; `None` when there is none, or the run has changed since.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn kept_judgement(&self, run: &RunId) -> Result<Option<(String, String)>, StoreError> {
        let sql = self.sql("read a judgement");
        let found: Option<(String, Vec<u8>)> = self
            .connection
            .query_row(KEPT, [&run.0], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(sql)?;
        found.map(|(judge, body)| Ok((judge, self.judgement_text(run, &body)?))).transpose()
    }

    fn judgement_text(&self, run: &RunId, body: &[u8]) -> Result<String, StoreError> {
        let text = pack::decompress(body).and_then(|bytes| Ok(String::from_utf8(bytes)?));
        text.map_err(|source| self.damaged(format!("the judgement of run {run}"), source))
    }

    fn fact<T: DeserializeOwned>(&self, seq: i64, run: &RunId, kind: &str) -> Result<Option<T>, StoreError> {
        let found: Option<String> = self
            .connection
            .query_row(FACT, (seq, kind), |row| row.get(0))
            .optional()
            .map_err(self.sql("read a run"))?;
        found.map(|text| self.parse(&text, || format!("`{kind}` of run {run}"))).transpose()
    }

    /// Returns raised budgets; none in a file of format 1.0 that was opened only for reading.
    fn raised(&self, seq: i64, run: &RunId) -> Result<Option<Raised>, StoreError> {
        let sql = self.sql("read a run's budgets");
        let known: bool = self.connection.query_row(HAS_RAISED, [], |row| row.get(0)).map_err(&sql)?;
        if !known {
            return Ok(None);
        }
        let found: Option<String> =
            self.connection.query_row(RAISED, [seq], |row| row.get(0)).optional().map_err(&sql)?;
        found.map(|text| self.parse(&text, || format!("the raised budgets of run {run}"))).transpose()
    }

    pub(crate) fn unpack(&self, run: &RunId, stored: &Stored) -> Result<TrialRecord, StoreError> {
        let what = || format!("trial {} of run {run}", stored.seq);
        readable(stored.format, what)?;
        let unpacked = || {
            let mut trial: TrialRecord = pack::unpack(&stored.record)?;
            trial.evidence.samples = pack::unpack(&stored.samples)?;
            if let (Some(engine), Some(raw)) = (&mut trial.engine, &stored.raw) {
                engine.raw = String::from_utf8(pack::decompress(raw)?)?;
            }
            Ok(trial)
        };
        unpacked().map_err(|source| self.damaged(what(), source))
    }

    pub(crate) fn parse<T: DeserializeOwned>(
        &self,
        text: &str,
        what: impl Fn() -> String,
    ) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|source| self.damaged(what(), source.into()))
    }

    fn damaged(&self, what: String, source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
        StoreError::Damaged { what, path: self.path.clone(), source }
    }
}

/// A trial in its stored form.
pub(crate) struct Stored {
    pub(crate) seq: i64,
    pub(crate) format: FormatVersion,
    pub(crate) record: Vec<u8>,
    pub(crate) samples: Vec<u8>,
    raw: Option<Vec<u8>>,
}

pub(crate) fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored {
        seq: row.get(0)?,
        format: version(row, 1)?,
        record: row.get(3)?,
        samples: row.get(4)?,
        raw: row.get(5)?,
    })
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    Ok(RunSummary {
        id: RunId(row.get(0)?),
        experiment: row.get(1)?,
        started_unix_ms: unsigned(row, 2)?,
        trials_done: unsigned(row, 3)?,
        trials_failed: unsigned(row, 4)?,
        trials_planned: unsigned(row, 5)?,
        stopped: Stopped::Unfinished,
        tags: Vec::new(),
    })
}

fn version(row: &Row<'_>, column: usize) -> rusqlite::Result<FormatVersion> {
    Ok(FormatVersion { major: row.get(column)?, minor: row.get(column + 1)? })
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

pub(crate) fn readable(found: FormatVersion, what: impl Fn() -> String) -> Result<(), StoreError> {
    let ours = FormatVersion::RECORD;
    if ours.reads(found) { Ok(()) } else { Err(StoreError::RecordTooNew { what: what(), found, ours }) }
}
