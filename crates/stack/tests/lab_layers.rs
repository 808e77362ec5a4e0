//! LVM and md in a kernel that has them: built, loaded, taken down; at every moment a step fails or the process is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use support::{Fault, Matrix, asked_for_all, is_as_asked, managed, of_today, stands_and_falls};
use testkit::is_root;

/// Leaves out the acts around which the loop tier injects faults already: the lab is slow.
const MANAGED: Matrix = Matrix {
    scenarios: |_| managed().into_iter().filter(|scenario| is_tried(scenario.name)).collect(),
    child: "lab_child_that_dies",
    acts: &["make_group", "change_group", "make_array"],
    is_slow: true,
};
/// Together, these scenarios perform every act in every way; the first alone performs every act. All of them take half an hour in
/// an emulated guest, so they run only with `DISKPROOF_TEST_FAULTS=all`.
const FAULTS_IN: [&str; 4] = ["md-lvm", "lvm-linear", "raw-cachevol", "come-and-go"];
/// The least number of faults in the matrix of one scenario.
const FEWEST_FAULTS: usize = 10;

fn is_tried(scenario: &str) -> bool {
    let all = asked_for_all();
    FAULTS_IN.iter().take(if all { FAULTS_IN.len() } else { 1 }).any(|name| *name == scenario)
}

#[test]
fn lab_any_step_may_fail() {
    MANAGED.run(Fault::Fail, FEWEST_FAULTS);
}

#[test]
fn lab_any_moment_may_be_the_last() {
    MANAGED.run(Fault::Kill, FEWEST_FAULTS);
}

#[test]
fn lab_any_instant_may_be_the_last() {
    MANAGED.kill_at_instants(&["md-lvm"], 4);
}

/// No test by itself: the process that is killed. Does nothing when it runs with the others.
#[test]
fn lab_child_that_dies() {
    MANAGED.die_if_told();
}

/// Builds each of today once without faults; reports all that can't be built together.
#[test]
fn lab_every_stack_stands_and_falls() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    stands_and_falls(|_| of_today(managed()), is_as_asked);
}
