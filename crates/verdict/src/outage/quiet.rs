//! Stretches of a trial in which next to nothing completed.

use crate::facts::Facts;
use crate::span::float;
use record::trial::Window;

/// A step with at most this share of the mean amount is quiet. It isn't 0, since a very low limit lets an I/O through now and then.
const QUIET: f64 = 0.05;
/// The shortest stretch; a shorter one may be the time between two I/Os, or a commit.
const SHORTEST_SECONDS: f64 = 0.35;
/// The least number of I/Os that would have completed at the rate of the other steps. That none does by chance has a probability of 10^-8.
const LEAST_IOS: f64 = 20.0;
/// If recurring stretches take more of the time than this, they are the normal course of the load.
const MOST_OFTEN: f64 = 0.75;

/// A quiet stretch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quiet {
    pub(crate) window: Window,
    /// The I/Os that completed in it.
    pub(crate) ios: f64,
}

/// The I/Os that completed from one instant to the next.
#[derive(Debug, Clone, Copy)]
struct Step {
    window: Window,
    ios: f64,
}

/// The quiet stretches of the measured time, by the engine's own time series, else by the devices' counters.
pub(super) fn stretches(facts: &Facts<'_>) -> Vec<Quiet> {
    let steps = by_engine(facts).or_else(|| by_devices(facts)).unwrap_or_default();
    let found = long_ones(&joined(&steps), &steps);
    let seconds: f64 = found.iter().map(|quiet| quiet.window.seconds()).sum();
    let all: f64 = steps.iter().map(|step| step.window.seconds()).sum();
    if found.len() > 2 && seconds > MOST_OFTEN * all { Vec::new() } else { found }
}

fn by_engine(facts: &Facts<'_>) -> Option<Vec<Step>> {
    let series = facts.engine.series.as_ref()?;
    let ios = series.read_ios.iter().zip(&series.write_ios).zip(&series.trim_ios);
    let steps = ios.zip(0_u64..).map(|(((read, write), trim), number)| {
        let start_ns = series.start_ns.saturating_add(number.saturating_mul(series.step_ns));
        let window = Window { start_ns, end_ns: start_ns.saturating_add(series.step_ns) };
        Step { window, ios: float(*read) + float(*write) + float(*trim) }
    });
    Some(steps.collect())
}

/// The steps by the devices' counters. Only for direct I/O, since the page cache writes back at other times.
fn by_devices(facts: &Facts<'_>) -> Option<Vec<Step>> {
    if facts.direct() != Some(true) {
        return None;
    }
    let done = |sample: &record::counter::Sample| -> Option<u64> {
        let of = |name: &str| sample.block.get(name).map(|b| b.reads + b.writes);
        facts.trial.topology.direct().map(|node| of(&node.name)).sum()
    };
    let counted: Vec<(u64, u64)> =
        facts.span.within().filter_map(|s| Some((s.monotonic_ns, done(s)?))).collect();
    let steps = counted.windows(2).map(|pair| Step {
        window: Window { start_ns: pair[0].0, end_ns: pair[1].0 },
        ios: float(pair[1].1.saturating_sub(pair[0].1)),
    });
    Some(steps.collect())
}

/// Joins neighbouring quiet steps, and quiet stretches with so little between them that they are quiet as a whole.
fn joined(steps: &[Step]) -> Vec<Quiet> {
    let rate = rate(steps.iter());
    let is_quiet = |ios: f64, window: Window| ios <= QUIET * rate * window.seconds();
    let mut found: Vec<Quiet> = Vec::new();
    let mut since = 0.0;
    for step in steps {
        if !is_quiet(step.ios, step.window) {
            since += step.ios;
            continue;
        }
        if let Some(last) = found.last_mut() {
            let window = Window { start_ns: last.window.start_ns, end_ns: step.window.end_ns };
            let ios = last.ios + since + step.ios;
            if is_quiet(ios, window) || since <= 0.0 {
                *last = Quiet { window, ios };
                since = 0.0;
                continue;
            }
        }
        found.push(Quiet { window: step.window, ios: step.ios });
        since = 0.0;
    }
    found
}

/// The stretches that are too long for chance.
fn long_ones(found: &[Quiet], steps: &[Step]) -> Vec<Quiet> {
    let in_one = |step: &&Step| {
        !found.iter().any(|q| {
            q.window.seconds() >= SHORTEST_SECONDS
                && q.window.start_ns <= step.window.start_ns
                && q.window.end_ns >= step.window.end_ns
        })
    };
    let usual = rate(steps.iter().filter(in_one));
    let is_long = |quiet: &&Quiet| {
        let seconds = quiet.window.seconds();
        seconds >= SHORTEST_SECONDS && usual * seconds >= LEAST_IOS
    };
    found.iter().filter(is_long).copied().collect()
}

fn rate<'s>(steps: impl Iterator<Item = &'s Step>) -> f64 {
    let (ios, seconds) = steps.fold((0.0, 0.0), |(ios, s), step| (ios + step.ios, s + step.window.seconds()));
    if seconds > 0.0 { ios / seconds } else { 0.0 }
}
