//! ZFS's cache in memory, by its own counters.

use super::{assert_served, claims, judged, only};
use crate::testing::{GIB, MIB, Truth};
use record::counter::Sample;
use record::finding::{Claim, Served, Severity};
use record::stack::Layer;
use record::workload::Rw;
use record::zfs::{ArcCounters, Vdev, Zfs};
use std::collections::BTreeMap;

const RECORD: u64 = 128 << 10;

/// Reads of 10 GiB on one pool.
fn pool(rw: Rw, bs: u64, each: fn(&mut Sample, f64)) -> Truth {
    let layer = Layer::Zfs(Zfs {
        vdev: Vdev::Stripe,
        width: None,
        log: vec![],
        cache: vec![],
        ashift: None,
        properties: BTreeMap::new(),
        arc_max_bytes: Some(64 * MIB),
    });
    let mut t = Truth::new(rw, bs, true, layer, 1);
    t.cached(0, 0);
    t.asked(10 * GIB, 0);
    t.each = each;
    t
}

fn counters(sample: &mut Sample, done: f64, found: u64, missed: u64, ahead: u64) {
    let grown = |total: u64| Some(1000 + crate::testing::whole(total as f64 * done));
    sample.arc = Some(ArcCounters {
        demand_data_hits: grown(found),
        demand_data_misses: grown(missed),
        prefetch_data_misses: grown(ahead),
        mru_hits: grown(found / 4),
        mfu_hits: grown(found / 4 * 3),
        size_bytes: Some(60 * MIB),
        max_bytes: Some(64 * MIB),
        anon_bytes: Some(0),
        ..ArcCounters::default()
    });
}

const BLOCKS: u64 = 10 * GIB / RECORD;

#[test]
fn what_arc_served_is_told_with_its_lists() {
    let mut t = pool(Rw::Randread, RECORD, |s, done| counters(s, done, BLOCKS / 10 * 6, BLOCKS / 10 * 4, 0));
    t.device_read = 4 * GIB;
    let (shares, found) = judged(&t);
    assert_served(shares.read.unwrap(), Served { device: 0.4, other_cache: 0.6, ..Served::default() });
    assert_eq!(found[0].claim, Claim::ServedFromOtherCache);
    assert_eq!(found[0].severity, Severity::Void);
    assert!(
        found[0].text.contains("MRU") && found[0].evidence.contains_key("arc_mfu_hits"),
        "{:?}",
        found[0]
    );
    assert!(
        found[0].remedy.contains("a size far above 256 MiB"),
        "it is more than twice the cache: {}",
        found[0].remedy
    );
}

#[test]
fn small_reads_of_large_records_do_not_hide_the_cache() {
    // 4 KiB of each record of 128 KiB: nine of ten are found, and the devices still deliver three times the requested bytes
    let mut t = pool(Rw::Randread, 4096, |s, done| {
        let reads = 10 * GIB / 4096;
        counters(s, done, reads / 10 * 9, reads / 10, 0);
    });
    t.device_read = 32 * GIB;
    assert_served(judged(&t).0.both, Served { device: 0.1, other_cache: 0.9, ..Served::default() });
}

#[test]
fn a_block_that_is_found_page_by_page_is_one() {
    // seen on OpenZFS 2.1: a file that was ever mapped is read page by page
    let mut t = pool(Rw::Randread, RECORD, |s, done| counters(s, done, BLOCKS * 32, BLOCKS / 2, 0));
    t.device_read = 5 * GIB;
    assert_served(judged(&t).0.both, Served { device: 0.5, other_cache: 0.5, ..Served::default() });
    let mut t = pool(Rw::Read, 4096, |s, done| counters(s, done, BLOCKS * 31, BLOCKS, 0));
    t.device_read = 10 * GIB;
    assert_served(judged(&t).0.both, only(|s| s.device = 1.0));
}

#[test]
fn what_was_read_ahead_is_the_devices() {
    let mut t = pool(Rw::Read, RECORD, |s, done| {
        counters(s, done, BLOCKS / 100 * 99, BLOCKS / 100, BLOCKS / 100 * 99)
    });
    t.device_read = 10 * GIB;
    assert_served(judged(&t).0.both, only(|s| s.device = 1.0));
    assert_eq!(claims(&t), []);
}

#[test]
fn compression_and_cache_are_told_apart() {
    let mut t = pool(Rw::Randread, RECORD, |s, done| counters(s, done, BLOCKS / 2, BLOCKS / 2, 0));
    t.file(256 * MIB, |f| (f.written_bytes, f.encoded_bytes, f.disk_bytes) = (0, 256 * MIB, Some(128 * MIB)));
    t.device_read = 10 * GIB / 4;
    let (shares, found) = judged(&t);
    let wanted = Served { device: 0.25, other: 0.25, other_cache: 0.5, ..Served::default() };
    assert_served(shares.both, wanted);
    let claims: Vec<Claim> = found.iter().map(|f| f.claim).collect();
    assert!(
        claims.contains(&Claim::Compressed) && claims.contains(&Claim::ServedFromOtherCache),
        "{claims:?}"
    );

    // More than twice the cache, but less in its compressed form.
    t.file(192 * MIB, |f| (f.written_bytes, f.encoded_bytes, f.disk_bytes) = (0, 192 * MIB, Some(96 * MIB)));
    let (_, found) = judged(&t);
    let cached = found.iter().find(|f| f.claim == Claim::ServedFromOtherCache).unwrap();
    assert!(
        cached.remedy.contains("256 MiB or more (twice the cache, which keeps the data compressed 2.0:1)"),
        "{}",
        cached.remedy
    );
}

#[test]
fn holes_ask_nobody() {
    let mut t = pool(Rw::Read, RECORD, |s, done| counters(s, done, 0, 0, 0));
    t.file(256 * MIB, |f| (f.written_bytes, f.hole_bytes) = (0, 256 * MIB));
    assert_served(judged(&t).0.both, only(|s| s.hole = 1.0));
    assert!(!claims(&t).contains(&Claim::ServedFromOtherCache));
}

#[test]
fn another_pools_blocks_are_not_ours() {
    let mut t = pool(Rw::Randread, RECORD, |s, done| counters(s, done, BLOCKS * 20, BLOCKS * 20, 0));
    t.device_read = 4 * GIB;
    let (shares, found) = judged(&t);
    assert_eq!(shares.both.other_cache, 0.0);
    assert!(shares.both.unknown > 0.5, "{shares:?}");
    assert!(found.iter().any(|f| f.claim == Claim::SourceUnknown));
}

#[test]
fn zfs_fuse_does_not_tell_and_nothing_is_claimed() {
    let mut t = pool(Rw::Randread, RECORD, |_, _| {});
    t.trial.topology.fs_type = Some("fuse.zfs".to_owned());
    t.device_read = 4 * GIB;
    let (shares, found) = judged(&t);
    assert!(shares.both.unknown > 0.5 && shares.both.other_cache == 0.0, "{shares:?}");
    let unknown = found.iter().find(|f| f.claim == Claim::SourceUnknown).unwrap();
    assert!(unknown.text.contains("zfs-fuse has its own cache"), "{}", unknown.text);
}
