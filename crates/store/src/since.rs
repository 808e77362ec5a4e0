//! The trials that were stored since some moment, one at a time: what a copy of a run still lacks.

use crate::error::StoreError;
use crate::open::Store;
use crate::read::{readable, stored};
use record::id::{CellId, RunId, TrialId};
use record::trial::TrialRecord;

/// Where a trial stands in the store, without its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialPlace {
    /// The cell and the round.
    pub id: TrialId,
    /// Whether the trial was cut off; then others of the same cell and round may stand beside it.
    pub cut_off: bool,
    /// Start time, UTC, milliseconds since the epoch.
    pub started_unix_ms: u64,
    /// Its number in the file: trials are numbered in the order in which they were stored.
    seq: i64,
}

const SINCE: &str = "SELECT seq, cell, round, cut_off, started_unix_ms FROM trial
    WHERE run = ?1 AND seq > ?2 ORDER BY seq";
const AT: &str = "SELECT trial.seq, body.major, body.minor, body.record, body.samples, body.raw
    FROM trial JOIN trial_body AS body ON body.trial = trial.seq WHERE trial.run = ?1 AND trial.seq = ?2";

impl Store {
    /// Returns the trials of a run that were stored after this one, in that order; all of them if there is none. Those that were cut off
    /// are among them.
    ///
    /// # Errors
    /// If there is no such run, or the file can't be read.
    pub fn trials_since(
        &self,
        run: &RunId,
        after: Option<&TrialPlace>,
    ) -> Result<Vec<TrialPlace>, StoreError> {
        let sql = self.sql("list the trials of a run");
        let seq = self.seq(&self.connection, run)?;
        let after = after.map_or(0, |place| place.seq);
        let mut statement = self.connection.prepare_cached(SINCE).map_err(&sql)?;
        let rows = statement.query_map((seq, after), |row| {
            Ok(TrialPlace {
                id: TrialId { cell: CellId(row.get(1)?), round: row.get(2)? },
                cut_off: row.get::<_, i64>(3)? != 0,
                started_unix_ms: u64::try_from(row.get::<_, i64>(4)?).unwrap_or(0),
                seq: row.get(0)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(&sql)
    }

    /// Returns the record at a place.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn trial_at(&self, run: &RunId, place: &TrialPlace) -> Result<TrialRecord, StoreError> {
        let sql = self.sql("read a trial");
        let seq = self.seq(&self.connection, run)?;
        let mut statement = self.connection.prepare_cached(AT).map_err(&sql)?;
        let found = statement.query_row((seq, place.seq), stored).map_err(&sql)?;
        readable(found.format, || format!("trial {} of run {run}", place.seq))?;
        self.unpack(run, &found)
    }
}

#[cfg(test)]
mod tests {
    use crate::Store;
    use crate::sample::{environment, plan, run_id, trial};
    use record::trial::Outcome;

    #[test]
    fn trials_come_in_the_order_in_which_they_were_stored_and_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("diskproof.db")).unwrap();
        let run = run_id("r");
        store.create_run(&run, &plan(2, 2), &environment("6.1")).unwrap();
        let mut cut_off = trial(1, 0);
        (cut_off.cut_off, cut_off.outcome) = (true, Outcome::Failed("lost".to_owned()));
        let all = [trial(1, 1), cut_off, trial(1, 0), trial(0, 0)];
        store.append_trial(&run, &all[0]).unwrap();
        let first = store.trials_since(&run, None).unwrap();
        assert_eq!(first.len(), 1);
        for trial in &all[1..] {
            store.append_trial(&run, trial).unwrap();
        }
        let later = store.trials_since(&run, first.last()).unwrap();
        let records: Vec<_> =
            first.iter().chain(&later).map(|place| store.trial_at(&run, place).unwrap()).collect();
        assert_eq!(records, all);
        assert_eq!(later.iter().map(|place| place.cut_off).collect::<Vec<_>>(), [true, false, false]);
        assert!(store.trials_since(&run, later.last()).unwrap().is_empty());
    }
}
