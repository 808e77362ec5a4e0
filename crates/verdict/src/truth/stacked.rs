//! Stacked file systems: the lowest one decides, and if nothing below can be seen, no byte is attributed to a device.

use super::{assert_served, claims, judged, only};
use crate::attribute::attribute;
use crate::facts::Facts;
use crate::limit;
use crate::testing::{GIB, Truth, filesystem};
use record::finding::{Claim, Severity};
use record::judged::LimitKind;
use record::stack::FsKind;
use record::topology::{Exported, Hidden, Stacked, Unseen};
use record::workload::Rw;

/// Direct I/O to a directory on this file system, under which no device was found.
fn on(fs: &str, rw: Rw) -> Truth {
    let mut t = Truth::new(rw, 4096, true, filesystem(FsKind::Ext4), 1);
    if rw.reads() {
        t.asked(GIB, 0)
    } else {
        t.asked(0, GIB)
    };
    t.trial.topology.nodes.clear();
    t.trial.topology.fs_type = Some(fs.to_owned());
    (t.trial.files_before, t.trial.files_after) = (vec![], vec![]);
    t
}

fn over(device: Option<&str>, fs_type: &str, options: &str) -> Stacked {
    Stacked {
        device: device.map(str::to_owned),
        through: vec!["overlay".to_owned()],
        fs_type: fs_type.to_owned(),
        mount_options: Some(options.to_owned()),
    }
}

fn unseen(device: Option<&str>, fs_type: &str, why: Hidden) -> Unseen {
    let (device, source) = (device.map(str::to_owned), "host:/srv".to_owned());
    Unseen { device, fs_type: fs_type.to_owned(), source, why }
}

fn limited_by(t: &Truth) -> LimitKind {
    let record = t.record();
    let facts = Facts::of(&record, &t.cell).unwrap();
    let shares = attribute(&facts);
    limit::of_trial(&t.scene(&facts, &shares, &[])).by
}

#[test]
fn an_overlay_on_memory_is_memory_for_everybody() {
    for rw in [Rw::Randread, Rw::Randwrite] {
        let mut t = on("overlay", rw);
        t.trial.topology.stacked.push(over(None, "tmpfs", "rw"));
        let (shares, found) = judged(&t);
        assert_served(shares.both, only(|s| s.page_cache = 1.0));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].claim, found[0].severity), (Claim::MemoryBacked, Severity::Void));
        assert!(found[0].text.contains("it lies on tmpfs (through overlay)"), "{}", found[0].text);
        assert_eq!(limited_by(&t), LimitKind::Memory);
    }
    let mut t = on("nfs4", Rw::Randread);
    let fs_type = Some("tmpfs".to_owned());
    t.trial.topology.exported = Some(Exported { fs_type, mount_options: None });
    assert!(claims(&t).contains(&Claim::MemoryBacked));
}

#[test]
fn an_overlay_on_a_disk_is_judged_by_the_lower_file_systems_kind_and_options() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    t.device_read = GIB;
    t.trial.topology.fs_type = Some("overlay".to_owned());
    t.trial.topology.stacked.push(over(None, "ext4", "rw,relatime"));
    let (shares, found) = judged(&t);
    assert_served(shares.both, only(|s| s.device = 1.0));
    assert!(found.is_empty(), "{found:?}");
    // a file system that journals data turns direct I/O into buffered I/O, whatever is above it
    t.device_read = GIB / 2;
    t.trial.topology.stacked[0].mount_options = Some("rw,data=journal".to_owned());
    t.cached(256 << 20, 256 << 20);
    assert!(judged(&t).0.both.page_cache > 0.4);
}

#[test]
fn where_nothing_can_be_seen_the_file_system_is_named_and_no_device_is_claimed() {
    let cases = [
        ("fuse.sshfs", Hidden::Program, "FUSE (sshfs)"),
        ("fuse", Hidden::Program, "FUSE (`host:/srv`)"),
        ("virtiofs", Hidden::Host, "virtiofs"),
        ("overlay", Hidden::Directory, "on overlay, and the directory"),
        ("nfs4", Hidden::Silent, "nfs4"),
    ];
    for (fs, why, name) in cases {
        for rw in [Rw::Randread, Rw::Randwrite, Rw::Read] {
            let mut t = on(fs, rw);
            t.trial.topology.unseen.push(unseen(None, fs, why));
            let (shares, found) = judged(&t);
            assert_served(shares.both, only(|s| s.unknown = 1.0));
            let unknown = found.iter().find(|f| f.claim == Claim::SourceUnknown).unwrap();
            assert_eq!(unknown.severity, Severity::Caveat);
            assert!(unknown.text.contains(name), "{}", unknown.text);
            assert!(unknown.text.contains("the share of the device is unknown"), "{}", unknown.text);
            assert_ne!(limited_by(&t), LimitKind::Device, "{fs}");
        }
    }
}

#[test]
fn a_program_between_the_file_system_and_its_device_is_named_where_the_device_was_not_asked() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    t.trial.topology.fs_type = Some("fuseblk".to_owned());
    (t.trial.files_before, t.trial.files_after) = (vec![], vec![]);
    t.device_read = GIB;
    assert_served(judged(&t).0.both, only(|s| s.device = 1.0));
    t.device_read = GIB / 100;
    let (shares, found) = judged(&t);
    assert!(shares.both.device < 0.02 && shares.both.unknown > 0.98, "{shares:?}");
    let unknown = found.iter().find(|f| f.claim == Claim::SourceUnknown).unwrap();
    assert!(unknown.text.contains("through the page cache"), "{}", unknown.text);
}

#[test]
fn a_loop_device_over_what_cannot_be_seen_is_said_to_be_that() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    t.device_read = GIB;
    assert!(claims(&t).is_empty());
    t.trial.topology.unseen.push(unseen(Some("loop0"), "fuse.mergerfs", Hidden::Program));
    let found = judged(&t).1;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].claim, found[0].severity), (Claim::SourceUnknown, Severity::Caveat));
    assert!(found[0].text.contains("backing file of loop0 is on FUSE (mergerfs)"), "{}", found[0].text);
}
