//! The node as a controller sees it: lines in, lines out. An existing directory needs no root; uses the real fio.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up what it needs has failed")]

use diskproof_run::fault::Fault;
use diskproof_run::node::serve;
use diskproof_run::protocol::{PROTOCOL, Reply, Request, TrialRequest, Turn};
use record::id::{CellId, RunId, TrialId};
use record::plan::{Cell, Measure};
use record::stack::{Rebuild, Stack};
use record::trial::{Outcome, TrialRecord};
use record::volume::{Volume, VolumeKind};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use stack::{NfsClient, Shared};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

/// Sends the requests one by one, each after the answer to the one before, then closes the input.
fn talk(state: &Path, requests: &[Request]) -> Vec<Reply> {
    let lines: Vec<String> = requests.iter().map(|r| serde_json::to_string(r).unwrap()).collect();
    said(state, &lines)
}

fn said(state: &Path, lines: &[String]) -> Vec<Reply> {
    said_between(state, lines, |_| {})
}

/// Calls `between` before each line, with the answers so far.
fn said_between(state: &Path, lines: &[String], between: impl Fn(&[Reply])) -> Vec<Reply> {
    let (input, mut ask) = std::io::pipe().unwrap();
    let (hear, output) = std::io::pipe().unwrap();
    let state = state.to_path_buf();
    let node = std::thread::spawn(move || serve(BufReader::new(input), output, &state));
    let said = BufReader::new(hear).lines();
    let mut heard = said.map(|reply| serde_json::from_str::<Reply>(&reply.unwrap()).unwrap());
    let mut answers = Vec::new();
    for line in lines {
        between(&answers);
        writeln!(ask, "{line}").unwrap();
        let answer = |reply: &Reply| !matches!(reply, Reply::Event { .. } | Reply::Alive);
        answers.extend(heard.by_ref().filter(answer).take(1));
    }
    drop(ask);
    node.join().unwrap().unwrap();
    let unasked = heard.filter(|reply| !matches!(reply, Reply::Alive)).count();
    assert_eq!(unasked, 0, "nothing is said unasked");
    answers
}

fn volume(path: &Path) -> Volume {
    Volume { name: "dir".into(), kind: VolumeKind::Directory { path: path.to_path_buf() } }
}

fn open(run: RunId, path: &Path, space: u64) -> Request {
    let space_bytes = BTreeMap::from([("dir".to_owned(), space)]);
    Request::Open {
        run,
        volumes: vec![volume(path)],
        space_bytes,
        needs_tools: Vec::new(),
        ends_in_seconds: None,
        shared: Shared::default(),
    }
}

fn trial(path: &Path) -> TrialRequest {
    let cell = CellId("00112233445566aa".into());
    let options = Options {
        ioengine: "psync".into(),
        rate_iops: Some(100),
        ..Options::new(Rw::Randread, 4096, 8 << 20)
    };
    TrialRequest {
        id: TrialId { cell: cell.clone(), round: 0 },
        cell: Cell {
            id: cell,
            target: "local".into(),
            stack: Stack {
                name: "dir".into(),
                volumes: vec![volume(path)],
                beside: Vec::new(),
                layers: Vec::new(),
                rebuild: Rebuild::Trial,
            },
            workload: Workload {
                name: "randread".into(),
                engine: EngineKind::Fio,
                ask: Ask::Options(options),
                layout: Layout::Written,
                cache: CacheStart::Warm,
                on: Vec::new(),
            },
            levels: BTreeMap::new(),
        },
        measure: Measure { sample_hz: 20.0, ..Measure::new(1.0, 0.5, 1) },
        seed: 7,
        from: None,
        live: false,
        together: None,
    }
}

#[test]
fn greets_with_its_protocol_and_machine() {
    let state = tempfile::tempdir().unwrap();
    let replies = talk(state.path(), &[Request::Hello { protocol: PROTOCOL }]);
    let [Reply::Hello { protocol, environment, .. }] = replies.as_slice() else { panic!("{replies:?}") };
    assert_eq!(*protocol, PROTOCOL);
    assert_eq!(environment.diskproof, env!("CARGO_PKG_VERSION"));
    assert!(environment.kernel.is_some() && environment.cpus.is_some_and(|n| n > 0));
}

#[test]
fn refuses_a_trial_without_volumes() {
    let (state, lent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let replies = talk(state.path(), &[Request::Trial(Box::new(trial(lent.path())))]);
    assert!(matches!(replies.as_slice(), [Reply::Failed { blame: Fault::Ours, .. }]), "{replies:?}");
}

/// A server request needs an open export, and an existing directory alone can't be exported.
#[test]
fn nothing_is_served_without_an_export() {
    let (state, lent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = open(RunId("r5".into()), lent.path(), 8 << 20);
    let client = NfsClient { address: std::net::Ipv4Addr::LOCALHOST, any_port: false };
    let serve = Request::Serve { trial: Box::new(trial(lent.path())), clients: vec![client] };
    let requests = [open, Request::Turn { turn: Turn::Clock }, serve, Request::Withdraw, Request::Close];
    let replies = talk(state.path(), &requests);
    let [
        _,
        Reply::Failed { blame: Fault::Ours, .. },
        Reply::Trial { record, .. },
        Reply::Failed { .. },
        Reply::Closed,
    ] = replies.as_slice()
    else {
        panic!("{replies:?}")
    };
    assert_eq!(record.outcome, Outcome::Failed("nothing was exported".to_owned()));
    assert!(files_below(lent.path()).is_empty() && files_below(state.path()).is_empty());
}

#[test]
fn ends_at_a_line_that_is_no_request_and_says_why() {
    let state = tempfile::tempdir().unwrap();
    for line in [r#"{"request":"format_all_disks"}"#, "{"] {
        let replies = said(state.path(), &[line.to_owned()]);
        let [Reply::Failed { blame: Fault::Ours, error }] = replies.as_slice() else { panic!("{replies:?}") };
        assert!(error.starts_with("the agent process can't read line 1 of its requests: "), "{error}");
    }
}

#[test]
fn a_missing_directory_is_the_machines_fault_and_leaves_no_journal() {
    let state = tempfile::tempdir().unwrap();
    let run = RunId("r1".into());
    let open = open(run, Path::new("/nonexistent/lent"), 0);
    let replies = talk(state.path(), &[open]);
    let [Reply::Failed { blame: Fault::Machine, error }] = replies.as_slice() else { panic!("{replies:?}") };
    assert!(error.contains("/nonexistent/lent"), "{error}");
    assert_eq!(files_below(state.path()), Vec::<String>::new());
}

#[test]
fn the_journal_says_when_the_time_budget_is_spent() {
    let (state, lent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut open = open(RunId("r4".into()), lent.path(), 8 << 20);
    if let Request::Open { ends_in_seconds, .. } = &mut open {
        *ends_in_seconds = Some(600.0);
    }
    let lines = [open, Request::Close].map(|request| serde_json::to_string(&request).unwrap());
    let unix = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let began = unix();
    let journal = state.path().join("journal/r4.jsonl");
    said_between(state.path(), &lines, |answers| {
        if !answers.is_empty() {
            let text = std::fs::read_to_string(&journal).unwrap();
            let session: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
            let ends = session["ends_unix_s"].as_u64().unwrap();
            assert!((began + 600..=unix() + 600).contains(&ends), "{text}");
        }
    });
    assert!(!journal.exists());
}

#[test]
fn a_directory_is_never_filled() {
    let (state, lent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let replies = talk(state.path(), &[open(RunId("r3".into()), lent.path(), 1 << 60)]);
    let [Reply::Failed { blame: Fault::Machine, error }] = replies.as_slice() else { panic!("{replies:?}") };
    assert!(error.contains("free") && error.contains("1 EiB") && error.contains("smaller size"), "{error}");
    assert!(files_below(lent.path()).is_empty() && files_below(state.path()).is_empty());
}

#[test]
fn fio_trial_in_a_lent_directory_is_recorded_and_undone() {
    let (state, lent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(lent.path().join("mine.txt"), "stays").unwrap();
    let open = open(RunId("r2".into()), lent.path(), 8 << 20);
    let requests = [open, Request::Trial(Box::new(trial(lent.path()))), Request::Close];
    let replies = talk(state.path(), &requests);
    let [Reply::Opened { volumes }, Reply::Trial { record, cancelled: false }, Reply::Closed] =
        replies.as_slice()
    else {
        panic!("{replies:?}")
    };
    assert_eq!(volumes.len(), 1);
    assert_eq!(record.outcome, Outcome::Measured);
    assert!(record.evidence.samples.len() >= 10, "{} samples", record.evidence.samples.len());
    let steps: Vec<&str> = record.steps.iter().map(|s| s.step.name()).collect();
    assert_eq!(steps, ["build", "prepare", "settle", "measure", "undo"]);
    assert_eq!(files_below(lent.path()), ["mine.txt"]);
    assert_eq!(files_below(state.path()), Vec::<String>::new());
}

/// The data are removed between the second and the third trial: that one fails, and the stack isn't used any more.
#[test]
fn a_stack_that_stays_up_keeps_its_data_until_a_trial_fails_and_is_undone_with_the_run() {
    let (state, lent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = open(RunId("r4".into()), lent.path(), 8 << 20);
    let round = |round| {
        let mut request = trial(lent.path());
        request.id.round = round;
        request.cell.stack.rebuild = Rebuild::Run;
        request.cell.workload.cache = CacheStart::Keep;
        Request::Trial(Box::new(request))
    };
    let requests = [open, round(0), round(1), round(2), round(3), Request::Close];
    let spoil = |replies: &[Reply]| {
        if replies.len() == 3 {
            let data = files_below(lent.path());
            assert_eq!(data.len(), 1, "it is still there: {data:?}");
            remove_below(lent.path());
        }
    };
    let lines: Vec<String> = requests.iter().map(|r| serde_json::to_string(r).unwrap()).collect();
    let replies = said_between(state.path(), &lines, spoil);
    let records: Vec<_> = replies
        .iter()
        .filter_map(|reply| match reply {
            Reply::Trial { record, .. } => Some(record),
            _ => None,
        })
        .collect();
    assert!(matches!(replies.last(), Some(Reply::Closed)), "{replies:?}");
    let before: Vec<Option<u32>> = records.iter().map(|record| record.trials_before).collect();
    assert_eq!(before, [Some(0), Some(1), Some(2), Some(0)]);
    let steps = |i: usize| records[i].steps.iter().map(|s| s.step.name()).collect::<Vec<_>>().join(" ");
    assert_eq!(steps(0), "build prepare settle measure");
    assert_eq!(steps(1), "settle measure");
    assert!(matches!(records[2].outcome, Outcome::Failed(_)) && steps(2).ends_with("undo"), "{}", steps(2));
    assert_eq!(
        (steps(3).as_str(), &records[3].outcome),
        ("build prepare settle measure", &Outcome::Measured)
    );
    assert_eq!(files_below(lent.path()), Vec::<String>::new());
    assert_eq!(files_below(state.path()), Vec::<String>::new());
}

/// In the loop tier, where nothing runs beside it: each run with cold caches that root begins drops all caches of the machine.
#[test]
fn loop_a_warm_cache_holds_all_data_and_a_rate_is_kept() {
    let said = while_nobody_else_drops_caches(0, || brief(&[trial]));
    let [record] = said.as_slice() else { panic!("{said:?}") };
    let read = record.engine.as_ref().and_then(|e| e.read.as_ref()).unwrap();
    assert!((80.0..=120.0).contains(&read.iops), "asked for 100 per second, got {}", read.iops);
    let cached = cached_before(record);
    // A kernel that reclaims cold pages (DAMON) may have done so before the sample.
    let trimmed = record.evidence.samples.iter().any(|s| s.vm.is_some_and(|vm| vm.takes_cold_pages));
    let least = if trimmed { 7 << 20 } else { 8 << 20 };
    assert!((least..=8 << 20).contains(&cached), "warm means all of it, not {cached} bytes");
}

/// In the loop tier, too, for the same reason.
#[test]
fn loop_a_cache_that_is_kept_holds_what_the_trial_before_read_and_not_what_laying_out_left() {
    let round = |round| {
        move |path: &Path| {
            let mut request = trial(path);
            request.id.round = round;
            request.cell.stack.rebuild = Rebuild::Run;
            request.cell.workload.cache = CacheStart::Keep;
            request
        }
    };
    // Root drops all caches after laying out; others drop the data only.
    let own = u64::from(testkit::is_root());
    let said = while_nobody_else_drops_caches(own, || brief(&[round(0), round(1)]));
    let cached: Vec<u64> = said.iter().map(cached_before).collect();
    let [first, second] = cached.as_slice() else { panic!("{said:?}") };
    assert_eq!(*first, 0);
    assert!((1..8 << 20).contains(second), "{second}");
}

/// Performs the trials in an existing directory, each for 0.3 s.
fn brief(trials: &[impl Fn(&Path) -> TrialRequest]) -> Vec<TrialRecord> {
    let (state, lent) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut requests = vec![open(RunId("r6".into()), lent.path(), 8 << 20)];
    requests.extend(trials.iter().map(|trial| {
        let mut request = trial(lent.path());
        request.measure = Measure { sample_hz: 20.0, ..Measure::new(0.3, 0.0, 1) };
        Request::Trial(Box::new(request))
    }));
    requests.push(Request::Close);
    let replies = talk(state.path(), &requests);
    let record = |reply| match reply {
        Reply::Trial { record, .. } => Some(*record),
        _ => None,
    };
    replies.into_iter().filter_map(record).collect()
}

fn cached_before(record: &TrialRecord) -> u64 {
    assert_eq!(record.outcome, Outcome::Measured);
    record.cache_before.iter().map(|file| file.cached_bytes).sum()
}

/// Returns what `talk` says when all caches of the machine were dropped `own` times while it ran, by the kernel's count. Where somebody else
/// dropped them, too, it says nothing about ours, and talks again.
fn while_nobody_else_drops_caches<T>(own: u64, talk: impl Fn() -> T) -> T {
    let drops = || {
        let counters = std::fs::read_to_string("/proc/vmstat").unwrap();
        let drops = counters.lines().find_map(|line| line.strip_prefix("drop_pagecache ")).unwrap();
        drops.parse::<u64>().unwrap()
    };
    for _ in 0..10 {
        let before = drops();
        let said = talk();
        let dropped = drops() - before;
        assert!(dropped >= own, "{dropped} of {own} times");
        if dropped == own {
            return said;
        }
    }
    panic!("somebody else drops all caches all the time")
}

fn remove_below(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { remove_below(&path) } else { std::fs::remove_file(path).unwrap() }
    }
}

fn files_below(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.file_name().into_string().unwrap());
        }
    }
    found
}
