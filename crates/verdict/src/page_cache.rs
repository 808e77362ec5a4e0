//! Bounds of the page cache's share of reads.

use crate::facts::{Facts, Files};
use record::workload::Options;

/// Whether the page cache may serve reads at all: buffered ones, and direct ones that the file system turns into buffered ones
/// (btrfs on compressed extents, ext4 with data=journal).
pub(crate) fn may_be_cached(facts: &Facts<'_>, files: &Files) -> bool {
    facts.direct() != Some(true) || turned_buffered(facts, files)
}

pub(crate) fn turned_buffered(facts: &Facts<'_>, files: &Files) -> bool {
    let journalled = facts.trial.topology.deciding_options().is_some_and(|o| o.contains("data=journal"));
    journalled || (files.encoded > 0.0 && facts.fs() == Some("btrfs"))
}

/// The largest share of reads that the page cache can have served, by its content before and after and by the access pattern;
/// 0 if the cache wasn't examined and the engine's own accounting doesn't show it either.
pub(crate) fn most_cached(facts: &Facts<'_>) -> f64 {
    let size = facts.data_bytes();
    let share =
        |cached: Option<f64>| cached.map(|c| if size > 0.0 { (c / size).clamp(0.0, 1.0) } else { 0.0 });
    let (before, after) = (share(facts.cached_before), share(facts.cached_after));
    if before.is_none() && after.is_none() {
        return not_fetched(facts);
    }
    let (before, held) = (before.unwrap_or(0.0), before.unwrap_or(0.0).max(after.unwrap_or(0.0)));
    match facts.options() {
        Some(o) if uniform(o) => (held + facts.slack(&facts.read)).min(1.0),
        Some(o) if !o.rw.is_random() && held > 0.0 => {
            let passes = facts.read.asked / size;
            let at_start = (before + fetched_earlier(facts) / size).min(held);
            ((at_start.min(passes) + (passes - 1.0).max(0.0)) / passes).min(1.0)
        }
        _ if held > 0.0 => 1.0,
        _ => 0.0,
    }
}

/// The least share of random reads that the page cache must have served. Bytes don't show it: devices read a whole compressed extent for
/// any part of it, which hides reads from memory. But each read that isn't in the cache takes at least one I/O on a device.
pub(crate) fn least_cached(facts: &Facts<'_>, files: &Files) -> f64 {
    let one_size = |o: &Options| o.rw.is_random() && o.bsrange.is_none() && o.bssplit.is_empty();
    let hides = files.encoded > 0.0 && facts.fs() == Some("btrfs") && facts.options().is_some_and(one_size);
    match facts.device_reads {
        Some(reads) if hides && reads > 0.0 => {
            let missed = reads / facts.read.ios + facts.slack(&facts.read);
            (1.0 - missed - files.empty_share()).max(0.0)
        }
        _ => 0.0,
    }
}

fn uniform(options: &Options) -> bool {
    options.rw.is_random() && options.random_distribution == "random"
}

/// The share of reads that may have been read ahead during the ramp. If a stream reads each byte at most once, and nothing was cached
/// before, the page cache can serve only bytes that were read ahead, and these have the source of the read-ahead.
pub(crate) fn read_ahead(facts: &Facts<'_>) -> f64 {
    let earlier = fetched_earlier(facts);
    let cold = facts.cached_before.is_some_and(|bytes| bytes <= 0.0);
    let once = earlier + facts.read.asked <= facts.data_bytes() && facts.write.asked <= 0.0;
    let sequential = facts.options().is_some_and(|o| !o.rw.is_random() && o.numjobs == 1);
    if cold && once && sequential { earlier / facts.read.asked } else { 0.0 }
}

/// Bytes of data that the devices delivered during the ramp, before the window; these may be cached since.
fn fetched_earlier(facts: &Facts<'_>) -> f64 {
    let ratio = facts.before.and_then(|f| f.expansion()).unwrap_or(1.0);
    facts.read_earlier.unwrap_or(0.0) * ratio
}

/// The share of the bytes of read system calls for which the engine's processes fetched nothing from devices.
fn not_fetched(facts: &Facts<'_>) -> f64 {
    let asked = facts.read.asked;
    let passed = facts.span.grown(|s| s.engine?.read_chars);
    let fetched = facts.span.grown(|s| s.engine?.read_bytes);
    match (passed, fetched) {
        (Some(passed), Some(fetched)) if passed >= 0.9 * asked => (1.0 - fetched / asked).clamp(0.0, 1.0),
        _ => 0.0,
    }
}
