//! The trials near the limit, and the straight line through them.

use super::trial::SearchTrial;
use crate::estimate::{count, t_quantile};

/// Trials up to this distance from the limit may enter the line at first, as a difference of logarithms of levels.
const WIDEST: f64 = 0.25;
/// The distance never gets smaller than this.
const NARROWEST: f64 = 0.05;
/// Number of standard deviations of one trial (as a difference of logarithms of levels) that the distance keeps.
const DEVIATIONS: f64 = 3.5;
/// The least number of trials of a line.
const LEAST: usize = 4;
/// The share of the error that an interval uses. The search ends when its interval happens to be narrow, and chooses its levels by what
/// it saw, so that intervals at the full share hold too seldom. Simulated in `tests/simulation/search.rs`.
const SHARE: f64 = 0.5;
/// How often the distance is adapted to the line that it gave.
const ROUNDS: usize = 4;
/// The farthest score on both sides: a figure of 2.7 times its limit and all above, or of 0.37 times and all below.
const FARTHEST: f64 = 1.0;

/// The share of its level that a load reaches at least, if it doesn't fall behind.
const REACHED: f64 = 0.9;

/// A trial that shows the figure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    /// The level that was tried.
    pub(super) asked: f64,
    /// The same; for a load that fell behind it, the level that it reached, which breaks the limit as well.
    pub(super) level: f64,
    /// ln(level).
    x: f64,
    /// Whether the load fell behind. Such a trial shows where an overload begins, and has no place on the line.
    fell_behind: bool,
    /// ln(figure / limit): 0 at the limit, above 0 beyond it. A percentile from one trial is skewed, and its logarithm is not. Cut off
    /// at [`FARTHEST`], so that an overload is no outlier.
    score: f64,
    /// ln(value).
    value: f64,
}

impl Point {
    pub(super) fn of(trial: &SearchTrial) -> Option<Self> {
        let (ratio, value) = (trial.ratio?, trial.value?);
        let (asked, fell_behind) = (trial.level, falls_behind(trial));
        let level = trial.reached.filter(|_| fell_behind).unwrap_or(asked);
        let usable = level > 0.0 && ratio > 0.0 && value > 0.0 && value.is_finite();
        let score = ratio.ln().clamp(-FARTHEST, FARTHEST);
        usable.then(|| Self { asked, level, x: level.ln(), fell_behind, score, value: value.ln() })
    }

    pub(super) fn is_broken(&self) -> bool {
        self.score > 0.0
    }

    pub(super) fn score(&self) -> f64 {
        self.score
    }

    /// The logarithm of the level that was tried, if that is near this one.
    pub(super) fn tried_near(&self, x: f64) -> Option<f64> {
        Some(self.asked.ln()).filter(|tried| (tried - x).abs() <= WIDEST)
    }

    /// The level that it reached, if the load fell behind.
    pub(super) fn overload(&self) -> Option<f64> {
        self.fell_behind.then_some(self.level)
    }

    fn is_within(&self, width: f64, x: f64) -> bool {
        !self.fell_behind && (self.x - x).abs() <= width
    }
}

/// Whether a trial's load fell behind the level that was asked for.
pub(super) fn falls_behind(trial: &SearchTrial) -> bool {
    trial.reached.is_some_and(|reached| reached < REACHED * trial.level)
}

/// A figure with its ends, in logarithms; without ends where the slope could be 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) at: f64,
    pub(super) ends: Option<(f64, f64)>,
}

/// The line through the trials near the limit.
#[derive(Debug)]
pub(super) struct Line {
    /// ln of the level at the limit.
    pub(super) level: Reading,
    /// ln of the value at the limit.
    pub(super) value: Reading,
    /// The standard deviation of one trial as a difference of logarithms of levels.
    pub(super) deviation: f64,
    /// Number of trials.
    pub(super) n: usize,
    /// Highest level that kept the limit and lowest that broke it, if no trial of the line contradicts them.
    pub(super) gap: Option<(f64, f64)>,
}

/// The level that divides those that keep the limit from those that break it with the fewest exceptions, in logarithms; `None` without
/// a trial of each kind. Where several places are equally good, it is their mean.
pub(super) fn divide(points: &[Point]) -> Option<f64> {
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by(|a, b| a.x.total_cmp(&b.x));
    let broken = sorted.iter().filter(|point| point.is_broken()).count();
    if broken == 0 || broken == sorted.len() {
        return None;
    }
    // Exceptions with the division below all trials: those that keep the limit.
    let mut wrong = sorted.len() - broken;
    let mut best: (usize, Vec<f64>) = (usize::MAX, Vec::new());
    for pair in sorted.windows(2) {
        wrong = if pair[0].is_broken() { wrong + 1 } else { wrong - 1 };
        let middle = f64::midpoint(pair[0].x, pair[1].x);
        match wrong.cmp(&best.0) {
            std::cmp::Ordering::Less => best = (wrong, vec![middle]),
            std::cmp::Ordering::Equal => best.1.push(middle),
            std::cmp::Ordering::Greater => {}
        }
    }
    Some(best.1.iter().sum::<f64>() / count(best.1.len()))
}

/// The line through the trials near the limit; `None` where there are too few, or where the figure doesn't rise with the level.
pub(super) fn line(points: &[Point], confidence: f64) -> Option<Line> {
    let mut centre = divide(points)?;
    let mut width = WIDEST;
    let mut found: Option<Line> = None;
    for _ in 0..ROUNDS {
        let near: Vec<&Point> = points.iter().filter(|point| point.is_within(width, centre)).collect();
        let Some(line) = through(&near, confidence) else { break };
        centre = line.level.at;
        width = (DEVIATIONS * line.deviation).clamp(NARROWEST, WIDEST);
        found = Some(line);
    }
    found
}

/// Sums of products about the means.
struct Sums {
    n: f64,
    means: [f64; 3],
    xx: f64,
    xs: f64,
    xv: f64,
}

impl Sums {
    fn of(points: &[&Point]) -> Self {
        let n = count(points.len());
        let mean = |of: fn(&Point) -> f64| points.iter().map(|point| of(point)).sum::<f64>() / n;
        let means = [mean(|p| p.x), mean(|p| p.score), mean(|p| p.value)];
        let [x, s, v] = means;
        let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(|point| of(point)).sum::<f64>();
        Self {
            n,
            means,
            xx: sum(&|p| (p.x - x).powi(2)),
            xs: sum(&|p| (p.x - x) * (p.score - s)),
            xv: sum(&|p| (p.x - x) * (p.value - v)),
        }
    }
}

/// The factor between the standard error of a line through `n` trials and the half-width of its interval.
pub(crate) fn quantile(confidence: f64, n: usize) -> Option<f64> {
    t_quantile(1.0 - SHARE * (1.0 - confidence), n.checked_sub(1)?)
}

fn through(points: &[&Point], confidence: f64) -> Option<Line> {
    if points.len() < LEAST {
        return None;
    }
    let sums = Sums::of(points);
    let [x, s, v] = sums.means;
    let (slope, gain) = (sums.xs / sums.xx, sums.xv / sums.xx);
    if !(slope.is_finite() && slope > 0.0) {
        return None;
    }
    let freedom = sums.n - 2.0;
    let t = quantile(confidence, points.len())?;
    let of_score = |p: &Point| p.score - s - slope * (p.x - x);
    let of_value = |p: &Point| p.value - v - gain * (p.x - x);
    let spread = |residual: &dyn Fn(&Point) -> f64| {
        (points.iter().map(|point| residual(point).powi(2)).sum::<f64>() / freedom).sqrt()
    };
    // At the limit a trial's value is off by its own residual, and by what its figure's residual moves the level.
    let (off_level, off_value) =
        (spread(&|p| of_score(p) / slope), spread(&|p| of_value(p) - gain / slope * of_score(p)));
    let g = (t * off_level).powi(2) / sums.xx;
    let away = -s / slope;
    // Fieller's interval of a ratio; g says how well the slope is known, and from 1 on the slope could be 0.
    let reading = |about: f64, per_x: f64, spread: f64| {
        let half = t * spread * ((1.0 - g) / sums.n + away * away / sums.xx).sqrt();
        let end = |half: f64| about + (per_x * away + half) / (1.0 - g);
        Reading { at: about + per_x * away, ends: (g < 1.0).then(|| (end(-half), end(half))) }
    };
    let (level, value) = (reading(x, 1.0, off_level), reading(v, gain, off_value));
    let mut line = Line { level, value, deviation: off_level, n: points.len(), gap: gap(points) };
    line.cover_the_gap(gain);
    Some(line)
}

/// The highest level that kept the limit and the lowest that broke it, in logarithms, if all that kept it are below all that broke it.
fn gap(points: &[&Point]) -> Option<(f64, f64)> {
    let (broken, kept): (Vec<&Point>, Vec<&Point>) = points.iter().partition(|point| point.is_broken());
    let low = kept.iter().map(|point| point.x).max_by(f64::total_cmp)?;
    let high = broken.iter().map(|point| point.x).min_by(f64::total_cmp)?;
    (low < high).then_some((low, high))
}

impl Line {
    /// Widens the intervals to the whole gap between levels that keep the limit and levels that break it: within it the figure may
    /// jump, and then no line says where.
    fn cover_the_gap(&mut self, gain: f64) {
        let Some((low, high)) = self.gap else { return };
        let (down, up) = (low - self.level.at, high - self.level.at);
        let wider = |reading: &mut Reading, by: f64| {
            let (first, second) = (reading.at + by * down, reading.at + by * up);
            let ends = reading.ends.map(|(l, h)| (l.min(first).min(second), h.max(first).max(second)));
            reading.ends = ends;
        };
        wider(&mut self.level, 1.0);
        wider(&mut self.value, gain);
    }
}

#[cfg(test)]
mod tests {
    use super::{Point, divide, line};
    use crate::search::trial::SearchTrial;

    fn points(of: &[(f64, f64)]) -> Vec<Point> {
        let trial = |(level, ratio): &(f64, f64)| SearchTrial {
            level: *level,
            ratio: Some(*ratio),
            value: Some(2.0 * level),
            reached: None,
        };
        of.iter().filter_map(|of| Point::of(&trial(of))).collect()
    }

    #[test]
    fn the_division_has_the_fewest_exceptions() {
        let at = |of: &[(f64, f64)]| divide(&points(of)).map(f64::exp);
        assert_eq!(at(&[(10.0, 0.5), (20.0, 0.9)]), None);
        assert_eq!(at(&[(10.0, 1.5)]), None);
        assert!((at(&[(10.0, 0.5), (40.0, 3.0)]).unwrap() - 20.0).abs() < 1e-9);
        // The trial at 30 broke the limit, though 40 kept it: one exception wherever the division lies between 20 and 50.
        let mixed = [(10.0, 0.5), (20.0, 0.9), (30.0, 1.1), (40.0, 0.8), (50.0, 4.0)];
        let found = at(&mixed).unwrap();
        assert!((24.0..45.0).contains(&found), "{found}");
    }

    /// A queue's figure without noise: it is proportional to 1 / (1 - load), so the line is nearly straight near the limit.
    #[test]
    fn a_queue_without_noise_is_met_closely() {
        let ratio = |level: f64| 0.1 / (1.0 - level / 1000.0);
        let of: Vec<(f64, f64)> = [850.0, 880.0, 890.0, 910.0, 920.0, 940.0]
            .into_iter()
            .map(|level| (level, ratio(level)))
            .collect();
        let line = line(&points(&of), 0.95).unwrap();
        assert!((line.level.at.exp() - 900.0).abs() < 4.0, "{}", line.level.at.exp());
        assert!((line.value.at.exp() - 1800.0).abs() < 8.0);
        let (low, high) = line.level.ends.unwrap();
        // The whole gap between the nearest levels, since the figure could jump there.
        assert!(low.exp() <= 890.1 && high.exp() >= 909.9, "{} {}", low.exp(), high.exp());
    }

    #[test]
    fn a_figure_that_does_not_rise_has_no_line() {
        assert!(line(&points(&[(90.0, 1.2), (95.0, 1.1), (100.0, 0.9), (105.0, 0.8)]), 0.95).is_none());
        assert!(line(&points(&[(90.0, 0.9), (95.0, 0.95), (100.0, 1.1)]), 0.95).is_none(), "too few");
        assert!(line(&points(&[(90.0, 0.9), (90.0, 0.95), (90.0, 1.1), (90.0, 1.0)]), 0.95).is_none());
    }

    /// Fieller's interval by hand: x = -1, -1, 1, 1 about ln 100, residuals ±0.1.
    #[test]
    fn the_interval_is_fiellers() {
        let of_score = |score: f64| score.exp();
        let step: f64 = 0.1;
        let of: Vec<(f64, f64)> = [(-1.0, -0.3), (-1.0, -0.1), (1.0, 0.1), (1.0, 0.3)]
            .into_iter()
            .map(|(at, score)| (100.0 * (at * step).exp(), of_score(score)))
            .collect();
        let line = line(&points(&of), 0.95).unwrap();
        // slope 0.2 per step; residuals ±0.1, so s = √(0.04 / 2) = 0.1414 or 0.707 steps; t(2) = 6.205 at half of the error; g = (6.205 · 0.707)² / 4 > 1.
        assert!((line.level.at - 100.0_f64.ln()).abs() < 1e-9 && line.level.ends.is_none());
        assert!((line.deviation / step - 0.5_f64.sqrt()).abs() < 1e-9, "{}", line.deviation);
        let twice: Vec<(f64, f64)> = of.iter().chain(&of).chain(&of).copied().collect();
        let line = super::line(&points(&twice), 0.95).unwrap();
        // n = 12: s = √(0.12 / 10) / 0.2 = 0.5477 steps; t(10) = 2.634; g = 2.0809 / 12; half = t · s / √(n · (1 - g)).
        let g: f64 = (2.633_767 * 0.547_723_f64).powi(2) / 12.0;
        let half = 2.633_767 * 0.547_723 / (12.0 * (1.0 - g)).sqrt() * step;
        let (low, high) = line.level.ends.unwrap();
        let (gap_low, gap_high) = (line.level.at - step, line.level.at + step);
        assert!((low - gap_low.min(line.level.at - half)).abs() < 1e-5, "{low}");
        assert!((high - gap_high.max(line.level.at + half)).abs() < 1e-5, "{high}");
    }
}
