//! Stretches of a trial in which next to nothing completed.

use crate::facts::Facts;
use crate::span::float;
use record::trial::Window;

/// A step with this share of the mean amount, or less, is quiet: a limit of next to nothing lets an I/O through now and then.
const QUIET: f64 = 0.05;
/// A shorter stretch may be the time between two I/Os, or a commit.
const SHORTEST_SECONDS: f64 = 0.35;
/// So many I/Os would have completed at the rate of the other steps: by chance none of them does once in 10^8 times.
const LEAST_IOS: f64 = 20.0;
/// Stretches that come again and again and take more of the time than this are how the load runs.
const MOST_OFTEN: f64 = 0.75;

/// One stretch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quiet {
    pub(crate) window: Window,
    /// I/Os that completed in it.
    pub(crate) ios: f64,
}

/// What completed from one instant to the next.
#[derive(Debug, Clone, Copy)]
struct Step {
    window: Window,
    ios: f64,
}

/// The quiet stretches of the measured time, by the engine's own course, else by the counters of the devices.
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

/// Only of direct I/O: what the page cache collects reaches devices at times of its own.
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

/// Neighbouring quiet steps, and quiet stretches with so little between them that they are quiet as a whole.
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

/// Those that are too long for chance.
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
