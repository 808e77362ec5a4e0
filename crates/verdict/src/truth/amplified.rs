//! Write amplification: the finding names what wrote the other writes; declared copies don't count.

use super::judged;
use crate::attribute::attribute;
use crate::detected::Detected;
use crate::facts::Facts;
use crate::limit;
use crate::testing::{GIB, MIB, Truth, btrfs, filesystem, whole};
use record::counter::{BlockCounters, Sample};
use record::finding::{Claim, Severity};
use record::judged::Limit;
use record::lvm::{Discards, Lvm, LvmLayout, Thin};
use record::md::{Md, MdLevel};
use record::stack::{BtrfsProfile, FsKind, Layer};
use record::topology::{BlockKind, BlockNode};
use record::volume::{Limits, VolumeFacts, VolumeKind};
use record::workload::{EngineKind, Rw};

/// 200 writes of 4 KiB per second, with `factor` times the bytes on the one device.
fn writes(layer: Layer, factor: f64) -> Truth {
    let mut t = Truth::new(Rw::Randwrite, 4096, true, layer, 1);
    t.cell.workload.engine = EngineKind::Native;
    t.emulated(1);
    t.asked(0, 4000 * 4096);
    t.device_write = whole(4000.0 * 4096.0 * factor);
    t.own_write = Some(4000 * 4096);
    t
}

fn found(t: &Truth) -> Option<Detected> {
    judged(t).1.into_iter().find(|f| f.claim == Claim::WriteAmplified)
}

fn text(t: &Truth) -> String {
    let found = found(t).unwrap();
    assert_eq!(found.severity, Severity::Note);
    found.text
}

#[test]
fn the_journal_is_named_with_its_factor() {
    let mut t = writes(filesystem(FsKind::Ext4), 4.2);
    t.trial.topology.mount_options = Some("rw,relatime,data=journal".to_owned());
    let said = text(&t);
    assert!(said.contains("became 4.20 bytes") && said.contains("(data=journal)"), "{said}");
    for kind in [FsKind::Ext4, FsKind::Ext3, FsKind::Xfs] {
        let said = text(&writes(filesystem(kind), 1.6));
        assert!(said.contains(&format!("the journal and metadata ({})", kind.name())), "{said}");
    }
    // In ordered mode, larger blocks.
    assert!(found(&writes(filesystem(FsKind::Ext4), 1.3)).is_none());
    assert!(found(&writes(filesystem(FsKind::Ext4), 1.49)).is_none());
}

#[test]
fn few_bytes_but_many_ios_meet_a_limit_of_ios() {
    let mut t = writes(filesystem(FsKind::Ext4), 1.3);
    let limits = Limits { write_iops: Some(400), ..Limits::default() };
    t.cell.stack.volumes[0].kind = VolumeKind::Emulate { size_bytes: GIB, limits };
    t.volumes = vec![VolumeFacts {
        burst: None,
        name: "vol[0]".to_owned(),
        target: "local".to_owned(),
        device: Some("/dev/loop0".into()),
        size_bytes: GIB,
        identity: None,
        verified: vec![],
        backing_fs: Some("ext4".to_owned()),
        loop_direct_io: Some(true),
        host_limits: None,
    }];
    t.each = |sample, done| sample.block.values_mut().for_each(|b| b.writes = whole(8000.0 * done));
    assert!(text(&t).contains("and each write 2 writes"), "{}", text(&t));
    let limit = limit_of(&t);
    assert!(limit.text.contains("Only one write in 2 is the workload's"), "{}", limit.text);
    // All of them are the workload's.
    t.each = |sample, done| sample.block.values_mut().for_each(|b| b.writes = whole(4000.0 * done));
    assert!(found(&t).is_none());
    // Large ones are split by the device.
    t.options().bs_bytes = MIB;
    t.asked(0, 400 * MIB);
    (t.device_write, t.own_write) = (410 * MIB, Some(400 * MIB));
    assert!(found(&t).is_none());
}

fn limit_of(t: &Truth) -> Limit {
    let record = t.record();
    let facts = Facts::of(&record, &t.cell).unwrap();
    let shares = attribute(&facts);
    let volumes: Vec<&VolumeFacts> = t.volumes.iter().collect();
    limit::of_trial(&t.scene(&facts, &shares, &volumes))
}

#[test]
fn copy_on_write_is_told_from_declared_copies() {
    let said = text(&writes(btrfs(BtrfsProfile::Single), 2.5));
    assert!(said.contains("copy on write and metadata (btrfs)"), "{said}");
    // Two copies of each byte, and a little metadata.
    assert!(found(&writes(btrfs(BtrfsProfile::Raid1), 2.4)).is_none());
    assert!(found(&writes(btrfs(BtrfsProfile::Dup), 2.4)).is_none());
    let said = text(&writes(btrfs(BtrfsProfile::Raid1), 4.0));
    assert!(said.contains("became 2 bytes") && said.contains("in addition to the 2 copies"), "{said}");
}

/// ext4 on an array of two volumes; `each` sets the bytes that the members write and read.
fn array(layers: Vec<Layer>, each: fn(&mut Sample, f64)) -> Truth {
    let mut t = writes(filesystem(FsKind::Ext4), 1.1);
    t.emulated(2);
    t.cell.stack.layers = layers;
    let member = t.trial.topology.nodes[0].clone();
    let members = ["loop0", "loop1"].map(str::to_owned).to_vec();
    t.trial.topology.nodes = vec![BlockNode {
        name: "md0".to_owned(),
        devno: (9, 0),
        kind: BlockKind::Composite { members: members.clone() },
        ..member.clone()
    }];
    for (number, name) in (0..).zip(members) {
        t.trial.topology.nodes.push(BlockNode { name, devno: (7, number), depth: 1, ..member.clone() });
    }
    t.each = each;
    t
}

fn md() -> Md {
    Md { level: MdLevel::Raid0, chunk_bytes: None, layout: None, bitmap: false, resync: None }
}

fn member(sample: &mut Sample, done: f64, written: f64, read: f64) {
    let bytes = |factor: f64| whole(4000.0 * 4096.0 * 1.1 * factor * done);
    for name in ["loop0", "loop1"] {
        let counters = BlockCounters {
            write_bytes: bytes(written),
            read_bytes: bytes(read),
            ..BlockCounters::default()
        };
        sample.block.insert(name.to_owned(), counters);
    }
}

#[test]
fn arrays_below() {
    let raid1 = Layer::Md(Md { level: MdLevel::Raid1, ..md() });
    // A mirror that the experiment declares.
    let declared = array(vec![raid1, filesystem(FsKind::Ext4)], |s, d| member(s, d, 1.0, 0.0));
    assert!(found(&declared).is_none(), "{:?}", found(&declared));
    // A mirror that it doesn't declare.
    let other = array(vec![filesystem(FsKind::Ext4)], |s, d| member(s, d, 1.0, 0.0));
    assert!(text(&other).contains("a mirror below that the experiment doesn't declare"), "{}", text(&other));
    let thin = Thin {
        chunk_bytes: None,
        zero: true,
        discards: Discards::Passdown,
        metadata_bytes: None,
        virtual_bytes: None,
    };
    let lvm = Lvm { layout: LvmLayout::Linear, size_bytes: None, tag: None, cache: None, thin: Some(thin) };
    let pool = array(vec![Layer::Lvm(lvm), filesystem(FsKind::Ext4)], |s, d| member(s, d, 1.0, 0.0));
    assert!(text(&pool).contains("chunks that the thin pool allocated"), "{}", text(&pool));
    let parity = array(vec![filesystem(FsKind::Ext4)], |s, d| member(s, d, 1.0, 1.0));
    assert!(text(&parity).contains("became 2.20 bytes"), "{}", text(&parity));
    assert!(text(&parity).contains("parity of the array below"), "{}", text(&parity));
    // A cache, through which each write reaches both devices.
    let mut cached = array(vec![filesystem(FsKind::Ext4)], |s, d| member(s, d, 1.0, 0.0));
    cached.cell.stack.beside = cached.cell.stack.volumes.split_off(1);
    assert!(text(&cached).contains("The others are") && text(&cached).contains("what the cache writes"));
}

#[test]
fn writes_of_others_are_no_amplification() {
    let mut t = writes(filesystem(FsKind::Ext4), 3.0);
    t.cell.stack.volumes[0].kind = VolumeKind::Directory { path: "/srv".into() };
    assert!(found(&t).is_some(), "nobody else was there");
    t.other("postgres", 0, 30 * MIB);
    assert!(found(&t).is_none());
    t.trial.evidence.others.clear();
    t.trial.evidence.others_complete = false;
    assert!(found(&t).is_none(), "others can't be seen");
}

#[test]
fn what_is_overwritten_or_hardly_written_is_none() {
    // Buffered: the page cache took most of it.
    let mut t = writes(filesystem(FsKind::Ext4), 0.4);
    t.options().direct = false;
    assert!(found(&t).is_none());
    // Only a few writes: the superblock's writes weigh as much.
    let mut few = writes(filesystem(FsKind::Ext4), 3.0);
    few.asked(0, 20 * 4096);
    few.device_write = 60 * 4096;
    assert!(found(&few).is_none());
    // A raw device, to which only the workload writes.
    let mut raw = writes(filesystem(FsKind::Ext4), 3.0);
    raw.trial.topology.fs_type = None;
    assert!(found(&raw).is_none());
}
