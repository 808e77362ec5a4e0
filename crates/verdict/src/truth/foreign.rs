//! Foreign I/O on a device below the ground: the finding names the processes, and doesn't count our own load's I/O.

use super::judged;
use crate::attribute::attribute;
use crate::detected::Detected;
use crate::facts::Facts;
use crate::limit;
use crate::testing::{GIB, MIB, Truth, filesystem, whole};
use record::counter::{BlockCounters, Sample};
use record::finding::{Claim, Severity};
use record::judged::LimitKind;
use record::stack::FsKind;
use record::topology::{BlockKind, BlockNode};
use record::volume::{LimitName, Limits, VerifiedLimit, VolumeFacts, VolumeKind};
use record::workload::{EngineKind, Rw};

const KIB: f64 = 1024.0;

/// 200 I/Os of 4 KiB per second on a volume of 1000, all in flight; the backing file lies on `vda`.
fn load(rw: Rw, depth: u32, kind: FsKind) -> Truth {
    let mut t = Truth::new(rw, 4096, true, filesystem(kind), 1);
    t.cell.workload.engine = EngineKind::Native;
    (t.options().iodepth, t.options().ioengine) = (depth, "io_uring".to_owned());
    let bytes = 4000 * 4096;
    let (read, written) = if rw.reads() { (bytes, 0) } else { (0, bytes) };
    t.asked(read, written);
    (t.device_read, t.device_write) = (read, written);
    t.device_queue = f64::from(depth);
    let engine = t.trial.engine.as_mut().unwrap();
    for side in [engine.read.as_mut(), engine.write.as_mut()].into_iter().flatten() {
        side.latency_mean_ns = Some(f64::from(depth) / side.iops * 1e9);
    }
    limited(&mut t, 1000);
    node(&mut t, "vda", 1, BlockKind::Disk);
    t
}

fn limited(t: &mut Truth, iops: u64) {
    let limits = Limits { read_iops: Some(iops), write_iops: Some(iops), ..Limits::default() };
    t.emulated(1);
    t.cell.stack.volumes[0].kind = VolumeKind::Emulate { size_bytes: GIB, limits };
    let verified = [LimitName::ReadIops, LimitName::WriteIops].map(|limit| VerifiedLimit {
        limit,
        asked: iops as f64,
        measured: iops as f64,
        seconds: 3.0,
    });
    t.volumes = vec![VolumeFacts {
        burst: None,
        name: "vol[0]".to_owned(),
        target: "local".to_owned(),
        device: Some("/dev/loop0".into()),
        size_bytes: GIB,
        identity: None,
        verified: verified.to_vec(),
        backing_fs: Some("ext4".to_owned()),
        loop_direct_io: Some(true),
        host_limits: None,
    }];
}

fn node(t: &mut Truth, name: &str, depth: u32, kind: BlockKind) {
    let devno = (254, u32::try_from(t.trial.topology.nodes.len()).unwrap());
    let (name, rotational, scheduler, size_bytes) = (name.to_owned(), None, None, None);
    t.trial.topology.nodes.push(BlockNode { name, devno, depth, kind, rotational, scheduler, size_bytes });
}

/// Puts the loop device's file on these devices.
fn rests_on(t: &mut Truth, names: &[&str]) {
    let BlockKind::Loop { members, .. } = &mut t.trial.topology.nodes[0].kind else { panic!() };
    *members = names.iter().map(|n| (*n).to_owned()).collect();
}

fn loop_kind(t: &mut Truth, direct: bool, fs: &str) {
    let BlockKind::Loop { direct_io, backing_fs, .. } = &mut t.trial.topology.nodes[0].kind else { panic!() };
    (*direct_io, *backing_fs) = (Some(direct), Some(fs.to_owned()));
}

/// Sets a device's counters so far, by rates per second of a trial of 20 s.
fn did(sample: &mut Sample, name: &str, done: f64, (reads, writes, kib, busy): (f64, f64, f64, f64)) {
    let all = |per_second: f64| whole(per_second * 20.0 * done);
    let counters = BlockCounters {
        reads: all(reads),
        writes: all(writes),
        read_bytes: all(reads * kib * KIB),
        write_bytes: all(writes * kib * KIB),
        busy_ms: all(busy * 1000.0),
        in_flight: 1,
        ..BlockCounters::default()
    };
    sample.block.insert(name.to_owned(), counters);
}

/// Sets the loop device's counters: 200 I/Os of 4 KiB per second, always busy.
fn ours(sample: &mut Sample, done: f64, reads: bool) {
    let (r, w) = if reads { (200.0, 0.0) } else { (0.0, 200.0) };
    did(sample, "loop0", done, (r, w, 4.0, 0.99));
}

fn found(t: &Truth) -> Vec<Detected> {
    judged(t).1.into_iter().filter(|f| f.claim == Claim::Interference).collect()
}

fn limited_by(t: &Truth) -> LimitKind {
    let record = t.record();
    let facts = Facts::of(&record, &t.cell).unwrap();
    let shares = attribute(&facts);
    let volumes: Vec<&VolumeFacts> = t.volumes.iter().collect();
    limit::of_trial(&t.scene(&facts, &shares, &volumes)).by
}

/// Checks that the finding names the device and the process.
fn assert_named(t: &Truth, device: &str, process: Option<&str>) {
    let all = found(t);
    assert_eq!(all.len(), 1, "{:?}", judged(t).1);
    let (finding, who) = (&all[0], process.unwrap_or("no visible process"));
    assert_eq!(finding.severity, Severity::Caveat);
    assert!(finding.text.starts_with(&format!("Others used {device} ")), "{}", finding.text);
    assert!(
        finding.text.contains("times what the load asked for") && finding.text.contains(who),
        "{}",
        finding.text
    );
    assert!(finding.remedy.contains(device), "{}", finding.remedy);
}

#[test]
fn a_reader_of_another_file_on_the_disk_below() {
    for (kind, depth) in [(FsKind::Ext4, 32), (FsKind::Xfs, 1), (FsKind::Ext4, 4)] {
        let mut t = load(Rw::Randread, depth, kind);
        t.each = |s, done| {
            ours(s, done, true);
            did(s, "vda", done, (34_000.0, 0.0, 64.0, 0.93));
        };
        t.other("fio", 40 * GIB, 0);
        assert_named(&t, "vda", Some("fio (pid 4711) moved 40 GiB"));
        assert!((found(&t)[0].evidence["shared_device_bytes_per_asked"] - 2720.0).abs() < 1.0);
        assert_eq!(limited_by(&t), LimitKind::Others);
        // No process needs to be visible, since direct reads cause no other reads.
        t.trial.evidence.others.clear();
        t.trial.evidence.others_complete = false;
        assert_named(&t, "vda", None);
    }
}

#[test]
fn a_writer_of_another_file_on_the_disk_below() {
    for (direct, fs) in [(true, "ext4"), (true, "btrfs"), (false, "xfs")] {
        let mut t = load(Rw::Randwrite, 16, FsKind::Xfs);
        loop_kind(&mut t, direct, fs);
        t.each = |s, done| {
            ours(s, done, false);
            did(s, "vda", done, (0.0, 900.0, 128.0, 0.97));
        };
        t.other("dd", 0, 2 * GIB);
        assert_named(&t, "vda", Some("dd (pid 4711)"));
        assert_eq!(limited_by(&t), LimitKind::Others);
    }
}

#[test]
fn small_ios_keep_a_disk_busy_with_few_bytes() {
    let mut t = load(Rw::Randread, 8, FsKind::Ext4);
    t.each = |s, done| {
        ours(s, done, true);
        did(s, "vda", done, (290.0, 0.0, 4.0, 0.99));
    };
    t.other("updatedb", 8 * MIB, 0);
    assert_named(&t, "vda", Some("updatedb"));
}

#[test]
fn through_a_partition_and_through_a_mirror() {
    let mut t = load(Rw::Randread, 8, FsKind::Ext4);
    t.trial.topology.nodes.pop();
    rests_on(&mut t, &["vda1"]);
    node(&mut t, "vda1", 1, BlockKind::Partition { of: "vda".to_owned() });
    node(&mut t, "vda", 2, BlockKind::Disk);
    // The other file is in another partition, so only the disk shows it.
    t.each = |s, done| {
        ours(s, done, true);
        did(s, "vda1", done, (200.0, 0.0, 4.0, 0.9));
        did(s, "vda", done, (5000.0, 0.0, 64.0, 0.95));
    };
    assert_named(&t, "vda", None);
    // It is in the same partition, which is nearer to the ground.
    t.each = |s, done| {
        ours(s, done, true);
        did(s, "vda1", done, (5000.0, 0.0, 64.0, 0.95));
        did(s, "vda", done, (5000.0, 0.0, 64.0, 0.95));
    };
    assert_named(&t, "vda1", None);

    let mut t = load(Rw::Randwrite, 8, FsKind::Ext4);
    t.trial.topology.nodes.pop();
    rests_on(&mut t, &["md0"]);
    node(&mut t, "md0", 1, BlockKind::Composite { members: vec!["sda".to_owned(), "sdb".to_owned()] });
    node(&mut t, "sda", 2, BlockKind::Disk);
    node(&mut t, "sdb", 2, BlockKind::Disk);
    t.each = |s, done| {
        ours(s, done, false);
        did(s, "md0", done, (0.0, 230.0, 4.0, 0.9));
        did(s, "sda", done, (0.0, 230.0, 4.0, 0.9));
        did(s, "sdb", done, (0.0, 5000.0, 64.0, 0.95));
    };
    assert_named(&t, "sdb", None);
}

#[test]
fn many_processes_beside_a_directory() {
    let mut t = load(Rw::Randread, 16, FsKind::Ext4);
    t.cell.stack.volumes[0].kind = VolumeKind::Directory { path: "/srv".into() };
    t.volumes.clear();
    t.trial.topology.nodes.remove(0);
    t.trial.topology.nodes[0].depth = 0;
    t.own_read = Some(4000 * 4096);
    t.each = |s, done| did(s, "vda", done, (2900.0, 0.0, 256.0, 0.98));
    for _ in 0..8 {
        t.other("fio", 1900 * MIB, 0);
    }
    assert_named(&t, "vda", Some("fio (pid 4711) moved 1.9 GiB"));
    assert!(found(&t)[0].text.ends_with("and 5 more processes."), "{}", found(&t)[0].text);
    assert_eq!(limited_by(&t), LimitKind::Others);
}

/// Loads alone on their disk, or beside others that don't matter; each with a description.
fn quiet() -> Vec<(&'static str, Truth)> {
    let mut all = Vec::new();
    let mut add = |name, rw, change: fn(&mut Truth), each: fn(&mut Sample, f64)| {
        let mut t = load(rw, 32, FsKind::Ext4);
        t.each = each;
        change(&mut t);
        all.push((name, t));
    };
    add(
        "alone",
        Rw::Randread,
        |_| {},
        |s, d| {
            ours(s, d, true);
            did(s, "vda", d, (204.0, 2.0, 4.0, 0.99));
        },
    );
    add(
        "journal and metadata of the file under the loop device",
        Rw::Randwrite,
        |t| {
            t.other("rustc", 0, 100 * MIB);
        },
        |s, d| {
            ours(s, d, false);
            did(s, "vda", d, (0.0, 290.0, 4.0, 0.99));
        },
    );
    add(
        "a flush of the loop device is a commit below",
        Rw::Randwrite,
        |t| {
            t.other("rustc", 0, 100 * MIB);
        },
        |s, d| {
            ours(s, d, false);
            s.block.get_mut("loop0").unwrap().flushes = Some(whole(4000.0 * d));
            did(s, "vda", d, (0.0, 900.0, 8.0, 0.99));
        },
    );
    add(
        "a tree that is copied on write under the loop device",
        Rw::Randwrite,
        |t| {
            loop_kind(t, true, "btrfs");
        },
        |s, d| {
            ours(s, d, false);
            did(s, "vda", d, (0.0, 600.0, 16.0, 0.99));
        },
    );
    add(
        "read-ahead of a loop device with a page cache",
        Rw::Randread,
        |t| {
            loop_kind(t, false, "ext4");
        },
        |s, d| {
            ours(s, d, true);
            did(s, "vda", d, (100.0, 0.0, 15.0, 0.8));
        },
    );
    add(
        "written earlier, on its way now",
        Rw::Randwrite,
        |t| {
            loop_kind(t, false, "ext4");
            t.other("dd", 0, 500 * MIB);
        },
        |s, d| {
            ours(s, d, false);
            s.memory.as_mut().unwrap().dirty_bytes = Some(whole(600.0 * (1.0 - d)) * MIB);
            did(s, "vda", d, (0.0, 200.0, 128.0, 0.9));
        },
    );
    add(
        "logs of the machine itself on a slow disk",
        Rw::Randread,
        |t| {
            t.other("systemd-journal", 0, 4 * MIB);
        },
        |s, d| {
            did(s, "loop0", d, (10.0, 0.0, 4.0, 0.5));
            did(s, "vda", d, (10.0, 12.0, 4.0, 0.9));
        },
    );
    add(
        "a neighbour on a disk that has time for both",
        Rw::Randread,
        |t| {
            t.other("rsync", GIB, 0);
        },
        |s, d| {
            did(s, "loop0", d, (200.0, 0.0, 4.0, 0.05));
            did(s, "vda", d, (600.0, 0.0, 64.0, 0.15));
        },
    );
    add(
        "a neighbour that left the volume its limit",
        Rw::Randread,
        |t| limited(t, 200),
        |s, d| {
            ours(s, d, true);
            did(s, "vda", d, (5000.0, 0.0, 64.0, 0.9));
        },
    );
    add(
        "large I/Os that the disk splits",
        Rw::Randread,
        |_| {},
        |s, d| {
            did(s, "loop0", d, (100.0, 0.0, 1024.0, 0.9));
            did(s, "vda", d, (800.0, 0.0, 128.0, 0.9));
        },
    );
    add(
        "two volumes on one disk",
        Rw::Randread,
        |t| {
            let mut second = t.trial.topology.nodes[0].clone();
            (second.name, second.devno) = ("loop1".to_owned(), (7, 1));
            t.trial.topology.nodes.insert(1, second);
        },
        |s, d| {
            ours(s, d, true);
            did(s, "loop1", d, (200.0, 0.0, 4.0, 0.9));
            did(s, "vda", d, (400.0, 0.0, 4.0, 0.99));
        },
    );
    add(
        "a device-mapper cache below, of which nobody knows what it moves",
        Rw::Randread,
        |t| {
            t.trial.topology.nodes.pop();
            rests_on(t, &["dm-0"]);
            node(t, "dm-0", 1, BlockKind::Composite { members: vec!["vda".to_owned()] });
            node(t, "vda", 2, BlockKind::Disk);
        },
        |s, d| {
            ours(s, d, true);
            did(s, "dm-0", d, (200.0, 0.0, 4.0, 0.9));
            did(s, "vda", d, (900.0, 0.0, 64.0, 0.95));
        },
    );
    all
}

#[test]
fn what_the_load_makes_itself_is_not_foreign() {
    for (name, t) in quiet() {
        let found = found(&t);
        assert!(found.is_empty(), "{name}: {found:?}");
        assert_ne!(limited_by(&t), LimitKind::Others, "{name}");
    }
}

#[test]
fn mirrors_and_parity_below_a_directory_are_not_foreign() {
    for (read, write) in [(0.0, 210.0), (205.0, 210.0)] {
        let mut t = load(Rw::Randwrite, 16, FsKind::Ext4);
        t.cell.stack.volumes[0].kind = VolumeKind::Directory { path: "/srv".into() };
        t.volumes.clear();
        t.trial.topology.nodes.clear();
        node(
            &mut t,
            "md0",
            0,
            BlockKind::Composite { members: ["sda", "sdb", "sdc"].map(str::to_owned).to_vec() },
        );
        ["sda", "sdb", "sdc"].into_iter().for_each(|name| node(&mut t, name, 1, BlockKind::Disk));
        t.each = if read > 0.0 {
            |s, d| {
                did(s, "md0", d, (0.0, 210.0, 4.0, 0.9));
                ["sda", "sdb", "sdc"].into_iter().for_each(|n| did(s, n, d, (205.0, 210.0, 4.0, 0.9)));
            }
        } else {
            |s, d| {
                did(s, "md0", d, (0.0, 210.0, 4.0, 0.9));
                ["sda", "sdb", "sdc"].into_iter().for_each(|n| did(s, n, d, (0.0, 210.0, 4.0, 0.9)));
            }
        };
        t.other("rustc", 100 * MIB, 100 * MIB);
        assert!(found(&t).is_empty(), "{read} {write}: {:?}", found(&t));
    }
}

#[test]
fn a_counter_that_is_missing_accuses_nobody() {
    let mut t = load(Rw::Randread, 32, FsKind::Ext4);
    t.other("fio", 40 * GIB, 0);
    t.each = |s, done| {
        did(s, "vda", done, (34_000.0, 0.0, 64.0, 0.93));
        s.block.remove("loop0");
    };
    assert!(found(&t).is_empty());
}
