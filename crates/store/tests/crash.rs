//! A process that stores trials is killed at any instant. Every acknowledged trial is there, once.
//!
//! The child is this same test binary. An environment variable makes it append trials and print each one's number after the store
//! acknowledges it. SIGKILL keeps data that the kernel already has, so this test shows that transactions are whole and
//! acknowledged ones are in the file. That they are also synchronised rests on SQLite's `synchronous = EXTRA`.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

#[path = "support/sample.rs"]
mod sample;

use diskproof_store::Store;
use record::id::{RunId, TrialId};
use sample::{cell_id, environment, plan, run_id, trial};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PLACE: &str = "DISKPROOF_TEST_STORE";
const CELLS: u32 = 3;

/// Runs the child until it is killed. Without the variable this is an ordinary test of appending.
#[test]
fn child_appends_trials() {
    let Some(path) = std::env::var_os(PLACE) else {
        let dir = tempfile::tempdir().unwrap();
        append(&dir.path().join("diskproof.db"), Some(6), &mut std::io::sink());
        return;
    };
    append(Path::new(&path), None, &mut std::io::stdout());
}

/// Appends missing trials in order, then continues with further rounds: for ever, or until this many were appended.
fn append(path: &Path, most: Option<usize>, told: &mut dyn Write) {
    let store = Store::open(path).unwrap();
    let run = run_id("r");
    // An earlier child may have been killed before or after it created the run.
    if store.runs().unwrap().is_empty() {
        store.create_run(&run, &plan(CELLS, 1000), &environment("6.1")).unwrap();
    }
    let done = store.done(&run).unwrap();
    let order = (0..).flat_map(|round| (0..CELLS).map(move |cell| (cell, round)));
    let missing = order.filter(|&(cell, round)| !done.contains(&TrialId { cell: cell_id(cell), round }));
    for (cell, round) in missing.take(most.unwrap_or(usize::MAX)) {
        store.append_trial(&run, &trial(cell, round)).unwrap();
        // One write, so that a line is whole or not there.
        told.write_all(format!("stored {cell} {round}\n").as_bytes()).unwrap();
        told.flush().unwrap();
    }
}

fn child(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_appends_trials", "--nocapture", "--test-threads=1"])
        .env(PLACE, path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A small generator (xorshift64*): the instants should vary, but be the same in every test run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
    }
}

/// Starts a child, kills it, and returns the trials that it acknowledged.
fn killed(path: &Path, wait_for_first: bool, patience: Duration) -> BTreeSet<TrialId> {
    let mut child = child(path);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    // The test harness prints a few lines of its own first.
    while wait_for_first && !said.contains("stored ") {
        assert!(stdout.read_line(&mut said).unwrap() > 0, "the child ended by itself: {said}");
    }
    std::thread::sleep(patience);
    child.kill().unwrap();
    stdout.read_to_string(&mut said).unwrap();
    let status = child.wait().unwrap();
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!(status.code(), None, "the child ended by itself: {said}{complaint}");
    let stored = |line: &str| {
        let mut words = line.split_once("stored ")?.1.split(' ');
        let cell = words.next()?.parse().ok()?;
        Some(TrialId { cell: cell_id(cell), round: words.next()?.parse().ok()? })
    };
    said.lines().filter_map(stored).collect()
}

/// Opens the file after a kill, and checks all of it. Returns the number of trials.
fn check(path: &Path, acknowledged: &BTreeSet<TrialId>) -> usize {
    let store = Store::open(path).unwrap();
    let problems: String = rusqlite::Connection::open(path)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(problems, "ok");
    if store.runs().unwrap().is_empty() {
        assert!(acknowledged.is_empty());
        return 0;
    }
    let run: RunId = store.find("latest").unwrap();
    let mut seen = BTreeSet::new();
    store
        .trials(&run, |read| {
            let cell = (0..CELLS).find(|&cell| cell_id(cell) == read.id.cell).unwrap();
            assert_eq!(read, trial(cell, read.id.round), "a trial that isn't whole");
            assert!(seen.insert(read.id.clone()), "{:?} is there twice", read.id);
        })
        .unwrap();
    let lost: Vec<_> = acknowledged.difference(&seen).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    assert_eq!(store.runs().unwrap()[0].trials_done, seen.len() as u64, "the count is wrong");
    assert_eq!(store.done(&run).unwrap(), seen);
    // Trials are appended in order, so there is no gap, and at most one trial is beyond the acknowledged ones.
    assert!(seen.len() <= acknowledged.len() + 1, "{} seen, {} acknowledged", seen.len(), acknowledged.len());
    seen.len()
}

#[test]
fn every_acknowledged_trial_survives_a_hundred_kills() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("diskproof.db");
    let mut dice = Dice(0x5eed);
    let mut acknowledged = BTreeSet::new();
    for _ in 0..100 {
        acknowledged.extend(killed(&path, true, Duration::from_micros(dice.below(40_000))));
        let stored = check(&path, &acknowledged);
        // One trial may be stored without the child's report; it counts from now on.
        acknowledged.extend(Store::open(&path).unwrap().done(&run_id("r")).unwrap());
        assert_eq!(acknowledged.len(), stored);
    }
    assert!(acknowledged.len() >= 100, "each child stored at least one");
}

#[test]
fn a_kill_while_the_file_is_being_made_leaves_one_that_opens() {
    let dir = tempfile::tempdir().unwrap();
    let mut dice = Dice(0xf11e);
    let mut before_the_run = 0;
    for attempt in 0..60 {
        let path = dir.path().join(format!("{attempt}/diskproof.db"));
        let acknowledged = killed(&path, false, Duration::from_micros(dice.below(30_000)));
        before_the_run += usize::from(check(&path, &acknowledged) == 0);
        // And the run can continue.
        append(&path, Some(2), &mut std::io::sink());
    }
    assert!(before_the_run > 0, "no kill came early enough to tell anything");
}
