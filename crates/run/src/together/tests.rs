//! Fake machines, which are shell scripts, and the record that is joined from theirs.

use super::{shared, trial};
use crate::agent_link::{AgentLink, NodeAt};
use crate::error::RunError;
use crate::protocol::{Reply, Request, TrialRequest};
use crate::testing::cell;
use crate::trial::blank;
use record::event::Event;
use record::latency::LatencyHistogram;
use record::plan::{Measure, Plan};
use record::trial::{EngineOutput, Outcome, Totals, TrialRecord, Window};
use record::volume::{Volume, VolumeKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A machine that logs what it is asked. `MEET`: what it does at the start.
const MACHINE: &str = r#"while read -r line; do echo "$line" >> "asked-of-$NAME"
case $line in
*'"request":"trial"'*) PREPARE ;;
*'"request":"clock"'*) echo '{"reply":"clock","reading":{"monotonic_ns":5000000000000,"realtime_ns":1700000000000000000}}' ;;
*'"request":"start"'*) LOAD ;;
*'"request":"finish"'*) cat "$NAME.json" ;;
*'"request":"abandon"'*|*'"request":"cancel"'*) cat ended.json ;;
esac; done"#;
const READY: &str = r#"echo '{"reply":"ready"}'"#;
const RESTED: &str = r#"echo '{"reply":"rested","began":{"monotonic_ns":5000200000000,"realtime_ns":1700000000200000000},"ended":{"monotonic_ns":5001200000000,"realtime_ns":1700000001200000000}}'"#;
const FAILS: &str = r#"cat failed.json"#;
/// It goes on until it is told to end.
const LONG: &str = ":";

fn request() -> TrialRequest {
    let mut cell = cell("00112233445566aa", "a", "share");
    let path = "/mnt/share".into();
    cell.stack.volumes = vec![Volume { name: "share".into(), kind: VolumeKind::Directory { path } }];
    cell.workload.on = ["a", "b", "c"].map(str::to_owned).to_vec();
    crate::testing::request(cell)
}

fn measured(ios: u64) -> TrialRecord {
    let read = Totals {
        ios,
        bytes: ios * 4096,
        seconds: 1.0,
        iops: ios as f64,
        latency: LatencyHistogram { bins_ns: [(1000 * ios, ios)].into() },
        ..Totals::default()
    };
    let window = Window { start_ns: 5_000_200_000_000, end_ns: 5_001_200_000_000 };
    let engine = EngineOutput { read: Some(read), ..EngineOutput::new("native-1".to_owned(), window) };
    TrialRecord { engine: Some(engine), ..blank(&request()) }
}

fn ended(why: &str) -> TrialRecord {
    TrialRecord { outcome: Outcome::Failed(why.to_owned()), ..blank(&request()) }
}

fn say(dir: &Path, file: &str, record: TrialRecord) {
    let reply = Reply::Trial { record: Box::new(record), cancelled: false };
    std::fs::write(dir.join(file), format!("{}\n", serde_json::to_string(&reply).unwrap())).unwrap();
}

fn line(dir: &Path, target: &str, prepare: &str, load: &str) -> AgentLink {
    let machine = MACHINE.replace("PREPARE", prepare).replace("LOAD", load);
    let script = format!("cd {} && NAME={target}; {machine}", dir.to_string_lossy());
    let argv = ["sh", "-c", &script].map(Into::into).to_vec();
    AgentLink::to(&NodeAt { target: target.to_owned(), argv, remote: false, hosted: Vec::new() }).unwrap()
}

/// Performs the trial; the machines `a` and `b` as said, `c` as given.
fn tried(
    dir: &Path,
    others: &str,
    (prepare, load): (&str, &str),
    cancel: &AtomicBool,
) -> Result<Option<TrialRecord>, RunError> {
    for (name, ios) in [("a", 10), ("b", 20), ("c", 30)] {
        say(dir, &format!("{name}.json"), measured(ios));
    }
    say(dir, "failed.json", ended("no space left"));
    say(dir, "ended.json", ended("it was ended"));
    // In another order than the cell's.
    let mut lines =
        [line(dir, "c", prepare, load), line(dir, "b", READY, others), line(dir, "a", READY, others)];
    let mut silent = |_: Event| Ok(());
    trial(&mut lines, &[], &request(), cancel, &mut silent).map(|made| made.record)
}

fn asked(dir: &Path, target: &str) -> Vec<Request> {
    let text = std::fs::read_to_string(dir.join(format!("asked-of-{target}"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn three_machines_are_one_trial_with_the_parts_kept() {
    let dir = tempfile::tempdir().unwrap();
    let record = tried(dir.path(), RESTED, (READY, RESTED), &AtomicBool::new(false)).unwrap().unwrap();
    assert_eq!(record.outcome, Outcome::Measured);
    let read = record.engine.as_ref().unwrap().read.clone().unwrap();
    assert_eq!((read.ios, read.iops, read.latency.count()), (60, 60.0, 60));
    let names: Vec<&str> = record.parts.iter().map(|part| part.target.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"], "in the order of the experiment");
    for part in &record.parts {
        assert!(part.clock_before.is_some() && part.clock_after.is_some() && part.agreed_ns.is_some());
        assert_eq!(part.clock_step_ns(), Some(0));
    }
    let mut seeds = Vec::new();
    for target in ["a", "b", "c"] {
        let all = asked(dir.path(), target);
        let starts = all.iter().filter(|request| matches!(request, Request::Start { .. })).count();
        let clocks = all.iter().filter(|request| matches!(request, Request::Clock)).count();
        assert_eq!((starts, clocks), (1, 24), "twelve before the load, twelve after it");
        assert!(matches!(all.last(), Some(Request::Finish)), "{all:?}");
        let Some(Request::Trial(trial)) = all.first() else { panic!("{all:?}") };
        let others = &trial.together.as_ref().unwrap().others;
        assert!(others.len() == 2 && !others.contains(&target.to_owned()), "{others:?}");
        seeds.push(trial.seed);
    }
    seeds.dedup();
    assert_eq!((seeds.len(), seeds[0]), (3, 7), "no two machines do the same");
}

/// However late one machine is heard, a sum is that of the machines that it names.
#[test]
fn rates_while_the_load_runs_are_passed_on_as_a_sum() {
    let dir = tempfile::tempdir().unwrap();
    let event = Event::LoadSampled {
        cell: request().cell.id,
        iops: None,
        bytes_per_second: None,
        wait_ms: None,
        load_iops: Some(100.0),
        load_p99_ms: Some(1.0),
        device_share: None,
        machines: None,
    };
    let told = serde_json::to_string(&Reply::Event { event }).unwrap();
    std::fs::write(dir.path().join("live.json"), format!("{told}\n")).unwrap();
    let load = format!("cat live.json; {RESTED}");
    for name in ["a", "b", "c"] {
        say(dir.path(), &format!("{name}.json"), measured(10));
    }
    let mut lines = ["a", "b", "c"].map(|name| line(dir.path(), name, READY, &load));
    let mut sums = Vec::new();
    let mut sink = |event: Event| {
        if let Event::LoadSampled { load_iops, load_p99_ms, machines, .. } = event {
            sums.push((load_iops.unwrap(), load_p99_ms, machines.unwrap()));
        }
        Ok(())
    };
    let asked_live = TrialRequest { live: true, ..request() };
    trial(&mut lines, &[], &asked_live, &AtomicBool::new(false), &mut sink).unwrap().record.unwrap();
    assert!(!sums.is_empty());
    for (iops, p99, machines) in sums {
        assert!((1..=3).contains(&machines.heard) && machines.of == 3, "{machines:?}");
        assert!((iops - 100.0 * f64::from(machines.heard)).abs() < 1e-9 && p99.is_none(), "{iops}");
    }
    let Some(Request::Trial(trial)) = asked(dir.path(), "b").into_iter().next() else { panic!("no trial") };
    assert!(trial.live, "each machine is asked for its rates");
}

#[test]
fn a_machine_that_fails_under_load_ends_the_others_and_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let record = tried(dir.path(), LONG, (READY, FAILS), &AtomicBool::new(false)).unwrap().unwrap();
    assert_eq!(record.outcome, Outcome::Failed("machine c: no space left".to_owned()));
    assert_eq!(record.parts.len(), 3);
    for target in ["a", "b"] {
        assert!(matches!(asked(dir.path(), target).last(), Some(Request::Abandon)), "{target}");
    }
}

#[test]
fn a_machine_that_cannot_prepare_lets_nobody_start() {
    let dir = tempfile::tempdir().unwrap();
    let record = tried(dir.path(), LONG, (FAILS, RESTED), &AtomicBool::new(false)).unwrap().unwrap();
    assert_eq!(record.outcome, Outcome::Failed("machine c: no space left".to_owned()));
    let started = |target: &str| asked(dir.path(), target).iter().any(|r| matches!(r, Request::Start { .. }));
    assert!(!["a", "b"].into_iter().any(started));
}

#[test]
fn a_machine_that_is_lost_is_named_and_its_trial_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let record = tried(dir.path(), LONG, (READY, "exit 9"), &AtomicBool::new(false)).unwrap().unwrap();
    let Outcome::Failed(why) = &record.outcome else { panic!("{record:?}") };
    assert!(why.starts_with("machine c: the connection is lost") && why.contains("exit status: 9"), "{why}");
    assert!(!why.contains("machine a"), "the others ended because of it: {why}");
}

/// Its agent process says that it was cancelled, though nobody here stopped the trial: a signal there, or a cut connection.
#[test]
fn a_machine_that_was_stopped_there_ends_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let reply = Reply::Trial { record: Box::new(ended("cancelled")), cancelled: true };
    std::fs::write(dir.path().join("stopped.json"), format!("{}\n", serde_json::to_string(&reply).unwrap()))
        .unwrap();
    let stopped = (READY, "cat stopped.json; exit 0");
    let record = tried(dir.path(), LONG, stopped, &AtomicBool::new(false)).unwrap().unwrap();
    let Outcome::Failed(why) = &record.outcome else { panic!("{record:?}") };
    assert!(
        why.starts_with("machine c: its agent process was stopped") && !why.contains("machine a"),
        "{why}"
    );
    for target in ["a", "b"] {
        assert!(matches!(asked(dir.path(), target).last(), Some(Request::Abandon)), "{target}");
    }
}

/// In the next round it is still lost; the others are there, and end what they had begun.
#[test]
fn a_machine_that_was_lost_before_fails_the_next_trial_too() {
    let dir = tempfile::tempdir().unwrap();
    say(dir.path(), "ended.json", ended("it was ended"));
    let gone = AgentLink::to(&NodeAt {
        target: "b".to_owned(),
        argv: ["sh", "-c", "exit 7"].map(Into::into).to_vec(),
        remote: false,
        hosted: Vec::new(),
    });
    let mut lines = [line(dir.path(), "a", LONG, LONG), gone.unwrap(), line(dir.path(), "c", READY, LONG)];
    let mut silent = |_: Event| Ok(());
    for _ in 0..2 {
        let made = trial(&mut lines, &[], &request(), &AtomicBool::new(false), &mut silent).unwrap();
        let all = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(made.lost.unwrap().machines_of(&all), ["b"], "the others are there");
        let record = made.record.unwrap();
        let Outcome::Failed(why) = &record.outcome else { panic!("{record:?}") };
        assert!(why.starts_with("machine b: the connection is lost"), "{why}");
    }
    for target in ["a", "c"] {
        assert!(matches!(asked(dir.path(), target).last(), Some(Request::Abandon)), "{target}");
    }
}

#[test]
fn the_users_stop_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let cancel = AtomicBool::new(true);
    assert!(tried(dir.path(), LONG, (READY, LONG), &cancel).unwrap().is_none());
    assert!(cancel.load(Ordering::Relaxed));
}

#[test]
fn a_machine_without_a_connection_is_named() {
    let mut silent = |_: Event| Ok(());
    let error = trial(&mut [], &[], &request(), &AtomicBool::new(false), &mut silent).unwrap_err();
    assert!(matches!(&error, RunError::NoNode(name) if name == "a"), "{error:?}");
}

#[test]
fn a_directory_is_shared_only_with_those_that_load_it_together() {
    let plan = Plan::new("demo".to_owned(), vec![request().cell], Measure::new(1.0, 0.0, 1));
    assert!(shared(&plan, "b").volumes.contains("share"));
    assert!(shared(&plan, "d").volumes.is_empty());
}
