//! Reads of unwritten blocks below the ground's devices: a share is the device's only if the device moved it.

use super::{assert_served, judged, only};
use crate::attribute::attribute;
use crate::facts::Facts;
use crate::limit;
use crate::testing::{GIB, MIB, Truth, filesystem, whole};
use record::counter::{BlockCounters, Sample};
use record::extents::Residency;
use record::finding::{Claim, Served, Severity};
use record::judged::LimitKind;
use record::stack::FsKind;
use record::topology::{BlockKind, BlockNode};
use record::workload::Rw;

/// 1 GiB of direct reads through one loop device, whose backing file lies on `vda`.
fn reads(kind: FsKind, on_disk: u64) -> Truth {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(kind), 1);
    t.emulated(1);
    t.asked(GIB, 0);
    t.device_read = GIB;
    node(&mut t, "vda", 1, BlockKind::Disk);
    t.leaf = Some((on_disk, 0));
    t
}

fn node(t: &mut Truth, name: &str, depth: u32, kind: BlockKind) {
    let devno = (254, u32::try_from(t.trial.topology.nodes.len()).unwrap());
    let (name, rotational, scheduler, size_bytes) = (name.to_owned(), None, None, None);
    t.trial.topology.nodes.push(BlockNode { name, devno, depth, kind, rotational, scheduler, size_bytes });
}

fn backing(t: &mut Truth, direct: Option<bool>, fs: &str, members: &[&str]) {
    let kind = &mut t.trial.topology.nodes[0].kind;
    let BlockKind::Loop { direct_io, backing_fs, members: names, .. } = kind else { panic!() };
    (*direct_io, *backing_fs) = (direct, Some(fs.to_owned()));
    *names = members.iter().map(|n| (*n).to_owned()).collect();
}

fn limited_by(t: &Truth) -> LimitKind {
    let record = t.record();
    let facts = Facts::of(&record, &t.cell).unwrap();
    let shares = attribute(&facts);
    limit::of_trial(&t.scene(&facts, &shares, &[])).by
}

const SOME: Served =
    Served { device: 0.12, page_cache: 0.0, hole: 0.88, other: 0.0, unknown: 0.0, other_cache: 0.0 };

#[test]
fn holes_of_the_backing_file() {
    for (kind, fs) in [(FsKind::Ext4, "ext4"), (FsKind::Xfs, "xfs"), (FsKind::Ext4, "xfs")] {
        let mut t = reads(kind, GIB / 100 * 12);
        backing(&mut t, Some(true), fs, &["vda"]);
        let (shares, found) = judged(&t);
        assert_served(shares.both, SOME);
        let holes = found.iter().find(|f| f.claim == Claim::ServedFromHoles).unwrap();
        assert_eq!(holes.severity, Severity::Void);
        assert!(
            holes.text.contains("holes below loop0") && holes.text.contains("vda below it"),
            "{}",
            holes.text
        );
        assert_eq!(limited_by(&t), LimitKind::Memory);
    }
    // All of it was there.
    let (shares, found) = judged(&reads(FsKind::Ext4, GIB));
    assert_served(shares.both, only(|s| s.device = 1.0));
    assert!(found.is_empty(), "{found:?}");
    // A little less is the error of the window's ends.
    assert!(judged(&reads(FsKind::Ext4, GIB / 100 * 98)).1.is_empty());
}

#[test]
fn a_raw_device_over_a_sparse_image() {
    let mut t = reads(FsKind::Ext4, GIB / 100 * 12);
    t.trial.topology.fs_type = None;
    (t.trial.files_before, t.trial.files_after) = (vec![], vec![]);
    assert_served(judged(&t).0.both, SOME);
}

#[test]
fn both_kinds_of_holes_are_told_apart() {
    // Half of the file is a hole in the file system above; half of the loop device's bytes are a hole in its backing file.
    let mut t = reads(FsKind::Ext4, GIB / 4);
    t.file(256 * MIB, |f| (f.written_bytes, f.hole_bytes) = (128 * MIB, 128 * MIB));
    t.device_read = GIB / 2;
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.25, hole: 0.75, ..Served::default() });
    assert!((shares.below_read - 0.25).abs() < 0.02, "{shares:?}");
    assert_eq!(found.iter().filter(|f| f.claim == Claim::ServedFromHoles).count(), 2, "{found:?}");
}

#[test]
fn what_may_be_compression_or_a_cache_is_unknown() {
    let unknown = Served { device: 0.12, unknown: 0.88, ..Served::default() };
    for (direct, fs, cached) in
        [(Some(true), "btrfs", 0), (Some(true), "zfs", 0), (None, "ext4", 0), (Some(true), "ext4", GIB)]
    {
        let mut t = reads(FsKind::Ext4, GIB / 100 * 12);
        backing(&mut t, direct, fs, &["vda"]);
        t.trial.backing_after = vec![Residency {
            path: "/v/vol".into(),
            size_bytes: GIB,
            cached_bytes: cached,
            dirty_bytes: Some(0),
        }];
        let (shares, found) = judged(&t);
        assert_served(shares.both, unknown);
        let told = found.iter().find(|f| f.claim == Claim::SourceUnknown).unwrap();
        assert!(told.text.contains("below loop0"), "{}", told.text);
    }
}

#[test]
fn writes_that_the_disk_never_took_are_not_the_disks() {
    let mut t = reads(FsKind::Ext4, 0);
    t.options().rw = Rw::Randwrite;
    t.asked(0, GIB);
    (t.device_read, t.device_write, t.leaf) = (0, GIB, Some((0, GIB / 2)));
    assert_served(judged(&t).0.both, Served { device: 0.5, unknown: 0.5, ..Served::default() });
    t.leaf = Some((0, GIB));
    assert_served(judged(&t).0.both, only(|s| s.device = 1.0));
}

/// Sets a device's reads so far, of `mib` in a trial that reads 1024.
fn did(sample: &mut Sample, name: &str, done: f64, mib: f64) {
    let counters = BlockCounters {
        reads: 1000 + whole(mib * 256.0 * done),
        read_bytes: whole(mib * done * 1_048_576.0),
        ..BlockCounters::default()
    };
    sample.block.insert(name.to_owned(), counters);
}

#[test]
fn a_thin_volume_whose_pool_is_passed_by() {
    // A thin volume's bytes aren't counted on its pool, only on the pool's data device below.
    let thin = |each: fn(&mut Sample, f64)| {
        let mut t = reads(FsKind::Ext4, GIB);
        t.leaf = None;
        let disk = t.trial.topology.nodes[0].clone();
        t.trial.topology.nodes.clear();
        let over = |names: &[&str]| BlockKind::Composite {
            members: names.iter().map(|n| (*n).to_owned()).collect(),
        };
        node(&mut t, "dm-3", 0, over(&["dm-2"]));
        node(&mut t, "dm-2", 1, over(&["dm-0", "dm-1"]));
        node(&mut t, "dm-0", 2, over(&["loop0"]));
        node(&mut t, "dm-1", 2, over(&["loop0"]));
        t.trial.topology.nodes.push(BlockNode { depth: 3, ..disk });
        node(&mut t, "vda", 4, BlockKind::Disk);
        t.each = each;
        judged(&t).0.both
    };
    let served = thin(|s, d| {
        [
            ("dm-3", 1024.0),
            ("dm-2", 0.0),
            ("dm-0", 1024.0),
            ("dm-1", 1.0),
            ("loop0", 1025.0),
            ("vda", 1025.0),
        ]
        .into_iter()
        .for_each(|(name, mib)| did(s, name, d, mib));
    });
    assert_served(served, only(|s| s.device = 1.0));
    // Another process reads from the disk below; the volumes, which only this run uses, still show it.
    let served = thin(|s, d| {
        [("dm-3", 1024.0), ("dm-2", 0.0), ("dm-0", 123.0), ("dm-1", 0.0), ("loop0", 123.0), ("vda", 4000.0)]
            .into_iter()
            .for_each(|(name, mib)| did(s, name, d, mib));
    });
    assert_served(served, SOME);
}

#[test]
fn what_is_not_counted_below_is_not_missing() {
    // A kernel that doesn't count the disk, a partition between, a mirror.
    let mut t = reads(FsKind::Ext4, GIB);
    t.each = |s, _| {
        s.block.insert("vda".to_owned(), BlockCounters::default());
    };
    assert_served(judged(&t).0.both, only(|s| s.device = 1.0));
    let mut t = reads(FsKind::Ext4, GIB);
    t.each = |s, _| {
        s.block.remove("vda");
    };
    assert_served(judged(&t).0.both, only(|s| s.device = 1.0));
    let mut t = reads(FsKind::Ext4, GIB);
    t.trial.topology.nodes.pop();
    t.leaf = None;
    backing(&mut t, Some(true), "ext4", &["md0"]);
    node(&mut t, "md0", 1, BlockKind::Composite { members: vec!["sda".to_owned(), "sdb".to_owned()] });
    node(&mut t, "sda", 2, BlockKind::Disk);
    node(&mut t, "sdb", 2, BlockKind::Disk);
    t.each = |s, d| {
        [("md0", 1024.0), ("sda", 500.0), ("sdb", 524.0)].into_iter().for_each(|(n, mib)| did(s, n, d, mib));
    };
    assert_served(judged(&t).0.both, only(|s| s.device = 1.0));
}
