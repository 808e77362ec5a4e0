//! Tags, and the names by which runs are found.

use crate::sample::{environment, plan, run_id, trial};
use crate::{Store, StoreError};
use record::plan::Plan;
use tempfile::TempDir;

/// A store with these runs: name, experiment, whether a trial was measured. Each begins after the one before.
fn store(runs: &[(&str, &str, bool)]) -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("diskproof.db")).unwrap();
    for (name, experiment, measured) in runs {
        let plan = Plan { experiment: (*experiment).to_owned(), ..plan(1, 1) };
        store.create_run(&run_id(name), &plan, &environment("6.1")).unwrap();
        if *measured {
            store.append_trial(&run_id(name), &trial(0, 0)).unwrap();
        }
    }
    (dir, store)
}

fn found(store: &Store, wanted: &str) -> Result<String, String> {
    store.find(wanted).map(|run| run.0).map_err(|error| error.to_string())
}

#[test]
fn the_last_run_of_an_experiment_is_one_that_measured_something() {
    let (_dir, store) =
        store(&[("a1", "fs", true), ("b1", "disk", true), ("a2", "fs", true), ("a3", "fs", false)]);
    assert_eq!(found(&store, "fs@last").as_deref(), Ok("a2"));
    assert_eq!(found(&store, "disk@last").as_deref(), Ok("b1"));
    assert_eq!(found(&store, "latest").as_deref(), Ok("a2"), "a3 measured nothing");
    assert_eq!(store.find_before("fs@last", &run_id("a2")).unwrap().0, "a1");
    assert_eq!(store.find_before("b1", &run_id("a2")).unwrap().0, "b1", "other names mean what they mean");
    let none = store.find_before("fs@last", &run_id("a1")).unwrap_err().to_string();
    assert_eq!(none, "no run of `fs` has measured anything before run a1; there are runs of: fs, disk");
    let unknown = found(&store, "nfs@last").unwrap_err();
    assert_eq!(unknown, "no run of `nfs` has measured anything; there are runs of: fs, disk");
}

#[test]
fn a_tag_is_of_one_run_of_an_experiment_at_a_time() {
    let (_dir, store) = store(&[("a1", "fs", true), ("a2", "fs", true), ("b1", "disk", true)]);
    let revision = store.head(&run_id("a1")).unwrap().revision;
    assert_eq!(store.tag(&run_id("a1"), "base", false).unwrap(), None);
    assert_eq!(store.tag(&run_id("a1"), "base", false).unwrap(), None, "twice is the same");
    assert_eq!(store.head(&run_id("a1")).unwrap().revision, revision, "a tag changes no judgement");
    store.tag(&run_id("b1"), "base", false).unwrap();
    store.tag(&run_id("a1"), "nightly-42", false).unwrap();
    assert_eq!(found(&store, "fs@base").as_deref(), Ok("a1"));
    assert_eq!(found(&store, "disk@base").as_deref(), Ok("b1"));

    let taken = store.tag(&run_id("a2"), "base", false).unwrap_err();
    assert_eq!(taken.to_string(), "run a1 has the tag `base` already: --move takes it from there");
    assert_eq!(store.tag(&run_id("a2"), "base", true).unwrap(), Some(run_id("a1")));
    assert_eq!(found(&store, "fs@base").as_deref(), Ok("a2"));
    let tags: Vec<Vec<String>> = store.runs().unwrap().into_iter().map(|run| run.tags).collect();
    assert_eq!(tags, [vec!["base"], vec!["base"], vec!["nightly-42"]]);

    assert!(matches!(store.untag(&run_id("a1"), "base"), Err(StoreError::NotTagged { .. })));
    store.untag(&run_id("a2"), "base").unwrap();
    let gone = found(&store, "fs@base").unwrap_err();
    assert!(gone.starts_with("no run of fs has the tag `base`; its tags are: nightly-42 ("), "{gone}");
    assert!(found(&store, "nfs@base").unwrap_err().starts_with("no run of `nfs` has measured anything"));
    store.tag(&run_id("a1"), "base", false).unwrap();
    assert_eq!(found(&store, "fs@base").as_deref(), Ok("a1"));
}

#[test]
fn names_that_mean_something_else_are_no_tags() {
    let (_dir, store) = store(&[("a1", "fs", true)]);
    let long = "x".repeat(65);
    for name in ["", "last", "latest", "a b", "-x", "a@b", "ä", "a\n", long.as_str()] {
        assert!(matches!(store.tag(&run_id("a1"), name, false), Err(StoreError::NotATag { .. })), "{name:?}");
    }
    store.tag(&run_id("a1"), "v1.2_rc-3", false).unwrap();
    assert!(matches!(store.tag(&run_id("none"), "x", false), Err(StoreError::NoSuchRun { .. })));
}

#[test]
fn tags_are_kept_like_everything_else() {
    let (_dir, store) = store(&[("a1", "fs", true)]);
    store.tag(&run_id("a1"), "base", false).unwrap();
    for statement in ["DELETE FROM run_tag", "UPDATE run_tag SET name = 'other'"] {
        let refused = store.connection.execute(statement, []).unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{refused}");
    }
}
