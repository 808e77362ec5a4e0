//! LVM and md, in a kernel that has them: built, loaded, taken down; at every moment a step fails or the process is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use diskproof_stack::{NoHooks, undo_run};
use std::time::Instant;
use support::{Bench, Fault, Hook, Matrix, asked_for_all, chain, managed};
use testkit::{exclusive, is_root};

/// What the loop tier has injected faults around already is left out: the lab is slow.
const MANAGED: Matrix = Matrix {
    scenarios: |_| managed().into_iter().filter(|scenario| is_tried(scenario.name)).collect(),
    child: "lab_child_that_dies",
    acts: &["make_group", "change_group", "make_array"],
    failures_every: 3,
};
/// Between them, these perform every act in every way; the first alone performs every act. All take half an hour in a guest that is emulated, so they are
/// for those who ask: `DISKPROOF_TEST_FAULTS=all`.
const FAULTS_IN: [&str; 3] = ["md-lvm", "lvm-linear", "raw-cachevol"];
/// What the matrix of one must at least hold.
const FEWEST_FAULTS: usize = 10;

fn is_tried(scenario: &str) -> bool {
    let all = asked_for_all();
    FAULTS_IN.iter().take(if all { FAULTS_IN.len() } else { 1 }).any(|name| *name == scenario)
}

#[test]
fn lab_any_step_may_fail() {
    MANAGED.run(Fault::Fail, FEWEST_FAULTS / MANAGED.failures_every);
}

#[test]
fn lab_any_moment_may_be_the_last() {
    MANAGED.run(Fault::Kill, FEWEST_FAULTS);
}

#[test]
fn lab_any_instant_may_be_the_last() {
    MANAGED.kill_at_instants(&["md-lvm"], 4);
}

/// Not a test by itself: the process that is killed. Does nothing when run with the others.
#[test]
fn lab_child_that_dies() {
    MANAGED.die_if_told();
}

/// Each once, without faults: which of them can't be built is told together.
#[test]
fn lab_every_stack_stands_and_falls() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("stands");
    let before = bench.state();
    let mut wrong = Vec::new();
    for scenario in managed() {
        let began = Instant::now();
        if let Err(error) = scenario.whole(&bench, &Hook::count()) {
            wrong.push(format!("{}: {}", scenario.name, chain(&*error)));
            let state_dir = bench.state_dir();
            if let Err(error) = undo_run(&bench.machine(&state_dir, &NoHooks), &bench.run) {
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
