//! Trials that several machines loaded at the same time: each machine's own facts, and how they ran together.

use crate::attribute::{Attribution, attribute, mix};
use crate::detected::{Detected, evidence};
use crate::facts::Facts;
use crate::figures::{percent, rate, with_unit};
use crate::metrics::{over_trials, unit};
use crate::nfs;
use crate::sequential::Means;
use crate::span::float;
use record::finding::{Claim, Served, Severity};
use record::judged::{Limit, LimitKind, MachineView, TogetherView};
use record::plan::Cell;
use record::together::{Overlap, overlap};
use record::trial::{Part, TrialRecord};
use std::collections::BTreeMap;

/// Below this share of common time the sums are no figure of a simultaneous load.
const LEAST: f64 = 0.95;
/// A clock that moves less against the other one was read late, not set: the two are read one after the other.
const STEP_NS: u64 = 50_000_000;

/// A trial as one machine saw it.
pub(crate) struct Look<'a> {
    /// The machine; `None`: the cell's own, the only one.
    pub(crate) machine: Option<&'a str>,
    pub(crate) facts: Facts<'a>,
    pub(crate) shares: Attribution,
}

/// The views of a trial from all machines that loaded. `None` if the engine of one of them never ran. If they mount what another
/// machine exports, the first view is that machine's: the load of all, and what it made of it.
pub(crate) fn looks<'a>(trial: &'a TrialRecord, cell: &'a Cell) -> Option<Vec<Look<'a>>> {
    let look = |machine: Option<&'a str>, record: &'a TrialRecord| {
        let facts = Facts::of(record, cell)?;
        Some(Look { machine, shares: attribute(&facts), facts })
    };
    match trial.parts.as_slice() {
        [] => Some(vec![look(None, trial)?]),
        clients if cell.is_mounted_elsewhere() => {
            let client = |part: &'a Part| {
                let facts = Facts::of(&part.record, cell)?;
                let (read, write) = nfs::of_client(&facts);
                let shares = Attribution::of_both(&facts, read, write);
                Some(Look { machine: Some(&part.target), shares, facts })
            };
            std::iter::once(look(None, trial)).chain(clients.iter().map(client)).collect()
        }
        parts => parts.iter().map(|part| look(Some(&part.target), &part.record)).collect(),
    }
}

/// The shares of all machines together, weighted by the bytes that each asked for.
pub(crate) fn shares(looks: &[Look<'_>]) -> Option<Attribution> {
    let (first, others) = looks.split_first()?;
    if first.machine.is_none() {
        return Some(first.shares);
    }
    let weights = |look: &Look<'_>| (look.facts.read.asked, look.facts.write.asked);
    let mut sum = first.shares;
    let (mut read, mut write) = weights(first);
    for look in others {
        let (more_read, more_write) = weights(look);
        let (one, before) = (look.shares, sum);
        sum = Attribution {
            read: both(before.read, read, one.read, more_read),
            write: both(before.write, write, one.write, more_write),
            both: weighted(before.both, read + write, one.both, more_read + more_write),
            host_read: mean((before.host_read, read), (one.host_read, more_read)),
            host_write: mean((before.host_write, write), (one.host_write, more_write)),
            below_read: mean((before.below_read, read), (one.below_read, more_read)),
        };
        read += more_read;
        write += more_write;
    }
    Some(sum)
}

fn both(a: Option<Served>, weight_a: f64, b: Option<Served>, weight_b: f64) -> Option<Served> {
    match (a, b) {
        (Some(a), Some(b)) => Some(weighted(a, weight_a, b, weight_b)),
        (a, b) => a.or(b),
    }
}

/// The weighted mean of shares; without any weight, the first.
fn weighted(a: Served, weight_a: f64, b: Served, weight_b: f64) -> Served {
    if weight_a + weight_b > 0.0 { mix(a, weight_a, b, weight_b) } else { a }
}

fn mean((x, n): (f64, f64), (y, m): (f64, f64)) -> f64 {
    if n + m > 0.0 { (x * n + y * m) / (n + m) } else { x }
}

/// The limit of a trial: what the slowest machine shows by its own counters, else what the machine shows that serves them all. If neither
/// shows one, the serving machine's words count: it has the devices.
pub(crate) fn limiting(slowest: Option<Limit>, serving: Option<Limit>) -> Option<Limit> {
    match (slowest, serving) {
        (Some(own), Some(_)) if own.shown && own.by != LimitKind::Unknown => Some(own),
        (Some(own), Some(served)) if own.by != LimitKind::Unknown && served.by == LimitKind::Unknown => {
            Some(own)
        }
        (own, served) => served.or(own),
    }
}

/// The view that names the machine: the text of a finding, or of a limit.
pub(crate) fn named(machine: Option<&str>, text: String) -> String {
    match machine {
        Some(machine) => format!("On {machine}: {text}"),
        None => text,
    }
}

/// What shows that the machines of a trial did not run at the same time.
pub(crate) fn not_simultaneous(trial: &TrialRecord) -> Option<Detected> {
    let ran = overlap(&trial.parts)?;
    let (share, seconds) = (ran.share(), |ns: u64| float(ns) / 1e9);
    let least =
        float(ran.all_ns.saturating_sub(ran.uncertain_ns)) / float(ran.any_ns + ran.uncertain_ns).max(1.0);
    if least >= LEAST {
        return None;
    }
    let late = ends(&trial.parts, &ran);
    let (severity, text) = if share < LEAST {
        let severity = if share < 0.5 { Severity::Void } else { Severity::Caveat };
        let text = format!(
            "The {} machines ran at the same time in only {} of the {} in which any of them ran{late}. The sums count I/O from \
             times when another machine was idle.",
            trial.parts.len(),
            percent(share),
            with_unit(seconds(ran.any_ns) * 1e6, "us"),
        );
        (severity, text)
    } else {
        let text = format!(
            "It isn't certain that the {} machines ran at the same time: they did in {} of the time, but their clocks were compared only to \
             within {}.",
            trial.parts.len(),
            percent(share),
            with_unit(seconds(ran.uncertain_ns) * 1e6, "us"),
        );
        (Severity::Note, text)
    };
    Some(Detected {
        claim: Claim::NotSimultaneous,
        severity,
        strength: 1.0 - share,
        evidence: evidence([
            ("overlap_share", Some(share)),
            ("any_seconds", Some(seconds(ran.any_ns))),
            ("all_seconds", Some(seconds(ran.all_ns))),
            ("start_spread_seconds", Some(seconds(ran.start_spread_ns))),
            ("uncertain_seconds", Some(seconds(ran.uncertain_ns))),
        ]),
        text,
        remedy: "Measure longer trials (`measure: { trial: ... }`), so that the ends weigh less; and look for what makes a machine begin \
                 late: a slow connection, or a busy processor."
            .to_owned(),
    })
}

/// Which machine began last, and which ended first, where that took time away.
fn ends(parts: &[Part], ran: &Overlap) -> String {
    let windows = || parts.iter().filter_map(|part| Some((part.target.as_str(), part.window()?)));
    let worth = ran.any_ns / 100;
    let mut said = Vec::new();
    if let (Some((name, _)), true) = (windows().max_by_key(|(_, w)| w.start_ns), ran.start_spread_ns > worth)
    {
        said.push(format!(
            "{name} began {} after the first",
            with_unit(float(ran.start_spread_ns) / 1e3, "us")
        ));
    }
    let (first, last) = (windows().min_by_key(|(_, w)| w.end_ns), windows().map(|(_, w)| w.end_ns).max());
    if let (Some((name, window)), Some(last)) = (first, last)
        && last - window.end_ns > worth
    {
        let early = with_unit(float(last - window.end_ns) / 1e3, "us");
        said.push(format!("{name} ended {early} before the last"));
    }
    if said.is_empty() { String::new() } else { format!(": {}", said.join(", ")) }
}

/// Clocks that were set during the load, or a machine that was suspended. The trial doesn't depend on them.
pub(crate) fn clock_stepped(trial: &TrialRecord) -> Option<Detected> {
    let steps = trial.parts.iter().filter_map(|part| Some((part, part.clock_step_ns()?)));
    let (part, step) = steps.max_by_key(|(_, step)| step.unsigned_abs())?;
    if step.unsigned_abs() < STEP_NS {
        return None;
    }
    let by = with_unit(float(step.unsigned_abs()) / 1e3, "us");
    let direction = if step > 0 { "forward" } else { "back" };
    Some(Detected {
        claim: Claim::ClockStepped,
        severity: Severity::Note,
        strength: float(step.unsigned_abs()),
        evidence: evidence([("step_seconds", Some(float(step.unsigned_abs()) / 1e9))]),
        text: format!(
            "The clock of {} was set {direction} by {by} during the load. The start and the measured times don't depend on it: they are on \
             the clock that nobody sets (CLOCK_MONOTONIC).",
            part.target
        ),
        remedy: "Let the machines' clocks settle first (`chronyc waitsync`, `timedatectl`), if times of different logs are to be compared."
            .to_owned(),
    })
}

/// How the machines of a cell ran together, over its measured trials. `None` for a cell that one machine loads.
pub(crate) fn of_cell(
    cell: &Cell,
    trials: &[&TrialRecord],
    figure: &str,
    means: &Means,
) -> Option<TogetherView> {
    if !cell.is_together() {
        return None;
    }
    let machine = |target: &String| {
        let own = |trial: &&TrialRecord| {
            let part = trial.parts.iter().find(|part| part.target == *target)?;
            Some(part.record.metrics())
        };
        let values: Vec<BTreeMap<String, f64>> = trials.iter().filter_map(own).collect();
        MachineView { target: target.clone(), metrics: over_trials(&values, means) }
    };
    let machines: Vec<MachineView> = cell.workload.on.iter().map(machine).collect();
    let ran: Vec<Overlap> = trials.iter().filter_map(|trial| overlap(&trial.parts)).collect();
    let longest = |of: fn(&Overlap) -> u64| ran.iter().map(of).max().map(|ns| float(ns) / 1e9);
    let figures: Vec<(String, f64)> =
        machines.iter().filter_map(|m| Some((m.target.clone(), m.metrics.get(figure)?.estimate))).collect();
    let values: Vec<f64> =
        if figures.len() == machines.len() { figures.iter().map(|f| f.1).collect() } else { Vec::new() };
    let slowest = figures.iter().min_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| values.len() > 1);
    let mut view = TogetherView {
        overlap: ran.iter().map(Overlap::share).reduce(f64::min),
        start_spread_seconds: longest(|ran| ran.start_spread_ns),
        uncertain_seconds: longest(|ran| ran.uncertain_ns),
        metric: figure.to_owned(),
        slowest: slowest.map(|(name, _)| name.clone()),
        max_over_min: stats::max_over_min(&values).filter(|_| values.len() > 1),
        jain: stats::jain(&values).filter(|_| values.len() > 1),
        text: String::new(),
        machines,
    };
    view.text = in_words(&view, &figures);
    Some(view)
}

/// What there is to say about several machines; nothing about one.
fn in_words(view: &TogetherView, figures: &[(String, f64)]) -> String {
    let mut said = Vec::new();
    if view.machines.len() < 2 {
        return String::new();
    }
    if let (Some(share), Some(spread)) = (view.overlap, view.start_spread_seconds) {
        said.push(format!(
            "{} machines ran together in {} of the time; their starts lie within {}.",
            rate(float(view.machines.len() as u64)),
            percent(share),
            with_unit(spread * 1e6, "us")
        ));
    }
    let fastest = figures.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let slowest = figures.iter().find(|(name, _)| view.slowest.as_deref() == Some(name.as_str()));
    if let (Some(slowest), Some(fastest), Some(ratio), Some(jain)) =
        (slowest, fastest, view.max_over_min, view.jain)
    {
        let unit = unit(&view.metric);
        said.push(format!(
            "{} is the slowest with {}, {} the fastest with {} ({ratio:.2}x). Jain's fairness index is {} (1: all alike).",
            slowest.0,
            with_unit(slowest.1, unit),
            fastest.0,
            with_unit(fastest.1, unit),
            index(jain)
        ));
    }
    said.join(" ")
}

/// The index with three digits; 1 only where it is.
fn index(jain: f64) -> String {
    if jain < 1.0 && jain > 0.9995 { "above 0.999".to_owned() } else { format!("{jain:.3}") }
}

#[cfg(test)]
mod nas_tests;
#[cfg(test)]
mod tests;
