//! `verify` in the native engine, in a scratch directory. No root needed.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use device::Place;
use diskproof_engine::native::NativeEngine;
use diskproof_engine::{Engine, EngineError};
use record::trial::{EngineOutput, FaultKind, Verified};
use record::workload::{Layout, Options, Rw, SizeRange, SizeShare, Workload};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use support::{Bench, asked, options};

fn engine() -> NativeEngine {
    NativeEngine::with_worker(vec![env!("CARGO_BIN_EXE_diskproof-native-worker").into()])
}

fn verified(rw: Rw) -> Options {
    Options {
        ioengine: "io_uring".into(),
        verify: Some("crc32c".into()),
        size_bytes: 2 << 20,
        iodepth: 8,
        ..options(rw)
    }
}

fn run(bench: &Bench, workload: &Workload, seconds: f64) -> Result<EngineOutput, EngineError> {
    let job = bench.job(workload, 7, seconds);
    engine().prepare(&job)?;
    engine().run(&job)
}

fn data(bench: &Bench, name: &str) -> PathBuf {
    match bench.ground.place() {
        Place::Directory(directory) => directory.join(format!("diskproof-data.{name}")),
        Place::Block(device) => device.clone(),
    }
}

/// Runs without an error, and reads everything back.
fn clean(options: Options) -> EngineOutput {
    let bench = Bench::lent();
    let regions = u64::from(options.numjobs) * options.size_bytes;
    let what = format!("{options:?}");
    let out = run(&bench, &asked(options), 0.25).unwrap_or_else(|error| panic!("{error}: {what}"));
    let found = out.verified.clone().unwrap();
    assert_eq!(found.faults, [], "{what}");
    assert!(out.errors.is_empty());
    let read = out.read.as_ref().map_or(0, |read| read.bytes);
    assert!(
        found.bytes >= regions + read,
        "{} bytes checked, {regions} there, {read} read: {what}",
        found.bytes
    );
    out
}

#[test]
fn what_is_written_is_found_again() {
    for rw in [Rw::Read, Rw::Write, Rw::Rw, Rw::Randread, Rw::Randwrite, Rw::Randrw] {
        for direct in [true, false] {
            for ioengine in ["io_uring", "psync"] {
                clean(Options { direct, ioengine: ioengine.into(), ..verified(rw) });
            }
        }
    }
}

#[test]
fn writes_of_the_same_block_wait_for_each_other() {
    // 8 blocks and 32 I/Os in flight: nearly all overlap.
    for rw in [Rw::Write, Rw::Randrw, Rw::Randwrite] {
        for ioengine in ["io_uring", "psync"] {
            let o = Options { size_bytes: 8 * 4096, iodepth: 32, ioengine: ioengine.into(), ..verified(rw) };
            let out = clean(o);
            assert!(out.write.unwrap().ios > 8);
        }
    }
    let hot = Options { random_distribution: "zipf:1.6".into(), iodepth: 32, ..verified(Rw::Randrw) };
    clean(Options { numjobs: 4, ..hot.clone() });
    clean(Options { direct: false, ..hot.clone() });
    clean(Options { norandommap: true, random_distribution: "random".into(), ..hot });
}

#[test]
fn sizes_may_differ() {
    let range = Some(SizeRange { low_bytes: 4096, high_bytes: 65536 });
    let share = |bs_bytes, percent| SizeShare { bs_bytes, percent };
    let split = vec![share(4096, 60), share(12288, 30), share(131_072, 10)];
    for rw in [Rw::Write, Rw::Rw, Rw::Randrw] {
        for direct in [true, false] {
            clean(Options { bsrange: range, direct, ..verified(rw) });
            clean(Options { bssplit: split.clone(), direct, ..verified(rw) });
        }
        clean(Options { bssplit: split.clone(), ioengine: "psync".into(), ..verified(rw) });
        clean(Options { bs_bytes: 1 << 20, ..verified(rw) });
        clean(Options { bs_bytes: 512, direct: false, size_bytes: 1 << 18, ..verified(rw) });
    }
}

#[test]
fn places_and_paces_make_no_difference() {
    let base = verified(Rw::Randrw);
    clean(Options { nrfiles: 4, ..base.clone() });
    clean(Options { offset_bytes: 1 << 20, numjobs: 2, ..base.clone() });
    clean(Options { buffer_compress_percentage: 60, ..base.clone() });
    clean(Options { buffer_compress_percentage: 100, ..base.clone() });
    clean(Options { fsync: 7, end_fsync: true, direct: false, ..base.clone() });
    clean(Options { thinktime_us: 500, thinktime_blocks: 3, ..base.clone() });
    clean(Options { rate_iops: Some(2000), ..verified(Rw::Randwrite) });
    clean(Options { rate_iops: Some(2000), ioengine: "psync".into(), ..verified(Rw::Randwrite) });
    clean(Options { filename: Some("all".into()), ..base });
}

#[test]
fn a_load_that_goes_over_its_data_once_ends_by_itself() {
    let out = clean(Options { time_based: false, size_bytes: 64 << 10, ..verified(Rw::Randwrite) });
    assert_eq!(out.write.unwrap().ios, 16);
}

fn only(found: &Verified) -> (FaultKind, u64, &[u64]) {
    let [fault] = found.faults.as_slice() else { panic!("{found:?}") };
    (fault.kind, fault.count, &fault.offsets_bytes)
}

fn failed(ended: Result<EngineOutput, EngineError>) -> EngineOutput {
    match ended {
        Err(EngineError::Failed { ended, output: Some(output), .. }) => {
            assert_eq!(ended, "read wrong content");
            *output
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flipped_byte_is_found_at_its_offset_and_fails_the_trial() {
    let bench = Bench::lent();
    // The load doesn't reach the last block: only reading everything back finds it.
    for (rw, rate, at) in [
        (Rw::Randread, None, 777_777),
        (Rw::Write, Some(100), (2 << 20) - 1),
        (Rw::Read, Some(100), 2_000_000),
    ] {
        let w = asked(Options { rate_iops: rate, ..verified(rw) });
        let job = bench.job(&w, 7, 0.2);
        engine().prepare(&job).unwrap();
        let file = File::options().read(true).write(true).open(data(&bench, "0")).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[!byte[0]], at).unwrap();
        let output = failed(engine().run(&job));
        assert_eq!(only(output.verified.as_ref().unwrap()), (FaultKind::Corrupt, 1, [at].as_slice()));
        assert_eq!((output.errors[0].errno.as_str(), output.errors[0].count), ("corrupt content", 1));
        let place = output.errors[0].place.as_ref().unwrap();
        assert!(place.starts_with("job0") && place.ends_with(&format!("at offset {at}")), "{place}");
    }
}

#[test]
fn wrong_content_is_counted_and_the_load_goes_on_where_that_is_asked() {
    let bench = Bench::lent();
    for tolerance in ["all", "verify"] {
        let mut o = Options { numjobs: 2, ..verified(Rw::Randread) };
        o.other.insert("continue_on_error".into(), tolerance.into());
        let w = asked(o);
        let job = bench.job(&w, 7, 0.3);
        engine().prepare(&job).unwrap();
        let (one, two) = (data(&bench, "0"), data(&bench, "1"));
        let (one, two) =
            (File::options().read(true).open(one).unwrap(), File::options().write(true).open(two).unwrap());
        let mut block = vec![0; 4096];
        one.read_exact_at(&mut block, 40960).unwrap();
        two.write_all_at(&block, 40960).unwrap();
        two.write_all_at(&[0; 8192], 81920).unwrap();
        let output = engine().run(&job).unwrap();
        assert!(output.window.seconds() > 0.29, "it went on");
        let found = output.verified.unwrap();
        let told: Vec<_> = found.faults.iter().map(|f| (f.kind, f.count, f.offsets_bytes.clone())).collect();
        let expected = [(FaultKind::Lost, 2, vec![81920, 86016]), (FaultKind::Misdirected, 1, vec![40960])];
        let sorted = |(kind, count, mut offsets): (FaultKind, u64, Vec<u64>)| {
            offsets.sort_unstable();
            (kind, count, offsets)
        };
        assert_eq!(told.into_iter().map(sorted).collect::<Vec<_>>(), expected);
        assert!(found.faults.iter().all(|fault| fault.path.ends_with("diskproof-data.1")));
    }
}

#[test]
fn data_that_was_laid_out_for_another_trial_is_not_verified() {
    let bench = Bench::lent();
    let plain = asked(Options { verify: None, ..verified(Rw::Randread) });
    engine().prepare(&bench.job(&plain, 7, 0.2)).unwrap();
    let w = asked(verified(Rw::Randread));
    let error = engine().run(&bench.job(&w, 7, 0.2)).unwrap_err().to_string();
    assert!(error.contains("not laid out to be verified"), "{error}");
    engine().prepare(&bench.job(&w, 8, 0.2)).unwrap();
    assert!(engine().run(&bench.job(&w, 7, 0.2)).is_err(), "another seed");
    assert!(engine().run(&bench.job(&w, 8, 0.2)).is_ok());
}

#[test]
fn what_cannot_be_verified_is_refused_before_anything_is_laid_out() {
    let bench = Bench::lent();
    let base = verified(Rw::Randrw);
    for (o, named) in [
        (Options { verify: Some("md5".into()), ..base.clone() }, "md5"),
        (Options { dedupe_percentage: 10, ..base.clone() }, "dedupe_percentage"),
        (Options { filename: Some("one".into()), numjobs: 2, ..base.clone() }, "file"),
        (Options { bs_bytes: 1000, direct: false, ..base.clone() }, "512"),
        (Options { rw: Rw::Randtrim, ..base.clone() }, "trim"),
    ] {
        let error = engine().prepare(&bench.job(&asked(o), 7, 0.2)).unwrap_err().to_string();
        assert!(error.contains("verify") && error.contains(named), "{error}");
    }
    let mut w = asked(base);
    w.layout = Layout::Hole;
    let error = engine().prepare(&bench.job(&w, 7, 0.2)).unwrap_err().to_string();
    assert!(error.contains("verify") && error.contains("layout"), "{error}");
    assert!(!data(&bench, "0").exists());
}
