//! The CPU time of a trial, by who used it.

use super::generator;
use crate::facts::Facts;
use crate::scene::Scene;
use crate::span::{Span, float};
use record::counter::CpuTicks;

/// A thread that uses this share of a core has no time left to wait for storage.
const THREAD_FULL: f64 = 0.90;
/// If the engine and the kernel use this share of all cores, no CPU is left for them.
const MACHINE_FULL: f64 = 0.85;

/// Which part had no CPU left.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Full {
    /// All cores.
    Machine,
    /// The engine's busiest thread, with the share of the time that it ran.
    Thread(f64),
}

/// Which part had no CPU left, if nothing else limited the load.
pub(crate) fn full(scene: &Scene<'_>) -> Option<Full> {
    let machine = ours_share(scene.facts).is_some_and(|share| share >= MACHINE_FULL);
    let thread = generator::busiest_thread(scene.facts).filter(|t| *t >= THREAD_FULL);
    let full = if machine { Some(Full::Machine) } else { thread.map(Full::Thread) };
    full.filter(|_| !generator::is_acquitted(scene))
}

/// The CPU time of the kernel's threads, in cores.
pub(crate) fn kernel_cores(facts: &Facts<'_>) -> Option<f64> {
    let ticks = float(facts.trial.evidence.ticks_per_second) * facts.span.whole().seconds();
    let used = float(facts.trial.evidence.kernel_cpu_ticks?);
    (ticks > 0.0).then(|| used / ticks)
}

/// The share of all cores' time that the engine, the kernel's threads and interrupts used.
pub(crate) fn ours_share(facts: &Facts<'_>) -> Option<f64> {
    Ours::of(facts).map(Ours::sum)
}

/// Shares of all cores' time that the trial's own I/O used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ours {
    pub(crate) engine: f64,
    /// The share of all kernel threads. They work for the engine, and do little else unless other processes do I/O too.
    pub(crate) kernel: f64,
    pub(crate) interrupts: f64,
}

impl Ours {
    /// Sums the known parts rather than subtracting other processes: processes that can't be seen (in another container, of another
    /// user) must not count as ours. `None` if a part wasn't counted.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        let whole = facts.span.whole();
        let kernel = float(facts.trial.evidence.kernel_cpu_ticks?) / all_ticks(&whole)?;
        let interrupts = facts.span.grown(|s| s.cpu?.irq).unwrap_or(0.0) / all_ticks(&facts.span)?;
        Some(Self { engine: engine_share(facts)?, kernel: kernel.min(1.0), interrupts })
    }

    /// All three together.
    pub(crate) fn sum(self) -> f64 {
        (self.engine + self.kernel + self.interrupts).min(1.0)
    }
}

/// The share of all cores' time that the engine used.
pub(crate) fn engine_share(facts: &Facts<'_>) -> Option<f64> {
    let ticks = facts.span.grown(|s| s.engine.map(|e| e.user_ticks.saturating_add(e.system_ticks)))?;
    Some((ticks / all_ticks(&facts.span)?).min(1.0))
}

/// The share of all cores' time that other user processes used, at most the share in which the machine was busy.
pub(crate) fn others_share(facts: &Facts<'_>) -> Option<f64> {
    let whole = facts.span.whole();
    let ticks = float(facts.trial.evidence.others_cpu_ticks?);
    Some((ticks / all_ticks(&whole)?).min(busy_share(&whole)?))
}

fn idle(c: CpuTicks) -> u64 {
    c.idle.saturating_add(c.iowait.unwrap_or(0))
}

/// The time of all cores together, in ticks; `None` if it is 0.
pub(crate) fn all_ticks(span: &Span<'_>) -> Option<f64> {
    span.grown(|s| s.cpu.map(sum)).filter(|ticks| *ticks > 0.0)
}

fn sum(c: CpuTicks) -> u64 {
    let parts = [c.user, c.system, idle(c), c.irq.unwrap_or(0), c.steal.unwrap_or(0)];
    parts.into_iter().fold(0, u64::saturating_add)
}

/// The share of all cores' time that was neither idle nor waiting for I/O.
pub(crate) fn busy_share(span: &Span<'_>) -> Option<f64> {
    Some((1.0 - span.grown(|s| s.cpu.map(idle))? / all_ticks(span)?).clamp(0.0, 1.0))
}

/// The same on another machine that serves the ground.
pub(crate) fn server_busy_share(span: &Span<'_>) -> Option<f64> {
    let grown = |of: fn(CpuTicks) -> u64| span.grown(|s| s.server?.cpu.map(of));
    let all = grown(sum).filter(|ticks| *ticks > 0.0)?;
    Some((1.0 - grown(idle)? / all).clamp(0.0, 1.0))
}
