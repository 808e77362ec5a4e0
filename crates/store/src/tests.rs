use crate::sample::{cell_id, environment, plan, run_id, trial};
use crate::{STORE_FORMAT, Store, StoreError};
use record::event::Stopped;
use record::id::TrialId;
use record::plan::{Measure, Plan, Raised};
use record::printable::Shown as _;
use record::trial::Outcome;
use record::version::FormatVersion;
use record::volume::VolumeFacts;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    // Two directories that don't exist yet.
    let path = dir.path().join("a/b/diskproof.db");
    (dir, path)
}

fn volume(name: &str) -> VolumeFacts {
    VolumeFacts {
        burst: None,
        name: name.to_owned(),
        target: "local".to_owned(),
        device: Some("/dev/loop9".into()),
        size_bytes: 1 << 30,
        identity: None,
        verified: Vec::new(),
        backing_fs: Some("ext4".to_owned()),
        loop_direct_io: Some(true),
        host_limits: None,
    }
}

#[test]
fn an_import_is_stored_as_a_whole_or_not_at_all() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let (run, plan, machine) = (run_id("20261126-080000-0001"), plan(2, 3), environment("6.1"));
    let stopped = Stopped::Imported { files: 2 };
    let twice = [trial(0, 0), trial(1, 0), trial(0, 0)];
    let error = store.import_run(&run, &plan, &machine, twice.to_vec(), &stopped).unwrap_err();
    assert!(matches!(error, StoreError::DuplicateTrial { .. }), "{error}");
    assert!(store.runs().unwrap().is_empty(), "nothing is left of it");
    store.import_run(&run, &plan, &machine, twice[..2].to_vec(), &stopped).unwrap();
    let data = store.load(&run).unwrap();
    assert_eq!((data.trials, data.stopped, data.plan), (twice[..2].to_vec(), stopped.clone(), plan.clone()));
    assert_eq!(store.runs().unwrap()[0].trials_planned, 2, "as many as there are");
    let error = store.import_run(&run, &plan, &machine, Vec::new(), &stopped).unwrap_err();
    assert!(matches!(error, StoreError::RunExists { .. }), "{error}");
}

#[test]
fn what_is_stored_reads_back_equal_by_another_process() {
    let (_dir, path) = place();
    let run = run_id("20261121-201455-3f9a");
    let mut failed = trial(1, 0);
    failed.outcome = Outcome::Failed("no fio".to_owned());
    failed.engine = None;
    let trials = [trial(0, 0), failed, trial(1, 1), trial(0, 1)];
    {
        let store = Store::open(&path).unwrap();
        store.create_run(&run, &plan(2, 3), &environment("6.1")).unwrap();
        store.set_volumes(&run, &[volume("vol[0]"), volume("vol[1]")]).unwrap();
        for trial in &trials {
            store.append_trial(&run, trial).unwrap();
        }
        store.finish_run(&run, &Stopped::Interrupted).unwrap();
    }
    let store = Store::open(&path).unwrap();
    let data = store.load(&run).unwrap();
    assert_eq!(data.id, run);
    assert_eq!(data.plan, plan(2, 3));
    assert_eq!(data.environment, environment("6.1"));
    assert_eq!(data.volumes, [volume("vol[0]"), volume("vol[1]")]);
    assert_eq!(data.stopped, Stopped::Interrupted);
    assert_eq!(data.trials, trials);
    let summary = &store.runs().unwrap()[0];
    assert_eq!((summary.trials_done, summary.trials_failed, summary.trials_planned), (4, 1, 6));
    assert_eq!((summary.experiment.as_str(), &summary.stopped), ("sample", &Stopped::Interrupted));
    assert!(summary.started_unix_ms > 1_700_000_000_000);
}

#[test]
fn a_run_that_never_said_its_end_is_unfinished_and_the_latest_word_holds() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let run = run_id("r");
    store.create_run(&run, &plan(1, 1), &environment("6.1")).unwrap();
    assert_eq!(store.head(&run).unwrap().stopped, Stopped::Unfinished);
    assert_eq!(store.runs().unwrap()[0].stopped, Stopped::Unfinished);
    assert!(store.head(&run).unwrap().volumes.is_empty());
    store.finish_run(&run, &Stopped::Failed { error: "it's \"so\"".to_owned() }).unwrap();
    store.set_environment(&run, &environment("6.2")).unwrap();
    store.finish_run(&run, &Stopped::RoundsDone { rounds: 3 }).unwrap();
    let head = store.head(&run).unwrap();
    assert_eq!(head.stopped, Stopped::RoundsDone { rounds: 3 });
    assert_eq!(head.environment, environment("6.2"));
    // Earlier facts are still there: environment twice, stopped twice.
    let facts: i64 =
        store.connection.query_row("SELECT count(*) FROM run_fact", [], |row| row.get(0)).unwrap();
    assert_eq!(facts, 4);
}

#[test]
fn raised_budgets_hold_and_the_plan_stays_as_it_was_written() {
    let (_dir, path) = place();
    let run = run_id("20261121-201455-3f9a");
    let store = Store::open(&path).unwrap();
    store.create_run(&run, &plan(2, 3), &environment("6.1")).unwrap();
    let before = store.head(&run).unwrap();
    let raise = |rounds, max_cost| Raised { rounds, max_cost, ..Raised::default() };
    store.raise_budgets(&run, &raise(Some(9), Some(1.5))).unwrap();
    store.raise_budgets(&run, &raise(Some(12), None)).unwrap();
    let after = store.head(&run).unwrap();
    assert_eq!((after.plan.measure.rounds, after.plan.measure.max_cost), (12, None), "the latest holds");
    assert!(after.revision > before.revision);
    let whole = plan(2, 3);
    assert_eq!(after.plan, Plan { measure: Measure { rounds: 12, ..whole.measure.clone() }, ..whole });
    assert_eq!(store.runs().unwrap()[0].trials_planned, 6);
}

#[test]
fn skipped_cells_are_kept_with_the_budgets_and_older_budgets_stay_readable() {
    let (_dir, path) = place();
    let run = run_id("20261126-101500-3f9a");
    let store = Store::open(&path).unwrap();
    let whole = plan(2, 3);
    store.create_run(&run, &whole, &environment("6.1")).unwrap();
    // As a version that knew no skipped cells wrote it.
    let older: Raised =
        serde_json::from_str(r#"{"rounds":8,"max_seconds":null,"max_written_bytes":null,"max_cost":2.5}"#)
            .unwrap();
    store.raise_budgets(&run, &older).unwrap();
    let mut changed = store.head(&run).unwrap().plan;
    assert_eq!((changed.measure.rounds, changed.skipped.len()), (8, 0));
    let cell = whole.cells[1].id.clone();
    changed.skipped.insert(cell.clone(), 2);
    store.raise_budgets(&run, &Raised::of(&changed)).unwrap();
    let after = store.head(&run).unwrap().plan;
    assert_eq!((after.measure.rounds, after.measure.max_cost, after.skipped[&cell]), (8, Some(2.5), 2));
    store.finish_run(&run, &Stopped::Requested { rounds: 3 }).unwrap();
    assert_eq!(store.head(&run).unwrap().stopped, Stopped::Requested { rounds: 3 });
}

#[test]
fn a_trial_is_taken_once() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let (one, two) = (run_id("one"), run_id("two"));
    store.create_run(&one, &plan(2, 2), &environment("6.1")).unwrap();
    store.create_run(&two, &plan(2, 2), &environment("6.1")).unwrap();
    store.append_trial(&one, &trial(0, 0)).unwrap();
    store.append_trial(&one, &trial(0, 1)).unwrap();
    store.append_trial(&two, &trial(0, 0)).unwrap();
    let error = store.append_trial(&one, &trial(0, 0)).unwrap_err();
    assert_eq!(error.to_string(), "run one already has a trial of cell 0000000000000000 in round 0");
    let expected: BTreeSet<TrialId> = [0, 1].map(|round| TrialId { cell: cell_id(0), round }).into();
    assert_eq!(store.done(&one).unwrap(), expected);
    assert_eq!(store.runs().unwrap().iter().map(|run| run.trials_done).sum::<u64>(), 3);

    let error = store.create_run(&one, &plan(1, 1), &environment("6.1")).unwrap_err();
    assert!(matches!(error, StoreError::RunExists { .. }), "{error}");
    let error = store.append_trial(&run_id("three"), &trial(0, 0)).unwrap_err();
    assert_eq!(error.to_string(), format!("there is no run `three` in {}", path.shown()));
}

#[test]
fn runs_are_found_by_name_beginning_or_age() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    assert!(matches!(store.find("latest"), Err(StoreError::NoRuns { .. })));
    for name in ["20261121-201455-3f9a", "20261121-201455-3f9a-b", "20261122-080000-00%_"] {
        store.create_run(&run_id(name), &plan(1, 1), &environment("6.1")).unwrap();
    }
    let found = |wanted: &str| store.find(wanted).map(|run| run.0).map_err(|error| error.to_string());
    assert_eq!(found("latest").unwrap(), "20261122-080000-00%_");
    assert_eq!(found("").unwrap(), "20261122-080000-00%_");
    assert_eq!(found("20261122").unwrap(), "20261122-080000-00%_");
    // The whole name counts even if another name begins with it.
    assert_eq!(found("20261121-201455-3f9a").unwrap(), "20261121-201455-3f9a");
    assert_eq!(
        found("20261121").unwrap_err(),
        "`20261121` could be any of 20261121-201455-3f9a, 20261121-201455-3f9a-b: give more of it"
    );
    assert!(found("2026%").unwrap_err().starts_with("there is no run `2026%`"));
    assert!(found("3").is_err());
    let order: Vec<String> = store.runs().unwrap().into_iter().map(|run| run.id.0).collect();
    assert_eq!(order, ["20261122-080000-00%_", "20261121-201455-3f9a-b", "20261121-201455-3f9a"]);
}

#[test]
fn nothing_stored_can_be_altered_or_removed() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let run = run_id("r");
    store.create_run(&run, &plan(2, 2), &environment("6.1")).unwrap();
    store.append_trial(&run, &trial(0, 0)).unwrap();
    store.finish_run(&run, &Stopped::TimeSpent).unwrap();
    let before = store.load(&run).unwrap();
    // Another connection without diskproof's settings: the file itself refuses.
    let other = Connection::open(&path).unwrap();
    for attempt in [
        "UPDATE trial SET round = 7",
        "UPDATE trial SET failed = 1",
        "DELETE FROM trial",
        "UPDATE trial_body SET record = x'00'",
        "DELETE FROM trial_body",
        "UPDATE run SET id = 's'",
        "UPDATE run SET experiment = 'better'",
        "UPDATE run SET trials_planned = 1",
        "UPDATE run SET trials_done = 0, revision = revision + 1",
        "UPDATE run SET stopped = '{}'",
        "DELETE FROM run",
        "UPDATE run_plan SET plan = x'00'",
        "DELETE FROM run_plan",
        "UPDATE run_fact SET body = '{}'",
        "DELETE FROM run_fact",
    ] {
        let error = other.execute(attempt, []).unwrap_err().to_string();
        assert!(error.starts_with("append-only: "), "{attempt}: {error}");
    }
    let replace = "INSERT OR REPLACE INTO trial SELECT seq, run, cell, round, 0, 1, 0 FROM trial";
    let error = store.connection.execute(replace, []).unwrap_err().to_string();
    assert!(error.starts_with("append-only: "), "{error}");
    assert_eq!(store.load(&run).unwrap(), before);
}

#[test]
fn a_cached_judgement_lives_until_the_run_changes() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let (run, other) = (run_id("r"), run_id("s"));
    store.create_run(&run, &plan(2, 2), &environment("6.1")).unwrap();
    store.create_run(&other, &plan(2, 2), &environment("6.1")).unwrap();
    store.append_trial(&run, &trial(0, 0)).unwrap();
    let keep =
        |json: &str| store.cache_judgement(&run, "1.0", store.head(&run).unwrap().revision, json).unwrap();
    let kept = |judge: &str| store.judgement(&run, judge).unwrap();
    assert_eq!(kept("1.0"), None);
    keep("{\"first\":1}");
    keep("{\"second\":2}");
    assert_eq!(kept("1.0").as_deref(), Some("{\"second\":2}"));
    assert_eq!(kept("1.1"), None);
    let latest = || store.kept_judgement(&run).unwrap();
    assert_eq!(latest(), Some(("1.0".to_owned(), "{\"second\":2}".to_owned())));
    let revision = store.head(&run).unwrap().revision;
    store.cache_judgement(&run, "1.1", revision, "{\"other\":3}").unwrap();
    assert_eq!(latest().unwrap().0, "1.1");
    keep("{\"second\":2}");
    assert_eq!(latest().unwrap().0, "1.0", "the one that was kept last");
    assert_eq!(store.judgement(&other, "1.0").unwrap(), None);
    store.append_trial(&other, &trial(0, 0)).unwrap();
    assert!(kept("1.0").is_some());
    let changes: [&dyn Fn(); 4] = [
        &|| store.append_trial(&run, &trial(0, 1)).unwrap(),
        &|| store.set_volumes(&run, &[volume("v")]).unwrap(),
        &|| store.set_environment(&run, &environment("6.2")).unwrap(),
        &|| store.finish_run(&run, &Stopped::Interrupted).unwrap(),
    ];
    for change in changes {
        keep("{}");
        assert!(kept("1.0").is_some());
        change();
        assert_eq!(kept("1.0"), None);
    }
    // Judged while another process added a trial: not kept.
    let revision = store.load(&run).unwrap().revision;
    store.append_trial(&run, &trial(1, 1)).unwrap();
    store.cache_judgement(&run, "1.0", revision, "{}").unwrap();
    assert_eq!(kept("1.0"), None);
}

fn set_format(path: &PathBuf, major: u16, minor: u16) {
    let other = Connection::open(path).unwrap();
    other.execute("UPDATE format SET major = ?1, minor = ?2", (major, minor)).unwrap();
}

#[test]
fn a_newer_major_is_refused_and_a_newer_minor_only_read() {
    let (_dir, path) = place();
    let run = run_id("r");
    {
        let store = Store::open(&path).unwrap();
        store.create_run(&run, &plan(1, 1), &environment("6.1")).unwrap();
        store.append_trial(&run, &trial(0, 0)).unwrap();
    }
    set_format(&path, STORE_FORMAT.major, STORE_FORMAT.minor + 1);
    let bytes = fs::read(&path).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load(&run).unwrap().trials, [trial(0, 0)]);
    let refusals = [
        store.append_trial(&run, &trial(0, 1)),
        store.create_run(&run_id("s"), &plan(1, 1), &environment("6.1")),
        store.finish_run(&run, &Stopped::Interrupted),
        store.set_volumes(&run, &[]),
        store.set_environment(&run, &environment("6.2")),
        store.raise_budgets(&run, &Raised::default()),
        store.cache_judgement(&run, "1.0", 1, "{}"),
        store.tag(&run, "base", false).map(|_| ()),
        store.untag(&run, "base"),
    ];
    for refusal in refusals {
        let said = refusal.unwrap_err().to_string();
        assert!(
            said.contains("has results format 1.5; this diskproof (1.4) can read it but must not write it"),
            "{said}"
        );
    }
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), bytes);

    set_format(&path, STORE_FORMAT.major + 1, 0);
    let bytes = fs::read(&path).unwrap();
    let said = Store::open(&path).unwrap_err().to_string();
    assert!(
        said.contains("has results format 2.0, this diskproof reads 1.4: use the diskproof that wrote it"),
        "{said}"
    );
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_trial_of_a_newer_major_is_named_not_misread() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let run = run_id("r");
    store.create_run(&run, &plan(1, 1), &environment("6.1")).unwrap();
    let mut newer = trial(0, 0);
    newer.format = FormatVersion { major: FormatVersion::RECORD.major + 1, minor: 0 };
    store.append_trial(&run, &newer).unwrap();
    let said = store.load(&run).unwrap_err().to_string();
    let ours = FormatVersion::RECORD;
    let wanted =
        format!("trial 1 of run r has format 2.0, this diskproof reads {ours}: use a newer diskproof");
    assert_eq!(said, wanted);
}

#[test]
fn somebody_elses_file_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let foreign = dir.path().join("other.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
    let text = dir.path().join("notes.txt");
    fs::write(&text, "not a database at all, but long enough to be looked at as one".repeat(40)).unwrap();
    for path in [foreign, text] {
        let bytes = fs::read(&path).unwrap();
        let said = Store::open(&path).unwrap_err().to_string();
        assert_eq!(
            said,
            format!("{} is not a diskproof results file; choose another with DISKPROOF_STORE", path.shown())
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn a_number_that_is_none_is_refused_rather_than_lost() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let run = run_id("r");
    store.create_run(&run, &plan(1, 1), &environment("6.1")).unwrap();
    let mut broken = trial(0, 0);
    broken.steps[0].seconds = f64::NAN;
    let said = store.append_trial(&run, &broken).unwrap_err().to_string();
    assert_eq!(said, "trial 0000000000000000 round 0 of run r can't be stored: it would not read back");
    assert!(store.done(&run).unwrap().is_empty());
}

#[test]
fn reading_a_long_run_does_not_hold_up_its_writer() {
    let (_dir, path) = place();
    let (reader, writer) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    let run = run_id("r");
    writer.create_run(&run, &plan(1, 200), &environment("6.1")).unwrap();
    for round in 0..40 {
        writer.append_trial(&run, &trial(0, round)).unwrap();
    }
    let mut seen = Vec::new();
    let mut next = 40;
    let handed_out = reader.trials(&run, |trial| {
        seen.push(trial.id.round);
        if next < 60 {
            writer.append_trial(&run, &crate::sample::trial(0, next)).unwrap();
            next += 1;
        }
    });
    handed_out.unwrap();
    assert_eq!(seen, (0..60).collect::<Vec<_>>());
}

#[test]
fn many_processes_may_be_the_first_to_open() {
    for _ in 0..10 {
        let (_dir, path) = place();
        std::thread::scope(|scope| {
            let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| Store::open(&path).map(drop))).collect();
            for thread in opening {
                thread.join().unwrap().unwrap();
            }
        });
        assert!(Store::open(&path).unwrap().runs().unwrap().is_empty());
    }
}

#[test]
fn a_damaged_trial_is_named() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let run = run_id("r");
    store.create_run(&run, &plan(1, 1), &environment("6.1")).unwrap();
    store.append_trial(&run, &trial(0, 0)).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("DROP TRIGGER trial_body_stays; UPDATE trial_body SET samples = x'0011'").unwrap();
    let said = store.load(&run).unwrap_err().to_string();
    assert_eq!(said, format!("trial 1 of run r in {} is damaged", path.shown()));
    assert_eq!(store.done(&run).unwrap().len(), 1);
}

fn cut_off(cell: u32, round: u32, started_unix_ms: u64) -> record::trial::TrialRecord {
    let record = trial(cell, round);
    let outcome = Outcome::Failed("machine b is lost".to_owned());
    record::trial::TrialRecord { cut_off: true, started_unix_ms, outcome, engine: None, ..record }
}

#[test]
fn a_trial_that_was_cut_off_is_kept_beside_the_one_made_in_its_place() {
    let (_dir, path) = place();
    let store = Store::open(&path).unwrap();
    let run = run_id("r");
    store.create_run(&run, &plan(2, 2), &environment("6.1")).unwrap();
    let kept = [trial(0, 0), cut_off(1, 0, 10), cut_off(1, 0, 20), trial(1, 0)];
    kept.iter().for_each(|trial| store.append_trial(&run, trial).unwrap());
    let counts = || {
        let summary = store.runs().unwrap().remove(0);
        (summary.trials_done, summary.trials_failed, store.done(&run).unwrap().len())
    };
    assert_eq!(counts(), (2, 0, 2), "those that were cut off don't count");
    for again in [trial(1, 0), cut_off(1, 0, 20)] {
        let error = store.append_trial(&run, &again).unwrap_err();
        assert!(matches!(error, StoreError::DuplicateTrial { .. }), "{error}");
    }
    store.append_trial(&run, &cut_off(0, 1, 30)).unwrap();
    assert_eq!(counts(), (2, 0, 2));
    assert!(!store.done(&run).unwrap().contains(&trial(0, 1).id), "it is missing");
    let all = [kept.to_vec(), vec![cut_off(0, 1, 30)]].concat();
    assert_eq!(store.load(&run).unwrap().trials, all);
    let mut of_cell = Vec::new();
    let whole = |trial: record::trial::TrialRecord, _: Vec<record::counter::Sample>| trial.started_unix_ms;
    store.reduced_cells(&run, &[cell_id(1)], whole, |started| of_cell.push(started)).unwrap();
    assert_eq!(of_cell, [10, 20, trial(1, 0).started_unix_ms], "in the order of measurement");
}

/// A file as a diskproof before 1.3 wrote it.
#[test]
fn an_older_file_keeps_its_trials_and_takes_those_that_are_cut_off() {
    let (_dir, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let run = run_id("r");
    let (bodies, source) = (_dir.path().join("new.db"), trial(0, 0));
    let newer = Store::open(&bodies).unwrap();
    newer.create_run(&run, &plan(2, 2), &environment("6.1")).unwrap();
    newer.append_trial(&run, &source).unwrap();
    drop(newer);
    let older = Connection::open(&path).unwrap();
    for script in ["001_first.sql", "002_raised.sql", "003_tags.sql"] {
        let script = fs::read_to_string(format!("{}/schema/{script}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        older.execute_batch(&script).unwrap();
    }
    older.pragma_update(None, "application_id", 0x6470_7266).unwrap();
    older.execute("INSERT INTO format VALUES (1, 1, 2)", []).unwrap();
    older.execute("ATTACH ?1 AS new", [bodies.to_str().unwrap()]).unwrap();
    older
        .execute_batch(
            "INSERT INTO run (id, experiment, started_unix_ms, trials_planned) SELECT id, experiment, started_unix_ms, trials_planned
                 FROM new.run;
             INSERT INTO run_plan SELECT * FROM new.run_plan;
             INSERT INTO run_fact SELECT * FROM new.run_fact;
             INSERT INTO trial SELECT seq, run, cell, round, started_unix_ms, failed FROM new.trial;
             INSERT INTO trial_body SELECT * FROM new.trial_body;",
        )
        .unwrap();
    drop(older);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load(&run).unwrap().trials, [source]);
    assert_eq!(store.runs().unwrap()[0].trials_done, 1);
    store.append_trial(&run, &cut_off(0, 1, 5)).unwrap();
    store.append_trial(&run, &trial(0, 1)).unwrap();
    assert_eq!(store.load(&run).unwrap().trials.len(), 3);
    let broken: i64 = store
        .connection
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(broken, 0, "each body still has its trial");
    let held: bool = store.connection.pragma_query_value(None, "foreign_keys", |row| row.get(0)).unwrap();
    assert!(held, "references are checked again");
    let removed = store.connection.execute("DELETE FROM trial", []).unwrap_err().to_string();
    assert!(removed.starts_with("append-only: "), "{removed}");
}
