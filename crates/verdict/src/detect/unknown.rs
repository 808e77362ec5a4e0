//! Claims about bytes with an unknown source or destination, and the reasons.

use crate::below::Below;
use crate::detected::{Detected, evidence};
use crate::figures::{bytes, percent};
use crate::host_cache::HostCache;
use crate::scene::Scene;
use record::finding::{Claim, Served, Severity};
use record::topology::{Hidden, Unseen};

/// A gap in the counters, with the first reason that the record has for it.
fn because(gap: &str, reasons: &[String]) -> String {
    reasons.first().map_or_else(|| gap.to_owned(), |why| format!("{gap} ({why})"))
}

/// The remedy if nothing below a file system can be seen.
fn seen_elsewhere(unseen: &Unseen) -> String {
    match unseen.why {
        Hidden::Program => {
            "Measure on the file system where the program that serves this directory keeps its files, on the machine that has that \
             file system. Here, the figures hold for the program and the storage together."
        }
        Hidden::Host => {
            "Measure on the machine that runs this guest, or on a disk of the guest; here the host's memory may have answered."
        }
        Hidden::Directory => {
            "Measure where that directory can be seen (outside the container), or in a directory that is mounted into the container \
             from a disk."
        }
        Hidden::Depth | Hidden::Silent => {
            "Use a local block device or file system; run `diskproof doctor` to see which counters this machine has."
        }
    }
    .to_owned()
}

/// A device has I/O counters, but nothing below its backing file can be seen.
pub(super) fn backing(scene: &Scene<'_>) -> Option<Detected> {
    let unseen = scene.facts.trial.topology.unseen.iter().find(|unseen| unseen.device.is_some())?;
    let device = unseen.device.as_deref().unwrap_or_default();
    Some(Detected {
        claim: Claim::SourceUnknown,
        severity: Severity::Caveat,
        strength: 0.0,
        evidence: evidence([
            ("read_device_bytes", scene.facts.read.device),
            ("write_device_bytes", scene.facts.write.device),
        ]),
        text: format!(
            "The backing file of {device} is {unseen}: {device} moved the bytes, but it is unknown whether a disk or memory is behind it."
        ),
        remedy: seen_elsewhere(unseen),
    })
}

/// Bytes with an unknown source.
pub(super) fn share(scene: &Scene<'_>) -> Option<Detected> {
    const MATTERS: f64 = 0.05;
    let facts = scene.facts;
    let worst = |share: Option<Served>| share.map_or(0.0, |s| s.unknown);
    let share = worst(scene.shares.read).max(worst(scene.shares.write));
    if share < MATTERS {
        return None;
    }
    let host = HostCache::of(facts);
    let uncounted = (scene.shares.read.is_some() && facts.read.device.is_none())
        || (scene.shares.write.is_some() && facts.write.device.is_none());
    let nothing_seen = facts.trial.topology.direct().next().is_none();
    let (why, remedy) = if let Some(imported) = &facts.trial.imported {
        (
            format!("{} ({}) has no kernel counters, so a cache may have served them", imported.file, imported.format),
            "Measure the same job with diskproof, which counts where the bytes come from: `diskproof run JOB.fio --on DIR`, or an experiment."
                .to_owned(),
        )
    } else if let Some(unseen) = facts.trial.topology.unseen_ground().filter(|_| nothing_seen) {
        (format!("the directory is {unseen}; the share of the device is unknown"), seen_elsewhere(unseen))
    } else if uncounted && nothing_seen {
        (
            because("no block device below the stack could be seen", &facts.trial.topology.unknown),
            "Use a local block device or file system; run `diskproof doctor` to see which counters this machine has."
                .to_owned(),
        )
    } else if uncounted {
        (
            "the counters of its devices are missing for part of the measured time".to_owned(),
            "Run `diskproof doctor`: it shows which counters this machine lacks.".to_owned(),
        )
    } else if facts.fs() == Some("fuseblk") {
        (
            "the program that serves this file system (FUSE) uses the block device through the page cache, and no counter shows \
             how much that cache served"
                .to_owned(),
            "Use the kernel's own driver for this file system (for NTFS: ntfs3), or data several times as large as the machine's memory."
                .to_owned(),
        )
    } else if facts.before.is_none() && scene.shares.read.is_some() {
        (
            because("the data files' extents could not be read", &facts.trial.unread),
            "Use a file system that supports FIEMAP, or run as root.".to_owned(),
        )
    } else if facts.before.is_some_and(|f| f.expansion().is_none()) {
        (
            "the file system compresses but does not report by how much".to_owned(),
            "Run as root: btrfs then reports how much space a file takes on its devices.".to_owned(),
        )
    } else if facts.fs() == Some("fuse.zfs") {
        (
            "zfs-fuse has its own cache in its process, and no counter shows how much that cache served".to_owned(),
            "Use OpenZFS, which has counters for its cache (a lab guest has OpenZFS), or data several times as large as the cache (arc_max).".to_owned(),
        )
    } else if host.as_ref().is_some_and(|h| h.of_reads(facts).unknown >= MATTERS) {
        (
            "others use the disk under the loop device too, so its counters don't show how much the host's page cache served"
                .to_owned(),
            "Attach the loop device with direct I/O (losetup --direct-io=on), or make sure that nothing else uses the disk.".to_owned(),
        )
    } else if let Some(below) = [true, false].into_iter().find_map(|read| Below::of(facts, read)) {
        (
            format!(
                "{} moved {}, but {} below {} moved only {} for all its users, and there may be a cache or compression between them",
                below.upper.join(", "),
                bytes(below.upper_bytes),
                below.lower.join(", "),
                below.upper.join(", "),
                bytes(below.lower_bytes)
            ),
            "Put the backing file on a file system without compression (ext4 or xfs), attached with direct I/O, and write all of it \
             before reading it."
                .to_owned(),
        )
    } else {
        (
            "holes, compression and the page cache don't explain the bytes that the devices did not move"
                .to_owned(),
            "Look for a cache below the file system, or a device that is shared with the trial's own files."
                .to_owned(),
        )
    };
    Some(Detected {
        claim: Claim::SourceUnknown,
        severity: if share >= 0.5 { Severity::Caveat } else { Severity::Note },
        strength: share,
        evidence: evidence([
            ("unknown_read_share", scene.shares.read.map(|s| s.unknown)),
            ("unknown_write_share", scene.shares.write.map(|s| s.unknown)),
            ("read_asked_bytes", Some(facts.read.asked)),
            ("read_device_bytes", facts.read.device),
            ("write_asked_bytes", Some(facts.write.asked)),
            ("write_device_bytes", facts.write.device),
        ]),
        text: format!("The source or destination of {} of the bytes is unknown: {why}.", percent(share)),
        remedy,
    })
}
