//! Coverage of the intervals at the end of the stop rule, and the cost of the rule.

use super::noise::{Noise, TRUTH, normal};
use super::random::Random;
use super::rivals::{self, Rule};
use super::table::{Table, percent, repetitions, share, slack};
use diskproof_stats::{Allowance, Asked, Decision, Look, Resource, StopRule, doubts};
use statrs::distribution::{ContinuousCDF, Normal};

const MOST_ROUNDS: usize = 40;

fn five_percent() -> StopRule {
    StopRule::new(Asked::HalfWidth(0.05), 0.95).unwrap()
}

/// Measures trials until the rule has enough, or the largest number is reached.
fn run(rule: &StopRule, mut next: impl FnMut() -> f64) -> (Vec<f64>, Look) {
    let mut trials: Vec<f64> = (1..rule.min_rounds()).map(|_| next()).collect();
    loop {
        trials.push(next());
        let look = rule.look(&trials, &[]).unwrap();
        if matches!(look.decision, Decision::Enough(_)) || trials.len() >= MOST_ROUNDS {
            return (trials, look);
        }
    }
}

/// On normal trials the coverage is at least the level for every spread, for 80 to 99 % and from 4 rounds on. It is above the
/// level because a few rounds can't exclude autocorrelation; [`candidates_for_the_rule`] shows what that costs. Exact except for
/// the distribution of the spread: given the deviations, the mean is normal.
#[test]
fn the_level_holds_for_every_spread() {
    let standard = Normal::standard();
    let n = repetitions(500);
    let mut table = Table::new(
        "10-level.md",
        "The level on normal trials, least over all spreads",
        &[
            "confidence",
            "first look",
            "least coverage",
            "at a spread of",
            "rounds there",
            "coverage when the first look suffices",
        ],
    );
    for (confidence, first) in [(0.95, 4), (0.95, 6), (0.95, 10), (0.8, 6), (0.9, 6), (0.99, 6)] {
        let rule = StopRule::new(Asked::HalfWidth(0.05), confidence).unwrap().with_min_rounds(first);
        let mut random = Random::new(u64::from(first));
        let mut least = (2.0, 0.0, 0.0);
        let mut easy = 0.0;
        for spread in [0.2, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 12.5, 15.0] {
            let (mut covered, mut rounds) = (0.0, 0);
            for _ in 0..n {
                let (trials, look) = run(&rule, || TRUTH + spread * normal(&mut random));
                let reach = look.interval.half_width() * (trials.len() as f64).sqrt() / spread;
                covered += 2.0 * standard.cdf(reach) - 1.0;
                rounds += trials.len();
            }
            let coverage = covered / f64::from(n);
            if spread < 1.0 {
                easy = coverage;
            }
            if coverage < least.0 {
                least = (coverage, spread, rounds as f64 / f64::from(n));
            }
        }
        assert!(least.0 > confidence - 0.012, "{confidence} from {first} on: {least:?}");
        table.row(&[
            percent(confidence),
            first.to_string(),
            percent(least.0),
            format!("{} %", least.1),
            format!("{:.1}", least.2),
            percent(easy),
        ]);
    }
    table.write();
}

/// A budget that ends at the first look shows the plain interval. A user who finds it too wide and raises the budget continues
/// with the rule. Even then the final interval holds its level. Exact except for the distribution of the spread, as above.
#[test]
fn a_budget_that_is_raised_after_the_first_look_keeps_the_level() {
    let standard = Normal::standard();
    let n = repetitions(1000);
    let rule = five_percent();
    let over = [Allowance { resource: Resource::Rounds, rounds_left: 0 }];
    let mut random = Random::new(31);
    for spread in [2.0, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0] {
        let mut covered = 0.0;
        for _ in 0..n {
            let mut first = Vec::new();
            let mut made = 0;
            let (trials, look) = run(&rule, || {
                made += 1;
                let trial = TRUTH + spread * normal(&mut random);
                if made <= 6 {
                    first.push(trial);
                }
                trial
            });
            let plain = rule.look(&first, &over).unwrap();
            let ended = matches!(plain.decision, Decision::Enough(_));
            let (rounds, look) = if ended { (6.0_f64, plain) } else { (trials.len() as f64, look) };
            let reach = look.interval.half_width() * rounds.sqrt() / spread;
            covered += 2.0 * standard.cdf(reach) - 1.0;
        }
        let coverage = covered / f64::from(n);
        assert!(coverage > 0.94, "{spread}: {coverage}");
    }
}

/// How a model is judged.
#[derive(Clone, Copy)]
enum Must {
    /// The interval covers the truth.
    Cover,
    /// The interval covers the truth, or a doubt is raised.
    CoverOrDoubt,
}

const MODELS: [(&str, Noise, Must); 16] = [
    ("normal", Noise::Normal, Must::Cover),
    ("lognormal", Noise::Lognormal, Must::Cover),
    ("uniform", Noise::Uniform, Must::Cover),
    ("Laplace", Noise::Laplace, Must::Cover),
    ("heavy tail (t, 3 degrees)", Noise::HeavyTail, Must::Cover),
    ("discrete rates (5)", Noise::Discrete, Must::Cover),
    ("two modes, half each", Noise::Bimodal, Must::CoverOrDoubt),
    ("AR(1), ρ = 0.2", Noise::Autocorrelated(0.2), Must::Cover),
    ("AR(1), ρ = 0.3", Noise::Autocorrelated(0.3), Must::Cover),
    ("AR(1), ρ = 0.6", Noise::Autocorrelated(0.6), Must::CoverOrDoubt),
    ("drift, 0.5 spreads a round", Noise::Drift(0.5), Must::CoverOrDoubt),
    ("drift, 1 spread a round", Noise::Drift(1.0), Must::CoverOrDoubt),
    ("drift, 2 spreads a round", Noise::Drift(2.0), Must::CoverOrDoubt),
    ("warm-up, first round 3 spreads low", Noise::WarmUp(3.0), Must::CoverOrDoubt),
    ("warm-up, first round 10 spreads low", Noise::WarmUp(10.0), Must::CoverOrDoubt),
    ("stalls (exponential)", Noise::Stalls, Must::Cover),
];

#[test]
fn coverage_by_noise() {
    let n = repetitions(400);
    let mut table = Table::new(
        "20-coverage.md",
        "Coverage of nominal 95 % under the stop rule (±5 %, at most 40 rounds)",
        &[
            "noise",
            "spread",
            "covers",
            "doubt raised",
            "covers or doubt raised",
            "rounds",
            "rounds, widened by what is seen only",
            "its coverage",
            "rounds, peeking at plain t",
            "its coverage",
        ],
    );
    for (name, noise, must) in MODELS {
        for spread in [2.0, 5.0, 10.0] {
            let mut random = Random::new(spread as u64);
            let (mut covers, mut doubted, mut either, mut rounds) = (0, 0, 0, 0);
            let (mut plain_covers, mut plain_rounds, mut seen_covers, mut seen_rounds) = (0, 0, 0, 0);
            for repetition in 0..n {
                let mut next = noise.rounds(spread, &mut random);
                let (trials, look) = run(&five_percent(), &mut next);
                let covered = look.interval.low <= TRUTH && TRUTH <= look.interval.high;
                // Doubts are counted over a quarter of the repetitions, and in all repetitions where they matter.
                let doubt = (!covered || repetition % 4 == 0) && !doubts(&trials, 0.05).is_empty();
                covers += u32::from(covered);
                doubted += u32::from(doubt && repetition % 4 == 0);
                either += u32::from(covered || doubt);
                rounds += trials.len();
                let (centre, half, stopped) = peek(rivals::seen_only, 6, &trials);
                seen_covers += u32::from((centre - TRUTH).abs() <= half);
                seen_rounds += stopped;
                let (centre, half, stopped) = peek(rivals::plain, 3, &trials);
                plain_covers += u32::from((centre - TRUTH).abs() <= half);
                plain_rounds += stopped;
            }
            let least = 0.93 - slack(0.93, n);
            match must {
                Must::Cover => assert!(share(covers, n) > least, "{name} {spread}: {covers} of {n}"),
                Must::CoverOrDoubt => assert!(share(either, n) > least, "{name} {spread}: {either} of {n}"),
            }
            table.row(&[
                name.to_owned(),
                format!("{spread} %"),
                percent(share(covers, n)),
                percent(share(doubted, n.div_ceil(4))),
                percent(share(either, n)),
                format!("{:.1}", rounds as f64 / f64::from(n)),
                format!("{:.1}", seen_rounds as f64 / f64::from(n)),
                percent(share(seen_covers, n)),
                format!("{:.1}", plain_rounds as f64 / f64::from(n)),
                percent(share(plain_covers, n)),
            ]);
        }
    }
    table.write();
}

/// Returns where another rule would have stopped, from its first look on; at the end if nowhere.
fn peek(rule: Rule, first: usize, trials: &[f64]) -> (f64, f64, usize) {
    for n in first..=trials.len() {
        let (centre, half) = rule(&trials[..n]);
        if half <= 0.05 * centre.abs() || n == trials.len() {
            return (centre, half, n);
        }
    }
    unreachable!("there are as many trials as the first look takes")
}

/// The candidates side by side on normal trials, each with a look after every round from its first possible one.
#[test]
fn candidates_for_the_rule() {
    let standard = Normal::standard();
    let n = repetitions(300);
    let mut table = Table::new(
        "30-candidates.md",
        "Candidates for the stop rule on normal trials: coverage and rounds to ±5 %",
        &["rule", "first look", "spread 2 %", "spread 4 %", "spread 6 %", "spread 10 %"],
    );
    let ours: Rule = |trials| {
        let e = five_percent().look(trials, &[]).unwrap().interval;
        (e.value, e.half_width())
    };
    let candidates: [(&str, usize, Rule); 7] = [
        ("plain t at each look", 3, rivals::plain),
        ("plain t at each look", 6, rivals::plain),
        ("asymptotic confidence sequence", 3, rivals::asymptotic),
        ("asymptotic confidence sequence", 6, rivals::asymptotic),
        ("anytime-valid t mixture", 4, rivals::anytime),
        ("t at 0.6 of the error, widened for the autocorrelation seen", 6, rivals::seen_only),
        ("this one: the same, widened for what the rounds don't exclude", 6, ours),
    ];
    for (name, first, rule) in candidates {
        let mut cells = vec![name.to_owned(), first.to_string()];
        for spread in [2.0, 4.0, 6.0, 10.0] {
            let mut random = Random::new(9);
            let (mut covered, mut rounds) = (0.0, 0);
            for _ in 0..n {
                let mut trials: Vec<f64> = Vec::new();
                let half = loop {
                    trials.push(TRUTH + spread * normal(&mut random));
                    if trials.len() < first {
                        continue;
                    }
                    let (centre, half) = rule(&trials);
                    if half <= 0.05 * centre || trials.len() >= 200 {
                        break half;
                    }
                };
                covered += 2.0 * standard.cdf(half * (trials.len() as f64).sqrt() / spread) - 1.0;
                rounds += trials.len();
            }
            let coverage = covered / f64::from(n);
            if first == 6 && name.starts_with("this") {
                assert!(coverage > 0.94, "{spread}: {coverage}");
            }
            cells.push(format!("{} in {:.1}", percent(coverage), rounds as f64 / f64::from(n)));
        }
        table.row(&cells);
    }
    table.write();
}
