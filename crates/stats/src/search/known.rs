//! What the trials of a search tell before any line is drawn.

use super::fit::{Point, falls_behind};
use super::trial::{SearchTerms, SearchTrial};

/// By how many trials it must be settled that the lowest level breaks the limit, or that the highest one keeps it.
const LEAD: usize = 3;

/// Trials that tell both what is needed of them, and the lowest level that can be tried.
pub(super) struct Known {
    pub(super) points: Vec<Point>,
    pub(super) from: f64,
}

impl Known {
    /// Levels at which a trial had too few samples, although it reached the level, are too low: the search goes on above them.
    pub(super) fn of(trials: &[SearchTrial], terms: &SearchTerms) -> Self {
        let too_low = trials.iter().filter(|trial| trial.ratio.is_none() && !falls_behind(trial));
        let too_low = too_low.map(|trial| trial.level);
        let from = too_low.map(|level| 2.0 * level).fold(terms.from, f64::max).min(terms.to);
        Self { points: trials.iter().filter_map(Point::of).collect(), from }
    }

    fn broken(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| point.is_broken())
    }

    fn kept(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| !point.is_broken())
    }

    /// The lowest level that broke the limit, or that a load reached which fell behind.
    pub(super) fn lowest_broken(&self) -> Option<f64> {
        self.broken().map(|point| point.level).min_by(f64::total_cmp)
    }

    /// The highest level that kept the limit.
    pub(super) fn highest_kept(&self) -> Option<f64> {
        self.kept().map(|point| point.level).max_by(f64::total_cmp)
    }

    /// The level that the load reaches in an overload: the median of the trials that fell behind. `None`: none did, or as many trials kept
    /// the limit above that level, so it is no bound.
    pub(super) fn overload(&self) -> Option<f64> {
        let mut reached: Vec<f64> = self.points.iter().filter_map(Point::overload).collect();
        reached.sort_by(f64::total_cmp);
        let at = reached.get(reached.len() / 2).copied()?;
        (self.kept().filter(|point| point.level > at).count() < reached.len()).then_some(at)
    }

    /// Whether the trials at an end of the range settle that it breaks the limit, or keeps it: by a lead of [`LEAD`] trials, and without a
    /// trial elsewhere that says otherwise.
    pub(super) fn is_settled(&self, end: f64, breaks: bool) -> bool {
        let is_at = |point: &&Point| point.asked.total_cmp(&end).is_eq();
        let (for_it, against): (Vec<&Point>, Vec<&Point>) =
            self.points.iter().partition(|point| point.is_broken() == breaks);
        let lead = for_it.iter().copied().filter(is_at).count();
        against.iter().all(is_at) && lead >= against.len() + LEAD
    }
}
