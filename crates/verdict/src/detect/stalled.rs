//! Claims about times in which the load, or whoever counts it, did not run at all.

use super::{Detected, Scene, evidence};
use crate::facts::Facts;
use crate::figures::percent;
use crate::span::float;
use record::counter::{Gap, Sample};
use record::finding::{Claim, Severity};
use record::trial::Window;

/// Seconds without running that are worth a claim.
const NOTICEABLE: f64 = 1.0;
/// The share of the measured time from which the figure is no storage figure.
const NO_FIGURE: f64 = 0.5;

/// Processes of the engine were stopped: by a signal, or by a debugger.
pub(super) fn engine(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let processes = facts.trial.evidence.samples.iter().map(|sample| sample.stopped.len()).max()?;
    let who =
        format!("{processes} of the engine's processes {}", if processes == 1 { "was" } else { "were" });
    let share = |seconds: f64| seconds / facts.span.seconds();
    let severity = |seconds| if share(seconds) >= NO_FIGURE { Severity::Void } else { Severity::Caveat };
    let stalls = stopped(facts);
    let seconds = total(&stalls);
    claimed(
        facts,
        &stalls,
        severity(seconds),
        &format!("{who} stopped"),
        ("stopped_engine_processes", Some(crate::cell::number(processes).into())),
    )
}

/// The agent process was stopped: nobody counted meanwhile, nobody watched the engine.
pub(super) fn agent(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let gaps = &facts.trial.evidence.agent_gaps;
    let stalls: Vec<Window> = gaps.iter().filter_map(|gap| without_waiting(gap, facts)).collect();
    let waited = gaps.iter().filter_map(|gap| gap.cpu_wait_ns).sum();
    claimed(
        facts,
        &stalls,
        Severity::Caveat,
        "the agent process, which counts and watches, did not run",
        ("agent_waited_for_cpu_seconds", Some(float(waited) / 1e9)),
    )
}

fn claimed(
    facts: &Facts<'_>,
    stalls: &[Window],
    severity: Severity,
    what: &str,
    detail: (&str, Option<f64>),
) -> Option<Detected> {
    let seconds = total(stalls);
    let (first, last) = (stalls.first()?, stalls.last()?);
    if seconds < NOTICEABLE {
        return None;
    }
    let share = seconds / facts.span.seconds();
    let begun = facts.engine.window.start_ns;
    let at = |instant: u64| float(instant.saturating_sub(begun)) / 1e9;
    let (from, to) = (at(first.start_ns), at(last.end_ns));
    let when = match stalls.len() {
        1 => format!("From {from:.1} s to {to:.1} s of the measured time"),
        several => format!(
            "{several} times between {from:.1} s and {to:.1} s of the measured time, for {seconds:.1} s in all"
        ),
    };
    Some(Detected {
        claim: Claim::Stalled,
        severity,
        strength: share,
        evidence: evidence([
            ("stalled_seconds", Some(seconds)),
            ("stalled_share", Some(share)),
            ("stalls", Some(crate::cell::number(stalls.len()).into())),
            ("first_stall_began_seconds", Some(from)),
            ("last_stall_ended_seconds", Some(to)),
            detail,
        ]),
        text: format!(
            "{when}, {what}: {} of that time, which says nothing about the storage.",
            percent(share)
        ),
        remedy: "Find out who stopped it (a signal STOP, Ctrl-Z, a debugger, a machine that slept), then run the experiment again."
            .to_owned(),
    })
}

fn total(stalls: &[Window]) -> f64 {
    stalls.iter().map(Window::seconds).sum()
}

/// From each sample that showed a stopped process to the next one that showed none, within the measured time.
fn stopped(facts: &Facts<'_>) -> Vec<Window> {
    let end_ns = facts.engine.window.end_ns;
    let own: Vec<&Sample> =
        facts.trial.evidence.samples.iter().filter(|sample| sample.server.is_none()).collect();
    let mut stalls = Vec::new();
    let mut since = None;
    for sample in own {
        match (since, sample.stopped.is_empty()) {
            (None, false) => since = Some(sample.monotonic_ns),
            (Some(start_ns), true) => {
                stalls.extend(within(Window { start_ns, end_ns: sample.monotonic_ns }, facts));
                since = None;
            }
            _ => {}
        }
    }
    stalls.extend(since.and_then(|start_ns| within(Window { start_ns, end_ns }, facts)));
    stalls
}

/// A gap but for the time in which the thread only waited for a CPU: that is a busy machine, of which others tell.
fn without_waiting(gap: &Gap, facts: &Facts<'_>) -> Option<Window> {
    let start_ns = gap.start_ns.saturating_add(gap.cpu_wait_ns.unwrap_or(0));
    within(Window { start_ns, end_ns: gap.end_ns }, facts)
}

/// The part of it that lies within the measured time.
fn within(stall: Window, facts: &Facts<'_>) -> Option<Window> {
    let measured = facts.engine.window;
    let start_ns = stall.start_ns.max(measured.start_ns);
    let end_ns = stall.end_ns.min(measured.end_ns);
    (start_ns < end_ns).then_some(Window { start_ns, end_ns })
}
