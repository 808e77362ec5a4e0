//! Finds a run by what a user calls it.

use crate::error::StoreError;
use crate::open::Store;
use record::id::RunId;
use rusqlite::OptionalExtension;

/// The word for the latest run of an experiment.
const LAST: &str = "last";
/// The most names in an error.
const MOST_NAMES: i64 = 12;

pub(crate) const BY_PREFIX: &str =
    "SELECT id FROM run WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) ORDER BY id LIMIT 6";
/// Runs without a measured trial are no result. Those that began later than run ?2 are left out, and so is that run.
const LAST_OF: &str = "SELECT id FROM run WHERE experiment = ?1 AND trials_done > trials_failed
    AND (?2 IS NULL OR (started_unix_ms, seq) < (SELECT started_unix_ms, seq FROM run WHERE id = ?2))
    ORDER BY started_unix_ms DESC, seq DESC LIMIT 1";
const EXPERIMENTS: &str = "SELECT experiment FROM run GROUP BY experiment ORDER BY max(seq) DESC LIMIT ?1";
const HAS_RUNS: &str = "SELECT EXISTS (SELECT 1 FROM run WHERE experiment = ?1)";

impl Store {
    /// Finds a run by its whole name, by an unambiguous beginning of it, by `latest`, by `EXPERIMENT@last` (the latest run of it that measured
    /// anything) or by `EXPERIMENT@TAG`.
    ///
    /// # Errors
    /// If there is none, or several match.
    pub fn find(&self, wanted: &str) -> Result<RunId, StoreError> {
        self.find_with(wanted, None)
    }

    /// Finds a run in the same way. `EXPERIMENT@last` means the latest one that began before `run`.
    ///
    /// # Errors
    /// As [`Store::find`].
    pub fn find_before(&self, wanted: &str, run: &RunId) -> Result<RunId, StoreError> {
        self.find_with(wanted, Some(run))
    }

    fn find_with(&self, wanted: &str, before: Option<&RunId>) -> Result<RunId, StoreError> {
        if wanted.is_empty() || wanted == "latest" {
            let latest = self.latest()?;
            return latest.ok_or_else(|| StoreError::NoRuns { path: self.path.clone() });
        }
        match wanted.rsplit_once('@') {
            Some((experiment, LAST)) => self.last_of(experiment, before),
            Some((experiment, tag)) => self.by_tag(experiment, tag),
            None => self.by_beginning(wanted),
        }
    }

    fn last_of(&self, experiment: &str, before: Option<&RunId>) -> Result<RunId, StoreError> {
        let found = self
            .connection
            .query_row(LAST_OF, (experiment, before.map(|run| &run.0)), |row| row.get(0).map(RunId))
            .optional()
            .map_err(self.sql("find a run"))?;
        match found {
            Some(run) => Ok(run),
            None => Err(self.no_run_of(experiment, before)?),
        }
    }

    fn by_tag(&self, experiment: &str, tag: &str) -> Result<RunId, StoreError> {
        if let Some(run) = self.tagged(experiment, tag)? {
            return Ok(run);
        }
        let has_runs: bool = self
            .connection
            .query_row(HAS_RUNS, [experiment], |row| row.get(0))
            .map_err(self.sql("find a run"))?;
        if !has_runs {
            return Err(self.no_run_of(experiment, None)?);
        }
        let known = self.tags_of(experiment, MOST_NAMES)?;
        Err(StoreError::NoSuchTag { experiment: experiment.to_owned(), tag: tag.to_owned(), known })
    }

    fn no_run_of(&self, experiment: &str, before: Option<&RunId>) -> Result<StoreError, StoreError> {
        let sql = self.sql("list the experiments");
        let mut statement = self.connection.prepare_cached(EXPERIMENTS).map_err(&sql)?;
        let known = statement.query_map([MOST_NAMES], |row| row.get(0)).and_then(Iterator::collect);
        let known = known.map_err(&sql)?;
        Ok(StoreError::NoRunOf { experiment: experiment.to_owned(), before: before.cloned(), known })
    }

    fn by_beginning(&self, wanted: &str) -> Result<RunId, StoreError> {
        let sql = self.sql("find a run");
        let mut statement = self.connection.prepare_cached(BY_PREFIX).map_err(&sql)?;
        let found = statement.query_map([wanted], |row| row.get(0).map(RunId)).and_then(Iterator::collect);
        let mut found: Vec<RunId> = found.map_err(sql)?;
        match found.len() {
            0 => Err(StoreError::NoSuchRun { wanted: wanted.to_owned(), path: self.path.clone() }),
            1 => Ok(found.swap_remove(0)),
            // The whole name sorts before all longer names.
            _ if found[0].0 == wanted => Ok(found.swap_remove(0)),
            _ => Err(StoreError::Ambiguous { wanted: wanted.to_owned(), candidates: found }),
        }
    }
}
