//! The shares of a trial's bytes that the devices, holes and compression may have served.

use crate::facts::{Facts, Files};
use crate::foreign_io;
use crate::page_cache::may_be_cached;

/// The share of the read bytes that the devices delivered to the engine, at most 1.
///
/// On a shared device, its counters alone would hide reads from memory or holes. Where these are possible, the reads of other
/// processes are subtracted, and the share is at most what the kernel charged to the engine for uncompressed data.
pub(crate) fn read_share(facts: &Facts<'_>) -> Option<f64> {
    let counted = facts.read.device?;
    let elsewhere = facts.before.is_some_and(|f| f.empty_share() > 0.0 || may_be_cached(facts, &f));
    if !elsewhere {
        return Some((counted / facts.read.asked).clamp(0.0, 1.0));
    }
    let ours = counted - foreign_io::surplus(facts, true).bytes;
    let charged = match facts.read.own {
        Some(own) if foreign_io::is_charged_exactly(facts) => own + foreign_io::in_flight(facts),
        _ => f64::INFINITY,
    };
    Some((ours.min(charged) / facts.read.asked).clamp(0.0, 1.0))
}

/// The share of the written bytes that the devices took, at most 1; pages that are dirty afterwards can't be among them.
pub(crate) fn write_share(facts: &Facts<'_>) -> Option<f64> {
    let ours = facts.write.device? - foreign_io::surplus(facts, false).bytes;
    let dirty = facts.dirty_after.unwrap_or(0.0);
    Some((ours.min(facts.write.asked - dirty) / facts.write.asked).clamp(0.0, 1.0))
}

/// Moves as much of `missing` as `most` explains into `class`.
pub(crate) fn take(missing: &mut f64, most: f64, class: &mut f64) {
    let share = missing.min(most.max(0.0));
    *class += share;
    *missing -= share;
}

/// The ratio of compression; the larger one of before and after, if writes change the files during the trial.
pub(crate) fn expansion(facts: &Facts<'_>) -> Option<f64> {
    let before = facts.before?.expansion()?;
    match facts.after.filter(|_| facts.write.asked > 0.0) {
        Some(after) => Some(before.max(after.expansion()?)),
        None => Some(before),
    }
}

/// The share of reads that holes may have served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HoleReach {
    pub(crate) likely: f64,
    pub(crate) most: f64,
}

impl HoleReach {
    /// From the files' share of holes and from the access pattern: uniform random offsets hit holes by their share (within four
    /// standard errors), sequential passes hit each byte once per pass, and any other pattern may hit only holes. While writes fill
    /// the holes, the share shrinks.
    pub(crate) fn of_holes(facts: &Facts<'_>, files: &Files) -> Self {
        let at_first = files.empty_share();
        let at_last = match facts.after {
            Some(after) if facts.write.asked > 0.0 => after.empty_share().min(at_first),
            _ => at_first,
        };
        if at_first <= 0.0 {
            return Self { likely: 0.0, most: 0.0 };
        }
        let middle = f64::midpoint(at_first, at_last);
        match facts.options() {
            Some(o) if o.rw.is_random() && o.random_distribution == "random" => {
                let error = 4.0 * (at_first * (1.0 - at_first) / facts.read.ios.max(1.0)).sqrt();
                Self { likely: middle, most: (at_first + error + facts.slack(&facts.read)).min(1.0) }
            }
            Some(o) if !o.rw.is_random() => {
                let passes = facts.read.asked / files.size;
                let (whole, rest) = (passes.floor(), passes.fract());
                let most = (whole * at_first + rest.min(at_first)) / passes;
                let least = (whole * at_last + (rest - (1.0 - at_last)).max(0.0)) / passes;
                Self { likely: f64::midpoint(least, most).min(1.0), most: most.min(1.0) }
            }
            _ => Self { likely: middle, most: 1.0 },
        }
    }
}
