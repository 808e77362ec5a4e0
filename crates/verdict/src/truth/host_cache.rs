//! Loop devices that cache their backing file, over a disk that others use too.

use super::{assert_served, claims, judged, only};
use crate::facts::Facts;
use crate::leaves;
use crate::testing::{GIB, MIB, Truth, filesystem, whole};
use record::counter::{BlockCounters, Sample, VmCounters};
use record::finding::{Claim, Served, Severity};
use record::stack::FsKind;
use record::topology::BlockKind;
use record::workload::Rw;

/// Random direct reads in 256 MiB of data on a loop device over a file of 1 GiB; ten times as much is read.
fn reads(leaf_read: u64, cached: (u64, u64)) -> Truth {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(2560 * MIB, 0);
    t.device_read = 2560 * MIB;
    t.hosted((leaf_read, 0), cached);
    t
}

#[test]
fn all_from_the_hosts_cache() {
    let t = reads(0, (GIB, GIB));
    let (shares, found) = judged(&t);
    assert_served(shares.both, only(|s| s.page_cache = 1.0));
    assert_eq!(found.iter().map(|f| f.claim).collect::<Vec<_>>(), [Claim::ServedFromHostCache]);
    assert_eq!(found[0].severity, Severity::Void);
    assert!((found[0].evidence["backing_cached_before_bytes"] - GIB as f64).abs() < 1.0);
    assert!(found[0].text.contains("under loop0: the loop device read 2.5 GiB"), "{}", found[0].text);
    assert!(found[0].remedy.contains("--direct-io=on"), "{}", found[0].remedy);
}

#[test]
fn a_part_by_the_counters_alone() {
    let mut t = reads(1792 * MIB, (0, 256 * MIB));
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.7, page_cache: 0.3, ..Served::default() });
    let severity: Vec<_> = found.iter().map(|f| (f.claim, f.severity)).collect();
    assert_eq!(severity, [(Claim::ServedFromHostCache, Severity::Caveat)]);
    // Older records, without the residency of backing files.
    (t.trial.backing_before, t.trial.backing_after) = (vec![], vec![]);
    assert_served(judged(&t).0.both, Served { device: 0.7, page_cache: 0.3, ..Served::default() });
}

#[test]
fn a_disk_that_the_host_of_a_guest_caches() {
    // The host's disk isn't counted; the residency of the file must do.
    let mut t = reads(0, (GIB, GIB));
    t.leaf = None;
    for node in &mut t.trial.topology.nodes {
        if let BlockKind::Loop { guest, .. } = &mut node.kind {
            *guest = true;
        }
    }
    let (shares, found) = judged(&t);
    assert_served(shares.both, only(|s| s.page_cache = 1.0));
    assert_eq!(
        found.iter().map(|f| (f.claim, f.severity)).collect::<Vec<_>>(),
        [(Claim::ServedFromHostCache, Severity::Void)]
    );
    assert!(
        found[0].text.contains("from the host's page cache under loop0: the guest's disk read 2.5 GiB"),
        "{}",
        found[0].text
    );
    assert!(found[0].remedy.contains("cache: none"), "{}", found[0].remedy);
    let record = t.record();
    let leaves = leaves::of_cell(&[Facts::of(&record, &t.cell).unwrap()]);
    assert_eq!(leaves[0].kind, "disk of a guest, a file on ext4 of the host, through the host's page cache");
    assert_eq!((leaves[1].iops, leaves[1].busy_share), (None, None));
}

/// Sets the host's samples just before and just after: its disk's reads, and the pages that its kernel reclaimed.
fn on_the_host(t: &mut Truth, disk_read: u64, stolen: u64) {
    let sample = |read_bytes, stolen| Sample {
        block: [("vda".to_owned(), BlockCounters { read_bytes, ..BlockCounters::default() })].into(),
        vm: vm(stolen),
        ..Sample::default()
    };
    t.trial.evidence.host = vec![sample(7, 5), sample(7 + disk_read, 5 + stolen)];
}

#[test]
fn what_a_hosts_cache_did_not_come_to_hold_its_disk_was_not_asked_for() {
    // A quarter of the file is in the cache before and after, which may be the data or not.
    let mut t = reads(0, (GIB / 4, GIB / 4));
    t.leaf = None;
    for node in &mut t.trial.topology.nodes {
        if let BlockKind::Loop { guest, .. } = &mut node.kind {
            *guest = true;
        }
    }
    assert_served(judged(&t).0.both, only(|s| s.unknown = 1.0));
    // Another process reads from the host's disk all the time; the file's cached part didn't grow, and nothing was reclaimed.
    on_the_host(&mut t, 9 * GIB, 0);
    assert_served(judged(&t).0.both, only(|s| s.page_cache = 1.0));
    // As much was reclaimed as was read, so it may have come and gone.
    on_the_host(&mut t, 9 * GIB, 2560 * MIB / 4096);
    assert_served(judged(&t).0.both, only(|s| s.unknown = 1.0));
    // Whatever was reclaimed, the disk read nothing.
    on_the_host(&mut t, 0, 1 << 20);
    assert_served(judged(&t).0.both, only(|s| s.page_cache = 1.0));
}

#[test]
fn cold_and_read_once_is_only_the_setting() {
    let mut t = Truth::new(Rw::Read, MIB, true, filesystem(FsKind::Ext4), 1);
    t.asked(256 * MIB, 0);
    t.device_read = 256 * MIB;
    t.hosted((258 * MIB, 0), (0, 256 * MIB));
    let (shares, found) = judged(&t);
    assert_served(shares.both, only(|s| s.device = 1.0));
    assert_eq!(
        found.iter().map(|f| (f.claim, f.severity)).collect::<Vec<_>>(),
        [(Claim::DoubleCaching, Severity::Caveat)]
    );
    assert!(found[0].text.contains("it is unknown whether this cache served anything"), "{}", found[0].text);
}

#[test]
fn what_the_cache_came_to_hold_was_read_from_the_disk_whoever_else_used_it() {
    let mut t = Truth::new(Rw::Read, MIB, true, filesystem(FsKind::Ext4), 1);
    t.asked(256 * MIB, 0);
    t.device_read = 256 * MIB;
    t.hosted((9 * GIB, 0), (0, 256 * MIB));
    t.trial.evidence.others_complete = false;
    assert_served(judged(&t).0.both, only(|s| s.device = 1.0));
    // The data may have been cached before, so the source is unknown.
    t.hosted((9 * GIB, 0), (256 * MIB, 256 * MIB));
    assert_served(judged(&t).0.both, only(|s| s.unknown = 1.0));
}

/// The counters of reclaimed pages.
fn vm(stolen: u64) -> Option<VmCounters> {
    Some(VmCounters { pgsteal_file: Some(stolen), drop_pagecache: Some(3), ..VmCounters::default() })
}

#[test]
fn the_disk_can_have_read_no_more_than_the_cache_came_to_hold() {
    // Ten passes over 256 MiB while another process reads from the disk: nine came from memory, whatever the disk's counters are.
    let mut t = Truth::new(Rw::Read, MIB, true, filesystem(FsKind::Ext4), 1);
    t.asked(2560 * MIB, 0);
    t.device_read = 2560 * MIB;
    t.hosted((9 * GIB, 0), (0, 256 * MIB));
    t.trial.evidence.others_complete = false;
    t.each = |sample, _| sample.vm = vm(7);
    assert_served(judged(&t).0.both, Served { device: 0.1, page_cache: 0.9, ..Served::default() });
    // Pages were reclaimed meanwhile, so all of it may have been read again.
    t.each = |sample, done| sample.vm = vm(whole(done * 1e6));
    assert_served(judged(&t).0.both, Served { device: 0.1, unknown: 0.9, ..Served::default() });
    // The same if the kernel reclaims pages without counting them.
    t.each = |sample, _| sample.vm = vm(7).map(|vm| VmCounters { takes_cold_pages: true, ..vm });
    assert_served(judged(&t).0.both, Served { device: 0.1, unknown: 0.9, ..Served::default() });
    // The same if the cache was dropped.
    t.each = |sample, done| {
        sample.vm = vm(7);
        sample.vm.as_mut().unwrap().drop_pagecache = Some(whole(3.0 + done));
    };
    assert_served(judged(&t).0.both, Served { device: 0.1, unknown: 0.9, ..Served::default() });
}

#[test]
fn others_on_the_disk_do_not_hide_a_cache_that_held_everything() {
    let mut t = reads(9 * GIB, (GIB, GIB));
    t.other("dd", 9 * GIB, 0);
    let (shares, found) = judged(&t);
    assert_served(shares.both, only(|s| s.page_cache = 1.0));
    assert!(found.iter().any(|f| f.claim == Claim::ServedFromHostCache), "{found:?}");
    // 90 % of the backing file is cached, and the rest may be data: at least 153 of 256 MiB came from the cache.
    let cached = 922 * MIB;
    let mut t = reads(9 * GIB, (cached, cached));
    t.other("dd", 9 * GIB, 0);
    let served = judged(&t).0.both;
    assert_served(served, Served { page_cache: 154.0 / 256.0, unknown: 102.0 / 256.0, ..Served::default() });
    // A quarter of the reads were of reclaimed pages, which the disk delivered again.
    t.each = |sample, done| {
        let again = whole(done * (640 << 20) as f64 / 4096.0);
        sample.vm = Some(VmCounters { workingset_refault_file: Some(again), ..VmCounters::default() });
    };
    let served = judged(&t).0.both;
    let least = 154.0 / 256.0 - 0.25;
    assert_served(served, Served { page_cache: least, unknown: 1.0 - least, ..Served::default() });
}

#[test]
fn others_on_the_disk_make_unknown_what_only_its_counters_could_tell() {
    // At most 64 MiB of the data are cached; the disk's counters are full of another process's bytes.
    let mut t = reads(9 * GIB, (0, 64 * MIB));
    t.other("dd", 9 * GIB, 0);
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.75, unknown: 0.25, ..Served::default() });
    let unknown = found.iter().find(|f| f.claim == Claim::SourceUnknown).unwrap();
    assert!(unknown.text.contains("others use the disk under the loop device too"), "{}", unknown.text);
    // No other process is known to have read, so the bytes on the disk are ours.
    t.trial.evidence.others.clear();
    assert_served(judged(&t).0.both, only(|s| s.device = 1.0));
    // Not all processes could be examined.
    t.trial.evidence.others_complete = false;
    assert!(judged(&t).0.both.unknown > 0.2);
}

#[test]
fn a_backing_file_that_is_not_cached_served_nothing_from_the_cache() {
    // Holes of the backing file: neither the disk nor the cache served them.
    let served = judged(&reads(1280 * MIB, (0, 0))).0.both;
    assert_served(served, Served { device: 0.5, unknown: 0.5, ..Served::default() });
}

#[test]
fn a_loop_device_with_direct_io_or_none_told_is_not_accused_of_caching() {
    for direct in [Some(true), None] {
        let mut t = reads(0, (GIB, GIB));
        let BlockKind::Loop { direct_io, .. } = &mut t.trial.topology.nodes[0].kind else { panic!() };
        *direct_io = direct;
        let (shares, found) = judged(&t);
        // The disk moved nothing, although the file is in memory.
        assert_served(shares.both, only(|s| s.unknown = 1.0));
        let claims: Vec<Claim> = found.iter().map(|f| f.claim).collect();
        assert_eq!(claims, [Claim::SourceUnknown], "{found:?}");
    }
}

#[test]
fn what_a_neighbour_with_direct_io_reads_is_not_taken_for_ours() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 2);
    t.asked(2560 * MIB, 0);
    t.device_read = 2560 * MIB;
    // Each reads 1280 MiB; the first from the host's cache, the second from the disk.
    t.hosted((1280 * MIB, 0), (GIB, GIB));
    let BlockKind::Loop { direct_io, .. } = &mut t.trial.topology.nodes[1].kind else { panic!() };
    *direct_io = Some(true);
    assert_served(judged(&t).0.both, Served { device: 0.5, page_cache: 0.5, ..Served::default() });
}

#[test]
fn direct_writes_without_a_flush_are_in_the_hosts_memory() {
    let mut t = Truth::new(Rw::Randwrite, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(0, 256 * MIB);
    t.device_write = 256 * MIB;
    t.hosted((0, 64 * MIB), (0, 256 * MIB));
    t.trial.backing_after[0].dirty_bytes = Some(192 * MIB);
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.25, page_cache: 0.75, ..Served::default() });
    assert_eq!(
        found.iter().map(|f| (f.claim, f.severity)).collect::<Vec<_>>(),
        [(Claim::NotDurable, Severity::Void)]
    );
    assert!(found[0].remedy.contains("a flush passes through a loop device"), "{}", found[0].remedy);
    // Flushed: all of it is on the disk.
    t.trial.backing_after[0].dirty_bytes = Some(0);
    t.leaf = Some((0, 256 * MIB));
    assert_eq!(claims(&t), [Claim::DoubleCaching]);
    // Overwritten four times in the host's memory, then flushed.
    t.asked(0, GIB);
    t.device_write = GIB;
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.25, page_cache: 0.75, ..Served::default() });
    assert_eq!(found.iter().map(|f| f.claim).collect::<Vec<_>>(), [Claim::ServedFromHostCache]);
}

#[test]
fn leaves_show_every_device_and_who_shares_it() {
    let mut t = reads(1280 * MIB, (0, 256 * MIB));
    t.emulated(1);
    t.device_iops = 500.0;
    let record = t.record();
    let facts = Facts::of(&record, &t.cell).unwrap();
    // A trial with other devices under it is left out of the means.
    let mut other = t.clone();
    other.trial.topology.nodes.truncate(1);
    let other = other.record();
    let views = leaves::of_cell(&[facts, Facts::of(&other, &t.cell).unwrap()]);
    let told: Vec<_> = views.iter().map(|v| (v.name.as_str(), v.kind.as_str(), v.depth)).collect();
    let expected = [
        ("loop0", "loop device over a file on ext4, without direct I/O", 0),
        ("vda", "virtual disk; others may use it too", 1),
    ];
    assert_eq!(told, expected);
    let near = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 0.01 * b;
    assert!(near(views[0].read_per_asked, 1.0) && near(views[1].read_per_asked, 0.5), "{views:?}");
    assert!(views[0].write_per_asked.is_none(), "nothing was written");
    assert!(near(views[0].iops, 500.0) && views[0].busy_share.is_none(), "no busy time was counted");
    // A missing counter isn't zero.
    t.leaf = None;
    let record = t.record();
    let views = leaves::of_cell(&[Facts::of(&record, &t.cell).unwrap()]);
    assert_eq!((views[1].read_per_asked, views[1].iops, views[1].busy_share), (None, None, None));
}
