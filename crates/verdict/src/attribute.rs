//! Attributes the bytes of one trial to their sources and destinations.
//!
//! The rules, with their tolerances and reasons, are in docs/metrics.md ("Where the bytes came from"). In short: bytes that the
//! devices counted are theirs; missing bytes are explained only as far as extents, compression and the page cache's residency
//! can explain them; the rest is `unknown`. A missing counter explains nothing.

use crate::arc::{self, Arc};
use crate::below::Below;
use crate::facts::Facts;
use crate::host_cache::{CacheShares, HostCache};
use crate::nfs;
use crate::page_cache::{self, may_be_cached, most_cached, read_ahead};
use crate::shares::{HoleReach, expansion, read_share, take, write_share};
use record::finding::Served;
use record::plan::Cell;
use record::topology::is_memory_fs;
use record::trial::TrialRecord;

/// Shares of the requested bytes, by source or destination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attribution {
    /// Reads; `None` if there were none.
    pub read: Option<Served>,
    /// Writes; `None` if there were none.
    pub write: Option<Served>,
    /// Both, weighted by requested bytes.
    pub both: Served,
    /// The part of the reads' page cache share that the cache under loop devices served.
    pub host_read: f64,
    /// The part of the writes' page cache share that the cache under loop devices took.
    pub host_write: f64,
    /// The part of the reads' share of holes that holes below the ground's devices served.
    pub below_read: f64,
}

/// Attributes one trial. `None` if the engine never ran.
#[must_use]
pub fn trial(trial: &TrialRecord, cell: &Cell) -> Option<Attribution> {
    Facts::of(trial, cell).map(|facts| attribute(&facts))
}

pub(crate) fn attribute(facts: &Facts<'_>) -> Attribution {
    let host = HostCache::of(facts);
    let kept_read = host.as_ref().map(|h| h.of_reads(facts)).unwrap_or_default();
    let kept_write = host.as_ref().map(|h| h.of_writes(facts)).unwrap_or_default();
    let read = (facts.read.asked > 0.0).then(|| reads(facts)).map(|served| followed(served, kept_read));
    let (read, below_read) = deeper(facts, read, true);
    let write = (facts.write.asked > 0.0).then(|| writes(facts)).map(|served| followed(served, kept_write));
    let (write, _) = deeper(facts, write, false);
    let hosted = |followed: Option<(Served, f64)>| followed.map_or(0.0, |(_, host)| host);
    let served = |followed: Option<(Served, f64)>| followed.map(|(served, _)| served);
    Attribution {
        host_read: hosted(read),
        host_write: hosted(write),
        below_read,
        ..Attribution::of_both(facts, served(read), served(write))
    }
}

impl Attribution {
    /// The shares of both directions, weighted by requested bytes.
    pub(crate) fn of_both(facts: &Facts<'_>, read: Option<Served>, write: Option<Served>) -> Self {
        let both = match (read, write) {
            (Some(r), Some(w)) => mix(r, facts.read.asked, w, facts.write.asked),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => nobody_knows(),
        };
        Self { read, write, both, host_read: 0.0, host_write: 0.0, below_read: 0.0 }
    }
}

/// Follows the devices' share below loop devices that cache their backing files; returns the shares, and the host's cache's part.
fn followed(served: Served, kept: CacheShares) -> (Served, f64) {
    let (host, unknown) = (served.device * kept.host, served.device * kept.unknown);
    let followed = Served {
        device: served.device - host - unknown,
        page_cache: served.page_cache + host,
        unknown: served.unknown + unknown,
        ..served
    };
    (followed, host)
}

/// Limits the devices' share to what the deepest devices moved; returns the shares, and the part of holes in between.
fn deeper(facts: &Facts<'_>, followed: Option<(Served, f64)>, read: bool) -> (Option<(Served, f64)>, f64) {
    let (Some((served, host)), Some(below)) = (followed, Below::of(facts, read)) else {
        return (followed, 0.0);
    };
    let lost = served.device * below.missing;
    let (hole, unknown) = if below.holes { (lost, 0.0) } else { (0.0, lost) };
    let deeper = Served {
        device: served.device - lost,
        hole: served.hole + hole,
        unknown: served.unknown + unknown,
        ..served
    };
    (Some((deeper, host)), hole)
}

/// The weighted mean of shares.
pub(crate) fn mix(a: Served, weight_a: f64, b: Served, weight_b: f64) -> Served {
    let part = weight_a / (weight_a + weight_b);
    let mean = |x: f64, y: f64| x * part + y * (1.0 - part);
    Served {
        device: mean(a.device, b.device),
        page_cache: mean(a.page_cache, b.page_cache),
        hole: mean(a.hole, b.hole),
        other: mean(a.other, b.other),
        unknown: mean(a.unknown, b.unknown),
        other_cache: mean(a.other_cache, b.other_cache),
    }
}

fn nobody_knows() -> Served {
    Served { unknown: 1.0, ..Served::default() }
}

fn reads(facts: &Facts<'_>) -> Served {
    if facts.fs().is_some_and(is_memory_fs) {
        return Served { page_cache: 1.0, ..Served::default() };
    }
    let slack = facts.slack(&facts.read);
    if let Some(served) = zfs_reads(facts, slack).or_else(|| nfs::reads(facts, slack)) {
        return served;
    }
    let Some(device) = read_share(facts) else {
        let all_empty = facts.before.is_some_and(|f| f.size > 0.0 && f.empty_share() >= 1.0);
        let stays_empty = facts.write.asked == 0.0;
        return if all_empty && stays_empty {
            Served { hole: 1.0, ..Served::default() }
        } else {
            nobody_knows()
        };
    };
    let kept = facts.before.map_or(0.0, |files| page_cache::least_cached(facts, &files));
    let device = device.min(1.0 - kept);
    let mut missing = 1.0 - device - kept;
    if missing <= slack {
        return settle(Served { device, page_cache: kept, ..Served::default() }, missing, slack);
    }
    let mut served = Served { device, page_cache: kept, ..Served::default() };
    let Some(files) = facts.before else {
        return Served { unknown: missing, ..served };
    };
    let holes = HoleReach::of_holes(facts, &files);
    let cacheable = may_be_cached(facts, &files);
    let first = if cacheable || files.encoded > 0.0 { holes.likely } else { holes.most };
    take(&mut missing, first, &mut served.hole);
    // The ratio of compression isn't known, so the page cache and compression can't be told apart.
    if let Some(ratio) = expansion(facts) {
        take(&mut missing, device * (ratio - 1.0), &mut served.other);
        if cacheable {
            let ahead = missing.min(read_ahead(facts));
            missing -= ahead;
            served.device += ahead / ratio;
            served.other += ahead * (1.0 - 1.0 / ratio);
            take(&mut missing, most_cached(facts) - kept, &mut served.page_cache);
        }
    }
    take(&mut missing, holes.most - served.hole, &mut served.hole);
    settle(served, missing, slack)
}

/// Attributes reads on OpenZFS by the ARC's counters, which say how many blocks were read from the devices, whatever else the devices
/// read along with them. `None` without these counters.
fn zfs_reads(facts: &Facts<'_>, slack: f64) -> Option<Served> {
    if facts.fs() != Some("zfs") {
        return None;
    }
    let files = facts.before?;
    let kept = Arc::of(facts)?.share();
    let hole = HoleReach::of_holes(facts, &files).likely.min(1.0);
    // The cache got no request: all were holes, or it isn't known.
    let Some(kept) = kept else {
        return (hole >= 1.0 - slack).then(|| Served { hole: 1.0, ..Served::default() });
    };
    let stored = 1.0 - hole;
    let fetched = stored * (1.0 - kept);
    let device = fetched / expansion(facts).unwrap_or(1.0);
    let mut served =
        Served { device, hole, other: fetched - device, other_cache: stored - fetched, ..Served::default() };
    // The devices delivered at least that.
    let counted = facts.read.device.map_or(0.0, |bytes| bytes / facts.read.asked);
    let missing = served.device - counted;
    if missing > slack {
        (served.device, served.unknown) = (counted, missing);
    }
    for share in [&mut served.hole, &mut served.other_cache, &mut served.other] {
        if *share <= slack && served.device > 0.5 {
            served.device += std::mem::take(share);
        }
    }
    Some(served)
}

fn writes(facts: &Facts<'_>) -> Served {
    if facts.fs().is_some_and(is_memory_fs) {
        return Served { page_cache: 1.0, ..Served::default() };
    }
    let slack = facts.slack(&facts.write);
    if let Some(served) = nfs::writes(facts, slack) {
        return served;
    }
    let Some(device) = write_share(facts) else {
        return nobody_knows();
    };
    let mut missing = 1.0 - device;
    if missing <= slack {
        return Served { device: 1.0, ..Served::default() };
    }
    let mut served = Served { device, ..Served::default() };
    // The files were not examined, or the ratio of compression isn't known: unknown.
    if let Some(ratio) = facts.after.and_then(|f| f.expansion()) {
        take(&mut missing, device * (ratio - 1.0), &mut served.other);
        let cacheable = facts.after.is_some_and(|files| may_be_cached(facts, &files));
        if facts.fs() == Some("zfs") {
            if arc::on_their_way(facts).is_some_and(|bytes| bytes > 0.0) {
                take(&mut missing, 1.0, &mut served.other_cache);
            }
        } else if cacheable && kept_in_memory(facts) {
            take(&mut missing, 1.0, &mut served.page_cache);
        }
    }
    settle(served, missing, slack)
}

/// Adds the rest to `unknown`, or to the largest known class if it is within the tolerance.
fn settle(mut served: Served, missing: f64, slack: f64) -> Served {
    let classes = [
        &mut served.device,
        &mut served.page_cache,
        &mut served.other_cache,
        &mut served.hole,
        &mut served.other,
    ];
    if missing <= slack
        && let Some(largest) = classes.into_iter().max_by(|a, b| a.total_cmp(b))
        && *largest > 0.0
    {
        *largest += missing;
    } else {
        served.unknown += missing.max(0.0);
    }
    served
}

/// Whether something shows that written bytes stayed in memory: dirty or cached pages of the files, delayed allocation, or more
/// dirty memory on the machine than before.
fn kept_in_memory(facts: &Facts<'_>) -> bool {
    let some = |bytes: Option<f64>| bytes.is_some_and(|b| b > 0.0);
    some(facts.dirty_after)
        || some(facts.cached_after)
        || some(facts.after.map(|f| f.delalloc))
        || facts.dirty_growth().is_some_and(|b| b > facts.slack(&facts.write) * facts.write.asked)
}
