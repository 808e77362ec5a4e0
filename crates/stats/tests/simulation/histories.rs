//! Changes of level over a history of runs: how often one is named where there is none, and how often the right run is named.

use super::noise::{Noise, TRUTH, normal};
use super::random::Random;
use super::table::{Table, percent, repetitions, share, slack};
use diskproof_stats::level_changes;

const ROUNDS: u32 = 6;

/// The value of one run: the mean of six trials with 5 % noise, and what the run adds to all of its trials.
fn run(of_run: f64, random: &mut Random) -> f64 {
    let trials: f64 = (0..ROUNDS).map(|_| TRUTH * (1.0 + 0.05 * normal(random))).sum();
    trials / f64::from(ROUNDS) * (1.0 + of_run * normal(random))
}

/// A history with a step of 10 % before run `at`, in one of its figures.
fn histories(
    figures: usize,
    runs: usize,
    at: Option<usize>,
    of_run: f64,
    random: &mut Random,
) -> Vec<Vec<f64>> {
    let level =
        |figure: usize, run: usize| if figure == 0 && at.is_some_and(|at| run >= at) { 1.1 } else { 1.0 };
    let one = |figure: usize, random: &mut Random| {
        (0..runs).map(|at| level(figure, at) * run(of_run, random)).collect()
    };
    (0..figures).map(|figure| one(figure, random)).collect()
}

/// In histories without a step a run is named in at most 5 %, over all figures together.
#[test]
fn equal_runs_have_no_step() {
    let columns = ["figures", "runs", "a run is named"];
    let mut table = Table::new("84-histories-even.md", "Histories in which nothing changed", &columns);
    let mut random = Random::new(84);
    for (figures, runs, base) in [(1, 12, 1500), (1, 20, 1000), (3, 30, 200), (12, 30, 100)] {
        let n = repetitions(base);
        let named = (0..n)
            .filter(|_| {
                let made = histories(figures, runs, None, 0.01, &mut random);
                level_changes(&made, 0.95).iter().any(|of| !of.is_empty())
            })
            .count() as u32;
        assert!(share(named, n) <= 0.05 + slack(0.05, n), "{figures} figures, {runs} runs: {named} of {n}");
        table.row(&[figures.to_string(), runs.to_string(), percent(share(named, n))]);
    }
    table.write();
}

/// A step of 10 % with trials of 5 % noise is found, and placed at its run or beside it, in at least 90 %.
#[test]
fn steps_are_placed() {
    let n = repetitions(100);
    let columns = ["figures", "runs", "noise of a run", "step found", "at its run", "within one run"];
    let title = "A step of 10 % at two thirds of a history, runs of 6 trials with 5 % noise";
    let mut table = Table::new("85-histories.md", title, &columns);
    let mut random = Random::new(85);
    for (figures, runs, of_run) in
        [(1, 20, 0.0), (1, 30, 0.02), (1, 30, 0.045), (3, 30, 0.0), (12, 30, 0.0), (12, 30, 0.02)]
    {
        let at = runs * 2 / 3;
        let (mut found, mut exact, mut near) = (0, 0, 0);
        for _ in 0..n {
            let step = level_changes(&histories(figures, runs, Some(at), of_run, &mut random), 0.95);
            found += u32::from(!step[0].is_empty());
            exact += u32::from(step[0].iter().any(|change| change.at == at));
            near += u32::from(step[0].iter().any(|change| change.at.abs_diff(at) <= 1));
        }
        if of_run == 0.0 {
            assert!(share(near, n) >= 0.90, "{figures} figures, {runs} runs: {near} of {n} within one run");
        }
        let noise = (25.0 / f64::from(ROUNDS) + 1e4 * of_run * of_run).sqrt();
        table.row(&[
            figures.to_string(),
            runs.to_string(),
            format!("{noise:.1} %"),
            percent(share(found, n)),
            percent(share(exact, n)),
            percent(share(near, n)),
        ]);
    }
    table.write();
}

/// How many runs after a step of 10 % it takes until it is named.
#[test]
fn a_step_is_named_a_few_runs_later() {
    let n = repetitions(50);
    let columns = ["figures", "runs before", "1 run after", "2", "3", "4", "6"];
    let mut table = Table::new(
        "86-histories-soon.md",
        "A step of 10 % is named by the number of runs after it",
        &columns,
    );
    let mut random = Random::new(86);
    for (figures, before) in [(1, 20), (3, 20), (12, 30)] {
        let mut cells = vec![figures.to_string(), before.to_string()];
        for after in [1, 2, 3, 4, 6] {
            let found = (0..n)
                .filter(|_| {
                    let made = histories(figures, before + after, Some(before), 0.0, &mut random);
                    !level_changes(&made, 0.95)[0].is_empty()
                })
                .count() as u32;
            if after == 6 {
                assert!(share(found, n) >= 0.95, "{figures} figures, {after} runs after: {found} of {n}");
            }
            cells.push(percent(share(found, n)));
        }
        table.row(&cells);
    }
    table.write();
}

/// No noise with independent runs names more: heavy tails, skew, few discrete rates.
#[test]
fn no_kind_of_noise_is_taken_for_a_step() {
    let n = repetitions(400);
    for noise in [Noise::Lognormal, Noise::HeavyTail, Noise::Stalls, Noise::Discrete, Noise::Bimodal] {
        let mut random = Random::new(87);
        let named = (0..n)
            .filter(|_| {
                let mut next = noise.rounds(5.0, &mut random);
                let values: Vec<f64> = (0..24).map(|_| next().max(TRUTH / 100.0)).collect();
                !level_changes(&[values], 0.95)[0].is_empty()
            })
            .count() as u32;
        assert!(share(named, n) <= 0.05 + slack(0.05, n), "{noise:?}: {named} of {n}");
    }
}
