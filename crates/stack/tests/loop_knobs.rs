//! Kernel settings as a layer: in force while the stack is up, put back after it, and left alone when another program has changed
//! them meanwhile.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use diskproof_stack::{Journal, NoHooks, Volumes, build, set_knob, undo_run};
use record::id::RunId;
use record::knobs::KnobName;
use record::stack::{Rebuild, Stack};
use record::volume::Limits;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use support::{Bench, chain, emulated, knobs};
use testkit::{LoopDevice, exclusive, is_root};

const DIRTY_RATIO: &str = "/proc/sys/vm/dirty_ratio";

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

#[test]
fn loop_knobs_are_in_force_and_told() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("knobs-force");
    let before = bench.state();
    let (state_dir, hooks) = (bench.state_dir(), NoHooks);
    let machine = bench.machine(&state_dir, &hooks);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let cancel = AtomicBool::new(false);
    let asked = emulated(2, 16, Limits::default());
    let volumes = Volumes::provide(&machine, &mut journal, &asked, &mut |_, _| {}, &cancel).unwrap();
    let queues: Vec<PathBuf> = volumes
        .facts()
        .iter()
        .map(|facts| facts.device.as_ref().unwrap().file_name().unwrap().to_owned())
        .map(|name| Path::new("/sys/block").join(name).join("queue"))
        .collect();
    std::fs::write(queues[0].join("nr_requests"), "77").unwrap();
    let was = read(DIRTY_RATIO);
    let layer = knobs(&[
        (KnobName::NrRequests, "33"),
        (KnobName::Scheduler, "mq-deadline"),
        (KnobName::DirtyBytes, "268435456"),
    ]);
    let stack = Stack {
        name: "k".into(),
        volumes: asked[..1].to_vec(),
        beside: Vec::new(),
        layers: vec![layer.clone()],
        rebuild: Rebuild::Trial,
    };
    let built = build(&machine, &mut journal, &volumes, &stack).unwrap();
    assert!(read(queues[0].join("scheduler")).contains("[mq-deadline]"));
    assert_eq!(read(queues[0].join("nr_requests")), "33", "the scheduler came first");
    assert!(read(queues[1].join("scheduler")).contains("[none]"), "another stack's volume");
    assert_eq!((read(DIRTY_RATIO).as_str(), read("/proc/sys/vm/dirty_bytes").as_str()), ("0", "268435456"));
    let told: Vec<(String, String)> =
        built.settings.iter().map(|set| (set.before.clone(), set.value.clone())).collect();
    assert_eq!(told[0], ("none".to_owned(), "mq-deadline".to_owned()));
    assert_eq!((told[1].1.as_str(), told[2].0.as_str()), ("33", "0"));
    built.undo(&machine, &mut journal).unwrap();
    assert_eq!(read(queues[0].join("nr_requests")), "77", "a scheduler that goes takes its queues along");
    assert_eq!((read(DIRTY_RATIO), read("/proc/sys/vm/dirty_bytes")), (was, "0".to_owned()));

    // A value that the kernel refuses gives an error that lists the allowed ones.
    let layer = knobs(&[(KnobName::DirtyBackgroundRatio, "9"), (KnobName::Scheduler, "no-such")]);
    let stack = Stack { layers: vec![layer], ..stack };
    let error = chain(&build(&machine, &mut journal, &volumes, &stack).unwrap_err());
    assert!(error.contains("expected no-such, found [none] mq-deadline"), "{error}");
    drop(volumes);
    journal.undo_all(&machine).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

#[test]
fn loop_a_knob_that_another_run_has_set_is_refused() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("knobs-two");
    let before = bench.state();
    let (state_dir, hooks) = (bench.state_dir(), NoHooks);
    let machine = bench.machine(&state_dir, &hooks);
    let disk = LoopDevice::new(1 << 20, "knobs-two-disk");
    let knob = PathBuf::from(format!("/sys/block/{}/queue/read_ahead_kb", disk.name()));
    let was = read(&knob);
    let mut first = Journal::open(&machine, &bench.run).unwrap();
    set_knob(&machine, &mut first, &knob, "64").unwrap();
    let other = RunId("knobs-other".to_owned());
    let mut second = Journal::open(&machine, &other).unwrap();
    let error = chain(&set_knob(&machine, &mut second, &knob, "32").unwrap_err());
    assert!(
        error.contains("is set by run knobs-two") && error.contains("diskproof undo knobs-two"),
        "{error}"
    );
    assert_eq!(second.open_acts(), 0);
    assert_eq!(read(&knob), "64");
    // Also when the run that has changed it is gone.
    drop(first);
    assert!(set_knob(&machine, &mut second, &knob, "32").is_err());
    undo_run(&machine, &bench.run).unwrap();
    assert_eq!(read(&knob), was);
    set_knob(&machine, &mut second, &knob, "32").unwrap();
    second.undo_all(&machine).unwrap();
    assert_eq!(read(&knob), was);
    drop(disk);
    assert_eq!(before.diff(&bench.state()), "");
}
