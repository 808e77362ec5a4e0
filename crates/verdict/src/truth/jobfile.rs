//! A user's own job file is judged by its jobs' options, as a workload of the experiment is.

use super::{claims, judged};
use crate::attribute::attribute;
use crate::facts::Facts;
use crate::limit;
use crate::testing::{GIB, MIB, Truth, btrfs, filesystem};
use record::finding::Claim;
use record::judged::LimitKind;
use record::stack::{BtrfsProfile, FsKind};
use record::workload::{Ask, EngineKind, NamedJob, Options, Rw};

/// The same trial with its options from a job file; `known`: the native engine can read all of them.
fn by_file(truth: &Truth, known: bool) -> Truth {
    let mut truth = truth.clone();
    let options = truth.options().clone();
    let switch = u8::from;
    let text = format!(
        "[job]\nrw={}\nbs={}\nsize={}\niodepth={}\nioengine=io_uring\nruntime=20\ntime_based\ndirect={}\nend_fsync={}\nfsync={}\n",
        options.rw.name(),
        options.bs_bytes,
        options.size_bytes,
        options.iodepth,
        switch(options.direct),
        switch(options.end_fsync),
        options.fsync,
    );
    truth.cell.workload.engine = if known { EngineKind::Native } else { EngineKind::Fio };
    let jobs = if known { vec![NamedJob { name: "job".to_owned(), options }] } else { Vec::new() };
    let ask = Ask::JobFile { path: "job.fio".to_owned(), text, size_bytes: 256 * MIB, jobs };
    truth.cell.workload.ask = ask;
    truth
}

/// Data that is overwritten many times in the page cache, and flushed at the end.
fn overwritten(fs: FsKind, change: impl Fn(&mut Options)) -> Truth {
    let mut t = Truth::new(Rw::Write, MIB, false, filesystem(fs), 1);
    t.asked(0, 4 * GIB);
    t.device_write = 256 * MIB;
    t.options().end_fsync = false;
    change(t.options());
    t
}

fn limit_of(t: &Truth) -> LimitKind {
    let record = t.record();
    let facts = Facts::of(&record, &t.cell).unwrap();
    let shares = attribute(&facts);
    limit::of_trial(&t.scene(&facts, &shares, &[])).by
}

type Change = fn(&mut Options);

#[test]
fn what_a_job_file_flushes_is_durable() {
    let flushes: [(&str, Change); 3] =
        [("end_fsync", |o| o.end_fsync = true), ("fsync", |o| o.fsync = 1), ("direct", |o| o.direct = true)];
    for fs in [FsKind::Ext4, FsKind::Xfs] {
        for (name, change) in flushes {
            let t = overwritten(fs, change);
            for (how, t) in
                [("experiment", t.clone()), ("native", by_file(&t, true)), ("fio", by_file(&t, false))]
            {
                let found = claims(&t);
                assert!(!found.contains(&Claim::NotDurable), "{name}, {how}: {found:?}");
            }
        }
    }
}

#[test]
fn what_a_job_file_does_not_flush_is_not() {
    let mut t = overwritten(FsKind::Ext4, |_| {});
    t.dirty_at_end = GIB;
    t.trial.cache_after[0].dirty_bytes = Some(200 * MIB);
    for known in [true, false] {
        let found = judged(&by_file(&t, known)).1;
        let durable = found.iter().find(|f| f.claim == Claim::NotDurable).unwrap();
        assert!(durable.remedy.contains("end_fsync"), "{}", durable.remedy);
    }
    // One of two jobs flushes.
    let mut t = by_file(&t, true);
    let Ask::JobFile { jobs, .. } = &mut t.cell.workload.ask else { panic!("a job file") };
    let mut flushing = jobs[0].clone();
    flushing.options.end_fsync = true;
    jobs.push(flushing);
    assert!(claims(&t).contains(&Claim::NotDurable));
}

#[test]
fn a_job_file_is_judged_as_the_same_options_of_an_experiment_are() {
    let mut all = Vec::new();
    // The queue is full: the devices are the limit.
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.options().iodepth = 32;
    t.asked(400_000 * 4096, 0);
    (t.device_read, t.device_queue) = (400_000 * 4096, 31.0);
    all.push((t, LimitKind::Device));
    // A requested rate that was reached.
    let mut t = Truth::new(Rw::Randread, 4096, true, btrfs(BtrfsProfile::Raid0), 2);
    t.options().rate_iops = Some(1000);
    t.asked(20_000 * 4096, 0);
    t.device_read = 20_000 * 4096;
    all.push((t, LimitKind::AskedRate));
    for (t, by) in all {
        let (own, file) = (limit_of(&t), limit_of(&by_file(&t, true)));
        assert_eq!(own, by);
        assert_eq!(own, file);
        assert_eq!(claims(&t), claims(&by_file(&t, true)));
    }
}

#[test]
fn a_rate_is_that_of_all_jobs_together() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.options().rate_iops = Some(500);
    t.asked(20_000 * 4096, 0);
    t.device_read = 20_000 * 4096;
    let mut t = by_file(&t, true);
    let Ask::JobFile { jobs, .. } = &mut t.cell.workload.ask else { panic!("a job file") };
    jobs.push(jobs[0].clone());
    assert_eq!(limit_of(&t), LimitKind::AskedRate);
    let Ask::JobFile { jobs, .. } = &mut t.cell.workload.ask else { panic!("a job file") };
    jobs[1].options.rate_iops = None;
    assert_ne!(limit_of(&t), LimitKind::AskedRate, "the other job goes as fast as it can");
}
