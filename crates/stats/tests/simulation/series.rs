//! Changes of level within a trial: false alarms on series that only wander, and the power to see a step.

use super::noise::{Noise, TRUTH, normal};
use super::random::Random;
use super::table::{Table, percent, repetitions, share, slack};
use diskproof_stats::{change_points, mean_of_series, two_rates};

fn series(rho: f64, n: usize, random: &mut Random) -> Vec<f64> {
    let mut next = Noise::Autocorrelated(rho).rounds(5.0, random);
    (0..n).map(|_| next()).collect()
}

#[test]
fn steps_are_seen_and_wandering_is_not() {
    let n = repetitions(600);
    let columns = [
        "autocorrelation",
        "seconds",
        "false alarms",
        "step of 10 % seen",
        "step of 20 % seen",
        "found within 3 s",
    ];
    let mut table = Table::new("90-changes.md", "Changes of level at 5 %, seconds with 5 % noise", &columns);
    for rho in [0.0, 0.3, 0.6] {
        for seconds in [30, 60, 120] {
            let mut random = Random::new(81);
            let mut cells = vec![rho.to_string(), seconds.to_string()];
            let mut near = 0;
            for step in [0.0, 10.0, 20.0] {
                let mut alarms = 0;
                for _ in 0..n {
                    let mut x = series(rho, seconds, &mut random);
                    let at = seconds / 2;
                    x[at..].iter_mut().for_each(|v| *v -= step);
                    let found = change_points(&x, 0.05);
                    alarms += u32::from(!found.is_empty());
                    near += u32::from(step == 20.0 && found.iter().any(|c| c.at.abs_diff(at) <= 3));
                }
                if step == 0.0 {
                    assert!(
                        share(alarms, n) <= 0.05 + slack(0.05, n),
                        "ρ {rho}, {seconds} s: {alarms} of {n}"
                    );
                }
                if step == 20.0 && rho == 0.0 {
                    assert!(share(alarms, n) > 0.95, "{seconds} s: {alarms} of {n}");
                }
                cells.push(percent(share(alarms, n)));
            }
            cells.push(percent(share(near, n)));
            table.row(&cells);
        }
    }
    table.write();
}

/// Credits that run out after two thirds: the change is located, and both rates are covered.
#[test]
fn two_rates_are_located_and_covered() {
    let n = repetitions(400);
    let mut random = Random::new(91);
    let (mut seen, mut near, mut before, mut after) = (0, 0, 0, 0);
    for _ in 0..n {
        let mut x = series(0.3, 90, &mut random);
        x[60..].iter_mut().for_each(|v| *v -= 70.0);
        let Some(t) = two_rates(&x, 0.01, 0.95) else { continue };
        seen += 1;
        near += u32::from(t.at.abs_diff(60) <= 1);
        before += u32::from(t.before.low <= TRUTH && TRUTH <= t.before.high);
        after += u32::from(t.after.low <= 30.0 && 30.0 <= t.after.high);
    }
    assert!(share(seen, n) > 0.95 && share(near, n) > 0.95, "{seen} seen, {near} near of {n}");
    assert!(share(before, seen) > 0.90 && share(after, seen) > 0.88, "{before} and {after} of {seen}");
}

/// The interval covers a series' own mean despite its autocorrelation.
#[test]
fn the_mean_of_a_series_is_covered() {
    let n = repetitions(1000);
    for rho in [0.0, 0.5] {
        let mut random = Random::new(101);
        let mut held = 0;
        for _ in 0..n {
            let mut state = normal(&mut random);
            let x: Vec<f64> = (0..60)
                .map(|_| {
                    state = rho * state + f64::sqrt(1.0 - rho * rho) * normal(&mut random);
                    TRUTH + state
                })
                .collect();
            let e = mean_of_series(&x, 0.95).unwrap();
            held += u32::from(e.low <= TRUTH && TRUTH <= e.high);
        }
        assert!(share(held, n) > 0.92, "{rho}: {held} of {n}");
    }
}
