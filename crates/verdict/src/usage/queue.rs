//! The I/Os in flight: the requested depth, the engine's mean, and that of the devices.

use super::rate::totals;
use crate::facts::Facts;
use record::counter::BlockCounters;
use record::workload::{EngineKind, Options, Workload};

/// fio's I/O engines that do one I/O after another, whatever `iodepth` is.
const ONE_BY_ONE: [&str; 6] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"];

/// Whether each job has only one I/O in flight: fio's synchronous engines, and its libaio on the page cache. The native engine
/// uses a thread for each I/O if it works synchronously.
pub(crate) fn is_one_by_one(workload: &Workload, options: &Options) -> bool {
    let engine = options.ioengine.as_str();
    workload.engine == EngineKind::Fio
        && (ONE_BY_ONE.contains(&engine) || (engine == "libaio" && !options.direct))
}

/// The I/Os that all jobs of one machine together may have in flight; `None` if the options of a job aren't known.
pub(crate) fn depth(workload: &Workload) -> Option<f64> {
    let of_job = |options: &&Options| {
        let each = if is_one_by_one(workload, options) { 1 } else { options.iodepth };
        f64::from(each) * f64::from(options.numjobs)
    };
    workload.all_options().iter().map(of_job).reduce(|sum, depth| sum + depth)
}

/// The same; `None` with the page cache in between, since its read-ahead and write-back fill the devices' queues.
pub(crate) fn asked_queue(facts: &Facts<'_>) -> Option<f64> {
    depth(&facts.cell.workload).filter(|_| facts.direct() == Some(true)).map(|depth| depth * facts.machines())
}

/// The I/Os in flight by Little's law: their rate times the mean latency.
pub(crate) fn little(facts: &Facts<'_>) -> Option<f64> {
    let mut sum = None;
    for side in totals(facts).filter(|t| t.ios > 0) {
        sum = Some(sum.unwrap_or(0.0) + side.iops * side.latency_mean_ns? / 1e9);
    }
    sum
}

/// The mean number of I/Os in flight on the ground's devices over the measured time; `None` if they weren't counted.
pub(crate) fn device_queue(facts: &Facts<'_>) -> Option<f64> {
    let seconds = facts.span.seconds();
    let mut sum = None;
    for node in facts.trial.topology.direct() {
        let ms = facts.span.grown(|s| s.block.get(&node.name).map(|b| b.weighted_ms))?;
        sum = Some(sum.unwrap_or(0.0) + ms / 1e3 / seconds);
    }
    sum.filter(|queue: &f64| queue.is_finite())
}

/// The share of the measured time in which the busiest of the ground's devices had an I/O in flight.
pub(crate) fn device_busy(facts: &Facts<'_>) -> Option<f64> {
    facts.trial.topology.direct().filter_map(|n| busy_share(facts, &n.name)).reduce(f64::max)
}

/// If a device with I/Os has a smaller busy share than this, its busy time counts as unknown.
const TICKS: f64 = 0.005;

/// The share of the measured time in which a device had an I/O in flight; `None` if it wasn't counted. The kernel increments this counter
/// when a clock tick ends within an I/O. If all I/Os are shorter, like a loop device's on a fast disk, it may count none.
pub(crate) fn busy_share(facts: &Facts<'_>, name: &str) -> Option<f64> {
    let grown = |of: fn(&BlockCounters) -> u64| facts.span.grown(|s| s.block.get(name).map(of));
    let share = (grown(|b| b.busy_ms)? / 1000.0 / facts.span.seconds()).min(1.0);
    let worked = grown(|b| b.reads.saturating_add(b.writes)).is_some_and(|ios| ios > 0.0);
    (share >= TICKS || !worked).then_some(share).filter(|share| share.is_finite())
}

/// The number of samples within the window with more than `most` I/Os in flight on the devices, and the number of all samples.
pub(crate) fn seen_above(facts: &Facts<'_>, most: u64) -> Option<(f64, f64)> {
    let mut looks = 0.0;
    let mut above = 0.0;
    for sample in facts.span.within() {
        let held: Option<u64> =
            facts.trial.topology.direct().map(|n| Some(sample.block.get(&n.name)?.in_flight)).sum();
        // with two machines, only one of them has the devices
        if held.is_none() && sample.server.is_none() && facts.trial.evidence.server_clock.is_some() {
            continue;
        }
        looks += 1.0;
        above += f64::from(u8::from(held? > most));
    }
    (looks > 0.0).then_some((above, looks))
}
