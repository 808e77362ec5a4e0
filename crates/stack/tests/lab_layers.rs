//! LVM and md, in a kernel that has them: built, loaded, taken down; at every moment a step fails or the process is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use support::{Fault, Matrix, asked_for_all, is_as_asked, managed, stands_and_falls};
use testkit::is_root;

/// What the loop tier has injected faults around already is left out: the lab is slow.
const MANAGED: Matrix = Matrix {
    scenarios: |_| managed().into_iter().filter(|scenario| is_tried(scenario.name)).collect(),
    child: "lab_child_that_dies",
    acts: &["make_group", "change_group", "make_array"],
    failures_every: 3,
};
/// Between them, these perform every act in every way; the first alone performs every act. All take half an hour in a guest that is emulated, so they are
/// for those who ask: `DISKPROOF_TEST_FAULTS=all`.
const FAULTS_IN: [&str; 4] = ["md-lvm", "lvm-linear", "raw-cachevol", "come-and-go"];
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
    stands_and_falls(|_| managed(), is_as_asked);
}
