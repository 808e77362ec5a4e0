//! Trials in which the engine, or the agent process, was stopped.

use super::judged;
use crate::detect::Detected;
use crate::testing::{GIB, SECOND, Truth, filesystem};
use record::counter::Gap;
use record::finding::{Claim, Severity};
use record::stack::FsKind;
use record::workload::Rw;

fn plain() -> Truth {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    t.device_read = GIB;
    t
}

fn stalled(truth: &Truth) -> Vec<Detected> {
    judged(truth).1.into_iter().filter(|found| found.claim == Claim::Stalled).collect()
}

#[test]
fn a_stopped_engine_is_named_with_its_times() {
    let mut t = plain();
    // a quarter of the window, from its middle on
    t.each = |sample, done| sample.stopped = if (0.5..0.75).contains(&done) { vec![12, 13] } else { vec![] };
    let found = stalled(&t);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Caveat), "{found:?}");
    let text = &found[0].text;
    assert!(
        text.contains("From 10.0 s to 15.0 s of the measured time, 2 of the engine's processes were stopped"),
        "{text}"
    );
    assert!(text.contains("says nothing about the storage"), "{text}");
    assert!((found[0].evidence["stalled_seconds"] - 5.0).abs() < 0.11, "{found:?}");
}

#[test]
fn an_engine_that_was_stopped_half_of_the_time_has_no_figure() {
    let mut t = plain();
    t.each = |sample, done| sample.stopped = if done >= 0.4 { vec![12] } else { vec![] };
    assert_eq!(stalled(&t)[0].severity, Severity::Void);
}

#[test]
fn a_stopped_agent_is_named_with_its_times() {
    let mut t = plain();
    let gap = |from: u64, to: u64, cpu_wait_ns| Gap {
        start_ns: (100 + from) * SECOND,
        end_ns: (100 + to) * SECOND,
        cpu_wait_ns,
    };
    t.agent_gaps = vec![gap(2, 4, Some(0)), gap(10, 13, None)];
    let found = stalled(&t);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Caveat), "{found:?}");
    let text = &found[0].text;
    assert!(
        text.contains(
            "2 times between 2.0 s and 13.0 s of the measured time, for 5.0 s in all, the agent process"
        ),
        "{text}"
    );
}

#[test]
fn a_busy_machine_a_moment_and_what_is_outside_of_the_measured_time_are_no_stall() {
    let mut t = plain();
    let gap = |start_ns, end_ns, cpu_wait_ns| Gap { start_ns, end_ns, cpu_wait_ns };
    let ms = SECOND / 1000;
    t.agent_gaps = vec![
        // it waited for a CPU all the time but 200 ms
        gap(102 * SECOND, 107 * SECOND, Some(4800 * ms)),
        gap(110 * SECOND, 110 * SECOND + 600 * ms, Some(0)),
        gap(90 * SECOND, 99 * SECOND, Some(0)),
        gap(121 * SECOND, 140 * SECOND, None),
    ];
    t.each = |sample, done| sample.stopped = if (0.5..0.52).contains(&done) { vec![12] } else { vec![] };
    assert!(stalled(&t).is_empty(), "{:?}", stalled(&t));
}
