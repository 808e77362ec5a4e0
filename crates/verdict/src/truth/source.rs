//! Holes, caches, compression, durability, and unknown sources.

use super::{RAID0, SINGLE, assert_served, claims, judged, only};
use crate::attribute::attribute;
use crate::facts::Facts;
use crate::testing::{GIB, MIB, Truth, btrfs, filesystem, whole};
use record::finding::{Claim, Served, Severity};
use record::stack::FsKind;
use record::workload::{CacheStart, Layout, Rw, SizeRange};

fn unwritten(layout: Layout) -> Truth {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.cell.workload.layout = layout;
    t.file(256 * MIB, |f| {
        (f.written_bytes, f.unwritten_bytes) = (0, 256 * MIB);
        if layout == Layout::Hole {
            (f.unwritten_bytes, f.hole_bytes) = (0, 256 * MIB);
        }
    });
    t.asked(40 * GIB, 0);
    t.device_read = MIB;
    t.thread_cores = 0.99;
    t
}

#[test]
fn holes_are_named_void_and_the_engine_was_the_limit() {
    for layout in [Layout::Unwritten, Layout::Hole] {
        let (shares, found) = judged(&unwritten(layout));
        assert_served(shares.read.unwrap(), only(|s| s.hole = 1.0));
        let claims: Vec<Claim> = found.iter().map(|f| f.claim).collect();
        assert_eq!(claims, [Claim::ServedFromHoles, Claim::EngineCpuBound]);
        assert_eq!(found[0].severity, Severity::Void);
        assert!(found[0].remedy.contains("layout: written"), "{}", found[0].remedy);
        assert!(!found[0].remedy.contains("direct"), "direct is set already");
        let word = if layout == Layout::Hole { "holes" } else { "unwritten" };
        assert!(found[0].text.contains(word), "{}", found[0].text);
    }
}

#[test]
fn holes_are_known_even_without_device_counters_when_there_is_nothing_else() {
    let mut t = unwritten(Layout::Unwritten);
    t.trial.topology.nodes.clear();
    assert_eq!(judged(&t).0.both, only(|s| s.hole = 1.0));
    t.file(256 * MIB, |f| (f.written_bytes, f.unwritten_bytes) = (128 * MIB, 128 * MIB));
    assert_eq!(judged(&t).0.both, only(|s| s.unknown = 1.0));
}

#[test]
fn half_the_file_a_hole() {
    for rw in [Rw::Randread, Rw::Read] {
        let mut t = Truth::new(rw, 4096, true, filesystem(FsKind::Xfs), 1);
        t.file(256 * MIB, |f| (f.written_bytes, f.hole_bytes) = (128 * MIB, 128 * MIB));
        t.asked(GIB, 0);
        t.device_read = 512 * MIB;
        let (shares, found) = judged(&t);
        assert_served(shares.both, Served { device: 0.5, hole: 0.5, ..Served::default() });
        assert_eq!(found[0].claim, Claim::ServedFromHoles);
        assert_eq!(found.len(), 1);
    }
}

#[test]
fn holes_explain_only_as_much_as_they_are() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Xfs), 1);
    t.file(256 * MIB, |f| (f.written_bytes, f.hole_bytes) = (230 * MIB, 26 * MIB));
    t.asked(GIB, 0);
    t.device_read = 256 * MIB;
    let served = judged(&t).0.both;
    assert!(served.hole < 0.14 && served.unknown > 0.6, "{served:?}");
    assert!(claims(&t).contains(&Claim::SourceUnknown));
}

#[test]
fn a_hidden_reader_does_not_hide_the_holes() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Xfs), 1);
    t.file(256 * MIB, |f| (f.written_bytes, f.hole_bytes) = (128 * MIB, 128 * MIB));
    t.asked(GIB, 0);
    (t.device_read, t.own_read) = (GIB, Some(512 * MIB));
    t.other("dd", 512 * MIB, 0);
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.5, hole: 0.5, ..Served::default() });
    let claims: Vec<Claim> = found.iter().map(|f| f.claim).collect();
    assert_eq!(claims, [Claim::ServedFromHoles, Claim::Interference]);
}

fn warm(cached: u64) -> Truth {
    let mut t = Truth::new(Rw::Randread, 4096, false, filesystem(FsKind::Ext4), 1);
    t.cached(cached, cached);
    t.asked(10 * GIB, 0);
    t.device_read = 10 * GIB - 10 * cached * 4;
    t
}

#[test]
fn all_of_it_cached() {
    let mut t = warm(256 * MIB);
    t.device_read = 0;
    t.cell.workload.cache = CacheStart::Warm;
    let (shares, found) = judged(&t);
    assert_served(shares.both, only(|s| s.page_cache = 1.0));
    let claims: Vec<Claim> = found.iter().map(|f| f.claim).collect();
    assert_eq!(claims, [Claim::ServedFromPageCache, Claim::SmallerThanMemory]);
    assert_eq!(found[0].severity, Severity::Void);
    assert!(found[0].remedy.contains("cache: warm asks"), "{}", found[0].remedy);
}

#[test]
fn ninety_percent_cached() {
    let mut t = warm(230 * MIB);
    t.device_read = GIB;
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.1, page_cache: 0.9, ..Served::default() });
    assert_eq!(found[0].claim, Claim::ServedFromPageCache);
    assert!(found[0].remedy.contains("direct: 1"), "{}", found[0].remedy);
}

#[test]
fn cold_at_first_then_pass_after_pass_from_memory() {
    let mut t = Truth::new(Rw::Read, 131_072, false, filesystem(FsKind::Ext4), 1);
    t.asked(10 * 256 * MIB, 0);
    t.device_read = 256 * MIB;
    let (shares, _) = judged(&t);
    assert_served(shares.both, Served { device: 0.1, page_cache: 0.9, ..Served::default() });
    assert_eq!(claims(&t), [Claim::ServedFromPageCache, Claim::SmallerThanMemory]);
}

#[test]
fn what_the_ramp_fetched_is_in_memory_when_the_clock_starts() {
    let mut t = Truth::new(Rw::Read, 131_072, false, filesystem(FsKind::Ext4), 1);
    t.asked(384 * MIB, 0);
    let mut record = t.record();
    for sample in &mut record.evidence.samples {
        // All of the file is read in the two seconds before the window.
        let part = ((sample.monotonic_ns as f64 / 1e9 - 98.0) / 2.0).clamp(0.0, 1.0);
        sample.block.values_mut().for_each(|b| b.read_bytes = whole(256.0 * MIB as f64 * part));
    }
    let facts = Facts::of(&record, &t.cell).unwrap();
    assert_served(attribute(&facts).both, only(|s| s.page_cache = 1.0));
    // Nothing was fetched earlier, so only the second pass can have come from memory.
    let facts = Facts { read_earlier: Some(0.0), ..facts };
    assert_served(
        attribute(&facts).both,
        Served { page_cache: 1.0 / 3.0, unknown: 2.0 / 3.0, ..Served::default() },
    );
}

#[test]
fn without_residency_the_engine_s_own_accounting_speaks_and_without_that_nobody() {
    let mut t = warm(256 * MIB);
    (t.device_read, t.own_read) = (0, Some(0));
    (t.trial.cache_before, t.trial.cache_after) = (vec![], vec![]);
    let mut record = t.record();
    let facts = Facts::of(&record, &t.cell).unwrap();
    assert_eq!(attribute(&facts).both, only(|s| s.unknown = 1.0));
    for sample in &mut record.evidence.samples {
        let asked = if sample.monotonic_ns >= 120_000_000_000 { 10 * GIB } else { 0 };
        if let Some(engine) = &mut sample.engine {
            engine.read_chars = Some(asked);
        }
    }
    let facts = Facts::of(&record, &t.cell).unwrap();
    assert_served(attribute(&facts).both, only(|s| s.page_cache = 1.0));
}

fn zstd(rw: Rw, direct: bool, disk: Option<u64>) -> Truth {
    let mut t = Truth::new(rw, 131_072, direct, btrfs(SINGLE), 1);
    t.file(256 * MIB, |f| (f.written_bytes, f.encoded_bytes, f.disk_bytes) = (0, 256 * MIB, disk));
    t.options().buffer_compress_percentage = 75;
    t
}

#[test]
fn compressed_reads_and_writes() {
    let mut t = zstd(Rw::Read, true, Some(64 * MIB));
    t.asked(GIB, 0);
    t.device_read = 256 * MIB;
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.25, other: 0.75, ..Served::default() });
    assert_eq!(found[0].claim, Claim::Compressed);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Caveat));
    assert!(found[0].remedy.contains("75 is set"), "{}", found[0].remedy);

    let mut t = zstd(Rw::Write, false, Some(64 * MIB));
    t.asked(0, GIB);
    t.device_write = 256 * MIB;
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.25, other: 0.75, ..Served::default() });
    assert_eq!(found.iter().map(|f| f.claim).collect::<Vec<_>>(), [Claim::Compressed]);
}

#[test]
fn compressed_and_cached() {
    let mut t = zstd(Rw::Randread, false, Some(64 * MIB));
    t.cached(230 * MIB, 230 * MIB);
    t.asked(10 * GIB, 0);
    t.device_read = 256 * MIB;
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.025, other: 0.075, page_cache: 0.9, ..Served::default() });
    let claims: Vec<Claim> = found.iter().map(|f| f.claim).collect();
    assert_eq!(claims, [Claim::ServedFromPageCache, Claim::Compressed, Claim::SmallerThanMemory]);
}

#[test]
fn direct_reads_of_compressed_extents_may_come_from_memory_all_the_same() {
    let mut t = zstd(Rw::Randread, true, Some(64 * MIB));
    t.cached(0, 256 * MIB);
    t.asked(10 * GIB, 0);
    t.device_read = 64 * MIB;
    let (shares, found) = judged(&t);
    assert!(shares.both.page_cache > 0.9, "{shares:?}");
    let cache = found.iter().find(|f| f.claim == Claim::ServedFromPageCache).unwrap();
    assert!(cache.remedy.starts_with("direct: 1 is set, but"), "{}", cache.remedy);
}

#[test]
fn extents_that_are_read_for_a_part_of_them_do_not_hide_the_cache() {
    // Random reads of 16 KiB. For each that isn't in memory, the device reads the extent's 36 KiB, which hold 128 KiB.
    let reads = 640.0 * 1024.0;
    let mut t = Truth::new(Rw::Randread, 16_384, false, btrfs(SINGLE), 1);
    t.file(256 * MIB, |f| (f.written_bytes, f.encoded_bytes, f.disk_bytes) = (0, 256 * MIB, Some(72 * MIB)));
    t.cached(256 * MIB, 256 * MIB);
    t.asked(10 * GIB, 0);
    let mut missed = |share: f64| {
        t.device_read = whole(share * reads * 36.0 * 1024.0);
        t.device_iops = share * reads / 20.0;
        judged(&t)
    };
    let (shares, found) = missed(0.2);
    assert!(shares.both.page_cache > 0.77, "{shares:?}");
    assert_eq!((found[0].claim, found[0].severity), (Claim::ServedFromPageCache, Severity::Void));
    // The device reads more than requested, although half of the data was in memory.
    let shares = missed(0.5).0.both;
    assert!(shares.page_cache > 0.47 && shares.device <= 0.53, "{shares:?}");
    assert_served(missed(1.0).0.both, only(|s| s.device = 1.0));
    // Larger reads may span several extents.
    t.options().bsrange = Some(SizeRange { low_bytes: 4096, high_bytes: MIB });
    assert_eq!(judged(&t).0.both.page_cache, 0.0);
}

#[test]
fn what_a_stream_read_ahead_in_the_ramp_is_not_the_page_caches() {
    // 128 of 256 MiB; a quarter of them was read ahead before the window.
    let mut t = zstd(Rw::Read, true, Some(64 * MIB));
    t.asked(128 * MIB, 0);
    t.device_read = 24 * MIB;
    t.cached(0, 160 * MIB);
    t.each = |sample, _| {
        let ramp = sample.monotonic_ns.saturating_sub(98_000_000_000).min(2_000_000_000);
        sample.block.get_mut("loop0").unwrap().read_bytes += 8 * MIB * ramp / 2_000_000_000;
    };
    assert_served(judged(&t).0.both, Served { device: 0.25, other: 0.75, ..Served::default() });
    // Bytes that were cached before count for the cache.
    t.cached(64 * MIB, 160 * MIB);
    assert!(judged(&t).0.both.page_cache > 0.2);
}

#[test]
fn compressed_by_nobody_knows_how_much_is_unknown() {
    let mut t = zstd(Rw::Read, true, None);
    t.asked(GIB, 0);
    t.device_read = 256 * MIB;
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.25, unknown: 0.75, ..Served::default() });
    let claims: Vec<Claim> = found.iter().map(|f| f.claim).collect();
    assert_eq!(claims, [Claim::Compressed, Claim::SourceUnknown]);
}

#[test]
fn written_but_not_durable() {
    let mut t = Truth::new(Rw::Write, MIB, false, filesystem(FsKind::Ext4), 1);
    t.options().end_fsync = false;
    t.asked(0, 2 * GIB);
    (t.device_write, t.dirty_at_end) = (512 * MIB, 3 * GIB / 2);
    t.trial.cache_after[0].dirty_bytes = Some(200 * MIB);
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.25, page_cache: 0.75, ..Served::default() });
    let claims: Vec<Claim> = found.iter().map(|f| f.claim).collect();
    assert_eq!(claims, [Claim::NotDurable, Claim::SmallerThanMemory]);
    assert_eq!(found[0].severity, Severity::Void);
    assert!(found[0].remedy.contains("end_fsync"), "{}", found[0].remedy);
}

#[test]
fn a_busy_disk_hides_neither_dirty_pages_nor_cached_ones() {
    // Another process writes and reads so much on the same disk that its counters alone would explain everything.
    let mut t = Truth::new(Rw::Write, MIB, false, filesystem(FsKind::Ext4), 1);
    t.options().end_fsync = false;
    t.asked(0, GIB);
    t.device_write = 8 * GIB;
    t.trial.cache_after[0].dirty_bytes = Some(256 * MIB);
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.75, page_cache: 0.25, ..Served::default() });
    assert!(found.iter().any(|f| f.claim == Claim::NotDurable), "{found:?}");

    let mut t = warm(256 * MIB);
    (t.device_read, t.own_read) = (11 * GIB, Some(GIB));
    let (shares, found) = judged(&t);
    assert_served(shares.both, Served { device: 0.1, page_cache: 0.9, ..Served::default() });
    assert!(found.iter().any(|f| f.claim == Claim::Interference), "{found:?}");
}

#[test]
fn overwritten_in_memory_before_it_was_flushed() {
    let mut t = Truth::new(Rw::Write, MIB, false, filesystem(FsKind::Xfs), 1);
    t.asked(0, 4 * GIB);
    t.device_write = 256 * MIB;
    let (_, found) = judged(&t);
    let claims: Vec<Claim> = found.iter().map(|f| f.claim).collect();
    assert_eq!(claims, [Claim::ServedFromPageCache, Claim::SmallerThanMemory]);
    assert!(found[0].text.contains("overwritten in the page cache"), "{}", found[0].text);
    assert!(!found[0].remedy.contains("end_fsync"), "it is set already: {}", found[0].remedy);
}

#[test]
fn missing_counters_are_unknown_never_a_guess() {
    let base = || {
        let mut t = Truth::new(Rw::Randrw, 4096, true, btrfs(RAID0), 2);
        t.asked(GIB, GIB);
        (t.device_read, t.device_write) = (GIB, GIB);
        t
    };
    let all_unknown = only(|s| s.unknown = 1.0);
    let of =
        |record: &record::trial::TrialRecord, t: &Truth| attribute(&Facts::of(record, &t.cell).unwrap()).both;
    let t = base();
    let mut record = t.record();
    for sample in &mut record.evidence.samples {
        sample.block.remove("loop1");
    }
    assert_eq!(of(&record, &t), all_unknown, "one of two devices isn't counted");
    let mut record = t.record();
    record.evidence.samples.retain(|s| s.monotonic_ns < 110_000_000_000);
    assert_eq!(of(&record, &t), all_unknown, "the sampler died");
    let mut record = t.record();
    for sample in record.evidence.samples.iter_mut().filter(|s| s.monotonic_ns > 110_000_000_000) {
        sample.block.values_mut().for_each(|b| (b.read_bytes, b.write_bytes) = (0, 0));
    }
    assert_eq!(of(&record, &t), all_unknown, "the counters were reset");
    let mut t = base();
    t.device_read = 0;
    t.trial.files_before.clear();
    t.trial.unread = vec!["cannot read the extents of /m/data: Operation not permitted".to_owned()];
    let (served, found) = judged(&t);
    let unknown = found.iter().find(|f| f.claim == Claim::SourceUnknown).unwrap();
    assert!(
        unknown.text.contains("(cannot read the extents of /m/data: Operation not permitted)"),
        "{}",
        unknown.text
    );
    assert_served(served.read.unwrap(), all_unknown);
    assert_served(served.write.unwrap(), only(|s| s.device = 1.0));
}
