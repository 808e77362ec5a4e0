//! The cheapest cell that keeps limits.

use crate::estimate::{Estimate, count, mean_t};
use crate::location::trimmed_mean;

/// A limit of one metric of one cell, and the metric's values.
#[derive(Debug, Clone, Copy)]
pub struct Limited<'a> {
    /// One value per trial.
    pub values: &'a [f64],
    /// Whether the mean must be at least the limit; else at most.
    pub at_least: bool,
    /// The limit.
    pub limit: f64,
}

/// Whether a limit is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// It is shown to be kept.
    Yes,
    /// It is shown to be broken.
    No,
    /// The data show neither.
    Open,
}

impl Limited<'_> {
    /// Returns the mean with the interval that decides: each of its ends is wrong with a probability of at most `error`. `None` without
    /// values.
    #[must_use]
    pub fn estimate(&self, trim: Option<f64>, error: f64) -> Option<Estimate> {
        let confidence = 1.0 - 2.0 * error;
        match trim {
            Some(share) => trimmed_mean(self.values, share, confidence),
            None => mean_t(self.values, confidence),
        }
    }

    /// Whether the limit is kept, by one-sided t tests (Student 1908): the end of the interval that is nearer to the limit decides.
    #[must_use]
    pub fn keeps(&self, trim: Option<f64>, error: f64) -> Keeps {
        let Some(e) = self.estimate(trim, error).filter(Estimate::is_bounded) else { return Keeps::Open };
        let (kept, broken) = match self.at_least {
            true => (e.low >= self.limit, e.high < self.limit),
            false => (e.high <= self.limit, e.low > self.limit),
        };
        match (kept, broken) {
            (true, _) => Keeps::Yes,
            (_, true) => Keeps::No,
            _ => Keeps::Open,
        }
    }
}

/// Returns the error of each one-sided statement about `limits` limits of each of `cells` cells, so that all statements about all cells
/// together are wrong with a probability of at most `error`: Bonferroni's inequality over cells and limits. Of the two statements about
/// a limit, kept and broken, only one can be wrong. That a cell keeps all limits is an intersection-union test (Berger 1982,
/// Technometrics 24:295-300) and would need no share for each limit; that it breaks one does.
#[must_use]
pub fn share_of_error(error: f64, cells: usize, limits: usize) -> f64 {
    error / count(cells.max(1)) / count(limits.max(1))
}

/// Whether a cell keeps all its limits: all are shown to be kept, or one is shown to be broken.
#[must_use]
pub fn keeps_all(limits: impl IntoIterator<Item = Keeps>) -> Keeps {
    limits.into_iter().fold(Keeps::Yes, |all, one| match (all, one) {
        (Keeps::No, _) | (_, Keeps::No) => Keeps::No,
        (Keeps::Open, _) | (_, Keeps::Open) => Keeps::Open,
        (Keeps::Yes, Keeps::Yes) => Keeps::Yes,
    })
}

/// The cheapest cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cheapest {
    /// The cells that keep all limits and cost least: several if they cost the same; none if no cell is shown to keep them.
    pub chosen: Vec<usize>,
    /// Cheaper cells (all cells, if none is chosen) that may keep them. If there are none, the answer is final.
    pub open: Vec<usize>,
}

/// Returns the cheapest cells that keep their limits. If no statement of [`Keeps`] is wrong, neither is a final answer.
#[must_use]
pub fn cheapest(prices: &[f64], keeps: &[Keeps]) -> Cheapest {
    let of = |wanted: Keeps| {
        let all = prices.iter().zip(keeps).enumerate();
        all.filter(move |(_, (_, keeps))| **keeps == wanted).map(|(cell, (price, _))| (cell, *price))
    };
    let least = of(Keeps::Yes).map(|(_, price)| price).fold(f64::INFINITY, f64::min);
    Cheapest {
        chosen: of(Keeps::Yes).filter(|(_, price)| *price <= least).map(|(cell, _)| cell).collect(),
        open: of(Keeps::Open).filter(|(_, price)| *price < least).map(|(cell, _)| cell).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::Keeps::{No, Open, Yes};
    use super::{Cheapest, Limited, cheapest, keeps_all, share_of_error};

    #[test]
    fn a_limit_is_kept_broken_or_open() {
        let values = [99.0, 100.0, 101.0];
        let keeps = |at_least, limit| Limited { values: &values, at_least, limit }.keeps(None, 0.025);
        // 100 ± 2.48
        assert_eq!([97.0, 100.0, 103.0].map(|limit| keeps(true, limit)), [Yes, Open, No]);
        assert_eq!([97.0, 100.0, 103.0].map(|limit| keeps(false, limit)), [No, Open, Yes]);
        let once = Limited { values: &values[..1], at_least: true, limit: 1.0 };
        let none = Limited { values: &[], ..once };
        assert_eq!((once.keeps(None, 0.05), none.keeps(None, 0.05)), (Open, Open));
        assert_eq!(once.keeps(Some(0.1), 0.05), Open);
        assert_eq!((keeps_all([Yes, Yes]), keeps_all([Yes, Open]), keeps_all([Open, No])), (Yes, Open, No));
        assert!((share_of_error(0.05, 5, 2) - 0.005).abs() < 1e-12);
    }

    #[test]
    fn an_answer_is_final_if_nothing_cheaper_is_open() {
        let of = |keeps: [super::Keeps; 4]| cheapest(&[4.0, 8.0, 8.0, 14.0], &keeps);
        let told =
            |chosen: &[usize], open: &[usize]| Cheapest { chosen: chosen.to_vec(), open: open.to_vec() };
        assert_eq!(of([No, Yes, No, Open]), told(&[1], &[]));
        assert_eq!(of([Open, Yes, Yes, Yes]), told(&[1, 2], &[0]));
        assert_eq!(of([Open, Yes, Open, No]), told(&[1], &[0]), "equal prices don't matter");
        assert_eq!((of([No; 4]), of([No, Open, No, Open])), (told(&[], &[]), told(&[], &[1, 3])));
        assert_eq!(cheapest(&[], &[]), told(&[], &[]));
    }
}
