//! Emulated volumes are as described: written in full, incompressible, limited, and cancelled at once on request.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod support;

use device::extents::of_file;
use diskproof_stack::{ActError, Journal, StackError, Volumes};
use record::volume::Limits;
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{Bench, Hook, chain, emulated, scenarios, works};
use testkit::{exclusive, is_root};

macro_rules! need_root {
    () => {
        if !is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let _alone = exclusive();
    };
}

fn backing_files(bench: &Bench) -> Vec<PathBuf> {
    let dir = std::fs::read_dir(bench.state_dir().join("volumes")).unwrap();
    dir.map(|entry| entry.unwrap().path()).collect()
}

/// mkfs, the mount, deleting and unmounting must not punch holes: a read of a hole would not reach the disk.
#[test]
fn loop_backing_files_stay_written() {
    need_root!();
    let bench = Bench::new("written");
    let before = bench.state();
    let check = |when: &str| {
        let files = backing_files(&bench);
        assert!(!files.is_empty());
        for file in files {
            let extents = of_file(&file).unwrap();
            assert_eq!(extents.written_bytes, extents.size_bytes, "{when}: {extents:?}");
        }
    };
    for scenario in scenarios(&bench.dir.join("lent")).into_iter().filter(|s| !s.name.starts_with("lent")) {
        let work = |built: &diskproof_stack::Built| {
            check(scenario.name);
            works(built)?;
            if let device::Place::Directory(dir) = built.ground.place() {
                std::fs::remove_file(dir.join("file"))?;
                rustix::fs::syncfs(std::fs::File::open(dir)?)?;
            }
            check(&format!("{}, after deleting", scenario.name));
            Ok(())
        };
        let result = scenario.with_ground(&bench, &Hook::random(), work);
        result.unwrap_or_else(|error| panic!("{}: {}", scenario.name, chain(&*error)));
        assert_eq!(before.diff(&bench.state()), "", "{}", scenario.name);
    }
}

#[test]
fn loop_facts_tell_what_was_made() {
    need_root!();
    let bench = Bench::new("facts");
    let before = bench.state();
    let (state_dir, hooks) = (bench.state_dir(), Hook::random());
    let machine = bench.machine(&state_dir, &hooks);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let limits = Limits { read_iops: Some(80), write_iops: Some(70), ..Limits::default() };
    let asked = emulated(2, 4, limits);
    let cancel = AtomicBool::new(false);
    let mut shares = Vec::new();
    let mut progress = |step: &str, share: Option<f64>| shares.push((step.to_owned(), share));
    let volumes = Volumes::provide(&machine, &mut journal, &asked, &mut progress, &cancel).unwrap();
    let facts = volumes.facts();
    assert_eq!(facts.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["vol[0]", "vol[1]"]);
    for fact in &facts {
        assert_eq!((fact.size_bytes, fact.loop_direct_io), (4 << 20, Some(true)), "{fact:?}");
        assert!(fact.backing_fs.is_some() && fact.verified.is_empty());
    }
    assert!(shares.contains(&("writing vol[1]".to_owned(), Some(1.0))), "{shares:?}");
    let contents: Vec<Vec<u8>> =
        backing_files(&bench).iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert_ne!(contents[0], contents[1]);
    let throttle = volumes.throttle().unwrap();
    let group = throttle.cgroup_procs.parent().unwrap();
    let read = |file: &str| std::fs::read_to_string(group.join(file)).unwrap_or_default();
    let shown =
        read("blkio.throttle.read_iops_device") + &read("blkio.throttle.write_iops_device") + &read("io.max");
    for fact in &facts {
        let name = fact.device.as_ref().unwrap().file_name().unwrap().to_str().unwrap();
        let devno = std::fs::read_to_string(format!("/sys/block/{name}/dev")).unwrap();
        let v1 = [format!("{} 80\n", devno.trim()), format!("{} 70\n", devno.trim())];
        let is_v1 = v1.iter().all(|line| shown.contains(line));
        assert!(is_v1 || shown.contains("riops=80 wiops=70"), "{shown}");
    }
    drop(volumes);
    journal.undo_all(&machine).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

#[test]
fn loop_cancel_is_seen_within_one_chunk_and_undone() {
    need_root!();
    let bench = Bench::new("cancel");
    let before = bench.state();
    let (state_dir, hooks) = (bench.state_dir(), Hook::random());
    let machine = bench.machine(&state_dir, &hooks);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let cancel = AtomicBool::new(false);
    let told = Cell::new(0);
    let mut progress = |_: &str, share: Option<f64>| {
        if share.is_some_and(|share| share > 0.0) {
            told.set(told.get() + 1);
            cancel.store(true, Ordering::Relaxed);
        }
    };
    let asked = emulated(1, 512, Limits::default());
    let error = Volumes::provide(&machine, &mut journal, &asked, &mut progress, &cancel).unwrap_err();
    assert!(error.is_cancelled(), "{}", chain(&error));
    assert_eq!(told.get(), 1, "it went on writing");
    journal.undo_all(&machine).unwrap();
    assert_eq!(before.diff(&bench.state()), "");
}

#[test]
fn loop_what_does_not_fit_is_refused_before_anything_is_made() {
    need_root!();
    let bench = Bench::new("space");
    bench.state();
    let (state_dir, hooks) = (bench.state_dir(), Hook::count());
    let machine = bench.machine(&state_dir, &hooks);
    let mut journal = Journal::open(&machine, &bench.run).unwrap();
    let free = device::free_bytes(&state_dir).unwrap() >> 20;
    let asked = emulated(2, free / 2 + 1, Limits::default());
    let cancel = AtomicBool::new(false);
    let error = Volumes::provide(&machine, &mut journal, &asked, &mut |_, _| {}, &cancel).unwrap_err();
    assert!(matches!(error, StackError::Act { source: ActError::NoSpace { .. }, undo: None, .. }), "{error}");
    assert!(hooks.seen().is_empty());
    let mut odd = emulated(1, 1, Limits::default());
    odd[0].kind = record::volume::VolumeKind::Emulate { size_bytes: 5000, limits: Limits::default() };
    let error = Volumes::provide(&machine, &mut journal, &odd, &mut |_, _| {}, &cancel).unwrap_err();
    assert!(error.to_string().contains("multiple of 4096"), "{error}");
    journal.undo_all(&machine).unwrap();
}

/// A detach that was requested while another process had the device open, e.g. by a process that was killed since, takes effect
/// when that one closes it: possibly between two checks of the undo.
#[test]
fn loop_a_device_may_go_by_itself_while_it_is_undone() {
    need_root!();
    let bench = Bench::new("goes");
    let before = bench.state();
    let (state_dir, hooks) = (bench.state_dir(), Hook::random());
    let machine = bench.machine(&state_dir, &hooks);
    for step in 0..30 {
        let mut journal = Journal::open(&machine, &bench.run).unwrap();
        let (asked, cancel) = (emulated(1, 1, Limits::default()), AtomicBool::new(false));
        let volumes = Volumes::provide(&machine, &mut journal, &asked, &mut |_, _| {}, &cancel).unwrap();
        let node = volumes.facts()[0].device.clone().unwrap();
        let held = std::fs::File::open(&node).unwrap();
        assert!(std::process::Command::new("losetup").arg("--detach").arg(&node).status().unwrap().success());
        drop(volumes);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_micros(500 * step));
                drop(held);
            });
            let undone = journal.undo_all(&machine);
            undone.unwrap_or_else(|error| panic!("closed after {step} half milliseconds: {}", chain(&error)));
        });
    }
    assert_eq!(before.diff(&bench.state()), "");
}
