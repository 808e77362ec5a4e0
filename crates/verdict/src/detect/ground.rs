//! Claims about the devices or files under the ground.

use crate::below::Below;
use crate::detected::{Detected, WORTH_SAYING, by_share, evidence};
use crate::figures::{bytes, percent};
use crate::host_cache::HostCache;
use crate::scene::Scene;
use crate::span::number;
use record::finding::{Claim, Severity};
use record::topology::is_memory_fs;

/// The ground is memory.
pub(super) fn memory_backed(scene: &Scene<'_>) -> Option<Detected> {
    let why = scene.facts.trial.topology.memory().or_else(|| {
        let volume = scene.volumes.iter().find(|v| v.backing_fs.as_deref().is_some_and(is_memory_fs))?;
        Some(format!("volume {} lies on {}", volume.name, volume.backing_fs.as_deref().unwrap_or("memory")))
    })?;
    let facts = scene.facts;
    Some(Detected {
        claim: Claim::MemoryBacked,
        severity: Severity::Void,
        strength: 1.0,
        evidence: evidence([
            ("read_asked_bytes", Some(facts.read.asked)),
            ("write_asked_bytes", Some(facts.write.asked)),
            ("memory_bytes", facts.memory_total()),
        ]),
        text: format!("The storage under test is memory: {why}."),
        remedy: "Choose a directory or volume on a disk; `diskproof devices` lists them.".to_owned(),
    })
}

/// The page cache under a loop device served reads, or absorbed writes that were overwritten before they reached the disk.
pub(super) fn host_cache(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let host = HostCache::of(facts)?;
    let read = scene.shares.host_read;
    // Data that was still dirty at the end belongs to `not_durable`.
    let dirty = host.dirty(facts) / facts.write.asked.max(1.0);
    let write = (scene.shares.host_write - dirty).max(0.0);
    let share = read.max(write);
    if share < WORTH_SAYING {
        return None;
    }
    let told = |figure: Option<f64>| figure.map_or("an unknown part".to_owned(), bytes);
    let names = host.loops.join(", ");
    let (machine, device) =
        if host.guest { ("the host", "the guest's disk") } else { ("this machine", "the loop device") };
    let text = if read >= write {
        format!(
            "{} of the bytes read came from {machine}'s page cache under {names}: {device} read {}, the disk \
             under it {} (for all its users); the cache held {} of the backing file before the trial and {} after it.",
            percent(read),
            told(host.loop_read),
            told(host.leaf_read),
            told(host.cached_before),
            told(host.cached_after),
        )
    } else {
        format!(
            "{} of the bytes written were held in {machine}'s page cache under {names} and not on the disk when the \
             clock stopped: {device} took {}, the disk under it {} (for all its users).",
            percent(write),
            told(host.loop_written),
            told(host.leaf_written),
        )
    };
    Some(Detected {
        claim: Claim::ServedFromHostCache,
        severity: by_share(share),
        strength: share,
        evidence: evidence([
            ("host_cache_read_share", scene.shares.read.map(|_| read)),
            ("host_cache_write_share", scene.shares.write.map(|_| write)),
            ("loop_read_bytes", host.loop_read),
            ("leaf_read_bytes", host.leaf_read),
            ("loop_write_bytes", host.loop_written),
            ("leaf_write_bytes", host.leaf_written),
            ("backing_cached_before_bytes", host.cached_before),
            ("backing_cached_after_bytes", host.cached_after),
            ("backing_dirty_growth_bytes", host.dirty_growth),
        ]),
        text,
        remedy: remedy(&host),
    })
}

/// Reads from holes below the ground's devices.
pub(super) fn holes_below(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let share = scene.shares.below_read;
    if share < WORTH_SAYING {
        return None;
    }
    let below = Below::of(facts, true)?;
    Some(Detected {
        claim: Claim::ServedFromHoles,
        severity: by_share(share),
        strength: share,
        evidence: evidence([
            ("hole_below_share", Some(share)),
            ("read_asked_bytes", Some(facts.read.asked)),
            ("read_device_bytes", Some(below.upper_bytes)),
            ("read_deepest_bytes", Some(below.lower_bytes)),
            ("deepest_busy_share", below.busy),
        ]),
        text: format!(
            "{} of the bytes read came from holes below {}, where there is nothing to read: it delivered {}, but {} below it \
             moved only {} for all its users.",
            percent(share),
            below.upper.join(", "),
            bytes(below.upper_bytes),
            below.lower.join(", "),
            bytes(below.lower_bytes)
        ),
        remedy: "Write the whole device or backing file before reading it (a thin volume, a sparse file or a qcow2 image has no \
                 data where nothing was written), e.g. with a job that has rw=write over all of it."
            .to_owned(),
    })
}

/// A loop device that can cache its backing file a second time, if it isn't known to have done so.
pub(super) fn double_caching(scene: &Scene<'_>) -> Option<Detected> {
    let host = HostCache::of(scene.facts)?;
    if scene.shares.host_read.max(scene.shares.host_write) >= WORTH_SAYING {
        return None;
    }
    Some(Detected {
        claim: Claim::DoubleCaching,
        severity: Severity::Caveat,
        strength: 0.0,
        evidence: evidence([
            ("loop_read_bytes", host.loop_read),
            ("leaf_read_bytes", host.leaf_read),
            ("loops_without_direct_io", Some(f64::from(number(host.loops.len())))),
        ]),
        text: format!(
            "{} caches its backing file in {} memory, even if the workload uses direct I/O; it is unknown whether this cache served anything.",
            host.loops.join(", "),
            if host.guest { "the host's" } else { "this machine's" }
        ),
        remedy: remedy(&host),
    })
}

fn remedy(host: &HostCache<'_>) -> String {
    if host.guest {
        return "Let the guest's disk bypass the host's page cache (`cache: none` for the target's disks, the default)."
            .to_owned();
    }
    "Attach the loop device with direct I/O (losetup --direct-io=on); diskproof's own emulated volumes do."
        .to_owned()
}
