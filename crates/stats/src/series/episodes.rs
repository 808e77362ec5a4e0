//! Episodes: times in which a series is at another level, and from which it returns.

use crate::estimate::{count, mean};

/// A series that alternates between two levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Episodes {
    /// The episodes in order: index of the first sample at the other level, and index after its last one.
    pub places: Vec<(usize, usize)>,
    /// Mean of all samples at the ordinary level.
    pub ordinary: f64,
    /// Mean of all samples at the other level, without those on the way to or from it.
    pub other: f64,
    /// Number of samples from the begin of one episode to that of the next, if they are evenly spaced.
    pub period: Option<f64>,
    /// Probability that the samples at the other level form so few episodes by chance.
    pub p: f64,
}

/// Smallest distance of the two levels, in standard deviations about them. The halves of a normal distribution are 2.6 apart,
/// those of a uniform one or of a straight line 3.5, those of a sine 4.1. So a series that only spreads, drifts or swells has no
/// two levels.
const APART: f64 = 6.0;

/// Fewest samples at each of the two levels.
const LEAST: usize = 4;

/// Share of the samples at the other level that must lie in episodes or at the ends of the series; the rest is noise.
const TOLD: f64 = 0.8;

/// Largest relative deviation of the distances of evenly spaced episodes from their mean.
const EVEN: f64 = 0.15;

/// Returns the episodes of a series that otherwise has one level: a pair of changes that undo each other, several pairs, or pairs
/// at even intervals. The level with fewer samples is the other level.
///
/// The levels minimize the sum of squares about them (Otsu (1979), IEEE Transactions on Systems, Man, and Cybernetics 9:62-66).
/// There are two levels if their means are six standard deviations apart, by the median deviation about each, and if the number
/// of runs of the rarer one is too small to be chance at this `level` (Wald, Wolfowitz (1940), Annals of Mathematical Statistics
/// 11:147-162): scattered low samples are noise. An episode has at least `shortest` samples. A stretch at the begin or the end of
/// the series is not an episode, since its begin or end is unknown. If there is such a stretch, there must be two episodes
/// besides it.
#[must_use]
pub fn episodes(series: &[f64], shortest: usize, level: f64) -> Option<Episodes> {
    if series.is_empty() || series.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let bound = bound(series)?;
    let low = series.iter().filter(|x| **x <= bound).count();
    let low_is_rare = 2 * low <= series.len();
    let is_other = |x: f64| (x <= bound) == low_is_rare;
    let all = runs(series, is_other);
    let (rare, common): (Vec<f64>, Vec<f64>) = series.iter().partition(|x| is_other(**x));
    if rare.len().min(common.len()) < LEAST {
        return None;
    }
    let (other, ordinary) = (middle(&rare), middle(&common));
    let spread = deviation(&rare).max(deviation(&common));
    let p = runs_by_chance(rare.len(), common.len(), all.len());
    let at_edge = |(from, to): &&(usize, usize)| *from == 0 || *to == series.len();
    let edge: usize = all.iter().filter(at_edge).map(|(from, to)| to - from).sum();
    let long = |place: &&(usize, usize)| !at_edge(place) && place.1 - place.0 >= shortest;
    let places: Vec<(usize, usize)> = all.iter().filter(long).copied().collect();
    let inside: usize = places.iter().map(|(from, to)| to - from).sum();
    let enough = places.len() >= if edge > 0 { 2 } else { 1 };
    let told = count(inside + edge) >= TOLD * count(rare.len());
    let found = (other - ordinary).abs() >= APART * spread && enough && told && p <= level;
    found.then(|| Episodes {
        period: period(&places),
        ordinary: mean(&common),
        other: settled(series, &places).unwrap_or(other),
        places,
        p,
    })
}

/// Returns the bound between the two levels, which belongs to the lower one; `None` if all samples are equal.
fn bound(series: &[f64]) -> Option<f64> {
    let mut sorted = series.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (n, m) = (count(sorted.len()), mean(&sorted));
    let (mut sum, mut best) = (0.0, None::<(f64, f64)>);
    for (k, pair) in sorted.windows(2).enumerate() {
        sum += pair[0] - m;
        let left = count(k + 1);
        let gain = sum * sum * n / (left * (n - left));
        if pair[1] > pair[0] && best.is_none_or(|(most, _)| gain > most) {
            best = Some((gain, pair[0]));
        }
    }
    best.map(|(_, bound)| bound)
}

fn runs(series: &[f64], is_other: impl Fn(f64) -> bool) -> Vec<(usize, usize)> {
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (i, _) in series.iter().enumerate().filter(|(_, x)| is_other(**x)) {
        match places.last_mut() {
            Some((_, to)) if *to == i => *to = i + 1,
            _ => places.push((i, i + 1)),
        }
    }
    places
}

fn middle(list: &[f64]) -> f64 {
    let mut sorted = list.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |i: usize| sorted.get(i).copied().unwrap_or(0.0);
    f64::midpoint(at(sorted.len().saturating_sub(1) / 2), at(sorted.len() / 2))
}

/// Returns the standard deviation by the median of the absolute deviations, for nearly normal samples: samples on the way between
/// the levels don't affect it.
fn deviation(list: &[f64]) -> f64 {
    let m = middle(list);
    let off: Vec<f64> = list.iter().map(|x| (x - m).abs()).collect();
    1.4826 * middle(&off)
}

/// Returns the mean of the samples within the episodes, without their first and last samples if there are others: these may mix
/// both levels.
fn settled(series: &[f64], places: &[(usize, usize)]) -> Option<f64> {
    let inner: Vec<f64> = places
        .iter()
        .filter(|(from, to)| to - from > 2)
        .flat_map(|(from, to)| series.get(from + 1..to - 1).unwrap_or_default())
        .copied()
        .collect();
    (!inner.is_empty()).then(|| mean(&inner))
}

/// Returns the distance of evenly spaced episodes, at least three.
fn period(places: &[(usize, usize)]) -> Option<f64> {
    let gaps: Vec<f64> = places.windows(2).map(|pair| count(pair[1].0 - pair[0].0)).collect();
    if gaps.len() < 2 {
        return None;
    }
    let m = mean(&gaps);
    // one sample more or less is the resolution
    let even = gaps.iter().all(|gap| (gap - m).abs() <= (EVEN * m).max(1.0));
    even.then_some(m)
}

/// Returns P(at most this many runs of `rare` among `rare + common` in random order) = sum over r of C(rare-1, r-1) C(common+1,
/// r) / C(rare+common, rare).
fn runs_by_chance(rare: usize, common: usize, runs: usize) -> f64 {
    let all = ln_choose(rare + common, rare);
    let of = |r: usize| (ln_choose(rare - 1, r - 1) + ln_choose(common + 1, r) - all).exp();
    (1..=runs.min(rare).min(common + 1)).map(of).sum::<f64>().min(1.0)
}

fn ln_choose(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (count(n - i) / count(i + 1)).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::{episodes, runs_by_chance};

    fn wiggle(i: usize) -> f64 {
        [0.0, 1.0, -1.0, 0.5, -0.5, 1.2, -1.1][i % 7]
    }

    fn series(n: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..n).map(|i| level(i) + wiggle(i)).collect()
    }

    /// By hand: 3 among 5, all together: 3 places of C(5, 3) = 10; in at most two runs: 3 + 2 * C(3, 2) = 9 of 10.
    #[test]
    fn runs_by_hand() {
        assert!((runs_by_chance(3, 2, 1) - 0.3).abs() < 1e-12);
        assert!((runs_by_chance(3, 2, 2) - 0.9).abs() < 1e-12);
        assert!((runs_by_chance(3, 2, 3) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_pair_several_pairs_and_a_period() {
        let pair =
            episodes(&series(60, |i| if (20..40).contains(&i) { 0.0 } else { 100.0 }), 2, 1e-3).unwrap();
        assert_eq!((pair.places.as_slice(), pair.period), ([(20, 40)].as_slice(), None));
        assert!(pair.other.abs() < 0.5 && (pair.ordinary - 100.0).abs() < 0.5, "{pair:?}");
        let uneven = |i| [10..14, 20..30, 50..55].iter().any(|r: &std::ops::Range<usize>| r.contains(&i));
        let several = episodes(&series(60, |i| if uneven(i) { 50.0 } else { 100.0 }), 2, 1e-3).unwrap();
        assert_eq!((several.places, several.period), (vec![(10, 14), (20, 30), (50, 55)], None));
        let dips = series(60, |i| if i % 20 >= 15 && i < 58 { 40.0 } else { 100.0 });
        let dips = episodes(&dips, 2, 1e-3).unwrap();
        assert_eq!((dips.places, dips.period), (vec![(15, 20), (35, 40), (55, 58)], Some(20.0)));
        let rises = series(60, |i| if i % 20 >= 15 && i < 58 { 400.0 } else { 100.0 });
        let rises = episodes(&rises, 2, 1e-3).unwrap();
        assert!(rises.other > 3.0 * rises.ordinary, "{rises:?}");
    }

    #[test]
    fn nothing_that_begins_or_ends_elsewhere_and_nothing_that_has_no_two_levels() {
        let none = |level: fn(usize) -> f64| episodes(&series(60, level), 2, 1e-3);
        assert_eq!(none(|_| 100.0), None);
        assert_eq!(none(|i| if i < 20 { 0.0 } else { 100.0 }), None, "a ramp");
        assert_eq!(none(|i| if i < 40 { 300.0 } else { 100.0 }), None, "a burst");
        assert_eq!(none(|i| i as f64 * 10.0), None, "a trend");
        assert_eq!(none(|i| 100.0 + 50.0 * (i as f64 / 3.0).sin()), None, "a swell");
        assert_eq!(none(|i| if i % 10 == 5 { 0.0 } else { 100.0 }), None, "single ones");
        assert_eq!(episodes(&[1.0; 60], 2, 1e-3), None);
        assert_eq!(episodes(&[f64::NAN; 60], 2, 1e-3), None);
        assert_eq!(episodes(&[], 2, 1e-3), None);
    }
}
