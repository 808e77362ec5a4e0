//! How many I/Os were in flight: as asked, as the engine saw it, and on the devices.

use super::rate::totals;
use crate::facts::Facts;
use record::counter::BlockCounters;
use record::workload::{EngineKind, Options, Workload};

/// fio's engines that do one I/O after another, whatever `iodepth` says.
const ONE_BY_ONE: [&str; 6] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"];

/// Whether each job has one I/O in flight only: fio's synchronous engines, and its libaio on the page cache. The native engine
/// has a thread for each where it works synchronously.
pub(super) fn is_one_by_one(workload: &Workload, options: &Options) -> bool {
    let engine = options.ioengine.as_str();
    workload.engine == EngineKind::Fio
        && (ONE_BY_ONE.contains(&engine) || (engine == "libaio" && !options.direct))
}

/// I/Os that all jobs together may have in flight; `None` where the options of a job are not known.
pub(super) fn depth(workload: &Workload) -> Option<f64> {
    let of_job = |options: &&Options| {
        let each = if is_one_by_one(workload, options) { 1 } else { options.iodepth };
        f64::from(each) * f64::from(options.numjobs)
    };
    workload.all_options().iter().map(of_job).reduce(|sum, depth| sum + depth)
}

/// The same, `None` where the page cache stands between: its own reading ahead and writing back fill the devices' queues.
pub(crate) fn asked_queue(facts: &Facts<'_>) -> Option<f64> {
    depth(&facts.cell.workload).filter(|_| facts.direct() == Some(true))
}

/// Little's law: I/Os in flight are their rate times the time each took.
pub(super) fn little(facts: &Facts<'_>) -> Option<f64> {
    let mut sum = None;
    for side in totals(facts).filter(|t| t.ios > 0) {
        sum = Some(sum.unwrap_or(0.0) + side.iops * side.latency_mean_ns? / 1e9);
    }
    sum
}

/// I/Os in flight on the ground's devices, mean over the measured time; `None` when they weren't counted.
pub(crate) fn device_queue(facts: &Facts<'_>) -> Option<f64> {
    let seconds = facts.span.seconds();
    let mut sum = None;
    for node in facts.trial.topology.direct() {
        let ms = facts.span.grown(|s| s.block.get(&node.name).map(|b| b.weighted_ms))?;
        sum = Some(sum.unwrap_or(0.0) + ms / 1e3 / seconds);
    }
    sum.filter(|queue: &f64| queue.is_finite())
}

/// Share of the measured time in which the busiest of the ground's devices had an I/O in flight.
pub(crate) fn device_busy(facts: &Facts<'_>) -> Option<f64> {
    facts.trial.topology.direct().filter_map(|n| busy_share(facts, &n.name)).reduce(f64::max)
}

/// The share of the time below which a device with I/Os counts as not counted.
const TICKS: f64 = 0.005;

/// Share of the measured time in which a device had an I/O in flight; `None` when it wasn't counted. The kernel adds to this counter where a tick of its
/// clock ends within an I/O: of I/Os that are all shorter, as a loop device's on a fast disk, it may count none.
pub(crate) fn busy_share(facts: &Facts<'_>, name: &str) -> Option<f64> {
    let grown = |of: fn(&BlockCounters) -> u64| facts.span.grown(|s| s.block.get(name).map(of));
    let share = (grown(|b| b.busy_ms)? / 1000.0 / facts.span.seconds()).min(1.0);
    let worked = grown(|b| b.reads.saturating_add(b.writes)).is_some_and(|ios| ios > 0.0);
    (share >= TICKS || !worked).then_some(share).filter(|share| share.is_finite())
}

/// Of the looks at the devices within the window, how many saw more than `most` I/Os in flight on them, and how many there were.
pub(super) fn seen_above(facts: &Facts<'_>, most: u64) -> Option<(f64, f64)> {
    let mut looks = 0.0;
    let mut above = 0.0;
    for sample in facts.span.within() {
        let held: Option<u64> =
            facts.trial.topology.direct().map(|n| Some(sample.block.get(&n.name)?.in_flight)).sum();
        // of two machines, one has the devices
        if held.is_none() && sample.server.is_none() && facts.trial.evidence.server_clock.is_some() {
            continue;
        }
        looks += 1.0;
        above += f64::from(u8::from(held? > most));
    }
    (looks > 0.0).then_some((above, looks))
}
