//! Findings within trials.

use super::batches::{Batches, batches, fine};
use super::episodes;
use super::provided;
use super::shape::{Change, Fifths, Shape, count, mean, shape};
use super::words::{LIMITS_CHANGED, Said, counter, estimate, rates, seconds, tenths};
use crate::arc::Arc;
use crate::detected::Detected;
use crate::facts::Facts;
use crate::figures::{percent, with_unit};
use crate::foreign;
use crate::outage;
use crate::span::{float, number};
use crate::usage::rate::rates as asked_rate;
use record::counter::Sample;
use record::finding::{Claim, Finding, Severity};
use record::plan::{Cell, Measure};
use stats::{Estimate, SteadyState};
use std::collections::BTreeMap;

/// One trial whose rate was not steady.
struct Unsteady {
    round: u32,
    seconds: f64,
    batches: Batches,
    shape: Shape,
    /// Whether the limits changed meanwhile.
    disturbed: bool,
    /// The share of the requested blocks that ZFS's cache held, if it was enough to shape the rate.
    cached: Option<f64>,
    /// The device whose use by other processes may have shaped the rate.
    neighbour: Option<String>,
}

/// Episodes that shift the trial's mean by less are a note only.
const SLIGHT: f64 = 0.05;

/// From this share on, a fall of the rate is attributed to the cache's content rather than to burst credits.
const SHAPES: f64 = 0.1;

/// How much more of the time a device must work for others after a fall, for the fall to be attributed to them.
const GROWN: f64 = 0.1;

/// The findings about the rate within a cell's trials: one for each claim, with the figures of the trial in which it is strongest. A claim
/// in fewer than half of the trials is a note, except that credits ran out, since the other rounds then had another state.
pub(crate) fn within(cell: &Cell, facts: &[Facts<'_>], measure: &Measure) -> Vec<Finding> {
    let unsteady: Vec<Unsteady> = facts.iter().filter_map(unsteady).collect();
    let claims = [Claim::RampUp, Claim::NotSteady, Claim::BurstExhausted];
    let finding = |claim| {
        let seen: Vec<&Unsteady> = unsteady.iter().filter(|u| u.claim() == claim).collect();
        let strongest = seen.iter().max_by(|a, b| a.strength().total_cmp(&b.strength()))?;
        let rare = 2 * seen.len() < facts.len() && claim != Claim::BurstExhausted;
        let mut detected = strongest.detected(cell, measure);
        detected.severity = if rare || strongest.is_slight() { Severity::Note } else { Severity::Caveat };
        let rounds: Vec<u32> = seen.iter().map(|unsteady| unsteady.round).collect();
        Some(detected.of_round(strongest.round, number(rounds.len()), facts.len()).in_rounds(cell, rounds))
    };
    claims.into_iter().filter_map(finding).collect()
}

fn unsteady(facts: &Facts<'_>) -> Option<Unsteady> {
    let disturbed = limits_changed(facts);
    let (batches, shape) = shaped(facts, disturbed)?;
    let cached = Arc::of(facts).and_then(|arc| arc.share()).filter(|share| *share >= SHAPES);
    let (round, seconds) = (facts.trial.id.round, facts.span.seconds());
    let neighbour = neighbour(facts, &shape, &batches);
    Some(Unsteady { round, seconds, batches, shape, disturbed, cached, neighbour })
}

/// The shape of the rate without outages, which have their own finding. Short episodes are searched for in finer batches too.
fn shaped(facts: &Facts<'_>, disturbed: bool) -> Option<(Batches, Shape)> {
    let begun = facts.engine.window.start_ns;
    let since = |ns: u64| float(ns.saturating_sub(begun)) / 1e9;
    let stalls: Vec<(f64, f64)> =
        outage::stalls(facts).iter().map(|w| (since(w.start_ns), since(w.end_ns))).collect();
    // After an outage, an engine with a requested rate catches up.
    if !stalls.is_empty() && asked_rate(facts).is_some() {
        return None;
    }
    // Pauses of the workload itself come again and again.
    let paused = facts.all_options().iter().any(|options| options.thinktime_us > 0);
    if let Some(fine) = fine(facts).filter(|_| stalls.is_empty() && !paused)
        && let Some(found @ Shape::Episodes(_)) = shape(&fine.rates, disturbed, fine.of_episode())
    {
        return Some((fine, found));
    }
    let batches = batches(facts)?;
    let (rates, places) = batches.without(&stalls);
    let shortest = if paused { usize::MAX } else { batches.of_episode() };
    let found = shape(&rates, disturbed, shortest)?.moved(&places)?;
    Some((batches, found))
}

/// The device whose use by others may explain this shape. A fall is attributed to others only if they did more after it than before.
fn neighbour(facts: &Facts<'_>, shape: &Shape, batches: &Batches) -> Option<String> {
    let seconds = facts.span.seconds();
    let foreign = match shape {
        Shape::Fell(change) => {
            let at = count(change.at) * batches.seconds;
            let busy = |from, to| foreign::between(facts, from, to).map_or(0.0, |f| f.busy);
            let grown = busy(at, seconds) - busy(0.0, at);
            foreign::between(facts, at, seconds).filter(|_| grown >= GROWN)
        }
        Shape::Settled { .. } | Shape::Changed { .. } | Shape::Episodes(_) => foreign::strongest(facts),
    };
    foreign.map(|f| f.device.to_owned())
}

/// Whether the limits on the engine's I/O changed during the measured time; false if they aren't known.
fn limits_changed(facts: &Facts<'_>) -> bool {
    let evidence = &facts.trial.evidence;
    !evidence.host_changes.is_empty() || differ(facts.span.within()) || differ(evidence.host.iter())
}

fn differ<'s>(samples: impl Iterator<Item = &'s Sample>) -> bool {
    let mut limits = samples.filter_map(|s| s.throttles.as_ref());
    limits.next().is_some_and(|first| limits.any(|later| later != first))
}

impl Unsteady {
    fn claim(&self) -> Claim {
        match self.shape {
            _ if self.neighbour.is_some() => Claim::NotSteady,
            Shape::Settled { .. } => Claim::RampUp,
            Shape::Fell(_) if self.cached.is_none() => Claim::BurstExhausted,
            Shape::Fell(_) => Claim::NotSteady,
            Shape::Changed { .. } | Shape::Episodes(_) => Claim::NotSteady,
        }
    }

    /// The change of the rate, relative to the larger one.
    fn strength(&self) -> f64 {
        let change = |a: f64, b: f64| (a - b).abs() / a.max(b).max(f64::MIN_POSITIVE);
        match &self.shape {
            Shape::Settled { first, after, .. } => change(*first, after.value),
            Shape::Episodes(found) => change(found.ordinary, found.other),
            Shape::Fell(c) | Shape::Changed { largest: c, .. } => change(c.before.value, c.after.value),
        }
    }

    /// Whether the trial's mean is near the ordinary rate nevertheless.
    fn is_slight(&self) -> bool {
        let Shape::Episodes(found) = &self.shape else { return false };
        (mean(&self.batches.rates) / found.ordinary - 1.0).abs() < SLIGHT
    }

    fn detected(&self, cell: &Cell, measure: &Measure) -> Detected {
        let (mut evidence, text, remedy) = match &self.shape {
            Shape::Settled { batches, first, after } => self.settled(*batches, *first, after, measure),
            Shape::Fell(change) => self.fell(change, cell, measure),
            Shape::Episodes(found) => episodes::said(found, &self.batches, self.disturbed),
            Shape::Changed { largest, changes, fifths } => self.changed(largest, *changes, fifths, measure),
        };
        evidence.extend(tenths(&self.batches.rates, self.batches.unit));
        let text = if self.batches.of_devices {
            format!(
                "{text} The engine reports no rate over time; these figures are from the devices' counters."
            )
        } else {
            text
        };
        let (text, remedy) = match &self.neighbour {
            None => (text, remedy),
            Some(device) => (
                format!("{text} Others used {device} meanwhile, which may be the whole reason."),
                stop_others(device),
            ),
        };
        let strength = self.strength();
        Detected { claim: self.claim(), severity: Severity::Caveat, strength, evidence, text, remedy }
    }

    fn rate(&self, value: f64) -> String {
        with_unit(value, self.batches.unit)
    }

    fn interval(&self, e: &Estimate) -> String {
        estimate(e, self.batches.unit)
    }

    fn counters<const N: usize>(&self, list: [(&str, f64); N]) -> BTreeMap<String, f64> {
        list.into_iter().map(|(name, value)| (counter(name, self.batches.unit), value)).collect()
    }

    /// Evidence, text, remedy.
    fn settled(&self, batches: usize, first: f64, after: &Estimate, measure: &Measure) -> Said {
        let took = count(batches) * self.batches.seconds;
        let all = mean(&self.batches.rates);
        let mut evidence = self.counters([("first", first), ("settled", after.value), ("trial", all)]);
        evidence.insert("settled_after_seconds".to_owned(), took);
        let off = all / after.value - 1.0;
        let text = format!(
            "the rate had not settled when measuring began. It took {} to get from {} to {}; the mean of the whole trial is {} {} that.",
            seconds(took),
            self.rate(first),
            self.interval(after),
            percent(off.abs()),
            if off < 0.0 { "below" } else { "above" }
        );
        let ramp = measure.ramp_seconds;
        let remedy =
            format!("Begin later: ramp: {:.0}s ({} now).", (ramp + 1.5 * took).ceil(), seconds(ramp));
        (evidence, text, remedy)
    }

    fn fell(&self, change: &Change, cell: &Cell, measure: &Measure) -> Said {
        let at = count(change.at) * self.batches.seconds;
        let ramp = measure.ramp_seconds;
        let (before, after) = (change.before.value, change.after.value);
        let mut evidence = self.counters([("before", before), ("after", after)]);
        evidence.insert("fell_at_seconds".to_owned(), at);
        let provided = provided::iops(cell).filter(|_| self.batches.unit == "1/s");
        evidence.extend(provided.map(|p| ("provided_iops".to_owned(), p)));
        let lasting = provided
            .filter(|p| self.neighbour.is_none() && (after / p - 1.0).abs() <= 0.1)
            .map_or(String::new(), |p| {
                format!(" The volumes are provisioned with {}, so this is the lasting rate.", self.rate(p))
            });
        let text = format!(
            "the rate fell for good {} after measuring began ({} after the load did): from {} to {}. The figure of this trial, {}, \
             describes neither state.{lasting}",
            seconds(at),
            seconds(ramp + at),
            self.interval(&change.before),
            self.interval(&change.after),
            self.rate(mean(&self.batches.rates))
        );
        if let Some(share) = self.cached {
            evidence.insert("arc_read_share".to_owned(), share);
            let text = format!(
                "{text} ZFS's cache in memory (ARC) held {} of the blocks asked for, and less and less of the data as other blocks \
                 replaced it. So this is not the volumes' burst credit.",
                percent(share)
            );
            let remedy = format!(
                "trial: {:.0}s ({} now) averages over it; cache: cold begins with an empty cache.",
                (3.0 * self.seconds).ceil(),
                seconds(self.seconds)
            );
            return (evidence, text, remedy);
        }
        let remedy = format!(
            "For the rate that lasts, let the burst end before measuring: ramp: {:.0}s ({} now), or load the volume beforehand. For the burst alone: \
             trial: {:.0}s at most ({} now).",
            (1.2 * (ramp + at)).ceil(),
            seconds(ramp),
            at.floor().max(1.0),
            seconds(self.seconds)
        );
        (evidence, text, remedy)
    }

    fn changed(&self, largest: &Change, changes: usize, fifths: &Fifths, measure: &Measure) -> Said {
        let at = count(largest.at) * self.batches.seconds;
        let mut evidence = self.counters([("before", largest.before.value), ("after", largest.after.value)]);
        let SteadyState { range, slope, .. } = fifths.state;
        for (name, value) in [
            ("changed_at_seconds", at),
            ("changes", count(changes)),
            ("range_share", range),
            ("slope_share", slope),
        ] {
            evidence.insert(name.to_owned(), value);
        }
        let more = match changes {
            1 => String::new(),
            2 => ", the larger of two changes".to_owned(),
            n => format!(", the largest of {n} changes"),
        };
        let text = format!(
            "{} after measuring began the rate went from {} to {}{more}. The fifths of the trial gave {}: a range of {} (SNIA calls up to 20 % steady), \
             a slope of {} (up to 10 %).",
            seconds(at),
            self.interval(&largest.before),
            self.interval(&largest.after),
            rates(&fifths.means, self.batches.unit),
            percent(range),
            percent(slope.abs())
        );
        let remedy = if self.disturbed {
            LIMITS_CHANGED.to_owned()
        } else {
            format!(
                "See what else ran, or was changed, at that time. trial: {:.0}s ({} now) averages over changes that recur; ramp: \
                 {:.0}s ({} now) leaves out a change that doesn't.",
                (3.0 * self.seconds).ceil(),
                seconds(self.seconds),
                (measure.ramp_seconds + 1.5 * at).ceil(),
                seconds(measure.ramp_seconds)
            )
        };
        (evidence, text, remedy)
    }
}

/// The first remedy if others used a device: without it, nothing else can be concluded.
fn stop_others(device: &str) -> String {
    format!("Stop what else uses {device} (see the finding interference), then run it again.")
}
