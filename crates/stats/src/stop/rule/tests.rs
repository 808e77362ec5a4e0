//! Cases by hand; tests/simulation/stop_rule.rs checks properties over many runs.

use super::{Allowance, Asked, Decision, Lacking, Resource, Settled, StopRule};
use crate::{mean_anytime, mean_t, trimmed_mean};

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
    // r₁ = (0·1 - 1·1 - 1·½ - ½·½ - ½·0) / 2.5 = -0.7; another 1/6 + 1.5/√6 can't be excluded.
    let rho = -0.7 + 1.0 / 6.0 + 1.5 / 6.0_f64.sqrt();
    let wider = mean_t(&STEADY, 0.97).unwrap().half_width() * ((1.0 + rho) / (1.0 - rho)).sqrt();
    assert!((look.interval.half_width() / wider - 1.0).abs() < 1e-9);
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

/// By hand: 1, 1, 1, 3, 3, 3 has r₁ = (1 + 1 - 1 + 1 + 1) / 6 = ½, minus -1/6: ρ = 2/3, factor √5. 1, 3, 1, 3, 3, 1 shows no
/// autocorrelation, but six rounds don't exclude 1.5/√6 more: r₁ = (-1 -1 -1 +1 -1) / 6 = -½, ρ = -½ + 1/6 + 0.612. Ratios within
/// rounds are widened only by the observed value.
#[test]
fn rounds_that_hang_together_widen_the_interval_and_few_rounds_exclude_little() {
    let (close, mixed) = ([1.0, 1.0, 1.0, 3.0, 3.0, 3.0], [1.0, 3.0, 1.0, 3.0, 3.0, 1.0]);
    let plain = mean_t(&close, 0.97).unwrap().half_width();
    let factor = |samples: &[f64]| five_percent().look(samples, &[]).unwrap().interval.half_width() / plain;
    assert!((factor(&close) - 5.0_f64.sqrt()).abs() < 1e-9);
    let rho = -0.5 + 1.0 / 6.0 + 1.5 / 6.0_f64.sqrt();
    assert!((factor(&mixed) - ((1.0 + rho) / (1.0 - rho)).sqrt()).abs() < 1e-9);
    let ratio = |samples: &[f64]| {
        let pairs: Vec<(f64, f64)> = samples.iter().map(|x| (x.exp(), 1.0)).collect();
        five_percent().look_at_ratio(&pairs, &[]).unwrap().interval
    };
    let log_half = |e: crate::Estimate| (e.high.ln() - e.low.ln()) / 2.0 / plain;
    assert!((log_half(ratio(&close)) - 5.0_f64.sqrt()).abs() < 1e-9);
    assert!((log_half(ratio(&mixed)) - 1.0).abs() < 1e-9);
}

/// The same rule on trimmed means: one outlier of ten rounds affects neither the estimate nor the error nor the observed autocorrelation.
#[test]
fn a_trimmed_rule_looks_at_trimmed_means() {
    let rounds = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 300.0, 99.0, 101.0, 100.0];
    let rule = five_percent();
    assert!(matches!(rule.look(&rounds, &[]).unwrap().decision, Decision::More { .. }));
    let trimmed = rule.trimmed(Some(0.1));
    let look = trimmed.look(&rounds, &[]).unwrap();
    assert!(matches!(look.decision, Decision::Enough(_)), "{look:?}");
    let plain = trimmed_mean(&rounds, 0.1, 0.97).unwrap();
    assert_eq!((look.interval.value, look.interval.n), (plain.value, 10));
    assert!(look.interval.half_width() >= plain.half_width());
    assert_eq!(Some(look.interval), trimmed.mean(&rounds, &[]), "what is shown is what was looked at");
    let pairs: Vec<(f64, f64)> = rounds.iter().map(|x| (*x, 100.0)).collect();
    let apart = |rule: StopRule| rule.look_at_ratio(&pairs, &[]).unwrap().decision;
    assert!(matches!(apart(told(0.05)), Decision::More { .. }));
    assert_eq!(apart(told(0.05).trimmed(Some(0.1))), Decision::Enough(Settled::Equal { margin: 0.05 }));
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
    let (spread, seen) = (210.0_f64.sqrt(), super::seen(&noisy));
    let half = |m: u32| {
        let caution = super::Caution::Possible.factor(seen, m as usize);
        caution * crate::estimate::t_quantile(0.97, m as usize).unwrap() * spread
            / f64::from(m).sqrt()
            / 100.0
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

/// Three rounds requested, three rounds done: no look decided anything, so the interval is Student's at the full level.
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
