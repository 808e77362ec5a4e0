//! The Pareto front of price and performance: which cells nothing cheaper beats.

use std::cmp::Ordering;

/// The place of a cell between price and performance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontPlace {
    /// It is shown to be better than each cell that costs no more.
    Member,
    /// This cell costs no more and is shown to be better.
    Dominated(usize),
    /// The data show neither.
    Undecided,
}

/// Returns the place of each cell. `better(i, j)`: whether cell i is shown to be better than cell j, with the error controlled over all
/// pairs; prices are known exactly, so only these statements can be wrong. Then with that confidence no place is wrong: a member needs
/// its statements against all cells that cost no more, and a dominated cell one. Of several dominating cells, the cheapest is named.
///
/// A cell that another equals in performance at a lower price is truly dominated. No data show equality, so it stays undecided.
///
/// `None` if a price isn't finite.
#[must_use]
pub fn front(prices: &[f64], better: impl Fn(usize, usize) -> bool) -> Option<Vec<FrontPlace>> {
    if prices.iter().any(|price| !price.is_finite()) {
        return None;
    }
    let place = |i: usize| {
        let costs_no_more = |j: &usize| *j != i && prices[*j] <= prices[i];
        let rivals = || (0..prices.len()).filter(costs_no_more);
        let by_price = |a: &usize, b: &usize| prices[*a].partial_cmp(&prices[*b]).unwrap_or(Ordering::Equal);
        match rivals().filter(|j| better(*j, i)).min_by(by_price) {
            Some(winner) => FrontPlace::Dominated(winner),
            None if rivals().all(|j| better(i, j)) => FrontPlace::Member,
            None => FrontPlace::Undecided,
        }
    };
    Some((0..prices.len()).map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::FrontPlace::{Dominated, Member, Undecided};
    use super::front;

    #[test]
    fn nothing_that_costs_no_more_beats_a_member() {
        let iops = [100.0, 200.0, 150.0, 300.0, 290.0];
        let better = |i: usize, j: usize| iops[i] > iops[j] * 1.05;
        let places = front(&[4.0, 8.0, 9.0, 14.0, 14.0], better).unwrap();
        assert_eq!(places, [Member, Member, Dominated(1), Undecided, Undecided]);
        assert_eq!(front(&[1.0, 2.0], |_, _| false), Some(vec![Member, Undecided]), "the cheapest is one");
        assert_eq!(front(&[2.0, 2.0], |i, _| i == 1), Some(vec![Dominated(1), Member]));
        let places = front(&[3.0, 1.0, 2.0], |i, j| i > 0 && j == 0).unwrap();
        assert_eq!(places, [Dominated(1), Member, Undecided], "the cheapest of those that beat it");
        assert_eq!((front(&[], |_, _| true), front(&[f64::NAN], |_, _| true)), (Some(vec![]), None));
    }
}
