//! The CPU as the limit: the load generator's thread, the machine's cores, or a kernel thread.

use super::figures::Figures;
use crate::detect::source::compressed;
use crate::detected::evidence;
use crate::figures::percent;
use crate::span::float;
use crate::usage::cpu::{self, Full};
use record::counter::OtherProcess;
use record::judged::{Limit, LimitKind};

/// A thread that runs for this share of the time has no time left to wait.
const THREAD_FULL: f64 = 0.90;
/// From this share of all cores on, threads have to wait for a CPU.
const NONE_LEFT: f64 = 0.95;
/// A thread that runs for more than half of the time spends most of it on its own work.
const THREAD_MOSTLY: f64 = 0.5;

pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    kernel_thread(figures).or_else(|| generator(figures))
}

/// As in the finding `engine_cpu_bound`, with the same exceptions.
fn generator(figures: &Figures<'_>) -> Option<Limit> {
    let (by, text) = match cpu::full(figures.scene)? {
        Full::Machine => (
            LimitKind::Cpu,
            format!(
                "The machine ran out of CPU for the engine and the kernel's threads{}.",
                busiest(figures)
            ),
        ),
        Full::Thread(share) => (
            LimitKind::Generator,
            format!("The load generator's busiest thread ran {} of the measured time.", percent(share)),
        ),
    };
    Some(Limit {
        by,
        shown: true,
        evidence: figures.pick(&["busiest_thread_cores", "engine_and_kernel_cpu_share"]),
        against: figures.pick(&["device_queue_ios", "asked_queue_ios", "nearest_limit_share"]),
        text,
    })
}

/// A single kernel thread that runs all the time: its work uses one core only.
fn kernel_thread(figures: &Figures<'_>) -> Option<Limit> {
    let (thread, share) = kernel_threads(figures).next().filter(|(_, share)| *share >= THREAD_FULL)?;
    Some(Limit {
        by: LimitKind::Cpu,
        shown: true,
        evidence: evidence([("busiest_kernel_thread_cores", Some(share))]),
        against: figures.pick(&["busiest_thread_cores", "machine_busy_share"]),
        text: format!("The kernel thread {} ran {} of the time on one core.", thread.comm, percent(share)),
    })
}

/// Kernel threads with the share of a core that each used, the largest first.
fn kernel_threads<'a>(figures: &Figures<'a>) -> impl Iterator<Item = (&'a OtherProcess, f64)> {
    let evidence = &figures.facts.trial.evidence;
    let ticks = float(evidence.ticks_per_second) * figures.facts.span.whole().seconds();
    let share = move |p: &'a OtherProcess| Some((p, float(p.cpu_ticks?) / ticks));
    let mut threads: Vec<_> =
        evidence.others.iter().filter(|p| p.kernel == Some(true) && ticks > 0.0).filter_map(share).collect();
    threads.sort_by(|a, b| b.1.total_cmp(&a.1));
    threads.into_iter()
}

/// If nothing else explains the figure: kernel threads ran one after another and together used one core.
pub(super) fn in_turns(figures: &Figures<'_>) -> Option<Limit> {
    let cores = cpu::kernel_cores(figures.facts).filter(|cores| *cores >= THREAD_FULL)?;
    let compress =
        if compressed(figures.scene).is_some() { " They compress, among other things." } else { "" };
    let mut counters = figures.pick(&["busiest_thread_cores"]);
    counters.extend(evidence([("kernel_threads_cores", Some(cores))]));
    Some(Limit {
        by: LimitKind::Cpu,
        shown: false,
        evidence: counters,
        against: figures.pick(&["device_queue_ios", "busiest_device_busy_share", "machine_busy_share"]),
        text: format!(
            "Kernel threads ran {} of a core's time{}, and no other resource was used up.{compress}",
            percent(cores),
            busiest(figures)
        ),
    })
}

/// The names of the busiest kernel threads.
fn busiest(figures: &Figures<'_>) -> String {
    const WORTH_NAMING: f64 = 0.05;
    let names: Vec<String> = kernel_threads(figures)
        .take(3)
        .filter(|(_, share)| *share >= WORTH_NAMING)
        .map(|(p, share)| format!("{} {}", p.comm, percent(share)))
        .collect();
    if names.is_empty() { String::new() } else { format!(" (of a core: {})", names.join(", ")) }
}

/// If nothing else explains the figure: all cores were busy, whoever used them.
pub(super) fn crowded(figures: &Figures<'_>) -> Option<Limit> {
    let busy = cpu::busy_share(&figures.facts.span).filter(|share| *share >= NONE_LEFT)?;
    Some(Limit {
        by: LimitKind::Cpu,
        shown: false,
        evidence: figures.pick(&["machine_busy_share", "engine_queue_ios", "asked_queue_ios"]),
        against: figures.pick(&["engine_and_kernel_cpu_share", "device_queue_ios", "nearest_limit_share"]),
        text: format!(
            "All cores were busy {} of the time, mostly for others: I/Os wait for a CPU before they are issued and completed.",
            percent(busy)
        ),
    })
}

/// If nothing else explains the figure: the cores of the machine that serves the ground were busy.
pub(super) fn of_server(figures: &Figures<'_>) -> Option<Limit> {
    let busy = cpu::server_busy_share(&figures.facts.span).filter(|share| *share >= NONE_LEFT)?;
    Some(Limit {
        by: LimitKind::Cpu,
        shown: false,
        evidence: evidence([("server_busy_share", Some(busy))]),
        against: figures.pick(&["machine_busy_share", "device_queue_ios", "nearest_limit_share"]),
        text: format!(
            "All cores of the machine that serves the storage were busy {} of the time, and no other resource was used up.",
            percent(busy)
        ),
    })
}

/// If nothing else explains the figure: most of the time went into the generator's own work and the kernel's code in its system calls.
pub(super) fn likely(figures: &Figures<'_>) -> Option<Limit> {
    let share = figures.thread.filter(|t| *t >= THREAD_MOSTLY)?;
    Some(Limit {
        by: LimitKind::Generator,
        shown: false,
        evidence: figures.pick(&["busiest_thread_cores", "asked_queue_ios"]),
        against: figures.pick(&["device_queue_ios", "busiest_device_busy_share"]),
        text: format!(
            "The load generator's busiest thread ran {} of the measured time, and no other resource was used up.",
            percent(share)
        ),
    })
}
