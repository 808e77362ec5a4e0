//! Cases by hand; what holds over many runs is in tests/stop_rule.rs.

use super::{Allowance, Asked, Decision, Lacking, Resource, Settled, StopRule};
use crate::{mean_anytime, mean_t};

const STEADY: [f64; 6] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0];

fn five_percent() -> StopRule {
    StopRule::new(Asked::HalfWidth(0.05), 0.95).unwrap()
}

fn told(margin: f64) -> StopRule {
    StopRule::new(Asked::Told { margin }, 0.95).unwrap()
}

fn left(resource: Resource, rounds_left: u32) -> Allowance {
    Allowance { resource, rounds_left }
}

#[test]
fn steady_trials_are_enough_at_the_first_look_and_not_before() {
    let rule = five_percent();
    let look = rule.look(&STEADY, &[]).unwrap();
    // r₁ = (0·1 - 1·1 - 1·½ - ½·½ - ½·0) / 2.5 < -1/6, so nothing is widened.
    let wider = mean_t(&STEADY, 0.97).unwrap();
    assert!((look.interval.low - wider.low).abs() < 1e-9 && (look.interval.high - wider.high).abs() < 1e-9);
    assert_eq!(look.interval.confidence, 0.95);
    let Decision::Enough(Settled::Narrow { reached, asked }) = look.decision else { panic!("{look:?}") };
    assert!(reached < 0.05 && asked == 0.05);
    let before = rule.look(&STEADY[..5], &[]).unwrap().decision;
    assert_eq!(
        before,
        Decision::More { lacking: Lacking::Rounds { have: 5, need: 6 }, rounds_estimate: Some(1) }
    );
    assert!(matches!(rule.with_min_rounds(5).look(&STEADY[..5], &[]).unwrap().decision, Decision::Enough(_)));
    assert_eq!(rule.with_min_rounds(1).min_rounds(), 4);
}

/// By hand: 1, 1, 1, 3, 3, 3 has r₁ = (1 + 1 - 1 + 1 + 1) / 6 = ½, less -1/6: ρ = 2/3, factor √5.
#[test]
fn rounds_that_hang_together_widen_the_interval() {
    let look = five_percent().look(&[1.0, 1.0, 1.0, 3.0, 3.0, 3.0], &[]).unwrap();
    let plain = mean_t(&[1.0, 1.0, 1.0, 3.0, 3.0, 3.0], 0.97).unwrap();
    assert!((look.interval.half_width() / plain.half_width() - 5.0_f64.sqrt()).abs() < 1e-9);
    let mixed = five_percent().look(&[1.0, 3.0, 1.0, 3.0, 3.0, 1.0], &[]).unwrap();
    assert!((mixed.interval.half_width() - plain.half_width()).abs() < 1e-9);
}

#[test]
fn noise_asks_for_more_and_says_how_many() {
    let noisy = [80.0, 120.0, 95.0, 105.0, 110.0, 90.0];
    let look = five_percent().look(&noisy, &[left(Resource::Time, 3)]).unwrap();
    let Decision::More { lacking: Lacking::Width { reached, asked }, rounds_estimate: Some(more) } =
        look.decision
    else {
        panic!("{look:?}")
    };
    assert!(reached > asked);
    let spread = 210.0_f64.sqrt();
    let half = |m: u32| {
        crate::estimate::t_quantile(0.97, m as usize).unwrap() * spread / f64::from(m).sqrt() / 100.0
    };
    assert!(half(6 + more) <= 0.05 && half(5 + more) > 0.05, "{more}");
}

#[test]
fn what_ran_out_is_named_with_what_is_lacking() {
    let noisy = [80.0, 120.0, 95.0, 105.0, 110.0, 90.0, 100.0];
    let allowances = [left(Resource::Money, 0), left(Resource::Time, 0), left(Resource::Rounds, 2)];
    let look = five_percent().look(&noisy, &allowances).unwrap();
    assert!(
        matches!(
            look.decision,
            Decision::Budget {
                exhausted: Resource::Time,
                lacking: Lacking::Width { .. },
                rounds_estimate: Some(_)
            }
        ),
        "{look:?}"
    );
}

/// Three rounds asked for, three rounds done: no look decided anything, so the interval is Student's at the full level.
#[test]
fn a_budget_below_the_first_look_leaves_the_plain_interval() {
    let over = [left(Resource::Rounds, 0)];
    let look = five_percent().look(&STEADY[..3], &over).unwrap();
    assert_eq!(Some(look.interval), mean_t(&STEADY[..3], 0.95));
    assert!(matches!(look.decision, Decision::Budget { lacking: Lacking::Rounds { have: 3, need: 6 }, .. }));
    let six = five_percent().look(&STEADY, &over).unwrap();
    assert_eq!(Some(six.interval), mean_t(&STEADY, 0.95));
    assert!(matches!(six.decision, Decision::Enough(_)));
}

#[test]
fn one_round_and_no_spread() {
    let one = five_percent().look(&[100.0], &[]).unwrap();
    assert!(!one.interval.is_bounded());
    assert!(matches!(
        one.decision,
        Decision::More { lacking: Lacking::Width { reached: f64::INFINITY, .. }, rounds_estimate: None }
    ));
    let same = five_percent().look(&[7.0; 6], &[]).unwrap();
    assert_eq!(same.decision, Decision::Enough(Settled::Narrow { reached: 0.0, asked: 0.05 }));
    let zero = five_percent().look(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0], &[]).unwrap();
    assert!(matches!(zero.decision, Decision::More { rounds_estimate: None, .. }), "{zero:?}");
}

#[test]
fn a_ratio_as_narrow_as_asked() {
    let pairs: Vec<(f64, f64)> = STEADY.iter().map(|a| (2.0 * a, 100.0)).collect();
    let look = five_percent().look_at_ratio(&pairs, &[]).unwrap();
    assert!((look.interval.value - 2.0).abs() < 1e-3);
    let Decision::Enough(Settled::Narrow { reached, .. }) = look.decision else { panic!("{look:?}") };
    assert!((look.interval.high / look.interval.value - 1.0 - reached).abs() < 1e-9);
    assert!((look.interval.value / look.interval.low - 1.0 - reached).abs() < 1e-9);
}

#[test]
fn told_apart_told_equal_or_open() {
    let pairs = |factor: f64| -> Vec<(f64, f64)> { STEADY.iter().map(|a| (factor * a, 100.0)).collect() };
    let apart = told(0.02).look_at_ratio(&pairs(1.5), &[]).unwrap();
    assert_eq!(apart.decision, Decision::Enough(Settled::Different));
    let logs: Vec<f64> = pairs(1.5).iter().map(|(a, b)| a.ln() - b.ln()).collect();
    assert_eq!(apart.interval.low, mean_anytime(&logs, 0.95).unwrap().low.exp());
    let equal = told(0.05).look_at_ratio(&pairs(1.0), &[]).unwrap();
    assert_eq!(equal.decision, Decision::Enough(Settled::Equal { margin: 0.05 }));
    let open = told(0.001).look_at_ratio(&pairs(1.0), &[]).unwrap();
    let Decision::More { lacking: Lacking::Undecided { excluded, .. }, rounds_estimate: Some(_) } =
        open.decision
    else {
        panic!("{open:?}")
    };
    let far = open.interval.high.max(1.0 / open.interval.low);
    assert!((excluded - (far - 1.0)).abs() < 1e-9);
}

#[test]
fn nonsense_is_refused() {
    for asked in [Asked::HalfWidth(0.0), Asked::HalfWidth(f64::NAN), Asked::Told { margin: -0.1 }] {
        assert_eq!(StopRule::new(asked, 0.95), None);
    }
    assert_eq!(StopRule::new(Asked::HalfWidth(0.05), 1.0), None);
    assert_eq!(five_percent().look(&[], &[]), None);
    assert_eq!(five_percent().look(&[1.0, f64::NAN], &[]), None);
    assert_eq!(five_percent().look_at_ratio(&[(1.0, 0.0)], &[]), None);
    assert_eq!(told(0.1).look(&[1.0], &[]), None, "a plain figure can't be told apart from 1");
}
