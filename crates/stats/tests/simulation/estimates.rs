//! Coverage of the intervals at fixed numbers of trials.

use super::noise::{Noise, TRUTH, normal};
use super::random::Random;
use super::table::{Table, percent, repetitions, share, slack};
use diskproof_stats::{
    Estimate, geometric_mean, mean_anytime, mean_t, median, quotient, rounds_to_narrow, trimmed_mean,
};

type Estimator = fn(&[f64]) -> Estimate;

/// On symmetric noise mean, median and trimmed mean estimate the same value, and each covers it at every number of trials; the
/// median also with a heavy tail.
#[test]
fn centres_cover_at_every_number() {
    let n = repetitions(1500);
    let estimators: [(&str, Estimator); 4] = [
        ("mean", |x| mean_t(x, 0.95).unwrap()),
        ("median", |x| median(x, 0.95).unwrap()),
        ("trimmed mean, 10 %", |x| trimmed_mean(x, 0.1, 0.95).unwrap()),
        ("geometric mean", |x| geometric_mean(x, 0.95).unwrap()),
    ];
    let columns = ["estimate", "noise (spread 3 %)", "n = 3", "n = 6", "n = 12", "n = 25"];
    let mut table =
        Table::new("40-centres.md", "Coverage of 95 % intervals at a fixed number of trials", &columns);
    for (name, estimator) in estimators {
        for noise in [Noise::Normal, Noise::Laplace, Noise::HeavyTail, Noise::Uniform, Noise::Discrete] {
            let mut cells = vec![name.to_owned(), format!("{noise:?}")];
            for trials in [3, 6, 12, 25] {
                let mut random = Random::new(trials as u64);
                let mut next = noise.rounds(3.0, &mut random);
                let mut held = 0;
                for _ in 0..n {
                    // Once in ten thousand trials the heavy tail falls below 0, which is not a possible rate.
                    let samples: Vec<f64> = (0..trials).map(|_| next().max(1.0)).collect();
                    let e = estimator(&samples);
                    held += u32::from(e.low <= TRUTH && TRUTH <= e.high);
                }
                let coverage = share(held, n);
                // At three flat-tailed trials Student's interval falls short by about 3 %.
                let flat = matches!(noise, Noise::Uniform | Noise::Discrete);
                let least = if flat && trials == 3 { 0.91 } else { 0.93 };
                assert!(coverage > least - slack(0.95, n), "{name} {noise:?} {trials}: {coverage}");
                cells.push(percent(coverage));
            }
            table.row(&cells);
        }
    }
    table.write();
}

/// After as many rounds as the forecast says, the interval is about as narrow as wanted: narrow enough in about half of the runs, and
/// seldom twice as wide. A forecast from few rounds is too low more often than too high, because the median of s is below the spread.
#[test]
fn the_forecast_number_of_rounds_narrows_the_interval() {
    let n = repetitions(1500);
    let columns =
        ["rounds made", "spread", "wanted", "mean forecast", "narrow enough", "more than twice as wide"];
    let mut table =
        Table::new("45-forecasts.md", "Intervals after as many rounds as were forecast", &columns);
    for (have, spread, wanted) in [(3, 30.0, 10.0), (4, 80.0, 10.0), (6, 40.0, 5.0), (10, 60.0, 10.0)] {
        let mut random = Random::new(have as u64 + 77);
        let (mut enough, mut twice, mut forecasts) = (0, 0, 0.0);
        for _ in 0..n {
            let mut rounds: Vec<f64> = (0..have).map(|_| TRUTH + spread * normal(&mut random)).collect();
            let first = mean_t(&rounds, 0.95).unwrap();
            let all = rounds_to_narrow(first.half_width(), have, 0.95, wanted).unwrap();
            forecasts += f64::from(all) / f64::from(n);
            // A forecast below the rounds made says that they were enough.
            rounds.extend((have..all as usize).map(|_| TRUTH + spread * normal(&mut random)));
            let reached = mean_t(&rounds, 0.95).unwrap().half_width();
            enough += u32::from(reached <= wanted);
            twice += u32::from(reached > 2.0 * wanted);
        }
        let (enough, twice) = (share(enough, n), share(twice, n));
        // z² s² / w², more by Student's quantiles; the mean forecast is unbiased but for these, since E(s²) is the variance.
        let expected = (1.96 * spread / wanted).powi(2);
        assert!(
            (0.9 * expected..1.2 * expected + 4.0).contains(&forecasts),
            "{have}: {forecasts} for {expected}"
        );
        assert!((0.33..0.62).contains(&enough), "{have}: enough in {enough}");
        assert!(twice < 0.2, "{have}: twice as wide in {twice}");
        table.row(&[
            have.to_string(),
            format!("{spread} %"),
            format!("±{wanted} %"),
            format!("{forecasts:.0}"),
            percent(enough),
            percent(twice),
        ]);
    }
    table.write();
}

/// The ratio of two independent means, with unequal numbers and spreads.
#[test]
fn the_quotient_covers_the_true_ratio() {
    let n = repetitions(3000);
    for (seed, a, b, spreads) in [(1, 6, 6, (3.0, 3.0)), (2, 4, 9, (1.0, 8.0)), (3, 3, 3, (10.0, 10.0))] {
        let mut random = Random::new(seed);
        let mut held = 0;
        for _ in 0..n {
            let top: Vec<f64> = (0..a).map(|_| 200.0 + spreads.0 * normal(&mut random)).collect();
            let bottom: Vec<f64> = (0..b).map(|_| 100.0 + spreads.1 * normal(&mut random)).collect();
            let e = quotient(&top, &bottom, 0.95).unwrap();
            held += u32::from(e.low <= 2.0 && 2.0 <= e.high);
        }
        let coverage = share(held, n);
        assert!((coverage - 0.95).abs() < 0.012 + slack(0.95, n), "{spreads:?}: {coverage}");
    }
}

/// The anytime-valid interval misses at any of 150 looks with a probability of at most 5 %; plain t intervals would miss far more often.
#[test]
fn the_anytime_interval_never_misses_in_nineteen_of_twenty_runs() {
    let n = repetitions(1000);
    let (mut ever, mut plain_ever) = (0, 0);
    let mut random = Random::new(5);
    for _ in 0..n {
        let mut samples = Vec::new();
        let (mut missed, mut plain_missed) = (false, false);
        for _ in 0..150 {
            samples.push(TRUTH + normal(&mut random));
            let outside = |e: Estimate| e.low > TRUTH || e.high < TRUTH;
            missed |= outside(mean_anytime(&samples, 0.95).unwrap());
            plain_missed |= samples.len() > 1 && outside(mean_t(&samples, 0.95).unwrap());
        }
        ever += u32::from(missed);
        plain_ever += u32::from(plain_missed);
    }
    assert!(share(ever, n) <= 0.05 + slack(0.05, n), "{ever} of {n}");
    assert!(
        share(plain_ever, n) > 0.25,
        "peeking at t intervals is what this protects from: {plain_ever} of {n}"
    );
}
