//! Every layer, every moment: a step fails there, or the process is killed there.

use super::{Bench, Hook, Scenario, chain, name};
use diskproof_stack::{Built, Machine, NoHooks, Point, UndoError, UndoReport, leftovers, undo_run};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;
use testkit::{MachineState, exclusive, is_root};

/// Tells the child which scenario to run, where to die, and in which directory.
const FAULT: &str = "DISKPROOF_TEST_FAULT";

/// A set of scenarios, and the test that runs again as the process that is killed.
pub(crate) struct Matrix {
    pub(crate) scenarios: fn(&Bench) -> Vec<Scenario>,
    pub(crate) child: &'static str,
    /// The acts around which faults are injected; empty: all acts.
    pub(crate) acts: &'static [&'static str],
    /// Whether it runs in a guest, which is slow. Then it kills at every fourth moment, which leaves at least as much behind as a step that
    /// fails; `DISKPROOF_TEST_FAULTS=all` tries each moment, and lets steps fail.
    pub(crate) is_slow: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    Fail,
    Kill,
}

pub(crate) fn asked_for_all() -> bool {
    std::env::var("DISKPROOF_TEST_FAULTS").is_ok_and(|value| value == "all")
}

impl Matrix {
    /// Injects faults at every point of every scenario, one after the other; afterwards the machine must be as before. `fewest`
    /// is the least number of faults.
    pub(crate) fn run(&self, fault: Fault, fewest: usize) {
        let is_sample = self.is_slow && !asked_for_all();
        if !is_root() || is_sample && fault == Fault::Fail {
            eprintln!("skipped: needs root, and DISKPROOF_TEST_FAULTS=all in a guest");
            return;
        }
        let every = if is_sample { 4 } else { 1 };
        let _alone = exclusive();
        let bench = Bench::new("faults");
        let before = bench.state();
        let mut faults = 0;
        for scenario in (self.scenarios)(&bench) {
            let began = Instant::now();
            let hook = Hook::count();
            let result = scenario.whole(&bench, &hook);
            result.unwrap_or_else(|error| panic!("{}: {}", scenario.name, chain(&*error)));
            assert_eq!(before.diff(&bench.state()), "", "{} without a fault", scenario.name);
            let points = hook.seen();
            let around = |point: &Point| self.acts.is_empty() || self.acts.contains(&point.act);
            let chosen: Vec<(usize, &Point)> =
                points.iter().enumerate().filter(|(_, point)| around(point)).step_by(every).collect();
            for &(at, point) in &chosen {
                match fault {
                    Fault::Fail => fail(&bench, &scenario, at),
                    Fault::Kill => self.kill(&bench, &scenario, at),
                }
                undo_twice(&bench, &before, &scenario, point);
            }
            eprintln!("{}: {} faults in {:.1} s", scenario.name, chosen.len(), began.elapsed().as_secs_f64());
            faults += chosen.len();
        }
        let how = if fault == Fault::Fail { "failed steps" } else { "killed processes" };
        eprintln!("{faults} {how}, 0 leaks");
        assert!(faults >= fewest / every, "only {faults} faults were injected");
    }

    /// Kills also between the points, spread evenly over the duration: while programs run as children, which then outlive the
    /// process for a moment. In a guest, half as often.
    pub(crate) fn kill_at_instants(&self, of: &[&str], instants: u32) {
        let instants = if self.is_slow && !asked_for_all() { instants / 2 } else { instants };
        if !is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let _alone = exclusive();
        let bench = Bench::new("faults");
        let before = bench.state();
        for scenario in (self.scenarios)(&bench).iter().filter(|s| of.contains(&s.name)) {
            let began = Instant::now();
            scenario.whole(&bench, &Hook::count()).unwrap();
            let whole = began.elapsed();
            for instant in 0..instants {
                let mut child = self.child(&bench, scenario, usize::MAX).spawn().unwrap();
                std::thread::sleep(whole * (2 * instant + 1) / (2 * instants));
                child.kill().unwrap();
                child.wait().unwrap();
                let what = format!("{} at instant {instant} of {instants}", scenario.name);
                undo(&bench).unwrap_or_else(|error| panic!("{what}: {}", chain(&error)));
                assert_eq!(before.diff(&bench.state()), "", "{what}");
            }
        }
        eprintln!("{} processes killed at any instant, 0 leaks", of.len() * instants as usize);
    }

    /// The work of the process that is killed; nothing when its test runs with the others.
    pub(crate) fn die_if_told(&self) {
        let Ok(told) = std::env::var(FAULT) else { return };
        let mut told = told.splitn(3, ':');
        let mut next = || told.next().unwrap();
        let (scenario, at, dir) = (next(), next().parse().unwrap(), PathBuf::from(next()));
        let bench = Bench::at(dir, "faults");
        let all = (self.scenarios)(&bench);
        let scenario = all.iter().find(|s| s.name == scenario).unwrap();
        let result = scenario.whole(&bench, &Hook::kill(at));
        panic!("it should be dead: {result:?}");
    }

    fn kill(&self, bench: &Bench, scenario: &Scenario, at: usize) {
        let status = self.child(bench, scenario, at).status().unwrap();
        assert_eq!(status.signal(), Some(9), "{} at {at}: {status}", scenario.name);
    }

    /// This test program as the process that is killed: at that point, or, if there is no such point, by us.
    fn child(&self, bench: &Bench, scenario: &Scenario, at: usize) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", self.child, "--nocapture"]);
        command.env(FAULT, format!("{}:{at}:{}", scenario.name, bench.dir.to_string_lossy()));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// Those of a guest's scenarios that are built: all, or every second one on the day that `DISKPROOF_TEST_DAY` numbers, since guests are slow.
pub(crate) fn of_today(scenarios: Vec<Scenario>) -> Vec<Scenario> {
    let day: Option<u64> =
        std::env::var("DISKPROOF_TEST_DAY").ok().map(|day| day.parse().expect("the number of a day"));
    let is_due = |at: usize| day.is_none_or(|day| at as u64 % 2 == day % 2);
    scenarios.into_iter().enumerate().filter_map(|(at, scenario)| is_due(at).then_some(scenario)).collect()
}

/// Builds each once without faults and checks it; reports all that can't be built together.
pub(crate) fn stands_and_falls(
    scenarios: impl FnOnce(&Bench) -> Vec<Scenario>,
    look: impl Fn(&Scenario, &Machine<'_>, &Built),
) {
    let _alone = exclusive();
    let bench = Bench::new("stands");
    let before = bench.state();
    let mut wrong = Vec::new();
    for scenario in scenarios(&bench) {
        let began = Instant::now();
        if let Err(error) = scenario.whole_looked_at(&bench, &Hook::count(), &look) {
            wrong.push(format!("{}: {}", scenario.name, chain(&*error)));
            if let Err(error) = undo(&bench) {
                wrong.push(format!("{}, undone: {}", scenario.name, chain(&error)));
                break;
            }
        }
        let left = before.diff(&bench.state());
        if !left.is_empty() {
            wrong.push(format!("{} left\n{left}", scenario.name));
        }
        eprintln!("{}: {:.1} s", scenario.name, began.elapsed().as_secs_f64());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn fail(bench: &Bench, scenario: &Scenario, at: usize) {
    let result = scenario.whole(bench, &Hook::fail(at));
    let error = result.expect_err("the failure that was injected must show");
    assert!(chain(&*error).contains("a test asked for"), "{}: {}", scenario.name, chain(&*error));
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
