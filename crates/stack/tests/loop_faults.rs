//! Every layer, every moment: a step fails there, or the process is killed there. Then the run is undone, twice, and the machine
//! must be as before.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use support::{Fault, Matrix, scenarios};

/// The least number of faults in the whole matrix.
const FEWEST_FAULTS: usize = 200;
/// The number of instants, spread evenly over its duration, at which each scenario is killed.
const INSTANTS: u32 = 15;
const INSTANTS_OF: [&str; 2] = ["throttle", "btrfs-raid1"];

const ALL: Matrix = Matrix {
    scenarios: |bench| scenarios(&bench.dir.join("lent")),
    child: "loop_child_that_dies",
    acts: &[],
    is_slow: false,
};

#[test]
fn loop_any_step_may_fail() {
    ALL.run(Fault::Fail, FEWEST_FAULTS);
}

#[test]
fn loop_any_moment_may_be_the_last() {
    ALL.run(Fault::Kill, FEWEST_FAULTS);
}

/// Kills also between the points: while mkfs, mount or losetup run as children, which then outlive the process for a moment.
#[test]
fn loop_any_instant_may_be_the_last() {
    ALL.kill_at_instants(&INSTANTS_OF, INSTANTS);
}

/// No test by itself: the process that is killed. Does nothing when it runs with the others.
#[test]
fn loop_child_that_dies() {
    ALL.die_if_told();
}
