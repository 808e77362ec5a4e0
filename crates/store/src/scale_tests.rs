//! Checks without a clock that lists are fast: how many rows are read, and through which index.

use crate::find::BY_PREFIX;
use crate::read::{FACT, JUDGEMENT, LATEST, OF_CELL, RUNS, TRIALS};
use crate::sample::{environment, plan, run_id, trial};
use crate::{Store, bulk};
use rusqlite::{Params, StatementStatus};

const CELLS: u32 = 500;
const ROUNDS: u32 = 200;

/// Returns the number of rows, and the steps of SQLite's virtual machine to read them all.
fn steps(store: &Store, sql: &str, params: impl Params) -> (usize, i32) {
    let mut statement = store.connection.prepare(sql).unwrap();
    let rows = statement.query_map(params, |_| Ok(())).unwrap().count();
    (rows, statement.get_status(StatementStatus::VmStep))
}

fn way(store: &Store, sql: &str, params: impl Params) -> String {
    let mut statement = store.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let rows = statement.query_map(params, |row| row.get::<_, String>(3)).unwrap();
    rows.map(Result::unwrap).collect::<Vec<_>>().join("; ")
}

#[test]
fn lists_of_a_hundred_thousand_trials_read_few_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("diskproof.db");
    let store = Store::open(&path).unwrap();
    for other in 0..20 {
        store.create_run(&run_id(&format!("other-{other}")), &plan(1, 1), &environment("6.1")).unwrap();
    }
    let run = run_id("large");
    store.create_run(&run, &plan(CELLS, ROUNDS), &environment("6.1")).unwrap();
    let mut small = trial(0, 0);
    small.evidence.samples.truncate(1);
    bulk::fill(&path, CELLS, ROUNDS, &small).unwrap();

    let summary = &store.runs().unwrap()[0];
    assert_eq!((summary.trials_done, summary.trials_planned), (100_000, 100_000));
    let head = store.head(&run).unwrap();
    assert_eq!(head.trials_done, 100_000);
    store.cache_judgement(&run, "1.0", head.revision, "{}").unwrap();
    assert_eq!(store.judgement(&run, "1.0").unwrap().as_deref(), Some("{}"));

    // 21 runs: some tens of steps each, and none for the trials.
    for (sql, rows) in [(RUNS, 21), (LATEST, 1)] {
        let (read, steps) = steps(&store, sql, []);
        assert!(read == rows && steps < 2_000, "{sql}: {read} rows in {steps} steps");
        assert_eq!(way(&store, sql, []), "SCAN run; USE TEMP B-TREE FOR ORDER BY");
    }
    let (rows, by_prefix) = steps(&store, BY_PREFIX, ["larg"]);
    assert!(rows == 1 && by_prefix < 200, "{rows} rows in {by_prefix} steps");
    let (rows, judgement) = steps(&store, JUDGEMENT, ["large", "1.0"]);
    assert!(rows == 1 && judgement < 200, "{rows} rows in {judgement} steps");
    let seq = store.seq(&store.connection, &run).unwrap();
    let (rows, batch) = steps(&store, TRIALS, (seq, 50_000, 16));
    assert!(rows == 16 && batch < 1_000, "{rows} rows in {batch} steps");
    let cell = trial(0, 0).id.cell.0;
    let (rows, of_cell) = steps(&store, OF_CELL, (seq, &cell));
    assert!(rows == ROUNDS as usize && of_cell < 6_000, "{rows} rows in {of_cell} steps");
    let ways = [
        way(&store, OF_CELL, (seq, &cell)),
        way(&store, BY_PREFIX, ["large"]),
        way(&store, JUDGEMENT, ["large", "1.0"]),
        way(&store, TRIALS, (seq, 0, 16)),
        way(&store, FACT, (seq, "stopped")),
    ];
    for way in ways {
        assert!(way.contains("SEARCH") && !way.contains("SCAN") && !way.contains("TEMP B-TREE"), "{way}");
    }
}

#[test]
fn trials_added_in_bulk_are_like_those_added_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("diskproof.db");
    let store = Store::open(&path).unwrap();
    let run = run_id("r");
    store.create_run(&run, &plan(2, 2), &environment("6.1")).unwrap();
    bulk::fill(&path, 2, 2, &trial(0, 0)).unwrap();
    let mut seen = Vec::new();
    store.trials(&run, |read| seen.push(read)).unwrap();
    assert_eq!(seen, vec![trial(0, 0); 4]);
    assert_eq!(store.done(&run).unwrap().len(), 4);
}
