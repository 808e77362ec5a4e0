//! Which level to try next.

use super::answer::search_answer;
use super::fit::{Line, Point, divide, line};
use super::known::Known;
use super::trial::{SearchTerms, SearchTrial};

/// Levels that keep the limit and levels that break it are closer than this when the search goes on by the line, as a difference of
/// logarithms.
const CLOSE: f64 = 0.08;
/// The share of the rate that a load reached which is tried after an overload.
const BELOW_REACHED: f64 = 0.75;
/// The range of a step between two levels, as shares of their distance: it never goes close to either of them.
const STEP: (f64, f64) = (0.25, 0.75);
/// Distance of trials from the estimate, in standard deviations of one trial, and the limits of the distance, as differences of
/// logarithms. Trials nearer to the estimate wouldn't show the slope; farther ones would see the figure's curvature.
const DISTANCE: f64 = 1.3;
const DISTANCES: (f64, f64) = (0.012, 0.1);
/// The distance while there is no line yet.
const WITHOUT_LINE: f64 = 0.06;

/// Why a level is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchStep {
    /// It is the highest level: it shows how much the load reaches at most.
    Highest,
    /// Every level so far broke the limit: it is below them.
    Lower,
    /// It lies between levels that keep the limit and levels that break it.
    Between,
    /// It is an end of the range, and one trial of it isn't enough.
    Again,
    /// It is close to the estimate, on the side with fewer trials.
    Near,
}

/// What a search does next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchNext {
    /// Try this level, a whole number.
    Try {
        /// The level.
        level: f64,
        /// Why.
        step: SearchStep,
    },
    /// Nothing: the answer is as exact as asked, or the limit lies beyond the levels that may be tried.
    Done,
}

/// Returns what a search does after these trials, in their order.
///
/// It first tries the highest level, then below what the load reached there, then between levels that keep the limit and levels that
/// break it. Once these are close, it tries levels on both sides of the estimate, until the interval is as narrow as asked.
#[must_use]
pub fn search_next(trials: &[SearchTrial], terms: &SearchTerms) -> SearchNext {
    let known = Known::of(trials, terms);
    if search_answer(trials, terms).is_final(terms) {
        return SearchNext::Done;
    }
    let (level, step) = match (known.highest_kept(), known.lowest_broken()) {
        (None, None) if trials.is_empty() => (terms.to, SearchStep::Highest),
        (None, None) => (known.from, SearchStep::Lower),
        (Some(kept), None) if kept < terms.to => (terms.to, SearchStep::Highest),
        (Some(_), None) => (terms.to, SearchStep::Again),
        (None, Some(broken)) if broken <= known.from.ceil() => (known.from, SearchStep::Again),
        (None, Some(broken)) => (lower(trials, &known, broken), SearchStep::Lower),
        (Some(kept), Some(broken)) => match between(&known, kept, broken) {
            Some(level) => (level, SearchStep::Between),
            None => near(&known, terms),
        },
    };
    SearchNext::Try { level: level.round().clamp(known.from.ceil(), terms.to), step }
}

/// A level below all that broke the limit: below the rate that the load reached, then faster and faster down. Without such a rate, the
/// geometric mean with the lowest level.
fn lower(trials: &[SearchTrial], known: &Known, broken: f64) -> f64 {
    let reached = trials.iter().filter_map(|trial| trial.reached).max_by(f64::total_cmp);
    let level = match reached.filter(|reached| *reached > 0.0) {
        Some(reached) if broken >= reached => BELOW_REACHED * reached,
        Some(_) => {
            let deeper = known.points.len().min(4);
            broken * 0.5_f64.powi(i32::try_from(deeper).unwrap_or(4) - 1)
        }
        None => (known.from * broken).sqrt(),
    };
    // A rate that needs less than the lowest level isn't tried, nor the same level again.
    level.min(broken - 1.0).max(known.from)
}

/// A level between the highest that kept the limit and the lowest that broke it; `None` where they are close, or in the wrong order by noise.
fn between(known: &Known, kept: f64, broken: f64) -> Option<f64> {
    if broken <= kept + 1.0 || (broken / kept).ln() <= CLOSE {
        return None;
    }
    let scores = |level: f64| {
        let same = known.points.iter().filter(move |point| point.level.total_cmp(&level).is_eq());
        same.map(Point::score)
    };
    let (below, above) = (scores(kept).max_by(f64::total_cmp)?, scores(broken).min_by(f64::total_cmp)?);
    let share = (-below / (above - below)).clamp(STEP.0, STEP.1);
    let level = (kept * (broken / kept).powf(share)).round();
    // The lowest level that broke the limit needn't be whole: a load that fell behind reached it.
    Some(level.min(broken - 1.0).max(kept + 1.0))
}

/// A level near the estimate, on the side with fewer trials.
fn near(known: &Known, terms: &SearchTerms) -> (f64, SearchStep) {
    let line = line(&known.points, terms.confidence);
    if let Some(level) = line.as_ref().and_then(|line| in_the_gap(line, terms)) {
        return (level, SearchStep::Between);
    }
    let centre = line.as_ref().map(|line| line.level.at).or_else(|| divide(&known.points));
    let Some(centre) = centre else { return (known.from, SearchStep::Lower) };
    // A line through trials that kept the limit may reach it beyond what the load can reach.
    let centre = known.overload().map_or(centre, |overload| centre.min(overload.ln()));
    let distance =
        line.map_or(WITHOUT_LINE, |line| (DISTANCE * line.deviation).clamp(DISTANCES.0, DISTANCES.1));
    // A trial that fell behind is one above, else the same level would be tried for ever.
    let (below, above): (Vec<f64>, Vec<f64>) =
        known.points.iter().filter_map(|point| point.tried_near(centre)).partition(|tried| *tried < centre);
    let whole = centre.exp();
    let level = if below.len() <= above.len() {
        (centre - distance).exp().round().min(whole.floor())
    } else {
        (centre + distance).exp().round().max(whole.ceil())
    };
    (level, SearchStep::Near)
}

/// The middle of the gap between levels that keep the limit and levels that break it, where the gap alone is wider than asked.
fn in_the_gap(line: &Line, terms: &SearchTerms) -> Option<f64> {
    let (low, high) = line.gap?;
    let middle = f64::midpoint(low, high).exp().round();
    let is_new = middle > low.exp() + 0.5 && middle < high.exp() - 0.5;
    (is_new && (high - low) / 2.0 > terms.half_width / 2.0).then_some(middle)
}
