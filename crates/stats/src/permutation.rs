//! Exact tests without an assumption about the distribution: the share of orders of the rounds that look at least as unusual as
//! the observed one.

use crate::random::Random;

/// Up to this many rounds, all orders are tested (5,040).
const ALL_ORDERS_UP_TO: usize = 7;
/// With more rounds, this many random orders are drawn, always the same.
const DRAWN: u32 = 1_999;
/// With fewer hits than this, more orders are drawn: many simultaneous tests need p-values smaller than 1 in 2,000.
const FEW: u32 = 3;
const MORE: u32 = 19_999;

/// Returns the p-value of `statistic` under the hypothesis that all orders of the rounds are equally likely: the share of orders
/// for which it is at least as large as for the observed order. Exact over all orders for up to 7 rounds, else (1 + hits) / (1 +
/// draws) over 1,999 seeded random orders, and over 19,999 if fewer than 3 of the first ones hit. Both hold their level. The
/// choice between them does too, since the second is used only with at most 3 / 2,000 in the first. `statistic` gets the index of
/// the round at each place. Source: Pitman (1937), JRSS Supplement 4:119-130; Phipson, Smyth (2010), SAGMB 9:39, for the 1 + in
/// the random version.
pub(crate) fn p_value(rounds: usize, statistic: impl Fn(&[usize]) -> f64) -> f64 {
    let mut order: Vec<usize> = (0..rounds).collect();
    let seen = statistic(&order);
    let bar = seen - 1e-9 * seen.abs();
    let odd = |order: &[usize]| u32::from(statistic(order) >= bar);
    let (mut hits, mut all) = (0, 0);
    if rounds <= ALL_ORDERS_UP_TO {
        every_order(&mut order, rounds, &mut |order| {
            hits += odd(order);
            all += 1;
        });
        return f64::from(hits) / f64::from(all);
    }
    let (mut random, mut draws) = (Random::new(0x5EED), DRAWN);
    while all < draws {
        for last in (1..rounds).rev() {
            order.swap(last, random.below(last + 1));
        }
        hits += odd(&order);
        all += 1;
        if all == DRAWN && hits < FEW {
            draws = MORE;
        }
    }
    f64::from(hits + 1) / f64::from(all + 1)
}

/// Visits every order. Source: Heap (1963), Computer Journal 6:293-294.
fn every_order(order: &mut [usize], k: usize, visit: &mut impl FnMut(&[usize])) {
    if k <= 1 {
        visit(order);
        return;
    }
    for i in 0..k {
        every_order(order, k - 1, visit);
        if i + 1 < k {
            order.swap(if k.is_multiple_of(2) { i } else { 0 }, k - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{every_order, p_value};
    use std::collections::BTreeSet;

    #[test]
    fn every_order_comes_once() {
        let mut seen = BTreeSet::new();
        let mut visits = 0;
        every_order(&mut [0, 1, 2, 3, 4], 5, &mut |o| {
            visits += 1;
            seen.insert(o.to_vec());
        });
        assert_eq!((visits, seen.len()), (120, 120));
    }

    /// The observed order is the only one of 5! with each round in its own place; half of all orders have round 0 before round 1.
    #[test]
    fn shares_by_hand() {
        let at_home = |o: &[usize]| f64::from(u32::from(o.iter().enumerate().all(|(i, r)| i == *r)));
        assert!((p_value(5, at_home) - 1.0 / 120.0).abs() < 1e-12);
        let before = |o: &[usize]| {
            let place = |r| o.iter().position(|x| *x == r);
            f64::from(u32::from(place(0) < place(1)))
        };
        assert!((p_value(5, before) - 0.5).abs() < 1e-12);
        assert!((p_value(12, before) - 0.5).abs() < 0.03, "random orders are even");
        assert_eq!(p_value(6, |_| 1.0), 1.0);
        let never = |o: &[usize]| f64::from(u32::from(o.is_sorted()));
        assert!((p_value(20, never) - 1.0 / 20_000.0).abs() < 1e-12, "more are drawn where hits are few");
    }
}
