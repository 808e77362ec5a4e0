//! LVM caches and bcache, by their own counters.

use super::{claims, judged};
use crate::testing::{MIB, Truth};
use record::finding::{Claim, Severity};
use record::lvm_cache::{BcacheState, CacheRecord, CacheState, DmCache, DmWritecache, Flushed};
use record::stack::{Filesystem, FsKind, Layer, Rebuild};
use record::workload::Rw;

/// The cache's counts before the trial, from the stack's earlier trials.
const EARLIER: u64 = 1000;

fn cached(rw: Rw, bs: u64, hits: u64, misses: u64, promotions: u64) -> Truth {
    let layer = Layer::Filesystem(Filesystem {
        kind: FsKind::Ext4,
        mkfs_options: vec![],
        mount_options: vec![],
        stripe: None,
    });
    let mut t = Truth::new(rw, bs, true, layer, 1);
    t.cached(0, 0);
    t.asked((hits + misses) * bs, 0);
    t.device_read = (hits + misses) * bs;
    let state = |hits, misses, promotions| DmCache {
        block_bytes: 32 << 10,
        blocks: 4096,
        used_blocks: promotions,
        read_hits: hits,
        read_misses: misses,
        promotions,
        policy: Some("smq".to_owned()),
        ..DmCache::default()
    };
    t.trial.caches = vec![CacheRecord {
        volume: "g-data".to_owned(),
        before: Some(CacheState::Cache(state(EARLIER, EARLIER, EARLIER))),
        after: Some(CacheState::Cache(state(EARLIER + hits, EARLIER + misses, EARLIER + promotions))),
        flushed: None,
    }];
    t
}

const OURS: [Claim; 3] = [Claim::ServedFromCacheDevice, Claim::CacheMissed, Claim::CacheOwed];

fn found(t: &Truth) -> (Claim, Severity, String, String) {
    let (_, found) = judged(t);
    let mut ours = found.into_iter().filter(|f| OURS.contains(&f.claim));
    let one = ours.next().unwrap();
    assert!(ours.next().is_none(), "only one of them");
    (one.claim, one.severity, one.text, one.remedy)
}

#[test]
fn a_stream_that_passes_is_explained() {
    let (claim, severity, text, remedy) = found(&cached(Rw::Read, MIB, 10, 4086, 3));
    assert_eq!((claim, severity), (Claim::CacheMissed, Severity::Caveat));
    assert!(text.contains("0.2 % of 4096 reads") && text.contains("This is expected: a cache has"), "{text}");
    assert!(text.contains("; 3 blocks of 32 KiB were promoted"), "{text}");
    assert!(remedy.contains("rebuild: run") && remedy.contains("128 MiB"), "{remedy}");
}

/// Seen with smq on Linux 6.1: of 4096 requests of a stream none hit, and 1250 blocks were copied; 31 instead of 41 MB/s.
#[test]
fn what_a_stream_costs_where_the_cache_takes_it_in() {
    let (claim, _, text, _) = found(&cached(Rw::Read, MIB, 0, 4096, 1250));
    assert_eq!(claim, Claim::CacheMissed);
    assert!(text.contains("But the policy smq promoted 1250 blocks of 32 KiB (39.1 MiB)"), "{text}");
}

#[test]
fn random_requests_that_pass_have_no_excuse() {
    let (claim, _, text, _) = found(&cached(Rw::Randread, 16 << 10, 10, 4086, 3));
    assert_eq!(claim, Claim::CacheMissed);
    assert!(!text.contains("This is expected"), "{text}");
}

#[test]
fn what_a_warm_cache_served_is_a_note() {
    let (claim, severity, text, _) = found(&cached(Rw::Randread, 16 << 10, 9000, 1000, 0));
    assert_eq!((claim, severity), (Claim::ServedFromCacheDevice, Severity::Note));
    assert!(text.contains("90 % of 10000 reads"), "{text}");
}

#[test]
fn a_cache_that_fills_is_a_caveat_whose_remedy_knows_whether_the_stack_stays() {
    let mut t = cached(Rw::Randread, 16 << 10, 300, 700, 2000);
    let (claim, severity, text, remedy) = found(&t);
    assert_eq!((claim, severity), (Claim::ServedFromCacheDevice, Severity::Caveat));
    assert!(text.contains("62.5 MiB of 256 MiB") && text.contains("still filling"), "{text}");
    assert!(remedy.contains("Every trial begins with an empty cache"), "{remedy}");
    t.cell.stack.rebuild = Rebuild::Run;
    assert!(found(&t).3.contains("stays up"), "{}", found(&t).3);
}

#[test]
fn counters_that_fell_or_were_not_seen_claim_nothing() {
    let mut t = cached(Rw::Randread, 16 << 10, 9000, 1000, 0);
    t.trial.caches[0].after = t.trial.caches[0].before.clone();
    assert!(!claims(&t).iter().any(|c| OURS.contains(c)), "no requests");
    let mut t = cached(Rw::Randread, 16 << 10, 9000, 1000, 0);
    let record = &mut t.trial.caches[0];
    std::mem::swap(&mut record.before, &mut record.after);
    assert!(!claims(&t).iter().any(|c| OURS.contains(c)), "another cache");
    t.trial.caches[0].before = None;
    assert!(!claims(&t).iter().any(|c| OURS.contains(c)), "nobody looked");
}

#[test]
fn a_write_cache_tells_what_it_took_and_how_full_it_is() {
    let mut t = cached(Rw::Randwrite, 4096, 0, 0, 0);
    t.asked(0, 40 * MIB);
    t.device_write = 40 * MIB;
    let state = |free, writes, around, waits| {
        CacheState::Writecache(DmWritecache {
            blocks: 10_000,
            free_blocks: free,
            reads: Some(0),
            read_hits: Some(0),
            writes: Some(writes),
            writes_around: Some(around),
            waits_for_free: Some(waits),
            ..DmWritecache::default()
        })
    };
    t.trial.caches[0].before = Some(state(10_000, 0, 0, 0));
    t.trial.caches[0].after = Some(state(4000, 10_000, 1000, 7));
    let (claim, severity, text, _) = found(&t);
    assert_eq!((claim, severity), (Claim::ServedFromCacheDevice, Severity::Caveat));
    assert!(text.contains("took 90 % of the blocks written") && text.contains("60 % after"), "{text}");
    assert!(text.contains("7 writes waited") && text.contains("at the origin's rate"), "{text}");
}

/// 300 IOPS for 20 s, of which the origin has a part: with the time to write the rest back, the rate is lower.
#[test]
fn what_a_cache_owed_is_paid_in_time() {
    let of_a_flush = |owed_bytes, seconds| {
        let mut t = cached(Rw::Randwrite, 16 << 10, 0, 0, 0);
        t.asked(0, 6000 * (16 << 10));
        t.device_write = 6000 * (16 << 10);
        t.trial.caches[0].flushed = Some(Flushed { owed_bytes, seconds, compared_bytes: None });
        t
    };
    let mut t = of_a_flush(Some(32 * MIB), 10.0);
    let (claim, severity, text, _) = found(&t);
    assert_eq!((claim, severity), (Claim::CacheOwed, Severity::Caveat));
    assert!(text.contains("32 MiB of data in the LVM cache") && text.contains("took 10.0 s"), "{text}");
    assert!(text.contains("the write rate is 200 IOPS, not 300 IOPS"), "{text}");
    assert!(!text.contains("emulated"), "{text}");
    t.emulated(1);
    assert!(found(&t).2.contains("The limits of its emulated volumes don't apply to this write-back"));
    let (_, severity, _, _) = found(&of_a_flush(Some(MIB), 1.0));
    assert_eq!(severity, Severity::Note, "soon paid");
    for nothing in [Some(0), None] {
        assert!(!claims(&of_a_flush(nothing, 10.0)).contains(&Claim::CacheOwed));
    }
}

/// bcache that read these, each of 16 KiB, and has this much that its backing device lacks, of 64 MiB written where it writes.
fn bcache(mode: &str, hits: u64, misses: u64, bypassed: u64, dirty: u64) -> Truth {
    let mut t = cached(Rw::Randread, 16 << 10, hits, misses + bypassed, 0);
    let state = |more: bool| {
        let of = |count| EARLIER + if more { count } else { 0 };
        CacheState::Bcache(BcacheState {
            hits: of(hits),
            misses: of(misses),
            bypass_hits: EARLIER,
            bypass_misses: of(bypassed),
            bypassed_bytes: of(bypassed) * (16 << 10),
            dirty_bytes: if more { dirty } else { 0 },
            mode: mode.to_owned(),
        })
    };
    let (before, after) = (Some(state(false)), Some(state(true)));
    t.trial.caches = vec![CacheRecord { volume: "bcache0".to_owned(), before, after, flushed: None }];
    t
}

#[test]
fn what_bcache_served_is_a_note_and_while_it_fills_a_caveat() {
    let (claim, severity, text, _) = found(&bcache("writethrough", 9500, 500, 0, 0));
    assert_eq!((claim, severity), (Claim::ServedFromCacheDevice, Severity::Note));
    assert!(text.starts_with("bcache in mode writethrough: it served 95 % of 10000 reads;"), "{text}");
    let (claim, severity, text, remedy) = found(&bcache("writethrough", 5000, 5000, 0, 0));
    assert_eq!((claim, severity), (Claim::ServedFromCacheDevice, Severity::Caveat));
    assert!(text.contains("still filling"), "{text}");
    assert!(remedy.contains("Every trial begins with an empty cache"), "{remedy}");
}

#[test]
fn what_bypasses_bcache_or_misses_it_is_the_backing_devices_figure() {
    let (claim, severity, text, remedy) = found(&bcache("writeback", 10, 10, 9980, 0));
    assert_eq!((claim, severity), (Claim::CacheMissed, Severity::Caveat));
    assert!(
        text.contains("0.1 % of 10000 reads") && text.contains("bypassed the cache: as a sequential"),
        "{text}"
    );
    assert!(remedy.contains("sequential_cutoff: 0"), "{remedy}");
    let (claim, _, text, _) = found(&bcache("writethrough", 10, 9990, 0, 0));
    assert_eq!(claim, Claim::CacheMissed);
    assert!(text.contains("costs time on both devices"), "{text}");
    assert!(!claims(&bcache("none", 0, 0, 10_000, 0)).iter().any(|c| OURS.contains(c)), "as asked");
}

#[test]
fn what_bcache_keeps_of_writes_is_said() {
    let mut t = bcache("writeback", 0, 0, 0, 32 * MIB);
    t.asked(0, 64 * MIB);
    t.device_write = 64 * MIB;
    let (claim, severity, text, _) = found(&t);
    assert_eq!((claim, severity), (Claim::ServedFromCacheDevice, Severity::Caveat));
    assert!(
        text.contains(
            "32 MiB of data was not on the backing device yet when the load ended, of 64 MiB written"
        )
    );
    assert!(text.contains("Writes at this rate don't last"), "{text}");
}

#[test]
fn bcache_that_was_made_anew_or_not_seen_claims_nothing() {
    let mut t = bcache("writethrough", 9500, 500, 0, 0);
    let record = &mut t.trial.caches[0];
    std::mem::swap(&mut record.before, &mut record.after);
    assert!(!claims(&t).iter().any(|c| OURS.contains(c)), "another one");
    t.trial.caches[0].before = None;
    assert!(!claims(&t).iter().any(|c| OURS.contains(c)), "nobody looked");
}
