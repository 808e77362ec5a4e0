//! Grounds that are NFS mounts of diskproof's own export, on the same machine or another.
//!
//! Two caches may serve I/O there: the client's page cache, and the memory of the server's file system. The client counts the
//! bytes that it fetched from the server and sent to it; the devices count the bytes that reached them. The difference is the
//! server's memory, except for holes and compression. docs/metrics.md, "NFS".

use crate::facts::{Facts, Flow};
use crate::shares::{HoleReach, expansion, read_share, take, write_share};
use crate::span::float;
use record::extents::Residency;
use record::finding::Served;
use record::nfs::{Nfs, NfsCounters};
use record::plan::Cell;
use record::stack::Layer;

/// Bytes between client and server within the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remote {
    pub(crate) read: f64,
    pub(crate) written: f64,
}

impl Remote {
    /// `None` if the ground isn't a mount of diskproof's own export, or if there are no counters.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        facts.trial.topology.exported.as_ref()?;
        let moved = |counter: fn(&NfsCounters) -> u64| facts.span.grown(|s| s.nfs.as_ref().map(counter));
        Some(Self { read: moved(|n| n.server_read_bytes)?, written: moved(|n| n.server_write_bytes)? })
    }
}

/// The NFS layer of a stack.
pub(crate) fn layer(cell: &Cell) -> Option<&Nfs> {
    cell.stack.layers.iter().find_map(|layer| match layer {
        Layer::Nfs(nfs) => Some(nfs),
        _ => None,
    })
}

/// Bytes of the data files in the server's page cache; `None`: not examined, or not reported.
pub(crate) fn server_cached(list: &[Residency]) -> Option<f64> {
    (!list.is_empty()).then(|| list.iter().map(|file| float(file.cached_bytes)).sum())
}

/// Bytes of the data files that the server had not yet written to its devices after the trial.
pub(crate) fn server_dirty(facts: &Facts<'_>) -> Option<f64> {
    let all: Option<Vec<f64>> =
        facts.trial.server_after.iter().map(|file| file.dirty_bytes.map(float)).collect();
    all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
}

/// The sources of reads. `None`: it isn't such a ground, or the counters don't show the sources.
pub(crate) fn reads(facts: &Facts<'_>, slack: f64) -> Option<Served> {
    let fetched = (Remote::of(facts)?.read / facts.read.asked).clamp(0.0, 1.0);
    let files = facts.before?;
    let device = read_share(facts)?.min(fetched);
    let mut served = Served { device, page_cache: 1.0 - fetched, ..Served::default() };
    let mut missing = fetched - device;
    take(&mut missing, HoleReach::of_holes(facts, &files).likely * fetched, &mut served.hole);
    match expansion(facts) {
        Some(ratio) => {
            take(&mut missing, device * (ratio - 1.0), &mut served.other);
            take(&mut missing, 1.0, &mut served.other_cache);
        }
        // The ratio of compression isn't known, so the server's memory and compression can't be told apart.
        None => served.unknown = missing,
    }
    Some(tidied(served, slack))
}

/// The shares of one client's reads and writes, of several clients: what its own cache served or took, by its own counters. The rest
/// passed the client; where the server got it from is a matter of all clients together.
pub(crate) fn of_client(facts: &Facts<'_>) -> (Option<Served>, Option<Served>) {
    let passed = |flow: &Flow, counter: fn(&NfsCounters) -> u64| {
        let share = facts.span.grown(|s| s.nfs.as_ref().map(counter)).map(|bytes| bytes / flow.asked);
        (flow.asked > 0.0).then(|| match share.map(|share| share.clamp(0.0, 1.0)) {
            Some(share) if 1.0 - share <= facts.slack(flow) => Served { device: 1.0, ..Served::default() },
            Some(share) => Served { device: share, page_cache: 1.0 - share, ..Served::default() },
            None => Served { unknown: 1.0, ..Served::default() },
        })
    };
    (passed(&facts.read, |n| n.server_read_bytes), passed(&facts.write, |n| n.server_write_bytes))
}

/// The destinations of writes.
pub(crate) fn writes(facts: &Facts<'_>, slack: f64) -> Option<Served> {
    let sent = (Remote::of(facts)?.written / facts.write.asked).clamp(0.0, 1.0);
    let device = write_share(facts)?.min(sent);
    let mut served = Served { device, page_cache: 1.0 - sent, ..Served::default() };
    let mut missing = sent - device;
    match facts.after.and_then(|files| files.expansion()) {
        Some(ratio) => {
            take(&mut missing, device * (ratio - 1.0), &mut served.other);
            take(&mut missing, 1.0, &mut served.other_cache);
        }
        None => served.unknown = missing,
    }
    Some(tidied(served, slack))
}

/// Adds shares within the tolerance to the devices' share, if the devices moved most.
fn tidied(mut served: Served, slack: f64) -> Served {
    let small = [
        &mut served.page_cache,
        &mut served.other_cache,
        &mut served.hole,
        &mut served.other,
        &mut served.unknown,
    ];
    for share in small {
        if *share <= slack && served.device > 0.5 {
            served.device += std::mem::take(share);
        }
    }
    served
}
