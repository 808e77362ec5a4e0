//! The real fio in a scratch directory: users' own job files. No root needed.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use device::extents;
use diskproof_engine::{Engine, EngineError, fio::FioEngine};
use record::workload::Layout;
use std::fs;
use support::{Bench, gzip_share, job_file};

const SECTIONS: &str = "; a user's file, from elsewhere
[global]
directory=/mnt/of/somebody
ioengine=libaio
direct=1
bs=4k
size=4m
group_reporting
[database]
rw=randrw
rwmixread=70
numjobs=2
iodepth=4
[log]
rw=write
filename=/var/log/its own:log
fdatasync=4
";

#[test]
fn fio_runs_a_users_sections() {
    let bench = Bench::lent();
    let w = job_file(SECTIONS, 12 << 20);
    let job = bench.job(&w, 3, 0.4);
    let files = FioEngine.prepare(&job).unwrap();
    let names: Vec<_> = files.iter().map(|f| f.file_name().unwrap().to_string_lossy().into_owned()).collect();
    let wanted = ["database.0.0", "database.1.0", "mnt_of_somebody_log", "mnt_of_somebody_var_log_its_own"]
        .map(|n| format!("diskproof-data.{n}"));
    assert_eq!(names, wanted, "a folder and a name make a path, as in fio");
    for file in &files {
        let found = extents::of_file(file).unwrap();
        assert!(found.size_bytes >= 2 << 20, "{found:?}");
        assert_eq!(
            found.written_bytes, found.size_bytes,
            "written, also for jobs that only write: {found:?}"
        );
        assert!(gzip_share(file) > 0.98);
    }
    let out = FioEngine.run(&job).unwrap();
    let (read, write) = (out.read.unwrap(), out.write.unwrap());
    assert!(read.ios > 0 && write.ios > 0 && !out.shared_files);
    assert_eq!(out.raw.matches("\"jobname\"").count(), 3, "every job by itself");
    assert!(out.window.seconds() >= 0.4, "all that fio did was counted: {:?}", out.window);
    let sum: u64 = files.iter().map(|f| fs::metadata(f).unwrap().len()).sum();
    assert_eq!(sum, 12 << 20, "nothing grew");
}

#[test]
fn fio_keeps_a_files_own_time_and_stonewalls() {
    let bench = Bench::lent();
    let text =
        "[global]\nsize=2m\nrw=randread\ntime_based\nruntime=300ms\nfilename=same\n[a]\n[b]\nstonewall\n";
    let w = job_file(text, 4 << 20);
    let job = bench.job(&w, 3, 600.0);
    FioEngine.prepare(&job).unwrap();
    let out = FioEngine.run(&job).unwrap();
    assert!(!out.shared_files, "they never meet");
    assert!(out.window.seconds() >= 0.6, "one after the other, and what lies between: {:?}", out.window);
    let jobs: Vec<&[String]> = out.phases.iter().map(|phase| phase.jobs.as_slice()).collect();
    assert_eq!(jobs, [["a".to_owned()], ["b".to_owned()]]);
    let all = out.read.unwrap();
    let parts: Vec<_> = out.phases.iter().map(|phase| phase.read.as_ref().unwrap()).collect();
    assert_eq!(all.ios, parts[0].ios + parts[1].ios);
    assert!((all.seconds - parts[0].seconds - parts[1].seconds).abs() < 1e-9, "the time of both");
    let (low, high) = (parts[0].iops.min(parts[1].iops), parts[0].iops.max(parts[1].iops));
    assert!(low <= all.iops && all.iops <= high, "rates are not added: {low} {} {high}", all.iops);
}

#[test]
fn fio_lays_a_users_files_out_as_asked() {
    let bench = Bench::lent();
    let text = "[a]\nrw=randread\nsize=3m\nnrfiles=3\nbuffer_compress_percentage=60\n";
    let mut w = job_file(text, 3 << 20);
    let files = FioEngine.prepare(&bench.job(&w, 3, 0.2)).unwrap();
    assert_eq!(files.len(), 3);
    let share = gzip_share(&files[0]);
    assert!((0.35..0.48).contains(&share), "as compressible as the file says: {share}");
    for layout in [Layout::Hole, Layout::Unwritten] {
        w.layout = layout;
        let job = bench.job(&w, 3, 0.2);
        let file = FioEngine.prepare(&job).unwrap().remove(0);
        let before = extents::of_file(&file).unwrap();
        assert_eq!((before.size_bytes, before.written_bytes), (1 << 20, 0), "{layout:?}: {before:?}");
        FioEngine.run(&job).unwrap();
        assert_eq!(extents::of_file(&file).unwrap(), before, "{layout:?}: fio laid out by itself");
    }
}

#[test]
fn fio_says_what_a_job_file_lacks() {
    let bench = Bench::lent();
    for (text, word) in [
        (
            "[a]\nrw=randread\n[b]\nsize=2m\n",
            "[a] takes its size from the file or device, and 0 bytes are left",
        ),
        ("[a]\nsize=1m\nverify_interval=no\n", "this machine's fio doesn't take the job file"),
        ("[a]\nsize=1p\n", "are free in the file system under test"),
        ("[a]\nsize=1m\nrw=trim\n", "block devices only"),
        ("rw=read\n", "line 1"),
        ("[global]\nrw=read\n", "no job section"),
        ("[a]\nsize=1m\nexec_postrun=true\n", "run other programs"),
    ] {
        let w = job_file(text, 1 << 20);
        let error = FioEngine.prepare(&bench.job(&w, 3, 0.2)).unwrap_err();
        assert!(error.to_string().contains(word), "{text:?}: {error}");
    }
    let w = job_file("[a]\nsize=1m\n", 1 << 20);
    assert!(matches!(FioEngine.run(&bench.job(&w, 3, 0.2)), Err(EngineError::LaidOutShort { .. })));
}

#[test]
fn fio_checks_what_the_layout_wrote_for_it() {
    let bench = Bench::lent();
    let text = "[global]\nsize=1m\nfilename=f\nverify=md5\n[check]\nrw=randread\nbs=8k\nloops=2\n[write]\nstonewall\nrw=write\nbs=4k\nloops=2\n";
    let w = job_file(text, 1 << 20);
    let job = bench.job(&w, 3, 5.0);
    FioEngine.prepare(&job).unwrap();
    let out = FioEngine.run(&job).unwrap();
    assert_eq!((out.errors.len(), out.phases.len()), (0, 2));
    assert!(out.phases[0].read.as_ref().unwrap().ios >= 128, "every block of one pass at least");
}

#[test]
fn a_job_without_statistics_runs_and_is_not_counted() {
    let bench = Bench::lent();
    let text = "[global]\nsize=1m\nruntime=300ms\ntime_based\n[a]\nrw=randread\n[hidden]\nrw=write\nstats=0\nnumjobs=2\n";
    let w = job_file(text, 3 << 20);
    let job = bench.job(&w, 3, 1.0);
    assert_eq!(FioEngine.prepare(&job).unwrap().len(), 3);
    let out = FioEngine.run(&job).unwrap();
    assert!(out.read.unwrap().ios > 0 && out.write.is_none() && out.phases.is_empty());
}

#[test]
fn sizes_that_the_device_decides_share_the_room() {
    let bench = Bench::lent();
    let text = "[global]\nruntime=200ms\ntime_based\nfilename=/dev/sda\n[a]\nrw=randread\nsize=50%\n[b]\nrw=randread\nfilename=/dev/sdb\n";
    let w = job_file(text, 8 << 20);
    let job = bench.job(&w, 3, 1.0);
    let files = FioEngine.prepare(&job).unwrap();
    let sizes: Vec<(String, u64)> = files
        .iter()
        .map(|file| {
            (file.file_name().unwrap().to_string_lossy().into_owned(), fs::metadata(file).unwrap().len())
        })
        .collect();
    let expected = [("diskproof-data.dev_sda", 2 << 20), ("diskproof-data.dev_sdb", 4 << 20)];
    assert_eq!(sizes, expected.map(|(name, size)| (name.to_owned(), size)));
    assert!(FioEngine.run(&job).unwrap().read.unwrap().ios > 0);
}
