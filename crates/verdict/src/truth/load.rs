//! Memory, loop devices, other processes, I/O errors.

use super::{SINGLE, assert_served, claims, judged, only};
use crate::testing::{GIB, MIB, Truth, btrfs, filesystem};
use record::finding::{Claim, Severity};
use record::stack::FsKind;
use record::topology::BlockKind;
use record::trial::ErrorCount;
use record::volume::VolumeKind;
use record::workload::Rw;

#[test]
fn memory_in_all_its_disguises() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(10 * GIB, 0);
    t.device_read = 10 * GIB;
    let BlockKind::Loop { backing_fs, .. } = &mut t.trial.topology.nodes[0].kind else { panic!() };
    *backing_fs = Some("tmpfs".to_owned());
    assert_eq!(claims(&t), [Claim::MemoryBacked]);
    t.trial.topology.nodes[0].kind = BlockKind::Memory;
    assert_eq!(claims(&t), [Claim::MemoryBacked]);
    t.trial.topology.nodes.clear();
    t.trial.topology.fs_type = Some("tmpfs".to_owned());
    (t.trial.files_before, t.trial.files_after) = (vec![], vec![]);
    let (shares, found) = judged(&t);
    assert_served(shares.both, only(|s| s.page_cache = 1.0));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].claim, found[0].severity), (Claim::MemoryBacked, Severity::Void));
}

#[test]
fn a_loop_device_without_direct_io() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(10 * GIB, 0);
    t.device_read = 10 * GIB;
    let BlockKind::Loop { direct_io, .. } = &mut t.trial.topology.nodes[0].kind else { panic!() };
    *direct_io = Some(false);
    assert_eq!(claims(&t), [Claim::DoubleCaching]);
    let BlockKind::Loop { direct_io, .. } = &mut t.trial.topology.nodes[0].kind else { panic!() };
    *direct_io = None;
    assert!(claims(&t).is_empty(), "unknown is no claim");
}

#[test]
fn others_on_the_same_device() {
    // A second reader, a second writer beside a reader, and a writer under a writer.
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    (t.device_read, t.own_read) = (GIB + 300 * MIB, Some(GIB));
    t.other("dd", 300 * MIB, 0);
    let found = judged(&t).1;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].claim, Claim::Interference);
    assert!(found[0].text.contains("dd (pid 4711)"), "{}", found[0].text);

    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    (t.device_read, t.device_write, t.own_write) = (GIB, 500 * MIB, Some(0));
    t.other("postgres", 0, 500 * MIB);
    assert_eq!(claims(&t), [Claim::Interference]);

    let mut t = Truth::new(Rw::Randwrite, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(0, GIB);
    (t.device_write, t.own_write) = (2 * GIB, Some(GIB));
    t.other("postgres", 0, GIB);
    assert_eq!(claims(&t), [Claim::Interference]);
}

/// A mix on one emulated volume, on which another process does a share of the I/O.
fn trespassed() -> Truth {
    let mut t = Truth::new(Rw::Randrw, 16384, true, btrfs(SINGLE), 1);
    t.emulated(1);
    t.asked(800 * 16384, 800 * 16384);
    (t.device_read, t.own_read) = (800 * 16384, Some(800 * 16384));
    (t.device_write, t.own_write) = (1600 * 16384, Some(800 * 16384));
    t
}

#[test]
fn on_a_ground_of_our_own_only_who_was_on_it_interferes() {
    let mut t = trespassed();
    t.other("rustc", 0, 800 * 16384).on_ground = Some(false);
    assert_eq!(claims(&t), [Claim::WriteAmplified], "copy-on-write by the stack itself");
    t.other("dd", 0, 700 * 16384).on_ground = Some(true);
    let found = judged(&t).1;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].claim, found[0].severity), (Claim::Interference, Severity::Caveat));
    assert!(
        found[0].text.contains("dd (pid 4711) or a child of it had files under test open"),
        "{}",
        found[0].text
    );
    assert_eq!(found[0].evidence["surplus_write_bytes"], f64::from(700 * 16384));

    // The process moved more than the devices did, so the rest was elsewhere.
    t.trial.evidence.others[1].write_bytes = GIB;
    assert!((judged(&t).1[0].evidence["surplus_write_bytes"] - f64::from(800 * 16384)).abs() < 16384.0);
    // The process only had a file open.
    t.trial.evidence.others[1].write_bytes = 16384;
    assert_eq!(claims(&t), [Claim::WriteAmplified]);
    // An older record, or the process could not be examined.
    (t.trial.evidence.others[1].write_bytes, t.trial.evidence.others[1].on_ground) = (700 * 16384, None);
    assert_eq!(claims(&t), [Claim::WriteAmplified]);
}

#[test]
fn a_second_reader_on_a_ground_of_our_own_and_beside_a_lent_directory() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.emulated(1);
    t.asked(GIB, 0);
    (t.device_read, t.own_read) = (GIB + 300 * MIB, Some(GIB));
    assert!(claims(&t).is_empty(), "nobody was seen there");
    t.other("dd", 300 * MIB, 0).on_ground = Some(true);
    assert_eq!(claims(&t), [Claim::Interference]);
    // If one of the volumes is an existing directory, others may use its device, so the amounts decide.
    t.trial.evidence.others[0].on_ground = None;
    assert!(claims(&t).is_empty());
    t.cell.stack.volumes[0].kind = VolumeKind::Directory { path: "/srv".into() };
    assert_eq!(claims(&t), [Claim::Interference]);
}

#[test]
fn others_that_can_t_be_seen() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    (t.device_read, t.own_read) = (2 * GIB, Some(GIB));
    t.trial.evidence.others_complete = false;
    assert_eq!(claims(&t), [Claim::Interference], "direct reads cause no other reads");
    // A surplus of writes may come from journals or copy-on-write, so it alone doesn't make a finding.
    let mut t = Truth::new(Rw::Randwrite, 4096, true, btrfs(SINGLE), 1);
    t.asked(0, GIB);
    (t.device_write, t.own_write) = (5 * GIB, Some(GIB));
    assert_eq!(claims(&t), [Claim::WriteAmplified]);
}

#[test]
fn shared_files_and_errors() {
    let mut t = Truth::new(Rw::Randread, 4096, false, filesystem(FsKind::Ext4), 1);
    t.options().numjobs = 4;
    t.asked(GIB, 0);
    t.device_read = GIB;
    let engine = t.trial.engine.as_mut().unwrap();
    engine.shared_files = true;
    engine.errors = vec![ErrorCount { errno: "EIO".to_owned(), count: 2, place: None }];
    let found = judged(&t).1;
    let claims: Vec<Claim> = found.iter().map(|f| f.claim).collect();
    assert_eq!(claims, [Claim::SharedFile, Claim::IoErrors]);
    assert!(found[1].text.contains("2 x EIO"), "{}", found[1].text);
}
