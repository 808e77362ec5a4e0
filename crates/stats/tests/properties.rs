//! Properties that hold for all numbers, even extreme ones.

use diskproof_stats::{
    Allowance, Asked, Better, Decision, Estimate, Resource, StopRule, all_pairs, change_points, doubts,
    geometric_mean, mean_anytime, mean_of_series, median, outliers, quotient, ramp_up, standings,
    steady_state, trimmed_mean, two_rates,
};
use proptest::prelude::{Strategy, any, prop, proptest};

fn samples() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1.0_f64..1000.0, 1..40)
}

fn sound(e: Estimate) -> bool {
    e.value.is_finite() && e.low <= e.value && e.value <= e.high && e.n > 0
}

proptest! {
    #[test]
    fn estimates_lie_in_their_intervals(a in samples(), b in samples()) {
        for e in [median(&a, 0.95), trimmed_mean(&a, 0.1, 0.95), geometric_mean(&a, 0.95), mean_anytime(&a, 0.95),
                  mean_of_series(&a, 0.95), quotient(&a, &b, 0.95)] {
            assert!(e.is_none_or(sound), "{e:?}");
        }
    }

    #[test]
    fn nothing_panics_and_no_p_is_none(a in prop::collection::vec(any::<f64>(), 0..25), b in prop::collection::vec(any::<f64>(), 0..25)) {
        let _ = (median(&a, 0.95), trimmed_mean(&a, 0.1, 0.95), geometric_mean(&a, 0.95), quotient(&a, &b, 0.95));
        let _ = (ramp_up(&a), steady_state(&a), outliers(&a, 0.05), two_rates(&a, 0.05, 0.95), mean_of_series(&a, 0.95));
        assert!(doubts(&a, 0.05).iter().all(|d| d.p_adjusted <= 0.05));
        assert!(change_points(&a, 0.05).iter().all(|c| c.p <= 0.05 && c.at < a.len()));
        let rule = StopRule::new(Asked::HalfWidth(0.05), 0.95).unwrap();
        if let Some(look) = rule.look(&a, &[]) {
            assert!(look.interval.low <= look.interval.high, "{look:?}");
        }
    }

    #[test]
    fn another_unit_changes_no_verdict(a in prop::collection::vec(50.0_f64..150.0, 6..14), scale in 0.001_f64..1000.0) {
        let scaled: Vec<f64> = a.iter().map(|x| x * scale).collect();
        let rule = StopRule::new(Asked::HalfWidth(0.05), 0.95).unwrap();
        let (x, y) = (rule.look(&a, &[]).unwrap(), rule.look(&scaled, &[]).unwrap());
        assert!((x.interval.low * scale - y.interval.low).abs() <= 1e-6 * scale * 150.0);
        assert_eq!(matches!(x.decision, Decision::Enough(_)), matches!(y.decision, Decision::Enough(_)));
        let (m, n) = (median(&a, 0.95).unwrap(), median(&scaled, 0.95).unwrap());
        assert!((m.high * scale - n.high).abs() <= 1e-9 * scale * 150.0);
    }

    #[test]
    fn an_exhausted_budget_never_asks_for_more(a in prop::collection::vec(1.0_f64..100.0, 1..14)) {
        let over = [Allowance { resource: Resource::Time, rounds_left: 0 }];
        let rule = StopRule::new(Asked::HalfWidth(0.05), 0.95).unwrap();
        assert!(!matches!(rule.look(&a, &over).unwrap().decision, Decision::More { .. }));
        assert!(!matches!(rule.look(&a, &[]).unwrap().decision, Decision::Budget { .. }));
    }

    #[test]
    fn comparisons_turned_around_say_the_same(
        rounds in prop::collection::vec((1.0_f64..100.0, 1.0_f64..100.0, 1.0_f64..100.0), 2..10),
    ) {
        let cell = |pick: fn(&(f64, f64, f64)) -> f64| -> Vec<Option<f64>> { rounds.iter().map(|r| Some(pick(r))).collect() };
        let (a, b, c) = (cell(|r| r.0), cell(|r| r.1), cell(|r| r.2));
        let inverse = |x: &[Option<f64>]| -> Vec<Option<f64>> { x.iter().map(|v| v.map(|v| 1.0 / v)).collect() };
        let up = standings(&[&a, &b, &c], Better::Higher, 0.95).unwrap();
        let down = standings(&[&inverse(&a), &inverse(&b), &inverse(&c)], Better::Lower, 0.95).unwrap();
        for (x, y) in up.iter().zip(&down) {
            assert!(x.may_be_best == y.may_be_best && (x.behind_at_most / y.behind_at_most - 1.0).abs() < 1e-6
                || x.behind_at_most == y.behind_at_most);
        }
        assert!(up.iter().any(|s| s.may_be_best), "somebody is left");
        let (one, two) = (all_pairs(&[&a, &b], 0.95), all_pairs(&[&b, &a], 0.95));
        assert!((one[0].p_adjusted - two[0].p_adjusted).abs() < 1e-9);
        assert!((one[0].ratio.ratio * two[0].ratio.ratio - 1.0).abs() < 1e-9);
    }
}
