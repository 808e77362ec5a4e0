//! The real fio checks what it wrote, in a scratch directory. No root needed.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use diskproof_engine::{Engine, EngineError, fio::FioEngine};
use record::trial::{EngineOutput, FaultKind};
use record::workload::{Options, Rw, SizeShare, Workload};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use support::{Bench, asked, gzip_share, job_file, options};

fn checked(rw: Rw) -> Options {
    Options { verify: Some("crc32c".into()), size_bytes: 1 << 20, ..options(rw) }
}

/// Changes one byte of a file.
fn spoil(path: &Path, offset: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[!byte[0]], offset).unwrap();
    file.sync_all().unwrap();
}

/// Lays out, changes one byte of the first file, and runs.
fn run_spoiled(bench: &Bench, w: &Workload, offset: u64) -> Result<EngineOutput, EngineError> {
    let job = bench.job(w, 7, 0.3);
    let file = FioEngine.prepare(&job).unwrap().remove(0);
    spoil(&file, offset);
    FioEngine.run(&job)
}

/// The output of the failed trial, with one wrong block.
fn only_fault(result: Result<EngineOutput, EngineError>, offset: u64) -> EngineOutput {
    let mut error = result.unwrap_err();
    let EngineError::Failed { errors, .. } = &error else { panic!("{error}") };
    let place = format!("{} in ", errors[0].errno);
    assert_eq!((errors.len(), errors[0].errno.as_str(), errors[0].count), (1, "EILSEQ", 1), "{place}{error}");
    let output = error.take_output().unwrap();
    let fault = &output.verified.as_ref().unwrap().faults[0];
    assert_eq!((fault.kind, fault.count, &fault.offsets_bytes[..]), (FaultKind::Corrupt, 1, &[offset][..]));
    assert!(fault.path.ends_with("diskproof-data.0") && fault.example.contains("verify"), "{fault:?}");
    output
}

#[test]
fn what_was_written_is_read_back_whole() {
    let bench = Bench::lent();
    let share = |bs_bytes| SizeShare { bs_bytes, percent: 50 };
    for o in [
        checked(Rw::Randrw),
        Options { bssplit: vec![share(4096), share(16384)], ..checked(Rw::Randwrite) },
        Options { nrfiles: 2, offset_bytes: 8192, time_based: false, ..checked(Rw::Write) },
    ] {
        let w = asked(o);
        let job = bench.job(&w, 7, 0.3);
        FioEngine.prepare(&job).unwrap();
        let out = FioEngine.run(&job).unwrap();
        let verified = out.verified.unwrap();
        assert_eq!((verified.bytes, &verified.faults[..]), (1 << 20, &[][..]));
        assert!(out.errors.is_empty() && out.write.unwrap().ios > 0);
        // Reading back is not part of the measurement.
        let mixed = out.input.contains("rw=randrw");
        assert_eq!(out.read.is_some(), mixed);
    }
}

#[test]
fn a_changed_byte_is_found_by_a_read_that_meets_it() {
    let bench = Bench::lent();
    let w = asked(checked(Rw::Randread));
    let out = only_fault(run_spoiled(&bench, &w, 500_017), 499_712);
    assert!(out.verified.unwrap().bytes >= 1 << 20, "all was read back after the trial failed");
    let clean = bench.job(&w, 7, 0.3);
    FioEngine.prepare(&clean).unwrap();
    let out = FioEngine.run(&clean).unwrap();
    let (read, verified) = (out.read.unwrap(), out.verified.unwrap());
    assert!(verified.faults.is_empty() && verified.bytes >= read.bytes + (1 << 20), "{verified:?}");
}

#[test]
fn a_changed_byte_that_no_io_met_is_found_afterwards() {
    let bench = Bench::lent();
    // At 20 writes per second, in order, the last block is never reached, and the first one's header is not read either.
    for (rw, method) in [(Rw::Write, "md5"), (Rw::Rw, "xxhash")] {
        let o = Options { verify: Some(method.into()), rate_iops: Some(20), iodepth: 1, ..checked(rw) };
        let last = (1 << 20) - 4096;
        only_fault(run_spoiled(&bench, &asked(o), last + 4095), last);
    }
}

#[test]
fn a_trial_goes_on_over_wrong_content_if_asked() {
    let bench = Bench::lent();
    let mut o = checked(Rw::Randread);
    o.other.insert("continue_on_error".into(), "verify".into());
    let out = run_spoiled(&bench, &asked(o), 500_017).unwrap();
    assert_eq!(out.verified.unwrap().faults[0].offsets_bytes, [499_712]);
    assert_eq!(out.errors[0].errno, "EILSEQ");
    assert!(out.read.unwrap().ios > 0);
}

#[test]
fn checked_data_are_as_compressible_as_declared() {
    let bench = Bench::lent();
    let o = Options { bs_bytes: 65536, buffer_compress_percentage: 80, ..checked(Rw::Write) };
    let w = asked(o);
    let job = bench.job(&w, 7, 0.3);
    let file = FioEngine.prepare(&job).unwrap().remove(0);
    for when in ["laid out", "written"] {
        let share = gzip_share(&file);
        assert!((0.17..0.28).contains(&share), "{when}: {share}");
        FioEngine.run(&job).unwrap();
    }
}

#[test]
fn a_users_job_file_that_finds_wrong_content_has_failed() {
    let bench = Bench::lent();
    let text = "[a]\nrw=read\nverify=crc32c\nbs=4k\nsize=256k\n";
    let w = job_file(text, 256 << 10);
    let job = bench.job(&w, 7, 0.3);
    let file = FioEngine.prepare(&job).unwrap().remove(0);
    fs::write(&file, vec![7; 256 << 10]).unwrap();
    let mut error = FioEngine.run(&job).unwrap_err();
    let EngineError::Failed { errors, .. } = &error else { panic!("{error}") };
    assert!(errors.iter().any(|e| e.errno == "EILSEQ"), "{error}");
    assert!(error.take_output().unwrap().verified.is_none(), "fio doesn't tell how much it checked");
}
