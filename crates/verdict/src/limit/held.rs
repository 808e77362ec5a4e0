//! Whether the devices got the requested depth. If not, their full rate isn't known.

use super::figures::Figures;
use super::processor;
use crate::figures::rate as number;
use crate::usage::rate::made_iops;
use record::counter::BlockCounters;
use record::judged::{Limit, LimitKind};
use record::workload::Options;

/// From this share of the requested depth on, the devices held it.
const HELD: f64 = 0.8;

/// fio's options that make the generator hold I/Os back, with the values that don't.
const BATCHES: [(&str, &[&str]); 6] = [
    ("iodepth_batch", &["1"]),
    ("iodepth_batch_submit", &["1"]),
    ("iodepth_batch_complete", &["1"]),
    ("iodepth_batch_complete_min", &["1"]),
    ("iodepth_batch_complete_max", &["0", "1"]),
    ("iodepth_low", &["0"]),
];

/// The limit if the devices held clearly less than the requested depth because of the generator; `None`: they held it, or the reason isn't
/// known. `mostly`: they held enough of it to be called the limit.
pub(super) fn lacking(figures: &Figures<'_>, mostly: bool) -> Option<Limit> {
    let held = figures.queue?;
    let asked = figures.depth? * arrived(figures)?.min(1.0);
    if held >= HELD * asked {
        return None;
    }
    let jobs = figures.facts.all_options();
    let batch = jobs.iter().find_map(|options| batch(options));
    // I/Os that wait in the kernel count as the engine's depth; only I/Os that it had not issued or not reaped are the generator's fault.
    let issued_less = mostly && figures.in_engine().is_some_and(|share| share < HELD);
    if batch.is_none() && !(issued_less && jobs.iter().all(|options| is_plain(options))) {
        return None;
    }
    if batch.is_none()
        && let Some(crowded) = processor::crowded(figures)
    {
        return Some(crowded);
    }
    let why = match &batch {
        Some((name, value)) => format!("it submits and reaps I/Os in batches ({name}={value})"),
        None => "it had not issued the others".to_owned(),
    };
    Some(Limit {
        by: LimitKind::Generator,
        shown: batch.is_some(),
        evidence: figures.pick(&["asked_queue_ios", "engine_queue_ios", "device_queue_ios"]),
        against: figures.pick(&[
            "busiest_device_busy_share",
            "busiest_thread_cores",
            "machine_busy_share",
            "nearest_limit_share",
        ]),
        text: format!(
            "{} of {} I/Os were in flight at the devices, since the load generator did not keep their queue full: {why}.",
            number(held),
            number(figures.depth?)
        ),
    })
}

/// The job's option for batches, if it has one.
fn batch(options: &Options) -> Option<(&str, &str)> {
    let makes = |(name, value): &(&String, &String)| {
        BATCHES.iter().any(|(batch, harmless)| batch == name && !harmless.contains(&value.as_str()))
    };
    options.other.iter().find(makes).map(|(name, value)| (name.as_str(), value.as_str()))
}

/// Whether only the generator's own speed delays an I/O once a slot is free.
fn is_plain(options: &Options) -> bool {
    let paced = options.rate_iops.is_some() || options.rate_bytes_per_second.is_some();
    let waits =
        options.thinktime_us > 0 || options.fsync > 0 || options.fdatasync > 0 || options.verify.is_some();
    !paced && !waits && options.time_based && !options.rw.trims()
}

/// I/Os on the devices per requested one: fewer if the kernel merges them, more if it splits them.
fn arrived(figures: &Figures<'_>) -> Option<f64> {
    let span = &figures.facts.span;
    let ios = |b: &BlockCounters| b.reads.saturating_add(b.writes);
    let mut sum = 0.0;
    for node in figures.facts.trial.topology.direct() {
        sum += span.grown(|s| s.block.get(&node.name).map(ios))?;
    }
    let asked = made_iops(figures.facts) * span.seconds();
    (asked > 0.0).then(|| sum / asked).filter(|share| share.is_finite())
}
