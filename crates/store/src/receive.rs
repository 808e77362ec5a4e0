//! Runs that were measured and stored elsewhere.

use crate::error::StoreError;
use crate::incoming::Incoming;
use crate::open::Store;
use crate::pack;
use crate::write::{Packed, insert_fact, insert_run, insert_trial, now_unix_ms};
use record::environment::Environment;
use record::event::Stopped;
use record::id::RunId;
use record::plan::{Plan, Raised};
use record::trial::TrialRecord;
use record::volume::VolumeFacts;
use rusqlite::OptionalExtension as _;
use serde::{Deserialize, Serialize};

const HAS_ORIGIN: &str =
    "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'run_origin')";

/// Where a run came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The address that it was pulled from, e.g. `oci://registry.example/results:nvme`.
    pub from: String,
    /// SHA-256 of the description of its content (`sha256:HEX`): two runs with the same digest are the same run.
    pub digest: String,
    /// The name that it had there.
    pub name: String,
    /// Who signed it, as the list of allowed signers names them; `None`: it isn't signed, or nobody checked the signature.
    #[serde(default)]
    pub signer: Option<String>,
}

/// A run from elsewhere, without its trials.
#[derive(Debug, Clone)]
pub struct Received<'a> {
    /// The name that it gets here.
    pub run: &'a RunId,
    /// Its plan as it was made.
    pub plan: &'a Plan,
    /// The budgets as last raised.
    pub raised: Option<&'a Raised>,
    /// The machine that measured it.
    pub environment: &'a Environment,
    /// Its volumes.
    pub volumes: &'a [VolumeFacts],
    /// The reason why it ended.
    pub stopped: &'a Stopped,
    /// When it began, UTC, milliseconds since the epoch.
    pub started_unix_ms: u64,
    /// Number of planned trials.
    pub trials_planned: u64,
    /// Where it comes from; `None`: it is this user's own run, which another controller began.
    pub origin: Option<&'a Origin>,
}

impl Store {
    /// Stores a run from elsewhere with its trials, one in memory at a time: all of it or nothing. Others can write to the store while
    /// the trials come.
    ///
    /// # Errors
    /// The run already exists, a trial can't be had (the iterator's error), or the file can't be written.
    pub fn receive_run<E: From<StoreError>>(
        &self,
        head: &Received<'_>,
        trials: impl Iterator<Item = Result<TrialRecord, E>>,
    ) -> Result<(), E> {
        self.writable()?;
        let sql = self.sql("store a run from elsewhere");
        let run = head.run;
        let unstorable = |source| StoreError::Unstorable { what: format!("run {run}"), source };
        let trials = trials.map(|trial| Ok::<_, E>(Packed::of(run, trial?)?));
        let incoming = Incoming::fill(&self.connection, trials, &sql)?;
        let transaction = self.transaction().map_err(&sql)?;
        let begun = i64::try_from(head.started_unix_ms).unwrap_or_else(|_| now_unix_ms());
        let seq =
            insert_run(&transaction, run, head.plan, head.environment, (head.trials_planned, begun), &sql)?;
        if let Some(raised) = head.raised {
            let body = pack::json(raised).map_err(unstorable)?;
            let insert = "INSERT INTO run_raised (run, at_unix_ms, body) VALUES (?1, ?2, ?3)";
            transaction.execute(insert, (seq, now_unix_ms(), body)).map_err(&sql)?;
        }
        insert_fact(&transaction, seq, run, "volumes", &head.volumes.to_vec(), &sql)?;
        incoming.each(&sql, |trial| insert_trial(&transaction, seq, run, trial, &sql))?;
        insert_fact(&transaction, seq, run, "stopped", head.stopped, &sql)?;
        if let Some(origin) = head.origin {
            let body = pack::json(origin).map_err(unstorable)?;
            let insert = "INSERT INTO run_origin (run, at_unix_ms, body) VALUES (?1, ?2, ?3)";
            transaction.execute(insert, (seq, now_unix_ms(), body)).map_err(&sql)?;
        }
        Ok(transaction.commit().map_err(&sql)?)
    }

    /// Returns this store's salt for pseudonyms, 32 random bytes; makes it first if there is none.
    ///
    /// # Errors
    /// If the file can't be written, or there are no random numbers.
    pub fn salt(&self) -> Result<Vec<u8>, StoreError> {
        self.writable()?;
        let sql = self.sql("read the salt");
        let transaction = self.transaction().map_err(&sql)?;
        // SQLite's generator is seeded by the kernel.
        let insert = "INSERT OR IGNORE INTO salt (only_row, bytes) VALUES (1, randomblob(32))";
        transaction.execute(insert, []).map_err(&sql)?;
        let salt = transaction.query_row("SELECT bytes FROM salt", [], |row| row.get(0)).map_err(&sql)?;
        transaction.commit().map_err(sql)?;
        Ok(salt)
    }

    /// Returns the run from elsewhere that has this digest ([`Origin::digest`]), if there is one.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn received(&self, digest: &str) -> Result<Option<RunId>, StoreError> {
        let sql = self.sql("look for a run from elsewhere");
        let known: bool = self.connection.query_row(HAS_ORIGIN, [], |row| row.get(0)).map_err(&sql)?;
        if !known {
            return Ok(None);
        }
        let ask = "SELECT run.id FROM run_origin JOIN run ON run.seq = run_origin.run
            WHERE json_extract(body, '$.digest') = ?1 ORDER BY run_origin.run LIMIT 1";
        self.connection.query_row(ask, [digest], |row| row.get(0).map(RunId)).optional().map_err(sql)
    }

    /// Returns where a run came from; `None` for a run of this store's own.
    ///
    /// # Errors
    /// If there is no such run, or the file can't be read.
    pub fn origin(&self, run: &RunId) -> Result<Option<Origin>, StoreError> {
        let sql = self.sql("read where a run came from");
        let seq = self.seq(&self.connection, run)?;
        let known: bool = self.connection.query_row(HAS_ORIGIN, [], |row| row.get(0)).map_err(&sql)?;
        if !known {
            return Ok(None);
        }
        let ask = "SELECT body FROM run_origin WHERE run = ?1";
        let found: Option<String> =
            self.connection.query_row(ask, [seq], |row| row.get(0)).optional().map_err(&sql)?;
        found.map(|text| self.parse(&text, || format!("where run {run} came from"))).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::{Origin, Received};
    use crate::sample::{environment, plan, run_id, trial};
    use crate::{Store, StoreError};
    use record::event::Stopped;
    use record::id::RunId;

    #[test]
    fn a_run_that_measures_can_write_while_trials_come() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("diskproof.db");
        let (receiver, measurer) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
        measurer.create_run(&run_id("mine"), &plan(2, 2), &environment("6.1")).unwrap();
        let run = RunId("theirs".to_owned());
        let origin = Origin {
            from: "there".to_owned(),
            digest: "sha256:1".to_owned(),
            name: "x".to_owned(),
            signer: None,
        };
        let received = Received {
            run: &run,
            plan: &plan(2, 2),
            raised: None,
            environment: &environment("6.1"),
            volumes: &[],
            stopped: &Stopped::RoundsDone { rounds: 2 },
            started_unix_ms: 1,
            trials_planned: 4,
            origin: Some(&origin),
        };
        let trials = || (0..4).map(|number| trial(number % 2, number / 2));
        let fails =
            trials().map(Ok).chain([Err(StoreError::NotAStore { path: "the sender is away".into() })]);
        receiver.receive_run(&received, fails).unwrap_err();
        assert_eq!(receiver.runs().unwrap().len(), 1, "all of it or nothing");
        // With a lock, the measurer would wait for 30 seconds, and then fail.
        let slow = trials().map(|trial| {
            measurer.append_trial(&run_id("mine"), &trial)?;
            Ok::<_, StoreError>(trial)
        });
        receiver.receive_run(&received, slow).unwrap();
        assert_eq!(receiver.load(&run).unwrap().trials, trials().collect::<Vec<_>>());
        assert_eq!(receiver.load(&run_id("mine")).unwrap().trials.len(), 4);
    }
}
