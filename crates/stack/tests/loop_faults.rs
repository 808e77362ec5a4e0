//! Every layer, every moment: a step fails there, or the process is killed there. Then the run is undone, twice, and the
//! machine must be what it was.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use diskproof_stack::{NoHooks, Point, UndoError, UndoReport, leftovers, undo_run};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Bench, Hook, Scenario, chain, name, scenarios};
use testkit::{MachineState, exclusive, is_root};

/// Tells the child which scenario to run, where to die, and in which directory.
const FAULT: &str = "DISKPROOF_TEST_FAULT";
/// What the whole matrix must at least hold.
const FEWEST_FAULTS: usize = 200;
/// How many instants, spread evenly over its length, each of these is killed at.
const INSTANTS: u32 = 15;
const INSTANTS_OF: [&str; 2] = ["throttle", "btrfs-raid1"];
/// The longest that a mkfs or losetup of ours may outlive us here.
const ORPHANS_LIVE: Duration = Duration::from_secs(20);

#[test]
fn loop_any_step_may_fail() {
    matrix(Fault::Fail);
}

#[test]
fn loop_any_moment_may_be_the_last() {
    matrix(Fault::Kill);
}

/// Between the points, too: while mkfs, mount or losetup run as children, which then outlive us for a moment.
#[test]
fn loop_any_instant_may_be_the_last() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("faults");
    let before = bench.state();
    for scenario in scenarios(&bench.dir.join("lent")).iter().filter(|s| INSTANTS_OF.contains(&s.name)) {
        let began = Instant::now();
        scenario.whole(&bench, &Hook::count()).unwrap();
        let whole = began.elapsed();
        for instant in 0..INSTANTS {
            let mut child = child(&bench, scenario, usize::MAX).spawn().unwrap();
            std::thread::sleep(whole * (2 * instant + 1) / (2 * INSTANTS));
            child.kill().unwrap();
            child.wait().unwrap();
            let end = Instant::now() + ORPHANS_LIVE;
            while undo(&bench).is_err() && Instant::now() < end {}
            let what = format!("{} at instant {instant} of {INSTANTS}", scenario.name);
            undo(&bench).unwrap_or_else(|error| panic!("{what}: {}", chain(&error)));
            assert_eq!(before.diff(&bench.state()), "", "{what}");
        }
    }
    eprintln!("{} processes killed at any instant, 0 leaks", INSTANTS_OF.len() * INSTANTS as usize);
}

/// Not a test by itself: the process that is killed. Does nothing when run with the others.
#[test]
fn loop_child_that_dies() {
    let Ok(told) = std::env::var(FAULT) else { return };
    let mut told = told.splitn(3, ':');
    let mut next = || told.next().unwrap();
    let (scenario, at, dir) = (next(), next().parse().unwrap(), PathBuf::from(next()));
    let bench = Bench::at(dir, "faults");
    let all = scenarios(&bench.dir.join("lent"));
    let scenario = all.iter().find(|s| s.name == scenario).unwrap();
    let result = scenario.whole(&bench, &Hook::kill(at));
    panic!("it should be dead: {result:?}");
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Fail,
    Kill,
}

fn matrix(fault: Fault) {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("faults");
    let before = bench.state();
    let mut faults = 0;
    for scenario in scenarios(&bench.dir.join("lent")) {
        let began = Instant::now();
        let hook = Hook::count();
        let result = scenario.whole(&bench, &hook);
        result.unwrap_or_else(|error| panic!("{}: {}", scenario.name, chain(&*error)));
        let points = hook.seen();
        for (at, point) in points.iter().enumerate() {
            match fault {
                Fault::Fail => fail(&bench, &scenario, at),
                Fault::Kill => kill(&bench, &scenario, at),
            }
            undo_twice(&bench, &before, &scenario, point);
        }
        eprintln!("{}: {} faults in {:.1} s", scenario.name, points.len(), began.elapsed().as_secs_f64());
        faults += points.len();
    }
    let how = if fault == Fault::Fail { "failed steps" } else { "killed processes" };
    eprintln!("{faults} {how}, 0 leaks");
    assert!(faults >= FEWEST_FAULTS, "only {faults} faults were injected");
}

fn fail(bench: &Bench, scenario: &Scenario, at: usize) {
    let result = scenario.whole(bench, &Hook::fail(at));
    let error = result.expect_err("the failure that was injected must show");
    assert!(chain(&*error).contains("a test asked for"), "{}: {}", scenario.name, chain(&*error));
}

fn kill(bench: &Bench, scenario: &Scenario, at: usize) {
    let status = child(bench, scenario, at).status().unwrap();
    assert_eq!(status.signal(), Some(9), "{} at {at}: {status}", scenario.name);
}

/// This very program, as the process that is killed: at that point, or, when there is none of that number, by us.
fn child(bench: &Bench, scenario: &Scenario, at: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "loop_child_that_dies", "--nocapture"]);
    command.env(FAULT, format!("{}:{at}:{}", scenario.name, bench.dir.display()));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn undo(bench: &Bench) -> Result<UndoReport, UndoError> {
    let state_dir = bench.state_dir();
    undo_run(&bench.machine(&state_dir, &NoHooks), &bench.run)
}

fn undo_twice(bench: &Bench, before: &MachineState, scenario: &Scenario, point: &Point) {
    let state_dir = bench.state_dir();
    let machine = bench.machine(&state_dir, &NoHooks);
    let what = || format!("{}, {}", scenario.name, name(point));
    for _ in 0..2 {
        undo(bench).unwrap_or_else(|error| panic!("{}: {}", what(), chain(&error)));
        assert_eq!(before.diff(&bench.state()), "", "{}", what());
    }
    assert!(leftovers(&machine).unwrap().is_empty(), "{}", what());
}
