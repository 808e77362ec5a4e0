//! fio and the native engine must understand a user's own job file alike: both parse the same text and do the same I/O once. No
//! root needed.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use diskproof_engine::{Engine, fio::FioEngine};
use record::trial::{EngineOutput, Totals};
use record::workload::{Ask, Options, Rw, Workload};
use std::collections::BTreeMap;
use std::process::Command;
use support::{Bench, native_engine};

/// The workload of an experiment with this job file, as in the plan.
fn planned(job_file: &str, engine: &str) -> Workload {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mine.fio"), job_file).unwrap();
    let text = format!(
        "experiment: demo\nvolumes: {{ d: {{ directory: /tmp }} }}\nstacks: {{ d: {{}} }}\n\
         workloads: {{ w: {{ fio: mine.fio, engine: {engine} }} }}\n"
    );
    let loaded = spec::parse(&text, "demo.yaml", dir.path(), &BTreeMap::new()).unwrap();
    loaded.plan.cells.into_iter().next().unwrap().workload
}

fn perform(engine: &dyn Engine, workload: &Workload, seconds: f64) -> EngineOutput {
    let bench = Bench::lent();
    let job = bench.job(workload, 7, seconds);
    engine.prepare(&job).unwrap();
    engine.run(&job).unwrap()
}

/// The I/Os and bytes of reads and writes.
fn counts(output: &EngineOutput) -> [Option<(u64, u64)>; 2] {
    [&output.read, &output.write].map(|t| t.as_ref().map(|t: &Totals| (t.ios, t.bytes)))
}

/// All options that decide what one pass does, and how long a job goes on.
const TABLE: &[&str] = &[
    "rw=write\nend_fsync=1",
    "rw=write\nend_fsync=1\nnrfiles=4",
    "rw=randwrite\nfsync=8",
    "rw=randwrite\nfdatasync=1",
    "rw=write\nsync=dsync",
    "rw=write\nsync=1",
    "rw=read\nbs=16k\ndirect=1",
    "rw=randread\nbuffered=0\niodepth=4\nioengine=libaio",
    "rw=randread\niodepth=8\nioengine=io_uring",
    "rw=randread\nnorandommap",
    "rw=read\noffset=64k",
    "rw=write\nnumjobs=3",
    "rw=write\nnumjobs=2\nfilename=shared",
    "rw=read\nrate_iops=200",
    "rw=write\nrate=4m",
    "rw=read\nthinktime=1ms\nthinktime_blocks=4",
    "rw=randread\nrandom_distribution=zipf:1.1",
    "rw=write\nbuffer_compress_percentage=50\nrefill_buffers",
    "rw=write\nnrfiles=2\nbs=8k",
    "rw=read\n[other]\nrw=write\nsize=128k\ntime_based=0",
];

#[test]
fn both_engines_do_what_a_job_file_says_once() {
    let native = native_engine();
    for text in TABLE {
        let file = format!("[job]\nsize=256k\nbs=4k\ntime_based=0\n{text}\n");
        let [fio, own] = [
            perform(&FioEngine, &planned(&file, "fio"), 30.0),
            perform(&native, &planned(&file, "native"), 30.0),
        ];
        assert_eq!(counts(&fio), counts(&own), "{text}");
        for (name, output) in [("fio", &fio), ("native", &own)] {
            // A regression: `time_based=0` counted as 1, and the job got the trial's time.
            let seconds = output.window.seconds();
            assert!(seconds < 20.0, "{name} went on for {seconds} s: {text}");
        }
    }
}

#[test]
fn both_repeat_until_the_trials_time_is_up_where_nothing_is_said() {
    let native = native_engine();
    let file = "[job]\nsize=64k\nbs=4k\nrw=randread\ndirect=1\n";
    for output in
        [perform(&FioEngine, &planned(file, "fio"), 0.5), perform(&native, &planned(file, "native"), 0.5)]
    {
        let read = output.read.unwrap();
        assert!(read.ios > 16 && output.window.seconds() >= 0.5, "{read:?}");
    }
}

/// The number of passes that fio ended with a flush: `fio --debug=io` prints each one.
fn flushes(options: &Options) -> usize {
    let dir = tempfile::Builder::new().prefix("diskproof-test-").tempdir().unwrap();
    let path = dir.path().join("job.fio");
    let text = format!(
        "[job]\ndirectory={}\nioengine=psync\nrw={}\nbs={}\nsize={}\nnrfiles={}\nend_fsync=1\ntime_based={}\n\
         runtime=1\nrate_iops=200\n",
        dir.path().to_string_lossy(),
        options.rw.name(),
        options.bs_bytes,
        options.size_bytes,
        options.nrfiles,
        u8::from(options.time_based),
    );
    std::fs::write(&path, text).unwrap();
    let ran = Command::new("fio").arg("--debug=io").arg(&path).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    // 3 is fio's DDIR_SYNC.
    let flushes = said.lines().filter(|line| line.contains(" queue: ") && line.contains("ddir=3")).count();
    flushes / usize::try_from(options.nrfiles).unwrap()
}

#[test]
fn fio_flushes_after_each_pass_where_the_plan_says_so() {
    let base = Options { end_fsync: true, ..Options::new(Rw::Write, 4096, 64 << 10) };
    let cases = [
        base.clone(),
        Options { nrfiles: 4, ..base.clone() },
        Options { nrfiles: 4, time_based: false, ..base.clone() },
        Options { bs_bytes: 48 << 10, ..base.clone() },
        Options { bs_bytes: 16 << 10, ..base.clone() },
        Options { rw: Rw::Randwrite, nrfiles: 4, ..base.clone() },
        Options { rw: Rw::Randwrite, bs_bytes: 48 << 10, ..base.clone() },
        Options { rw: Rw::Rw, bs_bytes: 48 << 10, ..base.clone() },
        Options { rw: Rw::Rw, nrfiles: 2, ..base },
    ];
    for options in cases {
        let flushes = flushes(&options);
        // More than ten passes; the last one may end twice, by its time and by its rate.
        assert_eq!(flushes > 4, options.fio_flushes_each_pass(), "{flushes} flushes: {options:?}");
    }
}

#[test]
fn the_plan_keeps_what_both_engines_mean_the_same() {
    for text in TABLE {
        let file = format!("[job]\nsize=256k\nbs=4k\ntime_based=0\n{text}\n");
        let [fio, native] = ["fio", "native"].map(|engine| planned(&file, engine).ask);
        let (Ask::JobFile { jobs: by_fio, .. }, Ask::JobFile { jobs: by_native, .. }) = (fio, native) else {
            panic!("job files")
        };
        assert_eq!(by_fio, by_native, "{text}");
        assert!(!by_native.is_empty(), "{text}");
    }
}
