//! Claims about the source and the destination of bytes.

use crate::arc::Arc;
use crate::detected::{Detected, WORTH_SAYING, by_share, evidence};
use crate::facts::Facts;
use crate::figures::{bytes, percent};
use crate::host_cache::HostCache;
use crate::nfs;
use crate::page_cache::turned_buffered;
use crate::scene::Scene;
use crate::shares::expansion;
use record::finding::{Claim, Served, Severity};
use record::topology::is_memory_fs;
use record::workload::{Ask, CacheStart, Layout};

/// The bytes that the devices moved for the engine, in words: by their share, since their counters may contain others' bytes too.
fn moved(served: Option<Served>, asked: f64) -> String {
    match served {
        Some(s) if s.unknown < 1.0 => bytes(s.device * asked),
        _ => "an unknown part".to_owned(),
    }
}

/// Reads that no device served: holes.
pub(super) fn holes(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let share = scene.shares.read?.hole - scene.shares.below_read;
    if share < WORTH_SAYING {
        return None;
    }
    let files = facts.before.unwrap_or_default();
    let empty = if files.unwritten >= files.hole { "unwritten extents" } else { "holes" };
    let remedy = match facts.layout() {
        Layout::Unwritten | Layout::Hole if matches!(facts.cell.workload.ask, Ask::Options(_)) => {
            "Write the file before reading it: layout: written (the default)."
        }
        Layout::Unwritten | Layout::Hole => {
            "Write the files before reading them: layout: written, or a job with rw=write that runs first."
        }
        Layout::Written => {
            "layout: written is set, yet the file has holes: see whether its size fits the file system, and what \
             punched them (discard, deduplication, a sparse copy)."
        }
    };
    Some(Detected {
        claim: Claim::ServedFromHoles,
        severity: by_share(share),
        strength: share,
        evidence: evidence([
            ("hole_share", Some(share)),
            ("read_asked_bytes", Some(facts.read.asked)),
            ("read_device_bytes", facts.read.device),
            ("file_bytes", Some(files.size)),
            ("file_hole_bytes", Some(files.hole)),
            ("file_unwritten_bytes", Some(files.unwritten)),
        ]),
        text: format!(
            "{} of the bytes read came from {empty}, where there is nothing to read: {} were asked for, the devices \
             delivered {}.",
            percent(share),
            bytes(facts.read.asked),
            moved(scene.shares.read, facts.read.asked)
        ),
        remedy: remedy.to_owned(),
    })
}

/// I/O that the page cache served.
pub(super) fn page_cache(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    if facts.fs().is_some_and(is_memory_fs) {
        return None;
    }
    let own = |served: Option<Served>, host: f64| served.map_or(0.0, |s| s.page_cache - host);
    let read = own(scene.shares.read, scene.shares.host_read);
    let absorbed = own(scene.shares.write, scene.shares.host_write);
    // Data that was still in memory at the end belongs to `not_durable`.
    let write = if facts.is_flushed() { absorbed } else { 0.0 };
    let share = read.max(write);
    if share < WORTH_SAYING {
        return None;
    }
    let text = if read >= write {
        format!(
            "{} of the bytes read came from the page cache: {} were asked for, the devices delivered {}; the cache held \
             {} of the data before the trial and {} after it.",
            percent(read),
            bytes(facts.read.asked),
            moved(scene.shares.read, facts.read.asked),
            facts.cached_before.map_or("an unknown part".to_owned(), bytes),
            facts.cached_after.map_or("an unknown part".to_owned(), bytes),
        )
    } else {
        format!(
            "{} of the bytes written were overwritten in the page cache before they reached a device: {} were written, \
             the devices took {}.",
            percent(write),
            bytes(facts.write.asked),
            moved(scene.shares.write, facts.write.asked)
        )
    };
    Some(Detected {
        claim: Claim::ServedFromPageCache,
        severity: by_share(share),
        strength: share,
        evidence: evidence([
            ("page_cache_read_share", scene.shares.read.map(|_| read)),
            ("page_cache_write_share", scene.shares.write.map(|_| absorbed)),
            ("read_asked_bytes", Some(facts.read.asked)),
            ("read_device_bytes", facts.read.device),
            ("write_asked_bytes", Some(facts.write.asked)),
            ("write_device_bytes", facts.write.device),
            ("cached_before_bytes", facts.cached_before),
            ("cached_after_bytes", facts.cached_after),
            ("data_bytes", Some(facts.data_bytes())),
            ("memory_bytes", facts.memory_total()),
        ]),
        text,
        remedy: cache_remedy(facts, read >= write),
    })
}

/// Reads that ZFS's cache in memory (ARC) served.
pub(super) fn arc(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let share = scene.shares.read?.other_cache;
    if share < WORTH_SAYING || facts.fs() != Some("zfs") {
        return None;
    }
    let arc = Arc::of(facts)?;
    let told = |figure: Option<f64>| figure.map_or("an unknown part".to_owned(), bytes);
    let lists = match (arc.mru_hits, arc.mfu_hits) {
        (Some(once), Some(often)) => {
            format!(
                "; {once:.0} hits were in the MRU list (blocks used once), {often:.0} in the MFU list (blocks used more often)"
            )
        }
        _ => String::new(),
    };
    // The ARC keeps data as it is on the devices, compressed.
    let ratio = expansion(facts).unwrap_or(1.0);
    let twice = 2.0 * arc.most.unwrap_or(0.0) * ratio;
    let size = match facts.data_bytes() {
        data if data >= twice => format!("a size far above {}", bytes(data)),
        _ if ratio > 1.0 => {
            format!(
                "a size of {} or more (twice the cache, which keeps the data compressed {ratio:.1}:1)",
                bytes(twice)
            )
        }
        _ => format!("a size of {} or more (twice the cache)", bytes(twice)),
    };
    Some(Detected {
        claim: Claim::ServedFromOtherCache,
        severity: by_share(share),
        strength: share,
        evidence: evidence([
            ("arc_read_share", Some(share)),
            ("arc_blocks_asked", Some(arc.asked)),
            ("arc_demand_data_accesses", Some(arc.demanded)),
            ("arc_demand_data_hits", Some(arc.found)),
            ("arc_blocks_read_from_devices", Some(arc.fetched)),
            ("arc_mru_hits", arc.mru_hits),
            ("arc_mfu_hits", arc.mfu_hits),
            ("arc_mru_ghost_hits", arc.mru_ghost_hits),
            ("arc_mfu_ghost_hits", arc.mfu_ghost_hits),
            ("arc_l2_hits", arc.l2_hits),
            ("arc_bytes", arc.size),
            ("arc_most_bytes", arc.most),
            ("data_bytes", Some(facts.data_bytes())),
            ("read_asked_bytes", Some(facts.read.asked)),
            ("read_device_bytes", facts.read.device),
        ]),
        text: format!(
            "{} of the bytes read came from ZFS's cache in memory (ARC): of {:.0} blocks asked for, {:.0} were read from the \
             devices in this time{lists}. The cache held {} of at most {}; the data set is {}.",
            percent(share),
            arc.asked,
            arc.fetched,
            told(arc.size),
            told(arc.most),
            bytes(facts.data_bytes()),
        ),
        remedy: format!(
            "For the devices' own speed use {size}, a smaller arc_max, or primarycache: metadata; direct: 1 bypasses ARC only from OpenZFS 2.3 on."
        ),
    })
}

fn cache_remedy(facts: &Facts<'_>, reads: bool) -> String {
    let larger = facts.memory_total().map_or("a size well above memory".to_owned(), |m| {
        format!("a size of {} or more (twice memory)", bytes(2.0 * m))
    });
    match facts.direct() {
        Some(true) if facts.before.is_some_and(|f| turned_buffered(facts, &f)) => format!(
            "direct: 1 is set, but this file system serves such files through the page cache; use {larger}, or a stack \
             without compression or data journalling."
        ),
        Some(true) => format!("direct: 1 is set and was not honoured; use {larger}."),
        _ if reads && facts.cache_start() == CacheStart::Warm => {
            "cache: warm asks for just that; for the storage itself, use cache: cold and direct: 1."
                .to_owned()
        }
        _ if reads && facts.cache_start() == CacheStart::Keep => {
            format!("Use cache: cold with direct: 1, or {larger}.")
        }
        _ if reads => {
            format!("The cache was cold at first and filled during the trial; use direct: 1, or {larger}.")
        }
        _ => format!("Use direct: 1, fsync: 1 if your application does that, or {larger}."),
    }
}

/// The device moved fewer bytes, since the file system compresses.
pub(crate) fn compressed(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let files = if facts.write.asked > facts.read.asked { facts.after } else { facts.before }?;
    let encoded = if files.size > 0.0 { files.encoded / files.size } else { 0.0 };
    let ratio = files.expansion();
    let saved = scene.shares.read.map_or(0.0, |s| s.other).max(scene.shares.write.map_or(0.0, |s| s.other));
    let stored_smaller = encoded >= WORTH_SAYING && ratio.is_none_or(|r| r >= 1.0 + WORTH_SAYING);
    if !stored_smaller && saved < WORTH_SAYING {
        return None;
    }
    let severity = if saved >= 0.9 {
        Severity::Void
    } else if saved >= 0.1 || ratio.is_none_or(|r| r >= 1.1) {
        Severity::Caveat
    } else {
        Severity::Note
    };
    let declared = facts.options().map(|o| o.buffer_compress_percentage);
    let remedy = match declared {
        Some(0) => {
            "Incompressible data was asked for (buffer_compress_percentage: 0), yet the file system could compress it: see \
             what wrote the file."
                .to_owned()
        }
        Some(p) => format!(
            "The figure holds for data like this only (buffer_compress_percentage: {p} is set); set it to the percentage by which \
             your own data compresses, or to 0 for the devices' own speed."
        ),
        None if facts.engine.copied.is_some() => "A copy onto a compressing stack shows this: read compress_ratio together with \
                                                  the rate, or mount without compression for the devices' own speed."
            .to_owned(),
        None => "Set buffer_compress_percentage and refill_buffers in the job file to match your own data, or mount without \
                 compression for the devices' own speed."
            .to_owned(),
    };
    let stored = match (ratio, files.disk) {
        (Some(ratio), Some(disk)) => format!(
            "{} of data take {} on the devices ({ratio:.1}:1)",
            bytes(files.size - files.hole - files.unwritten),
            bytes(disk)
        ),
        _ => format!(
            "{} of the data is compressed, and the file system doesn't report by how much",
            percent(encoded)
        ),
    };
    Some(Detected {
        claim: Claim::Compressed,
        severity,
        strength: saved.max(ratio.map_or(0.0, |r| 1.0 - 1.0 / r)),
        evidence: evidence([
            ("decompressed_read_share", scene.shares.read.map(|s| s.other)),
            ("compressed_write_share", scene.shares.write.map(|s| s.other)),
            ("file_bytes", Some(files.size)),
            ("file_compressed_bytes", Some(files.encoded)),
            ("file_disk_bytes", files.disk),
            ("compression_ratio", ratio.filter(|_| files.disk.is_some())),
            ("read_asked_bytes", Some(facts.read.asked)),
            ("read_device_bytes", facts.read.device),
            ("write_asked_bytes", Some(facts.write.asked)),
            ("write_device_bytes", facts.write.device),
        ]),
        text: format!("The file system compresses: {stored}, so the devices moved less than was asked for."),
        remedy,
    })
}

/// Writes that were not on the device at the end of the measured time.
pub(super) fn not_durable(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    if facts.fs().is_some_and(is_memory_fs) {
        return None;
    }
    let written = scene.shares.write?;
    if nfs::layer(facts.cell).is_some_and(|nfs| nfs.is_async()) {
        // that case has its own claim
        return None;
    }
    let share = written.page_cache + written.other_cache - scene.shares.host_write;
    // A flush goes through a loop device to its backing file; without a flush, the written data may be in the host's memory only.
    let host = HostCache::of(facts);
    let on_host = host.as_ref().map_or(0.0, |h| h.dirty(facts));
    let at_server = nfs::server_dirty(facts).unwrap_or(0.0);
    let left = at_server + facts.dirty_after.unwrap_or(0.0) + facts.after.map_or(0.0, |f| f.delalloc);
    let left_share = ((left + on_host) / facts.write.asked).min(1.0);
    let share = if facts.is_flushed() {
        left_share
    } else {
        (share + on_host / facts.write.asked).max(left_share).min(1.0)
    };
    if share < WORTH_SAYING.max(facts.slack(&facts.write)) {
        return None;
    }
    let remedy = if on_host > left {
        "Set end_fsync: 1 (a flush passes through a loop device to the disk; direct: 1 alone does not), or attach the loop device \
         with direct I/O (losetup --direct-io=on)."
    } else if facts.is_flushed() {
        "end_fsync: 1 or direct: 1 is set, yet dirty pages were left: something else wrote to the file, or the file system \
         ignored the flush."
    } else if matches!(facts.cell.workload.ask, Ask::Options(_)) {
        "Set end_fsync: 1 (the flush then counts), or direct: 1."
    } else if facts.engine.copied.is_some() {
        "Set sync: end (the flush then counts)."
    } else {
        "Set end_fsync=1 (the flush then counts) or direct=1 in the job file."
    };
    Some(Detected {
        claim: Claim::NotDurable,
        severity: by_share(share),
        strength: share,
        evidence: evidence([
            ("not_on_device_share", Some(share)),
            ("write_asked_bytes", Some(facts.write.asked)),
            ("write_device_bytes", facts.write.device),
            ("dirty_after_bytes", facts.dirty_after),
            ("server_dirty_after_bytes", nfs::server_dirty(facts)),
            ("delayed_allocation_bytes", facts.after.map(|f| f.delalloc)),
            ("backing_dirty_growth_bytes", host.as_ref().and_then(|h| h.dirty_growth)),
            ("machine_dirty_growth_bytes", facts.dirty_growth()),
        ]),
        text: format!(
            "{} of the bytes written were still in memory when the clock stopped: {} were written, the devices had taken {}.",
            percent(share),
            bytes(facts.write.asked),
            moved(scene.shares.write, facts.write.asked)
        ),
        remedy: remedy.to_owned(),
    })
}
