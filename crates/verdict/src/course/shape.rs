//! The shape of a trial's rate over time. It knows nothing about storage.

use stats::{Episodes, Estimate, SteadyState, change_points, episodes, mean_of_series, ramp_up, two_rates};

/// The significance level of each test. A run has hundreds of trials, and slow wandering fits the test's model (an AR(1) process) badly. A
/// change of a throttled rate has a p-value of practically 0.
pub(super) const LEVEL: f64 = 1e-6;

/// The significance level of the test whether single low batches are adjacent by chance. The two levels must also be apart, which chance
/// alone hardly makes.
const BY_CHANCE: f64 = 1e-3;

/// The least shift of the trial's mean by a ramp for a finding.
const SHIFT: f64 = 0.02;

/// The shape of the rate.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// It settled only after this many batches.
    Settled { batches: usize, first: f64, after: Estimate },
    /// It fell once, for good.
    Fell(Change),
    /// It changed to another level and back, once or several times.
    Episodes(Episodes),
    /// It was unsteady in another way.
    Changed { largest: Change, changes: usize, fifths: Fifths },
}

/// A change of level, and the first batch after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Change {
    pub(super) at: usize,
    pub(super) before: Estimate,
    pub(super) after: Estimate,
}

/// The fifths of the trial, in place of the five rounds of SNIA's steady state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fifths {
    pub(super) means: [f64; 5],
    pub(super) state: SteadyState,
}

/// Judges the batches of a trial; `None`: nothing speaks against a steady rate. `disturbed`: the limits changed meanwhile, so a fall
/// doesn't mean that burst credits ran out, and a rise isn't a ramp. `shortest`: the least number of batches of an episode.
pub(super) fn shape(rates: &[f64], disturbed: bool, shortest: usize) -> Option<Shape> {
    let all = mean(rates);
    if !(all > 0.0 && all.is_finite()) {
        return None;
    }
    if let Some(found) = to_and_fro(rates, shortest) {
        return Some(found);
    }
    if !disturbed && let Some(found) = fell(rates).or_else(|| settled(rates)) {
        return Some(found);
    }
    changed(rates)
}

impl Shape {
    /// The shape with the original numbers of the batches, if some were left out; `places` has the number of each.
    pub(super) fn moved(mut self, places: &[usize]) -> Option<Self> {
        let place = |at: &mut usize| places.get(*at).map(|of| *at = *of);
        match &mut self {
            Self::Settled { batches, .. } => place(batches)?,
            Self::Fell(change) | Self::Changed { largest: change, .. } => place(&mut change.at)?,
            Self::Episodes(found) => {
                for (from, to) in &mut found.places {
                    place(from)?;
                    *to -= 1;
                    place(to)?;
                    *to += 1;
                }
            }
        }
        Some(self)
    }
}

/// Two levels that are at least SNIA's range apart. Late slices of a throttle make short episodes by themselves.
fn to_and_fro(rates: &[f64], shortest: usize) -> Option<Shape> {
    let found = episodes(rates, shortest, BY_CHANCE)?;
    let (low, high) = (found.ordinary.min(found.other), found.ordinary.max(found.other));
    (low <= (1.0 - SteadyState::RANGE) * high).then_some(Shape::Episodes(found))
}

/// One fall of at least SNIA's range to a level that lasts, which two levels describe better than a line.
fn fell(rates: &[f64]) -> Option<Shape> {
    let two = two_rates(rates, LEVEL, 0.95)?;
    let deep = two.after.value <= (1.0 - SteadyState::RANGE) * two.before.value;
    let (first, second) = rates.split_at_checked(two.at)?;
    let about_levels = squares_about_mean(first) + squares_about_mean(second);
    (deep && about_levels < squares_about_line(rates)).then_some(Shape::Fell(Change {
        at: two.at,
        before: two.before,
        after: two.after,
    }))
}

/// A beginning that differs from the rest (MSER-5), significantly and for long enough to matter, while the rest is steady.
fn settled(rates: &[f64]) -> Option<Shape> {
    let batches = ramp_up(rates)?;
    let (head, rest) = rates.split_at_checked(batches)?;
    let (d, m) = (count(head.len()), count(rest.len()));
    let after = mean_of_series(rest, 0.95)?;
    // The cut is the best of several: one in every five batches of the first half.
    let cuts = (count(rates.len()) / 10.0).max(1.0);
    let bound = mean_of_series(rest, 1.0 - LEVEL / cuts)?;
    let far = (mean(head) - after.value).abs() > bound.half_width() * (1.0 + m / d).sqrt();
    let matters = (mean(rates) / after.value - 1.0).abs() >= SHIFT;
    let found = batches > 0 && far && matters && is_steady(rest);
    found.then_some(Shape::Settled { batches, first: *rates.first()?, after })
}

fn changed(rates: &[f64]) -> Option<Shape> {
    if is_steady(rates) {
        return None;
    }
    let fifths = fifths(rates)?;
    let changes = change_points(rates, LEVEL);
    let size = |i: &usize| (changes[*i].after - changes[*i].before).abs();
    let largest = (0..changes.len()).max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let at = changes[largest].at;
    let from = largest.checked_sub(1).map_or(0, |i| changes[i].at);
    let to = changes.get(largest + 1).map_or(rates.len(), |c| c.at);
    let change = Change {
        at,
        before: mean_of_series(rates.get(from..at)?, 0.95)?,
        after: mean_of_series(rates.get(at..to)?, 0.95)?,
    };
    if change.before.high >= change.after.low && change.after.high >= change.before.low {
        return None;
    }
    Some(Shape::Changed { largest: change, changes: changes.len(), fifths })
}

/// Whether the rate is steady by SNIA's definition, or has no significant change.
fn is_steady(rates: &[f64]) -> bool {
    fifths(rates).is_none_or(|f| f.state.is_steady()) || change_points(rates, LEVEL).is_empty()
}

fn fifths(rates: &[f64]) -> Option<Fifths> {
    let border = |k: usize| k * rates.len() / 5;
    let part = |k: usize| rates.get(border(k)..border(k + 1)).filter(|p| !p.is_empty()).map(mean);
    let means = [part(0)?, part(1)?, part(2)?, part(3)?, part(4)?];
    Some(Fifths { means, state: SteadyState::of(&means) })
}

fn squares_about_mean(list: &[f64]) -> f64 {
    let m = mean(list);
    list.iter().map(|x| (x - m).powi(2)).sum()
}

fn squares_about_line(list: &[f64]) -> f64 {
    let (m, middle) = (mean(list), (count(list.len()) - 1.0) / 2.0);
    let steps = || (0..list.len()).map(|i| count(i) - middle);
    let product: f64 = steps().zip(list).map(|(s, x)| s * (x - m)).sum();
    let slope = product / steps().map(|s| s * s).sum::<f64>().max(1.0);
    steps().zip(list).map(|(s, x)| (x - m - slope * s).powi(2)).sum()
}

pub(super) fn mean(list: &[f64]) -> f64 {
    list.iter().sum::<f64>() / count(list.len().max(1))
}

#[expect(clippy::cast_precision_loss, reason = "numbers of batches and rounds")]
pub(super) fn count(n: usize) -> f64 {
    n as f64
}
