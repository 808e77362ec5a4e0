//! Claims about the use of the CPU.

use super::{Detected, Scene, evidence, generator};
use crate::facts::Facts;
use crate::figures::percent;
use crate::limit::device_busy;
use crate::span::{Span, float};
use record::counter::{CpuTicks, OtherProcess};
use record::finding::{Claim, Severity};

/// A thread that uses this share of a core has no time left to wait for storage.
const THREAD_FULL: f64 = 0.90;
/// If the engine and the kernel use this share of all cores, no CPU is left for them.
const MACHINE_FULL: f64 = 0.85;
/// The least share of all cores used by others for a note.
const OTHERS_MATTER: f64 = 0.25;
/// The most processes in the note; the least share of all cores for each is the next constant.
const NAMED: usize = 3;
const WORTH_NAMING: f64 = 0.02;

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

/// The load generator, or the machine's CPUs, were the limit. The CPU use of other processes isn't such a limit, however busy they kept
/// the machine.
pub(super) fn engine_cpu_bound(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let thread = generator::busiest_thread(facts);
    let ours = Ours::of(facts);
    let (text, remedy) = match (full(scene)?, ours) {
        (Full::Machine, Some(ours)) => (machine_text(ours, thread), MACHINE_REMEDY.to_owned()),
        (Full::Machine, None) => return None,
        (Full::Thread(thread), _) => (generator::text(scene, thread), generator::remedy(scene)),
    };
    let mut counters = evidence([
        ("busiest_thread_cores", thread),
        ("engine_cpu_share", ours.map(|o| o.engine)),
        ("kernel_threads_cpu_share", ours.map(|o| o.kernel)),
        ("interrupts_cpu_share", ours.map(|o| o.interrupts)),
        ("others_cpu_share", others_share(facts)),
        ("machine_busy_share", busy_share(&facts.span)),
        ("busiest_device_busy_share", device_busy(facts)),
    ]);
    counters.extend(generator::evidence(scene));
    Some(Detected {
        claim: Claim::EngineCpuBound,
        severity: Severity::Caveat,
        strength: thread.unwrap_or(0.0).max(ours.map_or(0.0, |o| o.sum())),
        evidence: counters,
        text,
        remedy,
    })
}

const MACHINE_REMEDY: &str =
    "Use a machine with more cores, larger requests, fewer jobs or writers, or a stack that needs less CPU.";

fn machine_text(ours: Ours, thread: Option<f64>) -> String {
    let busy = thread
        .map_or(String::new(), |t| format!("; the engine's busiest thread used {} of a core", percent(t)));
    format!(
        "The machine ran out of CPU: of all cores together the engine used {} and the kernel's threads and interrupts {}{busy}. The storage may do more.",
        percent(ours.engine),
        percent(ours.kernel + ours.interrupts)
    )
}

/// Others used much of the machine's CPU. That may explain the figure, but no counter shows it.
pub(super) fn others_used_the_cpu(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let share = others_share(facts).filter(|share| *share > OTHERS_MATTER)?;
    let all = all_ticks(&facts.span.whole())?;
    let of = |p: &OtherProcess| p.cpu_ticks.map_or(0.0, |ticks| (float(ticks) / all).min(share));
    let mut users: Vec<&OtherProcess> =
        facts.trial.evidence.others.iter().filter(|p| p.kernel != Some(true)).collect();
    users.sort_by(|a, b| of(b).total_cmp(&of(a)));
    let named: Vec<String> = users
        .iter()
        .take(NAMED)
        .filter(|p| of(p) >= WORTH_NAMING)
        .map(|p| format!("{} (pid {}) {}", p.comm, p.pid, percent(of(p))))
        .collect();
    let who = if named.is_empty() { String::new() } else { format!(", among them {}", named.join(", ")) };
    Some(Detected {
        claim: Claim::OthersUsedCpu,
        severity: Severity::Note,
        strength: share,
        evidence: evidence([
            ("others_cpu_share", Some(share)),
            ("most_of_one_other_cpu_share", users.first().map(|p| of(p))),
            ("engine_cpu_share", engine_share(facts)),
            ("machine_busy_share", busy_share(&facts.span.whole())),
        ]),
        text: format!("Others used the CPU: {} of all cores' time went to processes that are not the engine's{who}.", percent(share)),
        remedy: "Measure again on a quiet machine if this figure depends on the CPU, as with compression, checksums or small blocks on fast devices."
            .to_owned(),
    })
}

/// Shares of all cores' time that the trial's own I/O used.
#[derive(Debug, Clone, Copy)]
struct Ours {
    engine: f64,
    /// The share of all kernel threads. They work for the engine, and do little else unless other processes do I/O too.
    kernel: f64,
    interrupts: f64,
}

impl Ours {
    /// Sums the known parts rather than subtracting other processes: processes that can't be seen (in another container, of another
    /// user) must not count as ours. `None` if a part wasn't counted.
    fn of(facts: &Facts<'_>) -> Option<Self> {
        let whole = facts.span.whole();
        let kernel = float(facts.trial.evidence.kernel_cpu_ticks?) / all_ticks(&whole)?;
        let interrupts = facts.span.grown(|s| s.cpu?.irq).unwrap_or(0.0) / all_ticks(&facts.span)?;
        Some(Self { engine: engine_share(facts)?, kernel: kernel.min(1.0), interrupts })
    }

    fn sum(self) -> f64 {
        (self.engine + self.kernel + self.interrupts).min(1.0)
    }
}

fn engine_share(facts: &Facts<'_>) -> Option<f64> {
    let ticks = facts.span.grown(|s| s.engine.map(|e| e.user_ticks.saturating_add(e.system_ticks)))?;
    Some((ticks / all_ticks(&facts.span)?).min(1.0))
}

/// The share of all cores' time that other user processes used, at most the share in which the machine was busy.
fn others_share(facts: &Facts<'_>) -> Option<f64> {
    let whole = facts.span.whole();
    let ticks = float(facts.trial.evidence.others_cpu_ticks?);
    Some((ticks / all_ticks(&whole)?).min(busy_share(&whole)?))
}

fn idle(c: CpuTicks) -> u64 {
    c.idle.saturating_add(c.iowait.unwrap_or(0))
}

/// The time of all cores together, in ticks; `None` if it is 0.
fn all_ticks(span: &Span<'_>) -> Option<f64> {
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
