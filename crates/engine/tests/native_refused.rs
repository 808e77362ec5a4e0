//! Without io_uring: the same load runs in threads and the record says so; options that need io_uring are errors. No root needed.
#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/refuse.rs"]
mod refuse;
mod support;

use diskproof_engine::native::NativeEngine;
use diskproof_engine::{Engine, EngineError};
use record::trial::EngineOutput;
use record::workload::{Options, Rw};
use serde_json::Value;
use support::{Bench, asked, options};

fn native(rw: Rw) -> Options {
    Options { ioengine: "io_uring".into(), ..options(rw) }
}

/// A short trial with a worker for which io_uring fails with `errno`.
fn run_without_ring(errno: i32, options: Options) -> Result<EngineOutput, EngineError> {
    refuse::without_call(libc::SYS_io_uring_setup, errno, || {
        let engine = NativeEngine::with_worker(vec![env!("CARGO_BIN_EXE_diskproof-native-worker").into()]);
        let bench = Bench::lent();
        let workload = asked(options);
        let job = bench.job(&workload, 3, 0.4);
        engine.prepare(&job)?;
        engine.run(&job)
    })
}

#[test]
fn threads_take_over_and_the_record_says_why() {
    for (errno, words) in
        [(libc::EPERM, "Operation not permitted"), (libc::ENOSYS, "Function not implemented")]
    {
        let out = run_without_ring(errno, Options { numjobs: 2, ..native(Rw::Randrw) }).unwrap();
        let raw: Value = serde_json::from_str(&out.raw).unwrap();
        assert!(raw["issued_by"].as_str().unwrap().contains("pread"), "{}", raw["issued_by"]);
        let said = out.messages.iter().find(|m| m.contains("instead of io_uring")).unwrap();
        assert!(said.contains("pread and pwrite in threads") && said.contains(words), "{said}");
        assert!(out.departures.iter().any(|d| d.matters && d.text == *said), "{:?}", out.departures);
        for totals in [out.read.unwrap(), out.write.unwrap()] {
            assert!(totals.ios > 0);
            assert_eq!((totals.bytes, totals.latency.count()), (totals.ios * 4096, totals.ios));
        }
        assert!(out.errors.is_empty());
    }
}

#[test]
fn what_only_io_uring_can_is_an_error_and_nothing_else_instead() {
    for option in ["hipri", "sqthread_poll"] {
        let mut asked_for = native(Rw::Randread);
        asked_for.other.insert(option.into(), "1".into());
        match run_without_ring(libc::EPERM, asked_for) {
            Err(EngineError::Failed { messages, output: None, .. }) => {
                let why = messages.join("\n");
                assert!(why.contains("io_uring can't be set up as asked"), "{option}: {why}");
                assert!(why.contains("Operation not permitted"), "{option}: {why}");
            }
            other => panic!("{option}: {other:?}"),
        }
    }
}

#[test]
fn more_threads_than_make_sense_are_refused() {
    match run_without_ring(libc::EPERM, Options { iodepth: 8192, ..native(Rw::Randread) }) {
        Err(EngineError::Failed { messages, output: None, .. }) => {
            let why = messages.join("\n");
            assert!(why.contains("io_uring is refused") && why.contains("smaller iodepth"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

/// Without this, the tests above would prove nothing.
#[test]
fn the_refusal_stays_in_its_thread() {
    fn ring() -> Result<(), Option<i32>> {
        io_uring::IoUring::new(2).map(drop).map_err(|error| error.raw_os_error())
    }
    let before = ring();
    assert_eq!(refuse::without_call(libc::SYS_io_uring_setup, libc::ENOSYS, ring), Err(Some(libc::ENOSYS)));
    assert_eq!(ring(), before);
}
