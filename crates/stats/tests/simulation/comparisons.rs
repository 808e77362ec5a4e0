//! Comparisons of equal and of unequal cells, and the set of cells that may be the best.

use super::noise::{TRUTH, normal};
use super::random::Random;
use super::table::{Table, percent, repetitions, share, slack};
use diskproof_stats::{
    Asked, Better, Decision, RatioEstimate, Settled, StopRule, all_pairs, paired_quotient, paired_ratio,
    paired_ratio_trimmed, standings, unpaired_ratio,
};

/// Returns one round of cells with these factors: 2 % noise per cell, and 3 % that the round adds to all.
fn round(factors: &[f64], random: &mut Random) -> Vec<f64> {
    let common = 1.0 + 0.03 * normal(random);
    factors.iter().map(|f| TRUTH * f * common * (1.0 + 0.02 * normal(random))).collect()
}

/// Returns cells by rounds.
fn cells(factors: &[f64], rounds: usize, random: &mut Random) -> Vec<Vec<Option<f64>>> {
    let mut cells = vec![Vec::new(); factors.len()];
    for _ in 0..rounds {
        for (cell, value) in cells.iter_mut().zip(round(factors, random)) {
            cell.push(Some(value));
        }
    }
    cells
}

fn pairs_until(rule: &StopRule, factor: f64, random: &mut Random) -> (Vec<(f64, f64)>, f64, f64, Decision) {
    let mut pairs = Vec::new();
    loop {
        let values = round(&[factor, 1.0], random);
        pairs.push((values[0], values[1]));
        let look = rule.look_at_ratio(&pairs, &[]).unwrap();
        if matches!(look.decision, Decision::Enough(_)) || pairs.len() >= 60 {
            return (pairs, look.interval.low, look.interval.high, look.decision);
        }
    }
}

/// Under the stop rule: false differences between equal cells in at most 5 %, coverage at least 93 %, and the power to see 5 % at
/// 2 % noise.
#[test]
fn equal_cells_are_not_told_apart_and_unequal_ones_are() {
    let n = repetitions(1000);
    let columns = ["asked", "true ratio", "told apart", "shown equal", "interval covers", "rounds"];
    let mut table =
        Table::new("50-comparisons.md", "Two cells, 2 % noise each, under the stop rule", &columns);
    let asked = [
        ("ratio to ±5 %", Asked::HalfWidth(0.05)),
        ("ratio to ±2.5 %", Asked::HalfWidth(0.025)),
        ("told apart, or equal within 4 %", Asked::Told { margin: 0.04 }),
    ];
    for (name, asked) in asked {
        for factor in [1.0, 1.02, 1.05, 1.2] {
            let rule = StopRule::new(asked, 0.95).unwrap();
            let mut random = Random::new(11);
            let (mut apart, mut equal, mut covers, mut rounds) = (0, 0, 0, 0);
            for _ in 0..n {
                let (pairs, low, high, decision) = pairs_until(&rule, factor, &mut random);
                apart += u32::from(low > 1.0 || high < 1.0);
                equal += u32::from(matches!(decision, Decision::Enough(Settled::Equal { .. })));
                covers += u32::from(low <= factor && factor <= high);
                rounds += pairs.len();
            }
            assert!(share(covers, n) > 0.95 - slack(0.95, n), "{name} {factor}: covers {covers} of {n}");
            if factor == 1.0 {
                assert!(share(apart, n) <= 0.05 + slack(0.05, n), "{name}: {apart} false of {n}");
            }
            if factor == 1.05 {
                let least = if asked == Asked::HalfWidth(0.05) { 0.80 } else { 0.95 };
                assert!(share(apart, n) > least, "{name}: {apart} of {n} seen");
                assert!(share(equal, n) <= 0.05, "{name}: {equal} of {n} called equal within 4 %");
            }
            table.row(&[
                name.to_owned(),
                factor.to_string(),
                percent(share(apart, n)),
                percent(share(equal, n)),
                percent(share(covers, n)),
                format!("{:.1}", rounds as f64 / f64::from(n)),
            ]);
        }
    }
    table.write();
}

/// All pairs of equal cells: the probability of even one false difference is at most 5 %.
#[test]
fn a_family_of_equal_cells_holds_its_level() {
    let n = repetitions(1000);
    for (k, rounds) in [(2, 5), (4, 6), (8, 6)] {
        let mut random = Random::new(21);
        let mut families = 0;
        for _ in 0..n {
            let cells = cells(&vec![1.0; k], rounds, &mut random);
            let views: Vec<&[Option<f64>]> = cells.iter().map(|c| &c[..]).collect();
            families += u32::from(all_pairs(&views, 0.95).iter().any(|c| c.is_apart()));
        }
        assert!(share(families, n) <= 0.05 + slack(0.05, n), "{k} cells: {families} of {n}");
    }
}

/// The set contains the true best in at least 95 %: with all equal (where one given cell must be kept), with a close second, and
/// with losers. The second figure is the share of the cells in the set.
#[test]
fn the_set_holds_the_best() {
    let n = repetitions(1000);
    let columns = ["cells", "rounds", "holds the best", "cells left", "how far behind is covered"];
    let mut table = Table::new("60-best.md", "The set that can't be told from the best, 2 % noise", &columns);
    let fields: [(&str, Vec<f64>); 5] = [
        ("2 equal", vec![1.0; 2]),
        ("5 equal", vec![1.0; 5]),
        ("10 equal", vec![1.0; 10]),
        ("best by 2 %, 4 others", vec![1.02, 1.0, 1.0, 1.0, 1.0]),
        ("best by 3 %, then each 3 % less, 8 in all", (0..8).map(|i| 0.97_f64.powi(i)).collect()),
    ];
    for (name, factors) in &fields {
        for rounds in [4, 6, 12] {
            let mut random = Random::new(31);
            let (mut held, mut left, mut bounded) = (0, 0, 0);
            for _ in 0..n {
                let cells = cells(factors, rounds, &mut random);
                let views: Vec<&[Option<f64>]> = cells.iter().map(|c| &c[..]).collect();
                let places = standings(&views, Better::Higher, 0.95).unwrap();
                held += u32::from(places[0].may_be_best);
                left += places.iter().filter(|p| p.may_be_best).count();
                let last = factors.len() - 1;
                bounded += u32::from(places[last].behind_at_most >= factors[0] / factors[last]);
            }
            assert!(share(held, n) >= 0.95 - slack(0.95, n), "{name}, {rounds} rounds: {held} of {n}");
            assert!(share(bounded, n) >= 0.95 - slack(0.95, n), "{name}, {rounds} rounds: {bounded} of {n}");
            table.row(&[
                (*name).to_owned(),
                rounds.to_string(),
                percent(share(held, n)),
                format!("{:.2}", left as f64 / f64::from(n)),
                percent(share(bounded, n)),
            ]);
        }
    }
    table.write();
}

/// "A difference above x % is excluded" is wrong in at most 5 %.
#[test]
fn what_is_excluded_is_not_there() {
    let n = repetitions(4000);
    for (seed, factor) in [(41, 1.0), (42, 1.03), (43, 0.9)] {
        let mut random = Random::new(seed);
        let mut wrong = 0;
        for _ in 0..n {
            let pairs: Vec<(f64, f64)> = (0..6)
                .map(|_| {
                    let values = round(&[factor, 1.0], &mut random);
                    (values[0], values[1])
                })
                .collect();
            let excluded = paired_ratio(&pairs, 0.95).unwrap().excluded_difference();
            wrong += u32::from(f64::max(factor, 1.0 / factor) - 1.0 > excluded);
        }
        assert!(share(wrong, n) <= 0.05 + slack(0.05, n), "{factor}: {wrong} of {n}");
    }
}

/// What verdicts do after a stop rule's looks: plain t intervals of the pairs at half of the error. Equal cells are reported as
/// different in at most 5 %, for every goal of the rule, including decisions; and the interval covers.
#[test]
fn half_of_the_error_pays_for_the_looks() {
    let n = repetitions(1500);
    let rules = [Asked::HalfWidth(0.05), Asked::HalfWidth(0.025), Asked::Told { margin: 0.04 }];
    for (seed, asked) in (61..).zip(rules) {
        for factor in [1.0, 1.03] {
            let rule = StopRule::new(asked, 0.95).unwrap();
            let mut random = Random::new(seed);
            let (mut apart, mut covers) = (0, 0);
            for _ in 0..n {
                let (pairs, ..) = pairs_until(&rule, factor, &mut random);
                let e = paired_ratio(&pairs, 0.975).unwrap();
                apart += u32::from(e.p_beyond(0.0) <= 0.025);
                covers += u32::from(e.low <= factor && factor <= e.high);
            }
            assert!(share(covers, n) >= 0.95 - slack(0.95, n), "{asked:?} {factor}: covers {covers} of {n}");
            if factor == 1.0 {
                assert!(share(apart, n) <= 0.05 + slack(0.05, n), "{asked:?}: {apart} false of {n}");
            }
        }
    }
}

/// Returns two cells of a machine with a wandering rate, 3 % from trial to trial and each trial similar to the one before,
/// measured in random order within rounds. Each cell adds 1 % noise.
fn wandering(factor: f64, rho: f64, random: &mut Random) -> impl FnMut() -> (f64, f64) {
    let mut state = normal(random);
    move || {
        let mut slot = || {
            state = rho * state + (1.0 - rho * rho).sqrt() * normal(random);
            (0.03 * state + 0.01 * normal(random)).exp()
        };
        let (first, second) = (slot(), slot());
        let (a, b) = if random.uniform() < 0.5 { (first, second) } else { (second, first) };
        (TRUTH * factor * a, TRUTH * b)
    }
}

/// Ratios within rounds are widened only for observed autocorrelation: the effect of time on a machine hardly has a sign within a
/// round, since the order is drawn anew each time. For any correlation between trials, equal cells are reported as different in
/// at most 5 %, and the intervals cover.
#[test]
fn what_time_does_to_all_cells_cancels_within_rounds() {
    let n = repetitions(600);
    let columns = ["from trial to trial", "asked", "told apart though equal", "interval covers", "rounds"];
    let mut table = Table::new("55-wandering.md", "Two cells of a machine whose rate wanders", &columns);
    for (seed, rho) in (101..).zip([0.3, 0.6, 0.9, 0.98]) {
        for width in [0.05, 0.025] {
            let rule = StopRule::new(Asked::HalfWidth(width), 0.95).unwrap();
            let mut random = Random::new(seed);
            let (mut apart, mut covers, mut rounds) = (0, 0, 0);
            for _ in 0..n {
                let mut next = wandering(1.0, rho, &mut random);
                let mut pairs = Vec::new();
                let look = loop {
                    pairs.push(next());
                    let look = rule.look_at_ratio(&pairs, &[]).unwrap();
                    if matches!(look.decision, Decision::Enough(_)) || pairs.len() >= 60 {
                        break look;
                    }
                };
                let told = paired_ratio(&pairs, 0.975).unwrap();
                apart += u32::from(told.p_beyond(0.0) <= 0.025);
                covers += u32::from(look.interval.low <= 1.0 && 1.0 <= look.interval.high);
                rounds += pairs.len();
            }
            assert!(share(apart, n) <= 0.05 + slack(0.05, n), "{rho}, {width}: {apart} false of {n}");
            assert!(share(covers, n) >= 0.95 - slack(0.95, n), "{rho}, {width}: covers {covers} of {n}");
            table.row(&[
                rho.to_string(),
                format!("ratio to ±{} %", 100.0 * width),
                percent(share(apart, n)),
                percent(share(covers, n)),
                format!("{:.1}", rounds as f64 / f64::from(n)),
            ]);
        }
    }
    table.write();
}

/// A rule that trims a tenth at each end, on noise with occasional outliers: means and ratios cover, and decisions err in at most
/// 5 %, with a look after every round.
#[test]
fn trimmed_rules_hold_their_level() {
    let n = repetitions(400);
    let wild = |random: &mut Random| {
        let far = if random.uniform() < 0.06 { 8.0 } else { 1.0 };
        far * 0.02 * normal(random)
    };
    let mut random = Random::new(111);
    let (mut mean_covers, mut covers, mut apart) = (0, 0, 0);
    let (narrow, told) = (Asked::HalfWidth(0.01), Asked::Told { margin: 0.01 });
    let rule = |asked| StopRule::new(asked, 0.95).unwrap().trimmed(Some(0.1));
    for _ in 0..n {
        let mut trials = Vec::new();
        let look = loop {
            trials.push(TRUTH * (1.0 + wild(&mut random)));
            let look = rule(narrow).look(&trials, &[]).unwrap();
            if matches!(look.decision, Decision::Enough(_)) || trials.len() >= 60 {
                break look.interval;
            }
        };
        mean_covers += u32::from(look.low <= TRUTH && TRUTH <= look.high);
        let mut pairs = Vec::new();
        let look = loop {
            pairs.push((wild(&mut random).exp(), wild(&mut random).exp()));
            let look = rule(told).look_at_ratio(&pairs, &[]).unwrap();
            if matches!(look.decision, Decision::Enough(_)) || pairs.len() >= 60 {
                break look;
            }
        };
        covers += u32::from(look.interval.low <= 1.0 && 1.0 <= look.interval.high);
        apart += u32::from(look.decision == Decision::Enough(Settled::Different));
    }
    let least = 0.95 - slack(0.95, n);
    assert!(share(mean_covers, n) >= least, "means cover in {mean_covers} of {n}");
    assert!(share(covers, n) >= least, "ratios cover in {covers} of {n}");
    assert!(share(apart, n) <= 0.05 + slack(0.05, n), "{apart} false of {n}");
}

/// Returns one run: rounds with 2 % noise. It has no effect of the time on the whole run, because no interval over rounds could
/// account for that.
fn alone(factor: f64, spread: f64, rounds: u32, random: &mut Random) -> Vec<f64> {
    (0..rounds).map(|_| TRUTH * factor * (spread * normal(random)).exp()).collect()
}

/// Two runs, unpaired: the interval covers, also with unequal numbers and spreads; equal runs differ in 5 %; a difference of 5 %
/// at 2 % noise is seen.
#[test]
fn unpaired_ratios_hold_their_level_and_see_differences() {
    let n = repetitions(4000);
    let columns = ["rounds", "noise", "covers", "false difference", "5 % seen"];
    let mut table = Table::new("70-unpaired.md", "Two runs, unpaired (Welch on logarithms)", &columns);
    for (seed, rounds, spreads) in [
        (71, (5, 5), (0.02, 0.02)),
        (72, (4, 12), (0.01, 0.04)),
        (73, (3, 3), (0.02, 0.02)),
        (74, (10, 10), (0.02, 0.02)),
    ] {
        let mut random = Random::new(seed);
        let (mut covers, mut wrong, mut seen) = (0, 0, 0);
        for _ in 0..n {
            let mut pair = |factor| -> RatioEstimate {
                let a = alone(factor, spreads.0, rounds.0, &mut random);
                unpaired_ratio(&a, &alone(1.0, spreads.1, rounds.1, &mut random), 0.95).unwrap()
            };
            let (same, other) = (pair(1.0), pair(1.05));
            covers += u32::from(other.low <= 1.05 && 1.05 <= other.high);
            wrong += u32::from(same.p_beyond(0.0) <= 0.05);
            seen += u32::from(other.p_beyond(0.0) <= 0.05);
        }
        assert!(share(covers, n) >= 0.945 - slack(0.95, n), "{rounds:?}: covers {covers} of {n}");
        assert!(share(wrong, n) <= 0.055 + slack(0.05, n), "{rounds:?}: {wrong} false of {n}");
        if rounds == (10, 10) {
            assert!(share(seen, n) > 0.99, "{seen} of {n}");
        }
        table.row(&[
            format!("{} and {}", rounds.0, rounds.1),
            format!("{:.0} and {:.0} %", 100.0 * spreads.0, 100.0 * spreads.1),
            percent(share(covers, n)),
            percent(share(wrong, n)),
            percent(share(seen, n)),
        ]);
    }
    table.write();
}

/// Trimmed pairs cover with occasional outliers, and the quotient of two metrics of the same trials covers for any correlation
/// between them.
#[test]
fn trimmed_pairs_and_paired_quotients_cover() {
    let n = repetitions(3000);
    let mut random = Random::new(91);
    let (mut trimmed, mut quotients) = (0, 0);
    for _ in 0..n {
        let pairs: Vec<(f64, f64)> = (0..12)
            .map(|_| {
                let wild = if random.uniform() < 0.08 { 0.3 * normal(&mut random) } else { 0.0 };
                let values = round(&[1.05, 1.0], &mut random);
                (values[0] * wild.exp(), values[1])
            })
            .collect();
        let e = paired_ratio_trimmed(&pairs, 0.1, 0.95).unwrap();
        trimmed += u32::from(e.low <= 1.05 && 1.05 <= e.high);
        let metrics: Vec<(f64, f64)> = (0..5)
            .map(|_| {
                let common = 5.0 * normal(&mut random);
                (200.0 + 2.0 * common + normal(&mut random), 100.0 + common + normal(&mut random))
            })
            .collect();
        let q = paired_quotient(&metrics, 0.95).unwrap();
        quotients += u32::from(q.low <= 2.0 && 2.0 <= q.high);
    }
    assert!(share(trimmed, n) >= 0.94 - slack(0.95, n), "{trimmed} of {n}");
    assert!((share(quotients, n) - 0.95).abs() < slack(0.95, n), "{quotients} of {n}");
}
