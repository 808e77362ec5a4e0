//! fio and the native engine must understand a workload alike: which bytes are touched, in which files, by how many I/Os, of
//! which sizes and directions. None of it depends on speed. No root needed.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use diskproof_engine::{Engine, fio::FioEngine};
use record::trial::{EngineOutput, Totals};
use record::workload::{Layout, Options, Rw, SizeRange, SizeShare, Workload};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use support::{Bench, native, native_engine, workload};

/// The result of an engine.
struct Left {
    output: EngineOutput,
    /// For every file its length, and the blocks of 4 KiB that aren't all zeros.
    written: BTreeMap<String, (usize, Vec<usize>)>,
}

/// Runs both engines, each in its own directory and with another seed.
fn both(options: &Options, layout: Layout, seconds: f64) -> [Left; 2] {
    let own = native_engine();
    let engines: [(&dyn Engine, u64); 2] = [(&FioEngine, 7), (&own, 8)];
    engines.map(|(engine, seed)| {
        let bench = Bench::lent();
        let w = Workload { layout, ..workload(record::workload::Ask::Options(options.clone())) };
        let job = bench.job(&w, seed, seconds);
        let files = engine.prepare(&job).unwrap();
        let output = engine.run(&job).unwrap();
        assert!(output.errors.is_empty(), "{:?}", output.errors);
        let written = files.iter().map(|file| {
            let data = fs::read(file).unwrap();
            let blocks = data.chunks(4096).enumerate();
            let filled = blocks.filter(|(_, block)| block.iter().any(|b| *b != 0)).map(|(i, _)| i);
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            (name, (data.len(), filled.collect()))
        });
        Left { written: written.collect(), output }
    })
}

/// The result of checking content: the bytes checked, and the file and block of each fault.
type Checked = (u64, Vec<(String, u64)>);

/// The findings of each engine. If `spoilt` names a place, the data there are changed after the layout.
fn findings(options: &Options, spoilt: Option<u64>) -> [Checked; 2] {
    let own = native_engine();
    let engines: [&dyn Engine; 2] = [&FioEngine, &own];
    engines.map(|engine| {
        let bench = Bench::lent();
        let w = workload(record::workload::Ask::Options(options.clone()));
        let job = bench.job(&w, 7, 30.0);
        let file = engine.prepare(&job).unwrap().remove(0);
        if let Some(offset) = spoilt {
            let mut byte = [0];
            let file = fs::File::options().read(true).write(true).open(&file).unwrap();
            file.read_exact_at(&mut byte, offset).unwrap();
            file.write_all_at(&[!byte[0]], offset).unwrap();
            file.sync_all().unwrap();
        }
        let output = match (engine.run(&job), spoilt) {
            (Ok(output), None) => output,
            (Err(mut error), Some(_)) => error.take_output().unwrap(),
            (other, _) => panic!("{other:?}"),
        };
        let verified = output.verified.unwrap();
        let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        let places = verified.faults.iter().flat_map(|fault| {
            fault.offsets_bytes.iter().map(move |at| (name(&fault.path), at / 4096 * 4096))
        });
        (verified.bytes, places.collect())
    })
}

#[test]
fn both_find_the_same_wrong_block_and_nothing_else() {
    let checked = |rw| Options { verify: Some("crc32c".into()), ..once(rw) };
    for rw in [Rw::Randwrite, Rw::Randrw] {
        for (bytes, faults) in findings(&checked(rw), None) {
            assert!(bytes >= 1 << 20 && faults.is_empty(), "{bytes} bytes, {faults:?}");
        }
    }
    for (_, faults) in findings(&checked(Rw::Randread), Some(500_017)) {
        let mut places = faults;
        places.dedup();
        assert_eq!(places, [("diskproof-data.0".to_owned(), 499_712)]);
    }
}

/// One pass over the data.
fn once(rw: Rw) -> Options {
    Options { size_bytes: 1 << 20, time_based: false, ..native(rw) }
}

/// The I/Os and bytes of reads and writes.
fn counts(left: &Left) -> [Option<(u64, u64)>; 2] {
    [&left.output.read, &left.output.write].map(|t| t.as_ref().map(|t: &Totals| (t.ios, t.bytes)))
}

/// Whether `found` of `all` is within five standard deviations of a random share.
fn is_drawn(found: f64, all: f64, share: f64) -> bool {
    (found - share * all).abs() <= 5.0 * (share * (1.0 - share) * all).sqrt()
}

#[test]
fn both_touch_the_same_bytes_of_the_same_files() {
    for options in [
        once(Rw::Write),
        Options { offset_bytes: 64 << 10, numjobs: 2, ..once(Rw::Randwrite) },
        Options { nrfiles: 3, offset_bytes: 8192, ..once(Rw::Randwrite) },
        Options { filename: Some("table".into()), numjobs: 2, ..once(Rw::Write) },
        Options { size_bytes: (1 << 20) + 8192, bs_bytes: 16384, ..once(Rw::Randwrite) },
        Options { direct: false, end_fsync: true, ioengine: "psync".into(), iodepth: 1, ..once(Rw::Write) },
    ] {
        let [fio, native] = both(&options, Layout::Hole, 30.0);
        assert_eq!(fio.written, native.written, "{options:?}");
        assert_eq!(counts(&fio), counts(&native), "{options:?}");
        assert_eq!(fio.output.shared_files, native.output.shared_files);
        assert!(native.written.values().all(|(_, blocks)| !blocks.is_empty()), "{:?}", native.written);
    }
}

#[test]
fn both_leave_alone_what_no_share_of_offsets_falls_on() {
    let zoned = "zoned:60/10:40/20:0/70".to_owned();
    let options = Options { random_distribution: zoned, norandommap: true, ..native(Rw::Randwrite) };
    let options = Options { size_bytes: 1 << 20, rate_iops: Some(4000), ..options };
    for left in both(&options, Layout::Hole, 0.4) {
        let (_, blocks) = &left.written["diskproof-data.0"];
        let last = *blocks.last().unwrap();
        // 30 % of 256 blocks end inside the 77th.
        assert!((26..77).contains(&last), "{}: {last}", left.output.engine);
    }
}

#[test]
fn both_read_and_write_in_the_shares_asked_for() {
    for rw in [Rw::Randrw, Rw::Rw] {
        let options = Options { rwmixread: 75, size_bytes: 8 << 20, ..once(rw) };
        for left in both(&options, Layout::Written, 30.0) {
            let [read, write] = counts(&left).map(|c| c.unwrap().0);
            assert_eq!(read + write, 2048, "{}: {rw:?}", left.output.engine);
            assert!(is_drawn(read as f64, 2048.0, 0.75), "{}: {read} reads", left.output.engine);
        }
    }
}

#[test]
fn both_draw_sizes_in_the_shares_asked_for() {
    let share = |bs_bytes, percent| SizeShare { bs_bytes, percent };
    let split = vec![share(4096, 60), share(65536, 40)];
    let range = Some(SizeRange { low_bytes: 4096, high_bytes: 16384 });
    let asked = |rw| Options { size_bytes: 8 << 20, ..once(rw) };
    for (options, mean, deviation) in [
        (Options { bssplit: split.clone(), ..asked(Rw::Randread) }, 28672.0, 30098.9),
        (Options { bssplit: split, ..asked(Rw::Write) }, 28672.0, 30098.9),
        (Options { bsrange: range, ..asked(Rw::Randwrite) }, 10240.0, 4579.5),
    ] {
        for left in both(&options, Layout::Written, 30.0) {
            let (ios, bytes) = counts(&left).into_iter().flatten().next().unwrap();
            let found = bytes as f64 / ios as f64;
            let bound = 5.0 * deviation / (ios as f64).sqrt();
            assert!((found - mean).abs() <= bound, "{}: {found} bytes, {options:?}", left.output.engine);
            // The last one may reach beyond the size, or not begin.
            let beyond = bytes.abs_diff(8 << 20);
            assert!(beyond < 65536, "{}: {bytes} bytes, {options:?}", left.output.engine);
        }
    }
}
