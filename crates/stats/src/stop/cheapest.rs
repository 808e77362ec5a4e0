//! The cheapest cell that keeps limits, found with few trials: which cells still have to be measured.
//!
//! Each cell is compared with the limits by anytime-valid intervals. A cell is decided when all limits are shown to be kept, or one
//! is shown to be broken; from then on it isn't measured. Source of the problem: Kano, Honda, Sakamaki, Matsuura, Nakamura, Sugiyama
//! (2019), "Good arm identification via bandit feedback", Machine Learning 108:721-745.

use super::caution::{Caution, seen};
use super::rule::StopRule;
use crate::anytime::{anytime, anytime_quantile_of};
use crate::centre::Centre;
use crate::choose::{Cheapest, Keeps, Limited, cheapest, keeps_all};
use crate::estimate::{Estimate, count};

/// Variance of the prior on the distance of a mean from its limit, in spreads. Most cells are far from their limits, so it is wider
/// than that of comparisons.
const PRIOR_VARIANCE: f64 = 25.0;
/// An undecided cell that seems to keep the limits makes dearer ones wait, until it has this many trials.
const PATIENCE: usize = 12;
/// The share of the cells that join in one round.
const JOIN: usize = 8;
/// Largest forecast of trials.
const MOST_TRIALS: usize = 10_000;

/// A cell that may be the answer.
#[derive(Debug, Clone)]
pub struct Offered<'a> {
    /// Cells of one family compete: there is one answer for each.
    pub family: usize,
    /// What it costs.
    pub price: f64,
    /// The limits, each with the values of the trials so far in order.
    pub limits: Vec<Limited<'a>>,
    /// Whether it can be measured.
    pub alive: bool,
}

/// The conditions of a search for the cheapest cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sought {
    /// The confidence of each family's answer.
    pub confidence: f64,
    /// Share of the trials that is cut off at each end; `None`: all are used.
    pub trim: Option<f64>,
}

/// A look at all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Hunt {
    /// Whether each cell keeps its limits.
    pub keeps: Vec<Keeps>,
    /// For each cell, whether it takes part in the next round.
    pub needed: Vec<bool>,
    /// For each family that has cells, in ascending order: its number, and its answer.
    pub answers: Vec<(usize, Cheapest)>,
    /// About how many more rounds the cells of the next round need; `None` if none is needed, or if there is no estimate yet.
    pub more_rounds: Option<u32>,
}

/// The share of the error of each statement.
///
/// Let k be the cheapest cell that truly keeps its limits. The answer is wrong only if k is said to break a limit, or if a cell that
/// breaks one, and costs no more than k, is said to keep all. The first is one cell with some limits; the second is any of the cells.
/// Each gets half of the error (Bonferroni). That a cell keeps all its limits is an intersection-union test (Berger 1982), so its
/// limits share nothing.
#[derive(Debug, Clone, Copy)]
struct Errors {
    kept: f64,
    broken: f64,
}

impl Errors {
    fn of(confidence: f64, cells: usize, limits: usize) -> Self {
        let half = (1.0 - confidence) / 2.0;
        Self { kept: half / count(cells.max(1)), broken: half / count(limits.max(1)) }
    }
}

/// Returns the mean with an interval for one limit, and whether the limit is kept. Each end of the interval is ever wrong, at any
/// number of trials, with a probability of at most the error of the statement that it decides: the end towards the limit from the kept
/// side decides "kept". The interval is the anytime-valid one, widened for the autocorrelation that the trials show. `None` without
/// values. `cells` compete for one answer with `limits` limits each.
#[must_use]
pub fn limit_interval(
    one: &Limited<'_>,
    sought: Sought,
    cells: usize,
    limits: usize,
) -> Option<(Estimate, Keeps)> {
    let errors = Errors::of(sought.confidence, cells, limits);
    let centre = Centre::of(one.values, sought.trim)?;
    let widened = Caution::Seen.factor(seen(&centre.in_order), centre.n);
    let reach = |error: f64| {
        let quantile = anytime_quantile_of(PRIOR_VARIANCE, 1.0 - error, centre.kept);
        let reach = quantile.map_or(f64::INFINITY, |quantile| quantile * widened);
        centre.within(reach, sought.confidence)
    };
    let (kept, broken) = (reach(errors.kept), reach(errors.broken));
    let (interval, is_kept, is_broken) = match one.at_least {
        true => (Estimate { low: kept.low, ..broken }, kept.low >= one.limit, broken.high < one.limit),
        false => (Estimate { high: kept.high, ..broken }, kept.high <= one.limit, broken.low > one.limit),
    };
    let keeps = if is_kept && centre.n >= StopRule::MIN_ROUNDS as usize {
        Keeps::Yes
    } else if is_broken && centre.n >= Sought::LEAST_TRIALS as usize {
        Keeps::No
    } else {
        Keeps::Open
    };
    Some((interval, keeps))
}

impl Sought {
    /// The least trials that show that a cell breaks a limit. That it keeps all takes [`StopRule::MIN_ROUNDS`].
    pub const LEAST_TRIALS: u32 = 4;

    /// Returns the interval that a cell's figure is shown with in such a run: the anytime-valid one. `None` as for
    /// [`crate::mean_anytime`].
    #[must_use]
    pub fn mean(self, samples: &[f64]) -> Option<Estimate> {
        Some(anytime(&Centre::of(samples, self.trim)?, self.confidence))
    }

    /// Looks at all cells.
    #[must_use]
    pub fn look(self, cells: &[Offered<'_>]) -> Hunt {
        let members = |family: usize| (0..cells.len()).filter(move |place| cells[*place].family == family);
        let keeps: Vec<Keeps> = cells
            .iter()
            .map(|cell| {
                let competing = members(cell.family).count();
                keeps_all(cell.limits.iter().map(|limit| {
                    limit_interval(limit, self, competing, cell.limits.len()).map_or(Keeps::Open, |it| it.1)
                }))
            })
            .collect();
        let mut families: Vec<usize> = cells.iter().map(|cell| cell.family).collect();
        families.sort_unstable();
        families.dedup();
        let mut hunt =
            Hunt { keeps, needed: vec![false; cells.len()], answers: Vec::new(), more_rounds: None };
        for family in families {
            let places: Vec<usize> = members(family).filter(|place| cells[*place].alive).collect();
            let prices: Vec<f64> = places.iter().map(|place| cells[*place].price).collect();
            let of: Vec<Keeps> = places.iter().map(|place| hunt.keeps[*place]).collect();
            let found = cheapest(&prices, &of);
            let among = |found: &[usize]| found.iter().map(|at| places[*at]).collect::<Vec<usize>>();
            let found = Cheapest { chosen: among(&found.chosen), open: among(&found.open) };
            for place in taking_part(cells, &found.open, places.len()) {
                hunt.needed[place] = true;
            }
            hunt.answers.push((family, found));
        }
        let needed = (0..cells.len()).filter(|place| hunt.needed[*place]);
        let more: Option<Vec<u32>> = needed
            .map(|place| self.more_trials(&cells[place], members(cells[place].family).count()))
            .collect();
        hunt.more_rounds = more.and_then(|more| more.into_iter().max());
        hunt
    }

    /// Returns about how many more trials decide a cell, if its means and spreads stay as they are.
    fn more_trials(self, cell: &Offered<'_>, competing: usize) -> Option<u32> {
        let errors = Errors::of(self.confidence, competing, cell.limits.len());
        let of_limit = |limit: &Limited<'_>| {
            let centre = Centre::of(limit.values, self.trim).filter(|centre| centre.error.is_finite())?;
            let gap = if limit.at_least { centre.value - limit.limit } else { limit.limit - centre.value };
            let (error, least) = match gap >= 0.0 {
                true => (errors.kept, StopRule::MIN_ROUNDS as usize),
                false => (errors.broken, Self::LEAST_TRIALS as usize),
            };
            let enough = |n: usize| {
                anytime_quantile_of(PRIOR_VARIANCE, 1.0 - error, n)
                    .is_some_and(|t| t * centre.spread() / count(n).sqrt() <= gap.abs())
            };
            let first = least.max(centre.n + 1);
            let found = (first..=MOST_TRIALS).find(|n| enough(*n))?;
            Some((gap >= 0.0, u32::try_from(found - centre.n).unwrap_or(u32::MAX)))
        };
        let all: Option<Vec<(bool, u32)>> = cell.limits.iter().map(of_limit).collect();
        let all = all?;
        // One broken limit is enough; all must be kept.
        let broken = all.iter().filter(|(kept, _)| !kept).map(|(_, more)| *more).min();
        broken.or_else(|| all.iter().map(|(_, more)| *more).max())
    }
}

/// Returns which of the `open` cells of a family of `members` cells are measured next: the cheapest ones, up to the first that seems to
/// keep its limits. Cells without a trial join a few at a time.
fn taking_part(cells: &[Offered<'_>], open: &[usize], members: usize) -> Vec<usize> {
    let mut by_price = open.to_vec();
    by_price.sort_by(|a, b| cells[*a].price.total_cmp(&cells[*b].price));
    let at_once = members.div_ceil(JOIN);
    let mut taken = Vec::new();
    let mut joined = 0;
    for place in by_price {
        let trials = cells[place].limits.iter().map(|limit| limit.values.len()).min().unwrap_or(0);
        if trials == 0 && joined == at_once {
            break;
        }
        taken.push(place);
        if trials == 0 {
            joined += 1;
        } else if trials < PATIENCE && seems_to_keep(&cells[place]) {
            break;
        }
    }
    taken
}

/// Whether a cell keeps its limits by its means so far.
fn seems_to_keep(cell: &Offered<'_>) -> bool {
    cell.limits.iter().all(|limit| {
        let mean = crate::estimate::mean(limit.values);
        if limit.at_least { mean >= limit.limit } else { mean <= limit.limit }
    })
}

#[cfg(test)]
mod tests {
    use super::{Offered, PATIENCE, Sought, limit_interval};
    use crate::{Cheapest, Keeps, Limited};

    const SOUGHT: Sought = Sought { confidence: 0.95, trim: None };

    fn at_least(values: &[f64], limit: f64) -> Limited<'_> {
        Limited { values, at_least: true, limit }
    }

    fn cell(price: f64, values: &[f64]) -> Offered<'_> {
        Offered { family: 0, price, limits: vec![at_least(values, 300.0)], alive: true }
    }

    const LOW: [f64; 4] = [100.0, 101.0, 99.0, 100.0];
    const HIGH: [f64; 6] = [400.0, 401.0, 399.0, 400.0, 401.0, 399.0];

    /// By hand, for 4 trials, an error of 0.05 / 2, and τ² = 25: B = 101^-½ (1 + u)² / (1 + u / 101)² = 40 for u = t² / 3, so (1 + u) / (1 +
    /// u / 101) = (40 √101)^½ = 20.05.
    #[test]
    fn the_interval_is_where_the_evidence_is_one_over_the_error() {
        let (interval, keeps) = limit_interval(&at_least(&LOW, 300.0), SOUGHT, 1, 1).unwrap();
        let bar = (40.0 * 101.0_f64.sqrt()).sqrt();
        let t = (3.0 * (bar - 1.0) / (1.0 - bar / 101.0)).sqrt();
        let error = (2.0_f64 / 3.0).sqrt() / 2.0;
        assert!((interval.half_width() - t * error).abs() < 1e-9, "{interval:?}");
        assert_eq!(keeps, Keeps::No);
        let shared = limit_interval(&at_least(&LOW, 300.0), SOUGHT, 10, 2).unwrap().0;
        let below = |e: crate::Estimate| e.value - e.low;
        assert!(below(shared) > below(interval) && shared.high > interval.high);
    }

    #[test]
    fn four_trials_show_that_a_limit_is_broken_and_six_that_it_is_kept() {
        let keeps = |values, at_least| {
            limit_interval(&Limited { values, at_least, limit: 300.0 }, SOUGHT, 3, 1).unwrap().1
        };
        assert_eq!((keeps(&LOW[..3], true), keeps(&LOW, true)), (Keeps::Open, Keeps::No));
        assert_eq!((keeps(&HIGH[..5], true), keeps(&HIGH, true)), (Keeps::Open, Keeps::Yes));
        assert_eq!((keeps(&LOW, false), keeps(&HIGH[..4], false)), (Keeps::Open, Keeps::No));
        assert_eq!(limit_interval(&at_least(&[], 1.0), SOUGHT, 1, 1), None);
        let twice = [&LOW[..], &LOW[..]].concat();
        assert_eq!(keeps(&twice, false), Keeps::Yes);
    }

    #[test]
    fn cheap_cells_join_first_and_dear_ones_wait_for_one_that_seems_to_do() {
        let needed = |cells: &[Offered<'_>]| SOUGHT.look(cells).needed;
        let (none, one): (&[f64], &[f64]) = (&[], &[100.0]);
        assert_eq!(needed(&[cell(3.0, none), cell(1.0, none), cell(2.0, none)]), [false, true, false]);
        assert_eq!(needed(&[cell(3.0, none), cell(1.0, one), cell(2.0, none)]), [false, true, true]);
        let seems = [cell(3.0, none), cell(1.0, one), cell(2.0, &HIGH[..2])];
        assert_eq!(needed(&seems), [false, true, true], "the dearest waits");
        let known = [cell(3.0, none), cell(1.0, &LOW), cell(2.0, &HIGH)];
        let look = SOUGHT.look(&known);
        assert_eq!(look.needed, [false; 3]);
        assert_eq!(look.answers, [(0, Cheapest { chosen: vec![2], open: vec![] })]);
        assert_eq!(look.more_rounds, None);
        // one in eight joins at once
        let many: Vec<Offered<'_>> = (0..20).map(|n| cell(1.0 + f64::from(n), none)).collect();
        assert_eq!(needed(&many).iter().filter(|needed| **needed).count(), 3);
    }

    /// 301, 299 around the limit: nothing decides that.
    #[test]
    fn a_cell_that_is_hard_to_decide_does_not_hold_the_others_back_for_ever() {
        let hard: Vec<f64> = (0..PATIENCE).map(|n| if n % 2 == 0 { 301.5 } else { 299.0 }).collect();
        let look = |made: usize| SOUGHT.look(&[cell(1.0, &hard[..made]), cell(2.0, &[])]);
        assert_eq!(look(PATIENCE - 1).needed, [true, false]);
        assert_eq!(look(PATIENCE).needed, [true, true]);
        assert!(look(PATIENCE).more_rounds.is_none(), "the second has no trial yet");
        assert!(look(PATIENCE - 1).more_rounds.is_some_and(|more| more > 10));
    }

    #[test]
    fn dead_cells_and_other_families_do_not_count() {
        let dead = Offered { alive: false, ..cell(1.0, &[]) };
        let other = Offered { family: 7, ..cell(1.0, &[]) };
        let look = SOUGHT.look(&[dead, cell(2.0, &HIGH), other]);
        assert_eq!(look.needed, [false, false, true]);
        let answers: Vec<(usize, &[usize], &[usize])> = look
            .answers
            .iter()
            .map(|(family, found)| (*family, &found.chosen[..], &found.open[..]))
            .collect();
        assert_eq!(answers, [(0, &[1][..], &[][..]), (7, &[][..], &[2][..])]);
        assert_eq!(SOUGHT.look(&[]).answers, []);
    }
}
