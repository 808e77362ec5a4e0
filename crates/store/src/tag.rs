//! Tags: names that a user gives to runs. A tag belongs to one run of an experiment at a time.

use crate::error::StoreError;
use crate::open::Store;
use crate::write::now_unix_ms;
use record::id::RunId;
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeMap;

/// The most characters of a tag.
const LONGEST: usize = 64;

/// Names that mean something else after `EXPERIMENT@`.
const RESERVED: [&str; 2] = ["last", "latest"];

const HAS_TAGS: &str =
    "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'run_tag')";
const TAGGED: &str = "SELECT run.id, tag.removed FROM run_tag AS tag JOIN run ON run.seq = tag.run
    WHERE tag.experiment = ?1 AND tag.name = ?2 ORDER BY tag.seq DESC LIMIT 1";
const TAGS: &str = "SELECT run.id, tag.name FROM run_tag AS tag JOIN run ON run.seq = tag.run
    WHERE tag.removed = 0 AND tag.seq =
        (SELECT max(seq) FROM run_tag WHERE experiment = tag.experiment AND name = tag.name)
    ORDER BY tag.seq";
const TAGS_OF: &str = "SELECT name FROM run_tag AS tag
    WHERE experiment = ?1 AND removed = 0 AND seq =
        (SELECT max(seq) FROM run_tag WHERE experiment = tag.experiment AND name = tag.name)
    ORDER BY seq DESC LIMIT ?2";

impl Store {
    /// Gives a run a tag. A tag that another run of the experiment has moves if `moves` is set; returns that run.
    ///
    /// # Errors
    /// If the name can't be a tag, another run has it and `moves` isn't set, there is no such run, or the file can't be written.
    pub fn tag(&self, run: &RunId, name: &str, moves: bool) -> Result<Option<RunId>, StoreError> {
        check(name)?;
        self.writable()?;
        let sql = self.sql("tag a run");
        let transaction = self.transaction().map_err(&sql)?;
        let (seq, experiment) = self.place(&transaction, run)?;
        let had = self.tagged_in(&transaction, &experiment, name)?;
        match &had {
            Some(other) if other == run => return Ok(None),
            Some(other) if !moves => {
                return Err(StoreError::TagTaken { tag: name.to_owned(), run: other.clone() });
            }
            _ => {}
        }
        insert(&transaction, seq, &experiment, name, false).map_err(&sql)?;
        transaction.commit().map_err(sql)?;
        Ok(had)
    }

    /// Takes a tag from a run.
    ///
    /// # Errors
    /// If the run doesn't have the tag, there is no such run, or the file can't be written.
    pub fn untag(&self, run: &RunId, name: &str) -> Result<(), StoreError> {
        self.writable()?;
        let sql = self.sql("remove a tag");
        let transaction = self.transaction().map_err(&sql)?;
        let (seq, experiment) = self.place(&transaction, run)?;
        if self.tagged_in(&transaction, &experiment, name)?.as_ref() != Some(run) {
            return Err(StoreError::NotTagged { tag: name.to_owned(), run: run.clone() });
        }
        insert(&transaction, seq, &experiment, name, true).map_err(&sql)?;
        transaction.commit().map_err(sql)
    }

    /// Returns the tags of all runs that have any, each run's in the order in which they were given.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn tags(&self) -> Result<BTreeMap<RunId, Vec<String>>, StoreError> {
        let mut all: BTreeMap<RunId, Vec<String>> = BTreeMap::new();
        if !self.has_tags()? {
            return Ok(all);
        }
        let sql = self.sql("list the tags");
        let mut statement = self.connection.prepare_cached(TAGS).map_err(&sql)?;
        let rows = statement.query_map([], |row| Ok((RunId(row.get(0)?), row.get(1)?)));
        let rows: Vec<(RunId, String)> = rows.and_then(Iterator::collect).map_err(&sql)?;
        for (run, tag) in rows {
            all.entry(run).or_default().push(tag);
        }
        Ok(all)
    }

    /// Returns the run of an experiment that has a tag.
    pub(crate) fn tagged(&self, experiment: &str, name: &str) -> Result<Option<RunId>, StoreError> {
        if !self.has_tags()? {
            return Ok(None);
        }
        self.tagged_in(&self.connection, experiment, name)
    }

    /// Returns the latest tags of an experiment.
    pub(crate) fn tags_of(&self, experiment: &str, most: i64) -> Result<Vec<String>, StoreError> {
        if !self.has_tags()? {
            return Ok(Vec::new());
        }
        let sql = self.sql("list the tags");
        let mut statement = self.connection.prepare_cached(TAGS_OF).map_err(&sql)?;
        let rows = statement.query_map((experiment, most), |row| row.get(0));
        rows.and_then(Iterator::collect).map_err(&sql)
    }

    /// Whether the file has a table of tags: one of an older format that was opened only for reading has none.
    fn has_tags(&self) -> Result<bool, StoreError> {
        self.connection.query_row(HAS_TAGS, [], |row| row.get(0)).map_err(self.sql("list the tags"))
    }

    fn tagged_in(
        &self,
        connection: &Connection,
        experiment: &str,
        name: &str,
    ) -> Result<Option<RunId>, StoreError> {
        let found: Option<(RunId, bool)> = connection
            .query_row(TAGGED, (experiment, name), |row| Ok((RunId(row.get(0)?), row.get(1)?)))
            .optional()
            .map_err(self.sql("find a tag"))?;
        Ok(found.filter(|(_, removed)| !removed).map(|(run, _)| run))
    }

    /// The run's number in the file, and its experiment.
    fn place(&self, connection: &Connection, run: &RunId) -> Result<(i64, String), StoreError> {
        let found = connection
            .query_row("SELECT seq, experiment FROM run WHERE id = ?1", [&run.0], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()
            .map_err(self.sql("find a run"))?;
        found.ok_or_else(|| StoreError::NoSuchRun { wanted: run.0.clone(), path: self.path.clone() })
    }
}

fn insert(
    connection: &Connection,
    seq: i64,
    experiment: &str,
    name: &str,
    removed: bool,
) -> rusqlite::Result<()> {
    let values = (seq, experiment, name, now_unix_ms(), removed);
    connection.execute(
        "INSERT INTO run_tag (run, experiment, name, at_unix_ms, removed) VALUES (?1, ?2, ?3, ?4, ?5)",
        values,
    )?;
    Ok(())
}

/// Letters, digits and `. _ -`, beginning with a letter or digit.
fn check(name: &str) -> Result<(), StoreError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.len() <= LONGEST && name.chars().all(is_plain) && !RESERVED.contains(&name) {
        Ok(())
    } else {
        Err(StoreError::NotATag { tag: name.to_owned(), longest: LONGEST })
    }
}
