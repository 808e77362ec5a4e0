//! Outages: times within a trial in which no I/O completed, and their causes.
//!
//! A candidate is a stretch in which the engine completed next to nothing, while its rate before and after would have made dozens
//! of I/Os. It is an outage only if something shows that I/Os were held up: an engine that requested nothing, e.g. because of
//! `thinktime`, has no outage.

mod quiet;

use crate::facts::Facts;
use crate::span::{Span, float};
use record::counter::{BlockCounters, Sample};
use record::latency::LatencyHistogram;
use record::trial::{Totals, Window};

pub(crate) use quiet::Quiet;

/// The least share of a stretch in which a cause must be seen.
const MOST: f64 = 0.5;
/// If this share of the samples shows an I/O in flight on a device, the device held it throughout.
const ALWAYS: f64 = 0.8;
/// A device that completes less than this share of its usual rate counts as idle.
const IDLE: f64 = 0.05;
/// An I/O that took this share of a stretch was in flight for all of it, apart from a step at each end.
const AS_LONG: f64 = 0.7;
/// If this share of the quota's periods, or of the machine's time, is taken away, nothing is left for the engine.
const NEARLY_ALL: f64 = 0.8;

/// One outage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outage {
    /// Its time, and the I/Os that completed in it nevertheless.
    pub(crate) quiet: Quiet,
    pub(crate) fault: Fault,
}

/// The cause of an outage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// A device had I/Os in flight all the time and completed none.
    Device { name: String, in_flight: f64 },
    /// The limits on the engine's I/O in this time differed from those before.
    Throttle { held: u64 },
    /// The engine's I/Os took as long as the outage, but no device had one in flight.
    Between { held: u64 },
    /// A CPU quota stopped the engine.
    Quota,
    /// The hypervisor gave the CPU to others.
    Steal,
    /// The engine's processes were stopped or frozen, or nothing ran on the machine; other detectors report it.
    NotRunning,
}

impl Fault {
    /// Whether the engine did not run, so the outage says nothing about the storage.
    pub(crate) fn is_of_engine(&self) -> bool {
        matches!(self, Self::Quota | Self::Steal | Self::NotRunning)
    }
}

/// All outages of a trial, in order.
pub(crate) fn outages(facts: &Facts<'_>) -> Vec<Outage> {
    let paused = facts.all_options().iter().any(|options| options.thinktime_us > 0);
    let found = quiet::stretches(facts).into_iter();
    let found = found.filter_map(|quiet| {
        let fault = engine_fault(facts, quiet.window).or_else(|| {
            (!paused && devices_are_idle(facts, quiet.window)).then(|| storage_fault(facts, quiet.window))?
        })?;
        Some(Outage { quiet, fault })
    });
    found.collect()
}

/// All times within the measured time that don't show the working storage: outages, and times in which the engine was stopped or frozen.
pub(crate) fn stalls(facts: &Facts<'_>) -> Vec<Window> {
    let mut all: Vec<Window> = outages(facts).into_iter().map(|outage| outage.quiet.window).collect();
    all.extend(seen(facts, |sample| !sample.stopped.is_empty()));
    all.extend(seen(facts, |sample| !sample.frozen.is_empty()));
    all.sort_by_key(|window| window.start_ns);
    let mut joined: Vec<Window> = Vec::new();
    for window in all {
        match joined.last_mut() {
            Some(last) if window.start_ns <= last.end_ns => last.end_ns = last.end_ns.max(window.end_ns),
            _ => joined.push(window),
        }
    }
    joined
}

/// The share of [`stalls`] in the measured time.
pub(crate) fn stalled_share(facts: &Facts<'_>) -> f64 {
    let seconds: f64 = stalls(facts).iter().map(Window::seconds).sum();
    let share = seconds / facts.span.seconds();
    if share.is_finite() { share } else { 0.0 }
}

/// The times within the measured time from a sample of this machine for which `shows` is true to the next one for which it isn't.
pub(crate) fn seen(facts: &Facts<'_>, shows: impl Fn(&Sample) -> bool) -> Vec<Window> {
    let mut stalls = Vec::new();
    let mut since = None;
    for sample in facts.trial.evidence.samples.iter().filter(|sample| sample.server.is_none()) {
        match (since, shows(sample)) {
            (None, true) => since = Some(sample.monotonic_ns),
            (Some(start_ns), false) => {
                stalls.extend(within(Window { start_ns, end_ns: sample.monotonic_ns }, facts));
                since = None;
            }
            _ => {}
        }
    }
    let end_ns = facts.engine.window.end_ns;
    stalls.extend(since.and_then(|start_ns| within(Window { start_ns, end_ns }, facts)));
    stalls
}

/// The part of a stall within the measured time.
pub(crate) fn within(stall: Window, facts: &Facts<'_>) -> Option<Window> {
    let measured = facts.engine.window;
    let start_ns = stall.start_ns.max(measured.start_ns);
    let end_ns = stall.end_ns.min(measured.end_ns);
    (start_ns < end_ns).then_some(Window { start_ns, end_ns })
}

/// Why the engine didn't run in this time; `None` if it ran.
fn engine_fault(facts: &Facts<'_>, window: Window) -> Option<Fault> {
    let mut not_running = seen(facts, |sample| !sample.stopped.is_empty() || !sample.frozen.is_empty());
    let gaps = &facts.trial.evidence.agent_gaps;
    not_running.extend(gaps.iter().map(|gap| Window { start_ns: gap.start_ns, end_ns: gap.end_ns }));
    if not_running.iter().any(|other| overlap(*other, window) >= MOST * window.seconds()) {
        return Some(Fault::NotRunning);
    }
    let inner = inner(facts, window);
    let periods = inner.grown(|s| Some(s.cpu_quota?.periods)).filter(|periods| *periods >= 1.0);
    let used_up = inner.grown(|s| Some(s.cpu_quota?.throttled_periods));
    let held_ns = inner.grown(|s| Some(s.cpu_quota?.throttled_ns));
    let by_periods = used_up.zip(periods).is_some_and(|(used_up, all)| used_up >= NEARLY_ALL * all);
    if by_periods && held_ns.is_some_and(|ns| ns / 1e9 >= MOST * inner.seconds()) {
        return Some(Fault::Quota);
    }
    let stolen = inner.grown(|s| s.cpu?.steal);
    let all = inner.grown(|s| {
        let cpu = s.cpu?;
        let waiting = [cpu.iowait, cpu.irq, cpu.steal].into_iter().flatten().sum::<u64>();
        Some(cpu.user + cpu.system + cpu.idle + waiting)
    });
    let share = stolen.zip(all.filter(|all| *all > 0.0)).map(|(stolen, all)| stolen / all);
    share.is_some_and(|share| share >= NEARLY_ALL).then_some(Fault::Steal)
}

fn overlap(a: Window, b: Window) -> f64 {
    let (start_ns, end_ns) = (a.start_ns.max(b.start_ns), a.end_ns.min(b.end_ns));
    Window { start_ns, end_ns: end_ns.max(start_ns) }.seconds()
}

/// The middle of a stretch, since its ends are known only to a step, and counters to a sample.
fn inner<'a>(facts: &Facts<'a>, window: Window) -> Span<'a> {
    let edge = (window.end_ns - window.start_ns) / 8;
    facts.span.part(window.start_ns + edge, window.end_ns - edge)
}

/// What held up requested I/Os; `None` if nothing shows that there were any.
fn storage_fault(facts: &Facts<'_>, window: Window) -> Option<Fault> {
    let inner = inner(facts, window);
    let held = held(facts, window);
    let mut nodes: Vec<_> = facts.trial.topology.nodes.iter().collect();
    // the deepest first, since the devices above wait for it
    nodes.sort_by_key(|node| std::cmp::Reverse(node.depth));
    let of_device = nodes.into_iter().find_map(|node| {
        let gauges: Vec<u64> =
            inner.within().filter_map(|s| Some(s.block.get(&node.name)?.in_flight)).collect();
        let looks = float(gauges.len() as u64);
        let busy = float(gauges.iter().filter(|gauge| **gauge > 0).count() as u64);
        let holds = gauges.len() >= 2 && busy >= ALWAYS * looks && is_idle(facts, &inner, &node.name);
        let in_flight = gauges.iter().map(|gauge| float(*gauge)).sum::<f64>() / looks;
        holds.then(|| Fault::Device { name: node.name.clone(), in_flight })
    });
    if of_device.is_some() {
        return of_device;
    }
    if other_limits(facts, &inner) {
        return Some(Fault::Throttle { held });
    }
    (held > 0).then_some(Fault::Between { held })
}

/// Whether the ground's direct devices completed next to nothing as well. If not, the engine waited for the page cache, or for other work
/// of these devices.
fn devices_are_idle(facts: &Facts<'_>, window: Window) -> bool {
    let inner = inner(facts, window);
    facts.trial.topology.direct().all(|node| is_idle(facts, &inner, &node.name))
}

/// Whether a device completed next to nothing in this time, relative to its usual rate; true also for a device without counters.
fn is_idle(facts: &Facts<'_>, inner: &Span<'_>, name: &str) -> bool {
    let done = |b: &BlockCounters| b.reads + b.writes + b.discards.unwrap_or(0) + b.flushes.unwrap_or(0);
    let rate = |span: &Span<'_>| Some(span.grown(|s| s.block.get(name).map(done))? / span.seconds());
    rate(inner).zip(rate(&facts.span)).is_none_or(|(here, usual)| here <= IDLE * usual)
}

/// Whether the limits on the engine's I/O in most of this time differ from those at the begin of the measured time.
fn other_limits(facts: &Facts<'_>, inner: &Span<'_>) -> bool {
    let Some(first) = facts.span.within().find_map(|s| s.throttles.as_ref()) else { return false };
    let looks = || inner.within().filter_map(|s| s.throttles.as_ref());
    let others = looks().filter(|limits| *limits != first).count();
    others > 0 && 2 * others >= looks().count()
}

/// The number of the engine's I/Os that took at least as long as the stretch.
fn held(facts: &Facts<'_>, window: Window) -> u64 {
    let least = AS_LONG * window.seconds() * 1e9;
    let long = |latency: &LatencyHistogram| -> u64 {
        latency.bins_ns.iter().filter(|(ns, _)| float(**ns) >= least).map(|(_, n)| *n).sum()
    };
    let sides: [Option<&Totals>; 3] =
        [facts.engine.read.as_ref(), facts.engine.write.as_ref(), facts.engine.trim.as_ref()];
    sides.into_iter().flatten().map(|totals| long(&totals.latency)).sum()
}
