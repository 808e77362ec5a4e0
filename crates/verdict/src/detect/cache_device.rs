//! Claims about LVM caches and bcache: their hits, their misses, and whether they were still filling.

use crate::cache_device::{BcacheUse, CacheUse, WritecacheUse};
use crate::detected::{Detected, WORTH_SAYING, evidence};
use crate::facts::Facts;
use crate::figures::{bytes, percent, with_unit};
use crate::scene::Scene;
use crate::span::float;
use record::finding::{Claim, Severity};
use record::stack::Rebuild;
use record::volume::{Volume, VolumeKind};
use std::collections::BTreeMap;

/// The least share of requests with which a cache takes part.
const PART: f64 = 0.10;
/// A cache that copies this share of the data into itself within one trial is filling.
const FILLING: f64 = 0.05;
/// The least number of requests for a claim.
const ENOUGH: f64 = 50.0;

/// The cache served requests.
pub(super) fn served(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let Some(cache) = CacheUse::of(facts.trial) else { return served_by_bcache(facts) };
    let share = cache.both_share()?;
    if share < WORTH_SAYING || misses(&cache, facts) {
        return None;
    }
    let filled = cache.promotions * cache.block_bytes;
    let filling = filled >= FILLING * facts.data_bytes();
    let state = if filling { " The cache was still filling, so this rate does not last." } else { "" };
    let dirty = if cache.dirty_after_bytes > 0.0 {
        format!("; {} of the data written was not on the origin yet", bytes(cache.dirty_after_bytes))
    } else {
        String::new()
    };
    let text = format!(
        "{}; {:.0} blocks of {} were promoted to the cache ({} of {} of data) and {:.0} were demoted{dirty}.{state}",
        of_requests(&cache),
        cache.promotions,
        bytes(cache.block_bytes),
        bytes(filled),
        bytes(facts.data_bytes()),
        cache.demotions,
    );
    Some(Detected {
        claim: Claim::ServedFromCacheDevice,
        severity: if filling { Severity::Caveat } else { Severity::Note },
        strength: share,
        evidence: counters(&cache, facts),
        text,
        remedy: if filling {
            filling_remedy(facts)
        } else {
            "The figure holds for requests that repeat as these do, on data that fits in the cache. For the origin's own speed, \
             measure a stack without the cache."
                .to_owned()
        },
    })
}

/// The cache missed nearly all requests.
pub(super) fn missed(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let Some(cache) = CacheUse::of(facts.trial) else { return missed_by_bcache(facts) };
    if !misses(&cache, facts) {
        return None;
    }
    let share = cache.both_share()?;
    let why = if is_stream(facts) {
        "This is expected: a cache has blocks that were requested before, and a sequential stream requests each block once. So the \
         figure is the origin's"
    } else {
        "So the figure is the origin's"
    };
    let copied = if cache.promotions >= PART * (cache.reads + cache.writes) {
        format!(
            ". But the policy {} promoted {:.0} blocks of {} ({}) to the cache meanwhile, which costs time on both devices: the \
             origin alone may be faster",
            cache.policy,
            cache.promotions,
            bytes(cache.block_bytes),
            bytes(cache.promotions * cache.block_bytes)
        )
    } else {
        format!("; {:.0} blocks of {} were promoted", cache.promotions, bytes(cache.block_bytes))
    };
    Some(Detected {
        claim: Claim::CacheMissed,
        severity: Severity::Caveat,
        strength: 1.0 - share,
        evidence: counters(&cache, facts),
        text: format!("{}. {why}{copied}.", of_requests(&cache)),
        remedy: format!(
            "To see what the cache gains, use small random requests that repeat, on data that fits in the cache (size below {}) \
             and on a stack that stays up over the rounds (rebuild: run).",
            bytes(cache.cache_bytes)
        ),
    })
}

/// A write cache took writes.
pub(super) fn write_cache(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let cache = WritecacheUse::of(facts.trial)?;
    let all = cache.reads + cache.writes;
    let used = cache.taken + cache.read_hits;
    if all < ENOUGH || used / all < WORTH_SAYING {
        return None;
    }
    let part = |part: f64, of: f64| if of > 0.0 { percent(part / of) } else { "none".to_owned() };
    let waited = cache.waits.filter(|waits| *waits > 0.0);
    let waits = waited.map_or(String::new(), |waits| format!("; {waits:.0} writes waited for room in it"));
    let filling = cache.full_after - cache.full_before >= FILLING;
    Some(Detected {
        claim: Claim::ServedFromCacheDevice,
        severity: if filling { Severity::Caveat } else { Severity::Note },
        strength: used / all,
        evidence: evidence([
            ("writecache_blocks_written", Some(cache.writes)),
            ("writecache_blocks_taken", Some(cache.taken)),
            ("writecache_blocks_read", Some(cache.reads)),
            ("writecache_read_hits", Some(cache.read_hits)),
            ("writecache_waits_for_room", cache.waits),
            ("writecache_full_share_before", Some(cache.full_before)),
            ("writecache_full_share_after", Some(cache.full_after)),
        ]),
        text: format!(
            "The LVM write cache took {} of the blocks written and served {} of the blocks read; it was {} full before and {} after{waits}.{}",
            part(cache.taken, cache.writes),
            part(cache.read_hits, cache.reads),
            percent(cache.full_before),
            percent(cache.full_after),
            if filling { " Once it is full, writes run at the origin's rate." } else { "" },
        ),
        remedy: "For the rate that lasts, write several times what the cache holds (a longer trial, or a smaller cache)."
            .to_owned(),
    })
}

/// bcache served reads, or kept writes for later.
fn served_by_bcache(facts: &Facts<'_>) -> Option<Detected> {
    let cache = BcacheUse::of(facts.trial)?;
    let reads = cache.read_share().filter(|_| cache.reads() >= ENOUGH).unwrap_or(0.0);
    let kept = kept_by_bcache(&cache, facts);
    if reads < PART && kept < WORTH_SAYING {
        return None;
    }
    // A miss goes to the cache, so that a repeated read will hit.
    let filling = cache.misses >= PART * cache.reads().max(1.0);
    let lasting = match (filling, kept >= WORTH_SAYING) {
        (true, _) => " The cache was still filling, so this rate does not last.",
        (false, true) => " Writes at this rate don't last: the backing device still has to take them.",
        (false, false) => "",
    };
    Some(Detected {
        claim: Claim::ServedFromCacheDevice,
        severity: if lasting.is_empty() { Severity::Note } else { Severity::Caveat },
        strength: reads.max(kept),
        evidence: bcache_counters(&cache, facts),
        text: format!("{}.{lasting}", of_bcache(&cache, facts)),
        remedy: if filling {
            filling_remedy(facts)
        } else {
            "The figure holds for requests that repeat as these do, on data that fits in the cache. For the backing device's own \
             speed, measure a stack without the cache, or with mode: none; for writes that last, write several times what the cache \
             holds."
                .to_owned()
        },
    })
}

/// bcache served nearly no reads, and kept no writes.
fn missed_by_bcache(facts: &Facts<'_>) -> Option<Detected> {
    let cache = BcacheUse::of(facts.trial)?;
    let share = cache.read_share()?;
    let caches = cache.mode != "none";
    if !caches || cache.reads() < ENOUGH || share >= PART || kept_by_bcache(&cache, facts) >= WORTH_SAYING {
        return None;
    }
    let why = if cache.bypassed >= (1.0 - PART) * cache.reads() {
        "Most of them bypassed the cache: as a sequential stream (sequential_cutoff), or because the cache was slow at that moment \
         (congested_read_threshold_us)"
    } else {
        "Their data went to the cache, which costs time on both devices"
    };
    Some(Detected {
        claim: Claim::CacheMissed,
        severity: Severity::Caveat,
        strength: 1.0 - share,
        evidence: bcache_counters(&cache, facts),
        text: format!("{}. {why}. So the figure is the backing device's.", of_bcache(&cache, facts)),
        remedy: "To see what the cache gains, use small random requests that repeat, on data that fits in the cache and on a stack \
                 that stays up over the rounds (rebuild: run), and set sequential_cutoff: 0 to have streams cached, too, and congested_read_threshold_us: 0 to have \
                 slow times cached."
            .to_owned(),
    })
}

/// The share of the bytes written that only the cache had after the load, of those that it did not have before.
fn kept_by_bcache(cache: &BcacheUse, facts: &Facts<'_>) -> f64 {
    let kept = (cache.dirty_after_bytes - cache.dirty_before_bytes).max(0.0);
    if facts.write.asked > 0.0 { (kept / facts.write.asked).min(1.0) } else { 0.0 }
}

fn of_bcache(cache: &BcacheUse, facts: &Facts<'_>) -> String {
    let reads =
        cache.read_share().map(|share| format!("it served {} of {:.0} reads", percent(share), cache.reads()));
    let writes = (facts.write.asked > 0.0).then(|| {
        let [after, asked] = [cache.dirty_after_bytes, facts.write.asked].map(bytes);
        format!("{after} of data was not on the backing device yet when the load ended, of {asked} written")
    });
    let sides: Vec<String> = reads.into_iter().chain(writes).collect();
    format!(
        "bcache in mode {}: {}; {} bypassed the cache",
        record::printable::printable(&cache.mode),
        sides.join(", and "),
        bytes(cache.bypassed_bytes)
    )
}

fn bcache_counters(cache: &BcacheUse, facts: &Facts<'_>) -> BTreeMap<String, f64> {
    evidence([
        ("cache_read_share", cache.read_share()),
        ("cache_reads", Some(cache.reads())),
        ("cache_read_hits", Some(cache.hits)),
        ("cache_bypassed_reads", Some(cache.bypassed)),
        ("cache_bypassed_bytes", Some(cache.bypassed_bytes)),
        ("cache_dirty_before_bytes", Some(cache.dirty_before_bytes)),
        ("cache_dirty_after_bytes", Some(cache.dirty_after_bytes)),
        ("write_asked_bytes", Some(facts.write.asked)),
        ("data_bytes", Some(facts.data_bytes())),
    ])
}

/// The data that the origin lacked when the load ended, and the time to write it back.
pub(super) fn owed(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let flushed = facts.trial.caches.iter().rev().find_map(|cache| cache.flushed.as_ref())?;
    let owed = flushed.owed_bytes.filter(|bytes| *bytes > 0).map(float)?;
    let (window, both) = (facts.engine.window.seconds(), facts.engine.window.seconds() + flushed.seconds);
    let long = flushed.seconds / both;
    let (of, unit) = match facts.cell.workload.headline() {
        "bw" => (facts.write.asked, "B/s"),
        _ => (facts.write.ios, "1/s"),
    };
    let with_it = if of > 0.0 {
        let rates = [of / both, of / window].map(|rate| with_unit(rate, unit));
        format!(" With that time included, the write rate is {}, not {}.", rates[0], rates[1])
    } else {
        String::new()
    };
    let limited =
        |volume: &Volume| matches!(volume.kind, VolumeKind::Emulate { limits, .. } if !limits.is_unlimited());
    let escapes = facts.cell.stack.all_volumes().any(limited);
    let unlimited = if escapes {
        " The limits of its emulated volumes don't apply to this write-back: the kernel does it itself."
    } else {
        ""
    };
    Some(Detected {
        claim: Claim::CacheOwed,
        severity: if escapes || (of > 0.0 && long >= PART) { Severity::Caveat } else { Severity::Note },
        strength: long,
        evidence: evidence([
            ("owed_bytes", Some(owed)),
            ("flush_seconds", Some(flushed.seconds)),
            ("measured_seconds", Some(window)),
            ("written_bytes", Some(facts.write.asked)),
        ]),
        text: format!(
            "When the load ended, {} of data in the LVM cache was not on its origin yet. Removing the cache, which writes that \
             data back, took {:.1} s; the measured time was {window:.1} s.{with_it}{unlimited}",
            bytes(owed),
            flushed.seconds,
        ),
        remedy: "If such writes go on, quote the lasting rate: measure for longer than the cache can hold the data back (flush_seconds, owed_bytes).".to_owned(),
    })
}

/// Whether the cache missed nearly all requests; for random requests only if it wasn't filling, which is another claim.
fn misses(cache: &CacheUse, facts: &Facts<'_>) -> bool {
    let requests = cache.reads + cache.writes;
    requests >= ENOUGH
        && cache.both_share().is_some_and(|share| share < PART)
        && (is_stream(facts) || cache.promotions < PART * requests)
}

fn is_stream(facts: &Facts<'_>) -> bool {
    let jobs = facts.all_options();
    !jobs.is_empty() && jobs.iter().all(|options| !options.rw.is_random())
}

fn of_requests(cache: &CacheUse) -> String {
    let side = |hits: f64, all: f64, what: &str| {
        (all > 0.0).then(|| format!("{} of {all:.0} {what}", percent(hits / all)))
    };
    let sides: Vec<String> =
        [side(cache.read_hits, cache.reads, "reads"), side(cache.write_hits, cache.writes, "writes")]
            .into_iter()
            .flatten()
            .collect();
    format!(
        "LVM cache hits: {} (a request counts once for each cache block that it touches)",
        sides.join(" and ")
    )
}

fn filling_remedy(facts: &Facts<'_>) -> String {
    if facts.cell.stack.rebuild == Rebuild::Run {
        "Its stack stays up (rebuild: run): quote the last rounds, and measure more of them until they agree."
            .to_owned()
    } else {
        "Every trial begins with an empty cache: rebuild: run keeps the stack up, so that it warms over the rounds; or let it warm before measuring \
         (ramp_time)."
            .to_owned()
    }
}

fn counters(cache: &CacheUse, facts: &Facts<'_>) -> BTreeMap<String, f64> {
    evidence([
        ("cache_read_share", cache.read_share()),
        ("cache_reads", Some(cache.reads)),
        ("cache_read_hits", Some(cache.read_hits)),
        ("cache_writes", Some(cache.writes)),
        ("cache_write_hits", Some(cache.write_hits)),
        ("cache_promotions", Some(cache.promotions)),
        ("cache_demotions", Some(cache.demotions)),
        ("cache_block_bytes", Some(cache.block_bytes)),
        ("cache_bytes", Some(cache.cache_bytes)),
        ("cache_used_before_bytes", Some(cache.used_before_bytes)),
        ("cache_used_after_bytes", Some(cache.used_after_bytes)),
        ("cache_dirty_after_bytes", Some(cache.dirty_after_bytes)),
        ("data_bytes", Some(facts.data_bytes())),
    ])
}
