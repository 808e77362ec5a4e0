//! Whether the generator or the storage was the limit.

use super::{claims, judged};
use crate::detected::Detected;
use crate::testing::{GIB, Truth, filesystem};
use record::copy::{Copier, Copies, CopyAsk, CopySync, Corpus, Preserve};
use record::environment::{Ceiling, Environment};
use record::finding::{Claim, Severity};
use record::stack::FsKind;
use record::trial::GeneratorCost;
use record::volume::{LimitName, VerifiedLimit, VolumeFacts};
use record::workload::{Ask, EngineKind, Rw};

/// 131,072 reads of 4 KiB per second by one job of the native engine, on a machine with 8 CPUs, one of them full.
fn full() -> Truth {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(10 * GIB, 0);
    t.device_read = 10 * GIB;
    t.cell.workload.engine = EngineKind::Native;
    let options = t.options();
    (options.ioengine, options.iodepth) = ("io_uring".to_owned(), 128);
    (t.machine.cpus, t.device_queue) = (Some(8), 4.0);
    busy(&mut t, 19.8);
    t
}

/// Sets the time that the busiest thread ran, of 20 s, as the engine counted it.
fn busy(t: &mut Truth, seconds: f64) {
    t.trial.engine.as_mut().unwrap().generator = Some(GeneratorCost {
        user_seconds: seconds * 0.25,
        system_seconds: seconds * 0.75,
        busiest_thread_seconds: Some(seconds),
        cpu_ns_per_io: Some(7500.0),
        user_instructions_per_io: Some(265.0),
        ..GeneratorCost::default()
    });
}

fn only_finding(t: &Truth) -> Detected {
    let found = judged(t).1;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].claim, found[0].severity), (Claim::EngineCpuBound, Severity::Caveat));
    found[0].clone()
}

fn ceiling(iops: f64, cpu_ns_per_io: f64) -> Ceiling {
    Ceiling {
        measured_unix_ms: 0,
        rw: "randread".to_owned(),
        bs_bytes: 4096,
        iodepth: 128,
        direct: true,
        issued_by: "io_uring".to_owned(),
        fs_type: Some("ext4".to_owned()),
        iops,
        low: Some(iops * 0.98),
        high: Some(iops * 1.02),
        confidence: 0.95,
        repetitions: vec![iops; 3],
        busiest_thread_share: Some(1.0),
        cpu_ns_per_io: Some(cpu_ns_per_io),
        user_instructions_per_io: None,
    }
}

#[test]
fn a_generator_that_never_waits_is_the_limit() {
    let found = only_finding(&full());
    for words in ["generator was the limit", "ran 99 % of", "75 % of the generator's", "held 4 of 128 I/Os"] {
        assert!(found.text.contains(words), "{words}: {}", found.text);
    }
    assert_eq!(found.evidence["generator_user_instructions_per_io"], 265.0);
    assert!((found.evidence["busiest_thread_cores"] - 0.99).abs() < 1e-9);
    assert!((found.evidence["device_queue_ios"] - 4.0).abs() < 0.1, "{:?}", found.evidence);
}

#[test]
fn the_engines_own_count_is_believed_before_the_samples() {
    let mut t = full();
    t.thread_cores = 0.2;
    assert_eq!(claims(&t), [Claim::EngineCpuBound]);
    t.thread_cores = 1.0;
    busy(&mut t, 17.0);
    assert!(claims(&t).is_empty(), "15 % of the time it waited for the storage");
    t.trial.engine.as_mut().unwrap().generator.as_mut().unwrap().busiest_thread_seconds = None;
    assert_eq!(claims(&t), [Claim::EngineCpuBound], "not told by the engine: as sampled");
}

#[test]
fn a_queue_that_the_devices_hold_is_the_storages_limit() {
    let mut t = full();
    t.device_queue = 127.0;
    assert!(claims(&t).is_empty(), "a busy loop beside a full queue");
    t.device_queue = 90.0;
    assert_eq!(claims(&t), [Claim::EngineCpuBound]);
    // Write-back fills the devices' queues whatever the generator does.
    t.device_queue = 127.0;
    t.options().direct = false;
    assert!(claims(&t).contains(&Claim::EngineCpuBound));
}

#[test]
fn a_rate_that_was_reached_is_no_limit() {
    let mut t = full();
    t.options().rate_iops = Some(131_072);
    assert!(claims(&t).is_empty(), "it spins until the next I/O is due");
    t.options().rate_iops = Some(200_000);
    let found = only_finding(&t);
    assert!(found.text.contains("made 131,072 IOPS of 200,000 IOPS asked for"), "{}", found.text);
    // Two jobs share the work; each has the rate.
    (t.options().rate_iops, t.options().numjobs) = (Some(65_536), 2);
    assert!(claims(&t).is_empty());
    (t.options().rate_iops, t.options().rate_bytes_per_second) = (None, Some(256 << 20));
    assert!(claims(&t).is_empty());
    t.options().rate_bytes_per_second = Some(1 << 30);
    assert_eq!(claims(&t), [Claim::EngineCpuBound]);
}

#[test]
fn a_throttle_that_was_met_is_the_limit() {
    let mut t = full();
    t.emulated(1);
    t.volumes = vec![VolumeFacts {
        burst: None,
        name: "vol[0]".to_owned(),
        target: "local".to_owned(),
        device: Some("/dev/loop0".into()),
        size_bytes: GIB,
        identity: None,
        verified: vec![VerifiedLimit {
            limit: LimitName::ReadIops,
            asked: 131_000.0,
            measured: 131_000.0,
            seconds: 3.0,
        }],
        backing_fs: Some("ext4".to_owned()),
        loop_direct_io: Some(true),
        host_limits: None,
    }];
    t.device_iops = 131_072.0;
    assert!(claims(&t).is_empty(), "the volume gives no more");
    t.device_iops = 100_000.0;
    let found = only_finding(&t);
    assert!((found.evidence["nearest_limit_share"] - 0.763).abs() < 0.01, "{:?}", found.evidence);
}

#[test]
fn polling_is_no_limit() {
    for option in ["hipri", "sqthread_poll"] {
        let mut t = full();
        t.options().other.insert(option.to_owned(), "1".to_owned());
        assert!(claims(&t).is_empty(), "{option} uses a core by design");
        t.options().other.insert(option.to_owned(), "0".to_owned());
        assert_eq!(claims(&t), [Claim::EngineCpuBound]);
    }
}

#[test]
fn the_ceiling_tells_whose_work_it_was() {
    let mut t = full();
    t.machine.native_ceiling = Some(ceiling(135_000.0, 7300.0));
    let near = only_finding(&t);
    assert!(near.text.contains("One job made 131,072 IOPS; 135,000 is the most"), "{}", near.text);
    // A ceiling that was measured while others had the CPU doesn't count.
    let disturbed = Ceiling { busiest_thread_share: Some(0.3), ..ceiling(135_000.0, 7300.0) };
    t.machine.native_ceiling = Some(disturbed);
    assert!(!only_finding(&t).text.contains("One job made"));
    t.machine.native_ceiling = Some(ceiling(900_000.0, 1000.0));
    let far = only_finding(&t);
    assert!(far.text.contains("7.50 times the CPU time of an I/O on a hole"), "{}", far.text);
    assert_eq!(far.evidence["ceiling_iops_per_job"], 900_000.0);
    // A ceiling of another block size or engine doesn't apply.
    for other in
        [|t: &mut Truth| t.cell.workload.engine = EngineKind::Fio, |t: &mut Truth| t.options().iodepth = 4]
    {
        let mut t = t.clone();
        t.device_queue = 0.1;
        other(&mut t);
        assert!(!only_finding(&t).evidence.contains_key("ceiling_iops_per_job"));
    }
}

#[test]
fn a_ceiling_that_is_near_is_no_limit_while_the_thread_waits() {
    let mut t = full();
    t.machine.native_ceiling = Some(ceiling(135_000.0, 7300.0));
    busy(&mut t, 14.0);
    assert!(claims(&t).is_empty());
}

#[test]
fn the_remedy_knows_what_is_set() {
    assert_eq!(
        only_finding(&full()).remedy,
        "Use more jobs than numjobs: 1 (this machine has 8 CPUs) or larger blocks than bs: 4 KiB."
    );
    let mut t = full();
    (t.options().numjobs, t.options().bs_bytes) = (8, 1 << 20);
    assert_eq!(
        only_finding(&t).remedy,
        "There is a job for each CPU already: use a machine with more cores."
    );
    let mut t = full();
    (t.machine, t.cell.workload.engine) = (Environment::default(), EngineKind::Fio);
    (t.options().ioengine, t.options().iodepth) = ("psync".to_owned(), 1);
    t.device_queue = 0.1;
    let remedy = only_finding(&t).remedy;
    for way in ["numjobs: 1,", "io_uring with a deep queue instead of psync", "engine: native"] {
        assert!(remedy.contains(way), "{way}: {remedy}");
    }
}

#[test]
fn the_remedy_of_a_copy_speaks_of_writers() {
    let mut t = full();
    let copy = |copier, writers| {
        Ask::Copy(CopyAsk {
            corpus: Corpus::Directory { path: "/mail".into() },
            copier,
            writers,
            copies: Copies::Each,
            order: Vec::new(),
            sync: CopySync::End,
            preserve: Preserve::default(),
            verify: false,
        })
    };
    t.cell.workload.ask = copy(Copier::Native, 1);
    assert_eq!(only_finding(&t).remedy, "Use more writers than writers: 1 (this machine has 8 CPUs).");
    t.cell.workload.ask = copy(Copier::Native, 8);
    let no_more = "There is a writer for each CPU already: use a machine with more cores.";
    assert_eq!(only_finding(&t).remedy, no_more);
    t.cell.workload.ask = copy(Copier::Cpio, 8);
    assert_eq!(only_finding(&t).remedy, "Use copier: native, which needs less CPU per file.");
}
