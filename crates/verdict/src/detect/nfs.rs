//! Claims about NFS mounts, on the machine that exports them or on another.

use crate::detected::{Detected, WORTH_SAYING, by_share, evidence};
use crate::figures::{bytes, percent};
use crate::nfs::{Remote, layer, server_cached, server_dirty};
use crate::scene::Scene;
use record::finding::{Claim, Severity};

/// Reads that the server served from its memory.
pub(super) fn server_cache(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let remote = Remote::of(facts)?;
    let share = scene.shares.read?.other_cache;
    if share < WORTH_SAYING {
        return None;
    }
    let (before, after) =
        (server_cached(&facts.trial.server_before), server_cached(&facts.trial.server_after));
    let told = |figure: Option<f64>| figure.map_or("an unknown part".to_owned(), bytes);
    let larger = facts.server_memory_total().map_or("a size well above memory".to_owned(), |memory| {
        format!("a size of {} or more (twice memory)", bytes(2.0 * memory))
    });
    Some(Detected {
        claim: Claim::ServedFromOtherCache,
        severity: by_share(share),
        strength: share,
        evidence: evidence([
            ("server_cache_read_share", Some(share)),
            ("nfs_read_from_server_bytes", Some(remote.read)),
            ("server_cached_before_bytes", before),
            ("server_cached_after_bytes", after),
            ("data_bytes", Some(facts.data_bytes())),
            ("memory_bytes", facts.server_memory_total()),
            ("read_asked_bytes", Some(facts.read.asked)),
            ("read_device_bytes", facts.read.device),
        ]),
        text: format!(
            "{} of the bytes read came from the NFS server's memory: it delivered {}, its devices {}; of {} of data its page cache \
             held {} before the trial and {} after it.",
            percent(share),
            bytes(remote.read),
            facts.read.device.map_or("an unknown part".to_owned(), bytes),
            bytes(facts.data_bytes()),
            told(before),
            told(after),
        ),
        remedy: format!(
            "direct: 1 bypasses the client's cache, but not the server's. For the devices' own speed use {larger}."
        ),
    })
}

/// Writes to an export that acknowledges them before they are durable.
pub(super) fn asynchronous(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    if facts.cell.is_together() && facts.trial.parts.is_empty() {
        // A client sees no device. The look of the machine that exports tells it.
        return None;
    }
    let written = scene.shares.write?;
    layer(facts.cell).filter(|nfs| nfs.is_async())?;
    let known = facts.write.device.is_some();
    let share = written.page_cache + written.other_cache;
    let left = if known {
        format!("{} of the bytes written were not on a device when the clock stopped", percent(share))
    } else {
        "It is unknown how many bytes were on a device when the clock stopped".to_owned()
    };
    Some(Detected {
        claim: Claim::NotDurable,
        severity: Severity::Caveat,
        strength: if known { share } else { 1.0 },
        evidence: evidence([
            ("not_on_device_share", known.then_some(share)),
            ("write_asked_bytes", Some(facts.write.asked)),
            ("write_device_bytes", facts.write.device),
            ("nfs_written_to_server_bytes", Remote::of(facts).map(|remote| remote.written)),
            ("server_dirty_after_bytes", server_dirty(facts)),
            ("machine_dirty_growth_bytes", facts.dirty_growth()),
        ]),
        text: format!(
            "The export is async: the server acknowledges writes and flushes before they are durable, so a crash loses data that \
             applications take for safe. {left}."
        ),
        remedy: "For writes that are durable when they are acknowledged use export: sync (the default)."
            .to_owned(),
    })
}
