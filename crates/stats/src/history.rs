//! Changes of level over a history of independent values, such as one figure of run after run.

use crate::estimate::count;
use crate::holm::holm;
use crate::permutation::p_value;
use crate::ratio::{RatioEstimate, unpaired_ratio};

/// A change of level in a history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelChange {
    /// Index of the first value at the new level.
    pub at: usize,
    /// Level after / level before: geometric means over the values up to the neighbouring changes, with Welch's interval. The place was
    /// chosen by the same values, so the ratio is a little too far from 1.
    pub ratio: RatioEstimate,
    /// P-value against "the order of these values doesn't matter", adjusted for all histories (and for the parts of a history that were
    /// searched again).
    pub p_adjusted: f64,
}

/// Fewest values on each side of a change: one value that stands apart is an outlier, not a level.
const SHORTEST: usize = 2;

/// With fewer values than this, no order is unusual enough to show a change at 95 %: four values after four others are one of 70 ways, either way.
pub const MIN_HISTORY: usize = 8;

/// Finds the changes of level in several histories of positive values, oldest first.
///
/// The place of a change has the largest energy distance between the logarithms before and after it, q = (k·m / (k + m)) · (2·mean|xᵢ - yⱼ| -
/// mean|xᵢ - xⱼ| - mean|yᵢ - yⱼ|) for k values before and m after; means over all pairs, an element with itself included. Its p-value is that of the largest
/// q among all orders of the values. Then both parts are searched in the same way. No distribution is assumed, only that without a
/// change every order is equally likely.
///
/// The first change of each history is adjusted by Holm over all histories, so that any change is found in histories without one with
/// a probability of at most 1 - `confidence`. The parts on both sides share the error of their whole.
///
/// Source: Matteson, James (2014), "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", JASA 109:334-345
/// (E-divisive); the distance in this form: Székely, Rizzo (2004), `InterStat` 5, and (2013), Journal of Statistical Planning and Inference
/// 143:1249-1272; its use on histories of benchmarks: Daly, Brown, Ingo, O'Leary, Bradford (2020), "The Use of Change Point Detection to
/// Identify Software Performance Regressions in a Continuous Integration System", ICPE, 67-75.
///
/// A history has none if it is shorter than [`MIN_HISTORY`] or if a value isn't positive and finite.
#[must_use]
pub fn level_changes(histories: &[Vec<f64>], confidence: f64) -> Vec<Vec<LevelChange>> {
    let logs: Vec<Option<Vec<f64>>> = histories.iter().map(|values| logarithms(values)).collect();
    let splits: Vec<Option<Split>> = logs.iter().map(|logs| tested_split(logs.as_ref()?)).collect();
    let p_values: Vec<f64> = splits.iter().flatten().map(|split| split.p).collect();
    let mut adjusted = holm(&p_values).into_iter();
    let family = count(p_values.len());
    let error = 1.0 - confidence;
    let mut found = Vec::new();
    for ((values, logs), split) in histories.iter().zip(&logs).zip(&splits) {
        let mut places = Vec::new();
        if let (Some(logs), Some(split)) = (logs, split)
            && let Some(p) = adjusted.next().filter(|p| *p <= error)
        {
            places.push((split.at, p));
            search(&logs[..split.at], 0, 2.0 * family, error, &mut places);
            search(&logs[split.at..], split.at, 2.0 * family, error, &mut places);
            places.sort_unstable_by_key(|(at, _)| *at);
        }
        found.push(changes(values, &places, confidence));
    }
    found
}

/// Searches a part of a history, which has a share of 1 / `factor` of the error.
fn search(logs: &[f64], offset: usize, factor: f64, error: f64, places: &mut Vec<(usize, f64)>) {
    let Some(split) = tested_split(logs).filter(|split| split.p * factor <= error) else { return };
    places.push((offset + split.at, split.p * factor));
    search(&logs[..split.at], offset, 2.0 * factor, error, places);
    search(&logs[split.at..], offset + split.at, 2.0 * factor, error, places);
}

fn changes(values: &[f64], places: &[(usize, f64)], confidence: f64) -> Vec<LevelChange> {
    let ends = places.iter().map(|(at, _)| *at).skip(1).chain([values.len()]);
    let mut start = 0;
    let mut found = Vec::new();
    for (&(at, p_adjusted), end) in places.iter().zip(ends) {
        if let Some(ratio) = unpaired_ratio(&values[at..end], &values[start..at], confidence) {
            found.push(LevelChange { at, ratio, p_adjusted });
        }
        start = at;
    }
    found
}

/// Returns the logarithms of the values; `None` if there are too few, or one isn't positive and finite.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let usable = values.len() >= MIN_HISTORY && values.iter().all(|x| x.is_finite() && *x > 0.0);
    usable.then(|| values.iter().map(|x| x.ln()).collect())
}

/// The best place for a change, and its p-value.
struct Split {
    at: usize,
    p: f64,
}

fn tested_split(logs: &[f64]) -> Option<Split> {
    let n = logs.len();
    if n < MIN_HISTORY {
        return None;
    }
    let distances: Vec<f64> = logs.iter().flat_map(|a| logs.iter().map(move |b| (a - b).abs())).collect();
    let own: Vec<usize> = (0..n).collect();
    let (at, farthest) = best_split(&distances, &own);
    if farthest <= 0.0 {
        return None;
    }
    Some(Split { at, p: p_value(n, |order| best_split(&distances, order).1) })
}

/// Returns the split with the largest energy distance, for the values in this order. `distances` has a row of n for each of the n values.
fn best_split(distances: &[f64], order: &[usize]) -> (usize, f64) {
    let n = order.len();
    let row = |value: usize| &distances[value * n..(value + 1) * n];
    // Sums over pairs: both before the split, both after it, one on each side.
    let (mut before, mut across) = (0.0, 0.0);
    let mut after: f64 = distances.iter().sum::<f64>() / 2.0;
    let mut best = (0, 0.0);
    for (k, value) in order.iter().enumerate() {
        let distance = row(*value);
        let to_before: f64 = order[..k].iter().map(|other| distance[*other]).sum();
        let to_after: f64 = order[k + 1..].iter().map(|other| distance[*other]).sum();
        before += to_before;
        after -= to_after;
        across += to_after - to_before;
        let left = k + 1;
        if left < SHORTEST || n - left < SHORTEST {
            continue;
        }
        let (k, m) = (count(left), count(n - left));
        let energy = 2.0 * across / (k * m) - 2.0 * before / (k * k) - 2.0 * after / (m * m);
        let q = k * m / (k + m) * energy;
        if q > best.1 {
            best = (left, q);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::{best_split, level_changes};

    fn wobble(i: usize) -> f64 {
        1.0 + [0.0, 0.01, -0.01, 0.005, -0.005, 0.012, -0.011][i % 7]
    }

    fn history(levels: &[(usize, f64)]) -> Vec<f64> {
        let values = levels.iter().flat_map(|(n, level)| std::iter::repeat_n(*level, *n));
        values.enumerate().map(|(i, level)| level * wobble(i)).collect()
    }

    /// By hand, for 0 0 | 1 1: all four pairs across are 1 apart, all others 0, so q = 2·2/4 · 2 = 2; and no order has a larger one.
    #[test]
    fn the_energy_distance_by_hand() {
        let logs = [0.0_f64, 0.0, 1.0, 1.0];
        let distances: Vec<f64> = logs.iter().flat_map(|a| logs.iter().map(move |b| (a - b).abs())).collect();
        assert_eq!(best_split(&distances, &[0, 1, 2, 3]), (2, 2.0));
        // 0 1 | 0 1: across (0 + 1 + 1 + 0) / 4 · 2 = 1, within 2·1/4 on each side: nothing is left.
        assert_eq!(best_split(&distances, &[0, 2, 1, 3]), (0, 0.0));
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let two = history(&[(14, 100.0), (10, 110.0), (12, 99.0)]);
        let found = &level_changes(&[two], 0.95)[0];
        assert_eq!(found.iter().map(|c| c.at).collect::<Vec<_>>(), [14, 24], "{found:?}");
        assert!((found[0].ratio.ratio - 1.1).abs() < 0.01 && (found[1].ratio.ratio - 0.9).abs() < 0.01);
        assert!(found.iter().all(|c| c.p_adjusted <= 0.05 && c.ratio.low < c.ratio.ratio));
    }

    #[test]
    fn many_histories_ask_for_more_and_each_keeps_its_place() {
        let step = history(&[(6, 100.0), (4, 103.0)]);
        let alone = level_changes(std::slice::from_ref(&step), 0.95);
        assert_eq!((alone[0].len(), alone[0][0].at), (1, 6));
        let even = history(&[(10, 100.0)]);
        let mut all = vec![even; 40];
        all.push(step);
        assert!(level_changes(&all, 0.95).iter().all(Vec::is_empty));
        let clear = history(&[(15, 100.0), (15, 130.0)]);
        all.insert(1, clear);
        let found = level_changes(&all, 0.95);
        assert_eq!(found.iter().filter(|of| !of.is_empty()).count(), 1);
        assert_eq!(found[1][0].at, 15);
    }

    #[test]
    fn too_short_constant_or_impossible_histories_have_none() {
        for history in [vec![1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0], vec![5.0; 30], vec![0.0; 30], vec![]] {
            assert!(level_changes(&[history], 0.95)[0].is_empty());
        }
        let mut outlier = history(&[(20, 100.0)]);
        outlier[9] = 300.0;
        assert!(level_changes(&[outlier], 0.95)[0].is_empty(), "one value is no level");
    }
}
