//! The rate over a trial, in batches that are long enough for comparison.

use super::shape::{count, mean};
use crate::facts::Facts;
use crate::span::float;
use record::trial::{Series, Window};

/// The shortest batch: at least two slices of a tenth of a second, in which the kernel's throttle grants I/Os.
const SHORTEST_SECONDS: f64 = 0.2;

/// The most batches; more don't help. This many are enough for four levels and more against noise ([`stats::change_points`]), e.g. an
/// outage with the levels before and after it.
const MOST: usize = 100;

/// The most fine batches; with this many, no episode of a third of a second stays hidden.
const MOST_FINE: usize = 1000;

/// The least mean number of I/Os in a batch. From here on a Poisson count is near enough to a normal distribution.
const LEAST_IOS: f64 = 20.0;

/// The least number of batches. With fewer, neither a ramp nor a change can be distinguished from noise.
const LEAST: usize = 20;

/// The shortest episode at another level.
const EPISODE_SECONDS: f64 = 0.35;

/// The rate of one trial, in batches.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batches {
    /// The rate in each batch.
    pub(super) rates: Vec<f64>,
    /// The length of a batch, in seconds.
    pub(super) seconds: f64,
    /// `1/s` or `B/s`.
    pub(super) unit: &'static str,
    /// Whether the rate is from the devices' counters rather than the engine's.
    pub(super) of_devices: bool,
}

impl Batches {
    /// The least number of batches in an episode: more than one, since one may be a late slice of the throttle.
    pub(super) fn of_episode(&self) -> usize {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few; saturates")]
        let length = (EPISODE_SECONDS / self.seconds).ceil() as usize;
        length.max(2)
    }

    /// The rates without the batches that overlap one of these times, in seconds; and the numbers of the remaining batches.
    pub(super) fn without(&self, stalls: &[(f64, f64)]) -> (Vec<f64>, Vec<usize>) {
        let in_stall = |i: usize| {
            let (from, to) = (count(i) * self.seconds, count(i + 1) * self.seconds);
            stalls.iter().any(|(begin, end)| from < *end && to > *begin)
        };
        self.rates.iter().enumerate().filter(|(i, _)| !in_stall(*i)).map(|(i, rate)| (*rate, i)).unzip()
    }
}

/// Counts in steps of equal length.
struct Steps {
    amounts: Vec<f64>,
    seconds: f64,
    /// The mean number of I/Os in a step.
    ios: f64,
    unit: &'static str,
    of_devices: bool,
}

/// As [`batches`], but finer, since short episodes begin and end within longer batches. `None` if the steps have too few I/Os for that.
pub(super) fn fine(facts: &Facts<'_>) -> Option<Batches> {
    let Steps { amounts, seconds, ios, unit, of_devices } = by_engine(facts, facts.engine.series.as_ref()?)?;
    let rates: Vec<f64> = amounts.iter().map(|amount| amount / seconds).collect();
    let fits = seconds > 0.0 && ios >= LEAST_IOS && rates.len() >= LEAST && rates.len() <= MOST_FINE;
    fits.then_some(Batches { rates, seconds, unit, of_devices })
}

/// The rate by the engine's own time series, else by the devices' counters of direct I/O; `None` if there is neither, or if the trial is
/// too short.
pub(super) fn batches(facts: &Facts<'_>) -> Option<Batches> {
    let steps = match &facts.engine.series {
        Some(series) => by_engine(facts, series)?,
        None => by_devices(facts)?,
    };
    if !(steps.seconds > 0.0 && steps.ios > 0.0) {
        return None;
    }
    let shortest = (SHORTEST_SECONDS / steps.seconds).max(LEAST_IOS / steps.ios) - 1e-6;
    let most = count(steps.amounts.len()) / count(MOST);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive; absurd ones saturate"
    )]
    let length = shortest.max(most).ceil().max(1.0) as usize;
    let seconds = steps.seconds * count(length);
    let rates: Vec<f64> =
        steps.amounts.chunks_exact(length).map(|batch| batch.iter().sum::<f64>() / seconds).collect();
    let Steps { unit, of_devices, .. } = steps;
    (rates.len() >= LEAST).then_some(Batches { rates, seconds, unit, of_devices })
}

fn by_engine(facts: &Facts<'_>, series: &Series) -> Option<Steps> {
    let all = series.read_ios.iter().zip(&series.write_ios).zip(&series.trim_ios);
    let ios: Vec<f64> = all.map(|((r, w), t)| float(*r) + float(*w) + float(*t)).collect();
    let ios_in_step = mean(&ios);
    let large = facts.cell.workload.headline() == "bw" && facts.trim_ios <= 0.0;
    let (amounts, unit) =
        if large { (series.bytes.iter().map(|b| float(*b)).collect(), "B/s") } else { (ios, "1/s") };
    let seconds = float(series.step_ns) / 1e9;
    Some(Steps { amounts, seconds, ios: ios_in_step, unit, of_devices: false })
}

/// Bytes on the direct devices in the requested directions. Only for direct I/O: the page cache writes back at other times.
fn by_devices(facts: &Facts<'_>) -> Option<Steps> {
    let window = facts.engine.window;
    if facts.direct() != Some(true) || window.seconds() <= 0.0 {
        return None;
    }
    let counted = counted(facts)?;
    let inside = counted.iter().filter(|(t, _)| (window.start_ns..=window.end_ns).contains(t)).count();
    let seconds = (window.seconds() / count(inside.max(1))).max(0.1);
    let amounts = between(&counted, window, seconds)?;
    let ios = facts.read.ios + facts.write.ios;
    let ios = ios * seconds / window.seconds();
    Some(Steps { amounts, seconds, ios, unit: "B/s", of_devices: true })
}

/// The times and cumulative bytes of the samples that have all direct devices; `None` if there are none, or if a counter went backwards.
fn counted(facts: &Facts<'_>) -> Option<Vec<(u64, f64)>> {
    let (reads, writes) = (facts.read.ios > 0.0, facts.write.ios > 0.0);
    let devices: Vec<&str> = facts.trial.topology.direct().map(|node| node.name.as_str()).collect();
    let bytes = |sample: &record::counter::Sample| {
        let of = |name: &&str| {
            let block = sample.block.get(*name)?;
            let read = if reads { float(block.read_bytes) } else { 0.0 };
            Some(read + if writes { float(block.write_bytes) } else { 0.0 })
        };
        devices.iter().map(of).sum::<Option<f64>>()
    };
    let samples = facts.trial.evidence.samples.iter();
    let counted: Vec<(u64, f64)> = samples.filter_map(|s| Some((s.monotonic_ns, bytes(s)?))).collect();
    let grows = counted.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1);
    (grows && !devices.is_empty() && !counted.is_empty()).then_some(counted)
}

/// The amounts in the whole steps of a window, interpolated at their borders; `None` if the samples don't cover the window.
fn between(counted: &[(u64, f64)], window: Window, step_seconds: f64) -> Option<Vec<f64>> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least a tenth of a second"
    )]
    let step_ns = (step_seconds * 1e9) as u64;
    let count = window.end_ns.checked_sub(window.start_ns)? / step_ns.max(1);
    let mut at = 0;
    let mut borders = Vec::new();
    for number in 0..=count {
        let time = window.start_ns.saturating_add(number.saturating_mul(step_ns));
        while counted.get(at + 1).is_some_and(|(t, _)| *t < time) {
            at += 1;
        }
        let (&(t0, b0), &(t1, b1)) = (counted.get(at)?, counted.get(at + 1)?);
        if time < t0 || time > t1 {
            return None;
        }
        let part = if t1 > t0 { float(time - t0) / float(t1 - t0) } else { 0.0 };
        borders.push(b0 + (b1 - b0) * part);
    }
    Some(borders.windows(2).map(|w| w[1] - w[0]).collect())
}
