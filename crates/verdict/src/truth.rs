//! Trials whose truth is made by construction: clean ones must raise no alarm, each trap must be named.

use crate::attribute::{Attribution, attribute};
use crate::detect::{Detected, Scene, in_trial};
use crate::facts::Facts;
use crate::testing::{GIB, MIB, Truth, btrfs, filesystem, whole};
use record::finding::{Claim, Served, Severity};
use record::stack::{BtrfsProfile, FsKind};
use record::topology::BlockKind;
use record::trial::ErrorCount;
use record::workload::{CacheStart, Layout, Rw};

fn judged(truth: &Truth) -> (Attribution, Vec<Detected>) {
    let record = truth.record();
    let facts = Facts::of(&record, &truth.cell).unwrap();
    let shares = attribute(&facts);
    let found = in_trial(&Scene { facts: &facts, shares: &shares, volumes: &[] });
    for f in &found {
        assert!(!f.text.is_empty() && !f.remedy.is_empty() && !f.evidence.is_empty(), "{f:?}");
        assert!(f.evidence.values().all(|v| v.is_finite()), "{f:?}");
    }
    (shares, found)
}

fn claims(truth: &Truth) -> Vec<Claim> {
    judged(truth).1.iter().map(|d| d.claim).collect()
}

fn close(actual: f64, wanted: f64) -> bool {
    (actual - wanted).abs() < 0.015
}

fn assert_served(served: Served, wanted: Served) {
    let pairs = [
        (served.device, wanted.device),
        (served.page_cache, wanted.page_cache),
        (served.hole, wanted.hole),
        (served.other, wanted.other),
        (served.unknown, wanted.unknown),
    ];
    assert!(pairs.iter().all(|(a, w)| close(*a, *w)), "{served:?}, not {wanted:?}");
}

fn only(f: impl FnOnce(&mut Served)) -> Served {
    let mut served = Served::default();
    f(&mut served);
    served
}

const RAID0: BtrfsProfile = BtrfsProfile::Raid0;
const SINGLE: BtrfsProfile = BtrfsProfile::Single;

/// Fourteen clean trials: all bytes from the devices, nothing to say.
fn clean() -> Vec<(&'static str, Truth)> {
    let mut all = Vec::new();
    // 3 x 80 IOPS, 16k, throttled; 1 % of metadata on top.
    let mut t = Truth::new(Rw::Randread, 16384, true, btrfs(RAID0), 3);
    t.asked(4800 * 16384, 0);
    t.device_read = 4800 * 16384 * 101 / 100;
    all.push(("btrfs raid0 direct randread", t));
    // A mix; btrfs writes metadata for each copy-on-write, half as much again.
    let mut t = Truth::new(Rw::Randrw, 16384, true, btrfs(RAID0), 3);
    t.asked(2400 * 16384, 2350 * 16384);
    (t.device_read, t.device_write) = (2400 * 16384, 2350 * 16384 * 3 / 2);
    (t.own_read, t.own_write) = (Some(2400 * 16384), Some(2350 * 16384));
    all.push(("btrfs raid0 direct randrw", t));
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(400_000 * 4096, 0);
    t.device_read = 400_000 * 4096;
    all.push(("ext4 direct randread", t));
    // The flush is inside the measured time.
    let mut t = Truth::new(Rw::Write, MIB, false, filesystem(FsKind::Xfs), 1);
    t.asked(0, 2 * GIB);
    t.device_write = 2 * GIB + 20 * MIB;
    all.push(("xfs buffered write with end_fsync", t));
    // Mirrors write everything twice.
    let mut t = Truth::new(Rw::Randwrite, 4096, true, btrfs(BtrfsProfile::Raid1), 2);
    t.asked(0, 100 * MIB);
    t.device_write = 230 * MIB;
    t.own_write = Some(100 * MIB);
    all.push(("btrfs raid1 direct randwrite", t));
    let mut t = Truth::new(Rw::Randread, 4096, true, btrfs(BtrfsProfile::Raid1), 2);
    t.asked(100 * MIB, 0);
    t.device_read = 100 * MIB;
    all.push(("btrfs raid1 direct randread", t));
    // Buffered, cold, one pass: everything had to come from the device, with read-ahead a little more.
    let mut t = Truth::new(Rw::Read, 131_072, false, filesystem(FsKind::Ext4), 1);
    t.asked(200 * MIB, 0);
    t.device_read = 202 * MIB;
    all.push(("ext4 buffered sequential read, one pass", t));
    // The window's ends cost a little.
    let mut t = Truth::new(Rw::Read, MIB, true, filesystem(FsKind::Xfs), 1);
    t.asked(4 * GIB, 0);
    t.device_read = 4 * GIB * 98 / 100;
    all.push(("xfs direct read, 2 % missing at the ends", t));
    // Two reads and a few writes of somebody else, far below what matters.
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    (t.device_read, t.device_write) = (GIB + MIB, 2 * MIB);
    t.own_read = Some(GIB);
    t.other("systemd-journal", MIB, 2 * MIB);
    all.push(("a journal daemon beside it", t));
    // A busy neighbour on another disk: its bytes aren't on ours.
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    t.device_read = GIB;
    t.other("rsync", 4 * GIB, 4 * GIB);
    all.push(("a neighbour on another disk", t));
    // Loop workers and write-back threads move bytes, but not for themselves.
    let mut t = Truth::new(Rw::Randwrite, 16384, true, filesystem(FsKind::Ext3), 1);
    t.asked(0, 200 * MIB);
    t.device_write = 260 * MIB;
    t.other("kworker/u8:2", 0, 260 * MIB);
    t.other("jbd2/loop0-8", 0, 60 * MIB);
    all.push(("kernel threads at work", t));
    // A slow volume on a busy machine: checksums are read too, kernel threads fetch and write metadata, and a compiler
    // elsewhere moves a hundred times as much.
    let mut t = Truth::new(Rw::Randread, 16384, true, btrfs(RAID0), 1);
    t.asked(420 * 16384, 0);
    (t.device_read, t.own_read) = (456 * 16384, Some(394 * 16384));
    t.other("cargo", 673 * MIB, 39 * MIB);
    all.push(("a slow volume on a busy machine, reads", t));
    let mut t = Truth::new(Rw::Randrw, 16384, true, btrfs(RAID0), 3);
    t.asked(700 * 16384, 740 * 16384);
    (t.device_read, t.own_read) = (702 * 16384, Some(700 * 16384));
    (t.device_write, t.own_write) = (850 * 16384, Some(740 * 16384));
    t.other("bash", 3000 * MIB, 7000 * MIB);
    all.push(("a slow volume on a busy machine, mix", t));
    // Incompressible data on a compressing file system stays as it is.
    let mut t = Truth::new(Rw::Randread, 4096, true, btrfs(SINGLE), 1);
    t.file(256 * MIB, |f| f.disk_bytes = Some(256 * MIB));
    t.asked(GIB, 0);
    t.device_read = GIB;
    all.push(("btrfs with compression, incompressible data", t));
    all
}

#[test]
fn clean_trials_raise_no_alarm() {
    for (name, truth) in clean() {
        let (shares, found) = judged(&truth);
        assert!(found.is_empty(), "{name}: {found:?}");
        assert_eq!(shares.both, only(|s| s.device = 1.0), "{name}");
    }
}

#[test]
fn clean_trials_of_two_seconds_raise_no_alarm_either() {
    for (name, mut truth) in clean() {
        // The same bytes in the last two seconds of the samples' twenty.
        let engine = truth.trial.engine.as_mut().unwrap();
        engine.window.start_ns = engine.window.end_ns - 2_000_000_000;
        for totals in [&mut engine.read, &mut engine.write].into_iter().flatten() {
            (totals.ios, totals.bytes) = (totals.ios / 10, totals.bytes / 10);
        }
        for other in &mut truth.trial.evidence.others {
            (other.read_bytes, other.write_bytes) = (other.read_bytes / 10, other.write_bytes / 10);
        }
        let found = judged(&truth).1;
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

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
    // Nothing was fetched earlier: then only the second pass can have been in memory.
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
    // Somebody else writes and reads so much on the same disk that its counters alone would explain everything.
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
fn the_engine_without_cpu() {
    let base = || {
        let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
        t.asked(10 * GIB, 0);
        t.device_read = 10 * GIB;
        t
    };
    let mut t = base();
    t.thread_cores = 0.89;
    assert!(claims(&t).is_empty());
    t.thread_cores = 0.97;
    assert_eq!(claims(&t), [Claim::EngineCpuBound]);
    t.options().other.insert("hipri".to_owned(), "1".to_owned());
    assert!(claims(&t).is_empty(), "polling uses a core by design");
    let mut t = base();
    t.machine_busy = 0.99;
    let found = judged(&t).1;
    assert_eq!(found[0].claim, Claim::EngineCpuBound);
    assert!(found[0].text.contains("all cores"), "{}", found[0].text);
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

#[test]
fn others_that_can_t_be_seen() {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(GIB, 0);
    (t.device_read, t.own_read) = (2 * GIB, Some(GIB));
    t.trial.evidence.others_complete = false;
    assert_eq!(claims(&t), [Claim::Interference], "direct reads cause no other reads");
    // Writes do: journals, copy-on-write. Nobody may be accused on their account alone.
    let mut t = Truth::new(Rw::Randwrite, 4096, true, btrfs(SINGLE), 1);
    t.asked(0, GIB);
    (t.device_write, t.own_write) = (5 * GIB, Some(GIB));
    assert!(claims(&t).is_empty());
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
    let served = judged(&t).0;
    assert_served(served.read.unwrap(), all_unknown);
    assert_served(served.write.unwrap(), only(|s| s.device = 1.0));
}
