//! Whether the load generator, rather than the storage, was the limit: its own CPU time, and the evidence against that.

use super::Scene;
use crate::facts::Facts;
use crate::figures::{bytes, percent, rate, with_unit};
use crate::limit::{LIMIT_MET, asked_queue, device_queue, made_iops, nearest, rate_is_made, rates};
use crate::span::float;
use record::copy::Copier;
use record::environment::Ceiling;
use record::workload::{Ask, EngineKind, Options};
use std::collections::BTreeMap;

/// If the devices hold this share of all I/Os that may be in flight, the generator waits for them.
const QUEUE_FULL: f64 = 0.8;
/// From this share of the ceiling on, this job would not have measured any storage faster.
const NEAR_CEILING: f64 = 0.8;
/// The least share of the time that the thread ran while the ceiling was measured.
const UNDISTURBED: f64 = 0.9;
/// If an I/O costs this many times the CPU time of one on a hole, the storage stack uses it, not the generator.
const DEAR: f64 = 2.0;
/// The least depth for a comparison with the ceiling, which is measured with a deep queue.
const DEEP: u32 = 32;
/// From this block size on, larger blocks save little CPU time.
const LARGE_BLOCK: u64 = 128 << 10;

/// The share of the measured time that the generator's busiest thread ran, as the engine counted it, else as it was sampled; that of
/// the whole engine if it is one job and threads weren't counted.
pub(crate) fn busiest_thread(facts: &Facts<'_>) -> Option<f64> {
    let window = facts.engine.window.seconds();
    let told = facts.engine.generator.and_then(|cost| cost.busiest_thread_seconds);
    if let Some(seconds) = told
        && window > 0.0
    {
        return Some((seconds / window).clamp(0.0, 1.0));
    }
    let ticks = facts.span.grown(|s| s.engine?.busiest_thread_ticks);
    let per_second = float(facts.trial.evidence.ticks_per_second);
    let seconds = facts.span.seconds();
    if let Some(ticks) = ticks
        && per_second > 0.0
        && seconds > 0.0
    {
        return Some((ticks / per_second / seconds).min(1.0));
    }
    let one_job = facts.options().is_some_and(|o| o.numjobs == 1);
    let (user, system) = (facts.engine.cpu_user_share?, facts.engine.cpu_system_share?);
    one_job.then_some((user + system).min(1.0))
}

/// Whether something rules the generator out, however busy the CPU was: it polls and uses all CPU by design, it made the requested
/// rate, a volume was at its limit, or the devices held all I/Os that may be in flight.
pub(super) fn is_acquitted(scene: &Scene<'_>) -> bool {
    let facts = scene.facts;
    polls(facts)
        || rate_is_made(facts)
        || limit_share(scene).is_some_and(|share| share >= LIMIT_MET)
        || queue_share(facts).is_some_and(|share| share >= QUEUE_FULL)
}

fn polls(facts: &Facts<'_>) -> bool {
    let set = |o: &Options, name: &str| o.other.get(name).is_some_and(|value| value != "0");
    let polls = |o: &&Options| ["hipri", "sqthread_poll"].iter().any(|name| set(o, name));
    facts.all_options().iter().any(|o| polls(o) || o.thinktime_spin_us > 0)
}

/// The load as a share of the nearest limit of a device; `None` if there are no limits.
fn limit_share(scene: &Scene<'_>) -> Option<f64> {
    nearest(scene).map(|near| near.share())
}

fn queue_share(facts: &Facts<'_>) -> Option<f64> {
    let asked = asked_queue(facts).filter(|depth| *depth > 0.0)?;
    Some(device_queue(facts)? / asked)
}

/// The load compared with the ceiling that `doctor` measured on this machine.
#[derive(Debug, Clone, Copy)]
struct Height {
    iops_per_job: f64,
    ceiling_iops: f64,
    /// Whether the ceiling was measured undisturbed. If others had the CPU, a quiet machine makes more.
    undisturbed: bool,
    /// CPU time of an I/O here, relative to that of one on a hole.
    dearness: Option<f64>,
}

/// The comparison, only if the ceiling has the same engine, block size and kind of I/O, and the queue is as deep.
fn height(scene: &Scene<'_>) -> Option<Height> {
    let facts = scene.facts;
    let options = facts.options()?;
    let ceiling: &Ceiling = scene.machine.native_ceiling.as_ref()?;
    let alike = facts.cell.workload.engine == EngineKind::Native
        && options.ioengine == "io_uring"
        && options.bs_bytes == ceiling.bs_bytes
        && options.direct == ceiling.direct
        && options.iodepth >= DEEP
        && options.numjobs > 0
        && ceiling.iops > 0.0;
    let cost = facts.engine.generator.and_then(|cost| cost.cpu_ns_per_io);
    let dearness =
        cost.zip(ceiling.cpu_ns_per_io).filter(|(_, hole)| *hole > 0.0).map(|(io, hole)| io / hole);
    alike.then(|| Height {
        iops_per_job: made_iops(facts) / f64::from(options.numjobs),
        ceiling_iops: ceiling.iops,
        undisturbed: ceiling.busiest_thread_share.is_none_or(|share| share >= UNDISTURBED),
        dearness,
    })
}

/// The meaning of the thread's limit, in a sentence or two.
pub(super) fn text(scene: &Scene<'_>, thread: f64) -> String {
    let facts = scene.facts;
    let mut text = format!(
        "The load generator was the limit, not the storage: its busiest thread ran {} of the measured time",
        percent(thread)
    );
    if let Some(share) = system_share(facts) {
        text.push_str(&format!(" ({} of the generator's CPU time was in the kernel)", percent(share)));
    }
    if let Some((queue, asked)) = device_queue(facts).zip(asked_queue(facts)) {
        text.push_str(&format!(
            ", while the devices held {} of {} I/Os on average",
            rate(queue),
            rate(asked)
        ));
    }
    if let Some((made, asked, unit)) = rates(facts) {
        text.push_str(&format!(
            "; it made {} of {} asked for",
            with_unit(made, unit),
            with_unit(asked, unit)
        ));
    }
    text.push('.');
    text.push_str(&beside_the_ceiling(scene));
    text.push_str(" The storage may do more.");
    text
}

fn beside_the_ceiling(scene: &Scene<'_>) -> String {
    let Some(height) = height(scene) else { return String::new() };
    let share = height.iops_per_job / height.ceiling_iops;
    if share >= NEAR_CEILING && height.undisturbed {
        return format!(
            " One job made {} IOPS; {} is the most that one job makes on this machine at this block size without any storage.",
            rate(height.iops_per_job),
            rate(height.ceiling_iops)
        );
    }
    match height.dearness {
        Some(times) if times >= DEAR => format!(
            " An I/O took {} times the CPU time of an I/O on a hole: the storage stack's own code used most of it, and more jobs \
             spread that code over more cores.",
            rate(times)
        ),
        _ => String::new(),
    }
}

/// The share of the generator's CPU time in the kernel.
fn system_share(facts: &Facts<'_>) -> Option<f64> {
    let cost = facts.engine.generator?;
    let all = cost.user_seconds + cost.system_seconds;
    (all > 0.0).then(|| cost.system_seconds / all)
}

/// What to change, given the present options.
pub(super) fn remedy(scene: &Scene<'_>) -> String {
    let cpus = scene.machine.cpus;
    let mut ways = Vec::new();
    let mut spread = |over: &str, key: &str, now: u32| {
        if cpus.is_none_or(|cpus| now < cpus) {
            let most = cpus.map_or(String::new(), |n| format!(" (this machine has {n} CPUs)"));
            ways.push(format!("more {over} than {key}: {now}{most}"));
        }
    };
    let one = match &scene.facts.cell.workload.ask {
        Ask::Options(options) => {
            spread("jobs", "numjobs", options.numjobs);
            ways.extend(fewer_calls(options));
            if options.bs_bytes < LARGE_BLOCK {
                ways.push(format!("larger blocks than bs: {}", bytes(float(options.bs_bytes))));
            }
            if scene.facts.cell.workload.engine == EngineKind::Fio {
                ways.push("engine: native, which needs less CPU per I/O".to_owned());
            }
            "job"
        }
        Ask::JobFile { .. } => {
            return "Use more jobs (numjobs) or larger blocks (bs) in the job file.".to_owned();
        }
        Ask::Copy(copy) => {
            spread("writers", "writers", copy.writers);
            if copy.copier != Copier::Native {
                ways.push("copier: native, which needs less CPU per file".to_owned());
            }
            "writer"
        }
        Ask::Bonnie(bonnie) => {
            spread("processes at once", "c", bonnie.concurrency);
            "process"
        }
    };
    match ways.split_last() {
        None => format!("There is a {one} for each CPU already: use a machine with more cores."),
        Some((last, [])) => format!("Use {last}."),
        Some((last, first)) => format!("Use {} or {last}.", first.join(", ")),
    }
}

/// How to submit more I/Os per system call.
fn fewer_calls(options: &Options) -> Option<String> {
    const ONE_BY_ONE: [&str; 6] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"];
    if ONE_BY_ONE.contains(&options.ioengine.as_str()) {
        return Some(format!("ioengine: io_uring with a deep queue instead of {}", options.ioengine));
    }
    (options.iodepth < 8).then(|| format!("a deeper queue than iodepth: {}", options.iodepth))
}

/// The counters, by name.
pub(super) fn evidence(scene: &Scene<'_>) -> BTreeMap<String, f64> {
    let facts = scene.facts;
    let cost = facts.engine.generator;
    let height = height(scene);
    super::evidence([
        ("generator_system_share", system_share(facts)),
        ("generator_cpu_ns_per_io", cost.and_then(|c| c.cpu_ns_per_io)),
        ("generator_user_instructions_per_io", cost.and_then(|c| c.user_instructions_per_io)),
        ("device_queue_ios", device_queue(facts)),
        ("asked_queue_ios", asked_queue(facts)),
        ("made_of_asked_rate_share", rates(facts).map(|(made, asked, _)| made / asked)),
        ("nearest_limit_share", limit_share(scene)),
        ("iops_per_job", height.map(|h| h.iops_per_job)),
        ("ceiling_iops_per_job", height.map(|h| h.ceiling_iops)),
        ("cpu_of_an_io_over_that_of_a_hole", height.and_then(|h| h.dearness)),
    ])
}
