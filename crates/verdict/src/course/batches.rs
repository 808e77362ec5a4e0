//! The rate over a trial, in batches that are long enough to be compared.

use super::shape::{count, mean};
use crate::facts::Facts;
use crate::span::float;
use record::trial::{Series, Window};

/// A throttle hands out what it grants in slices of a tenth of a second: a batch has at least two.
const SHORTEST_SECONDS: f64 = 0.2;

/// More batches tell no more. So many have four levels and more to tell noise from ([`stats::change_points`]), as an outage and what is before and after it.
const MOST: usize = 100;

/// More steps hide no episode of a third of a second.
const MOST_FINE: usize = 1000;

/// I/Os in a batch, on average: from here on a count of I/Os that come by chance is near enough to normal.
const LEAST_IOS: f64 = 20.0;

/// With fewer batches neither a ramp nor a change can be told from noise.
const LEAST: usize = 20;

/// An episode at another level is no shorter.
const EPISODE_SECONDS: f64 = 0.35;

/// The rate of one trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batches {
    /// The rate in each batch.
    pub(super) rates: Vec<f64>,
    /// Length of a batch.
    pub(super) seconds: f64,
    /// `1/s` or `B/s`.
    pub(super) unit: &'static str,
    /// Whether the devices counted it, not the engine.
    pub(super) of_devices: bool,
}

impl Batches {
    /// So many batches make an episode: more than one, which may be a slice that came late.
    pub(super) fn of_episode(&self) -> usize {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few; saturates")]
        let length = (EPISODE_SECONDS / self.seconds).ceil() as usize;
        length.max(2)
    }

    /// The same without the batches that lie in one of these times, in seconds, by at least a part; and the places that the others had.
    pub(super) fn without(&self, stalls: &[(f64, f64)]) -> (Vec<f64>, Vec<usize>) {
        let in_stall = |i: usize| {
            let (from, to) = (count(i) * self.seconds, count(i + 1) * self.seconds);
            stalls.iter().any(|(begin, end)| from < *end && to > *begin)
        };
        self.rates.iter().enumerate().filter(|(i, _)| !in_stall(*i)).map(|(i, rate)| (*rate, i)).unzip()
    }
}

/// What was counted in steps of equal length.
struct Steps {
    amounts: Vec<f64>,
    seconds: f64,
    /// I/Os in a step, on average.
    ios: f64,
    unit: &'static str,
    of_devices: bool,
}

/// As [`batches`], but finer: short episodes begin and end within longer batches. `None` where the steps have too few I/Os for that.
pub(super) fn fine(facts: &Facts<'_>) -> Option<Batches> {
    let Steps { amounts, seconds, ios, unit, of_devices } = by_engine(facts, facts.engine.series.as_ref()?)?;
    let rates: Vec<f64> = amounts.iter().map(|amount| amount / seconds).collect();
    let fits = seconds > 0.0 && ios >= LEAST_IOS && rates.len() >= LEAST && rates.len() <= MOST_FINE;
    fits.then_some(Batches { rates, seconds, unit, of_devices })
}

/// The rate by the engine's own course, else by the devices' counters of direct I/O; `None` when neither tells, or the trial is too short.
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

/// Bytes on the direct devices in the directions asked for. Only direct I/O: what the page cache collects reaches devices at times of its own.
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

/// Time and bytes so far, of the samples that have all direct devices; `None` when there are none, or a counter went backwards.
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

/// Amounts in the whole steps of a window, interpolated at their borders; `None` where the samples don't reach around it.
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
