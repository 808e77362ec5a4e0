//! Claims about the use of the CPU.

use super::generator;
use crate::detected::{Detected, evidence};
use crate::figures::percent;
use crate::scene::Scene;
use crate::span::float;
use crate::usage::cpu::{Full, Ours, all_ticks, busy_share, engine_share, full, others_share};
use crate::usage::generator::busiest_thread;
use crate::usage::queue::device_busy;
use record::counter::OtherProcess;
use record::finding::{Claim, Severity};

/// The least share of all cores used by others for a note.
const OTHERS_MATTER: f64 = 0.25;
/// The most processes in the note; the least share of all cores for each is the next constant.
const NAMED: usize = 3;
const WORTH_NAMING: f64 = 0.02;

/// The load generator, or the machine's CPUs, were the limit. The CPU use of other processes isn't such a limit, however busy they kept
/// the machine.
pub(super) fn engine_cpu_bound(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let thread = busiest_thread(facts);
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
