//! Claims about times in which the engine, the storage or the agent process did not run.

use crate::detected::{Detected, evidence};
use crate::facts::Facts;
use crate::figures::{percent, rate, with_unit};
use crate::outage::{self, Fault, Outage};
use crate::scene::Scene;
use crate::span::{float, number};
use record::counter::{Gap, Sample};
use record::finding::{Claim, Severity};
use record::trial::Window;

/// The least time without running for a claim, in seconds.
const NOTICEABLE: f64 = 1.0;
/// From this share of the measured time on, the figure isn't a storage figure.
const NO_FIGURE: f64 = 0.5;

/// Processes of the engine were stopped by a signal or by a debugger.
pub(super) fn engine(scene: &Scene<'_>) -> Option<Detected> {
    held_processes(scene, |sample| &sample.stopped, "stopped")
}

/// A cgroup's freezer stopped processes of the engine.
pub(super) fn frozen(scene: &Scene<'_>) -> Option<Detected> {
    held_processes(scene, |sample| &sample.frozen, "frozen")
}

fn held_processes(scene: &Scene<'_>, held: fn(&Sample) -> &[u32], how: &str) -> Option<Detected> {
    let facts = scene.facts;
    let processes = facts.trial.evidence.samples.iter().map(|sample| held(sample).len()).max()?;
    let who =
        format!("{processes} of the engine's processes {}", if processes == 1 { "was" } else { "were" });
    let detail = format!("{how}_engine_processes");
    let stalls = outage::seen(facts, |sample| !held(sample).is_empty());
    claimed(
        facts,
        &stalls,
        by_time(facts, &stalls),
        &format!("{who} {how}"),
        [(&detail, Some(number(processes).into()))],
    )
}

/// The severity: an engine that did not run half of the time has no storage figure.
fn by_time(facts: &Facts<'_>, stalls: &[Window]) -> Severity {
    if total(stalls) / facts.span.seconds() >= NO_FIGURE { Severity::Void } else { Severity::Caveat }
}

/// A CPU quota left the engine no CPU for a while.
pub(super) fn by_quota(scene: &Scene<'_>) -> Option<Detected> {
    hindered(scene, &Fault::Quota, "the CPU quota of a cgroup held the engine back")
}

/// The hypervisor left the machine no CPU for a while.
pub(super) fn by_steal(scene: &Scene<'_>) -> Option<Detected> {
    hindered(scene, &Fault::Steal, "the hypervisor gave the CPU to others, so the engine did not run")
}

fn hindered(scene: &Scene<'_>, fault: &Fault, what: &str) -> Option<Detected> {
    let facts = scene.facts;
    let all = outage::outages(facts).into_iter();
    let stalls: Vec<Window> = all.filter(|one| one.fault == *fault).map(|one| one.quiet.window).collect();
    let mut found = claimed(facts, &stalls, by_time(facts, &stalls), what, [])?;
    found.remedy = "Give the engine the CPU for the whole trial (no quota, no other load on the machine or its host), then run the experiment again."
        .to_owned();
    Some(found)
}

/// The machine was suspended: the measuring clock stood still meanwhile, but the storage may have gone on.
pub(super) fn suspended(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let seconds = facts.span.grown(|sample| sample.suspended_ns)? / 1e9;
    (seconds >= NOTICEABLE).then(|| Detected {
        claim: Claim::Stalled,
        severity: Severity::Caveat,
        strength: seconds,
        evidence: evidence([("suspended_seconds", Some(seconds))]),
        text: format!(
            "The machine was suspended for {seconds:.1} s within the measured time. The measuring clock does not count that time, \
             so the I/Os in flight look shorter than they were. This says nothing about the storage."
        ),
        remedy: "Keep the machine awake while it measures, then run the experiment again.".to_owned(),
    })
}

/// The storage, or a layer between it and the engine, completed no I/O for a while.
pub(super) fn storage(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let outages: Vec<Outage> =
        outage::outages(facts).into_iter().filter(|one| !one.fault.is_of_engine()).collect();
    let longest =
        outages.iter().max_by(|a, b| a.quiet.window.seconds().total_cmp(&b.quiet.window.seconds()))?;
    let stalls: Vec<Window> = outages.iter().map(|one| one.quiet.window).collect();
    let seconds = total(&stalls);
    if seconds < NOTICEABLE {
        return None;
    }
    let share = seconds / facts.span.seconds();
    let inside: f64 = outages.iter().map(|one| one.quiet.ios).sum();
    let all = facts.read.ios + facts.write.ios + facts.trim_ios;
    let mean = all / facts.span.seconds();
    let outside = (all - inside).max(0.0) / (facts.span.seconds() - seconds).max(0.1);
    let (who, held) = blamed(&longest.fault);
    let lead = when(facts, &stalls);
    let none = if inside > 0.0 {
        format!("only {} completed", counted(inside))
    } else {
        "no I/O completed".to_owned()
    };
    let mut found = evidence([
        ("stalled_seconds", Some(seconds)),
        ("stalled_share", Some(share)),
        ("stalls", Some(number(stalls.len()).into())),
        ("first_stall_began_seconds", stalls.first().map(|w| since_start(facts, w.start_ns))),
        ("last_stall_ended_seconds", stalls.last().map(|w| since_start(facts, w.end_ns))),
        ("ios_completed_in_stalls", Some(inside)),
        ("iops_without_stalls", Some(outside)),
    ]);
    found.insert(held.0.to_owned(), held.1);
    Some(Detected {
        claim: Claim::Stalled,
        severity: Severity::Caveat,
        strength: share,
        evidence: found,
        text: format!(
            "{lead}, {none}: {who}. The outage is {} of the measured time. The mean of {} includes the outage; without it, the rate is {}.",
            percent(share),
            with_unit(mean, "1/s"),
            with_unit(outside, "1/s")
        ),
        remedy: storage_remedy(&longest.fault),
    })
}

/// What held the I/Os up, as far as counters show it, and the number of these I/Os.
fn blamed(fault: &Fault) -> (String, (&'static str, f64)) {
    let ios = |held: u64| counted(float(held));
    match fault {
        Fault::Device { name, in_flight } => (
            format!("{name} had {} in flight and completed none", counted(*in_flight)),
            ("stalled_device_in_flight_ios", *in_flight),
        ),
        Fault::Throttle { held } => (
            format!(
                "the limits on the engine's I/O were changed, so a throttle and not the device held the I/Os ({} took as long as the outage)",
                ios(*held)
            ),
            ("ios_as_long_as_the_stall", float(*held)),
        ),
        Fault::Between { held } => (
            format!(
                "{} of the engine took as long as the outage, but no device had one in flight: a layer between the engine and the \
                 devices held them (a frozen file system, a suspended device, a server)",
                ios(*held)
            ),
            ("ios_as_long_as_the_stall", float(*held)),
        ),
        Fault::Quota | Fault::Steal | Fault::NotRunning => {
            ("the engine did not run".to_owned(), ("ios_as_long_as_the_stall", 0.0))
        }
    }
}

fn counted(ios: f64) -> String {
    format!("{} {}", rate(ios), if (ios - 1.0).abs() < 0.005 { "I/O" } else { "I/Os" })
}

fn storage_remedy(fault: &Fault) -> String {
    match fault {
        Fault::Device { name, .. } => format!(
            "See what {name}, or the storage behind it, did at that time (the kernel's log, the storage's own log). Quote the rate \
             with the outage and the rate without it."
        ),
        Fault::Throttle { .. } => {
            "Leave the limits as they are while it measures (see the finding throttle_changed), then run it again.".to_owned()
        }
        _ => "See what was frozen, suspended or not answering at that time (the kernel's log), then run it again.".to_owned(),
    }
}

/// The agent process was stopped: meanwhile it read no counters and didn't watch the engine.
pub(super) fn agent(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let gaps = &facts.trial.evidence.agent_gaps;
    let stalls: Vec<Window> = gaps.iter().filter_map(|gap| without_waiting(gap, facts)).collect();
    let waited = gaps.iter().filter_map(|gap| gap.cpu_wait_ns).sum();
    claimed(
        facts,
        &stalls,
        Severity::Caveat,
        "the agent process, which reads the counters, did not run",
        [("agent_waited_for_cpu_seconds", Some(float(waited) / 1e9))],
    )
}

fn claimed<const N: usize>(
    facts: &Facts<'_>,
    stalls: &[Window],
    severity: Severity,
    what: &str,
    details: [(&str, Option<f64>); N],
) -> Option<Detected> {
    let seconds = total(stalls);
    let (first, last) = (stalls.first()?, stalls.last()?);
    if seconds < NOTICEABLE {
        return None;
    }
    let share = seconds / facts.span.seconds();
    let mut found = evidence([
        ("stalled_seconds", Some(seconds)),
        ("stalled_share", Some(share)),
        ("stalls", Some(number(stalls.len()).into())),
        ("first_stall_began_seconds", Some(since_start(facts, first.start_ns))),
        ("last_stall_ended_seconds", Some(since_start(facts, last.end_ns))),
    ]);
    found.extend(evidence(details));
    Some(Detected {
        claim: Claim::Stalled,
        severity,
        strength: share,
        evidence: found,
        text: format!(
            "{}, {what}: this is {} of the measured time, and says nothing about the storage.",
            when(facts, stalls),
            percent(share)
        ),
        remedy: "Find out what stopped it (SIGSTOP, Ctrl-Z, a debugger, a frozen cgroup, a machine that slept), then run the experiment again."
            .to_owned(),
    })
}

/// The times in words: `From 2.0 s to 4.0 s of the measured time`.
fn when(facts: &Facts<'_>, stalls: &[Window]) -> String {
    let from = stalls.first().map_or(0.0, |stall| since_start(facts, stall.start_ns));
    let to = stalls.last().map_or(0.0, |stall| since_start(facts, stall.end_ns));
    match stalls.len() {
        1 => format!("From {from:.1} s to {to:.1} s of the measured time"),
        several => format!(
            "{several} times between {from:.1} s and {to:.1} s of the measured time, for {:.1} s in all",
            total(stalls)
        ),
    }
}

fn since_start(facts: &Facts<'_>, instant_ns: u64) -> f64 {
    float(instant_ns.saturating_sub(facts.engine.window.start_ns)) / 1e9
}

fn total(stalls: &[Window]) -> f64 {
    stalls.iter().map(Window::seconds).sum()
}

/// A gap without the time in which the thread only waited for a CPU; other detectors report a busy machine.
fn without_waiting(gap: &Gap, facts: &Facts<'_>) -> Option<Window> {
    let start_ns = gap.start_ns.saturating_add(gap.cpu_wait_ns.unwrap_or(0));
    outage::within(Window { start_ns, end_ns: gap.end_ns }, facts)
}
