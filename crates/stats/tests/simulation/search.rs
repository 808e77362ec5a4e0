//! Searches for the most load within a limit of latency, on queues whose limit is known by arithmetic.

use super::queue::{Queue, load_of};
use super::random::Random;
use super::table::{Table, percent, repetitions, share, slack};
use diskproof_stats::{SearchAnswer, SearchNext, SearchTerms, SearchTrial, search_answer, search_next};

const TERMS: SearchTerms = SearchTerms { from: 1.0, to: 10_000_000.0, confidence: 0.95, half_width: 0.05 };
/// Most trials of a search.
const MOST: usize = 40;
/// Trials shorter than so many times the limit don't show a queue in full; `plan` warns of them.
const LEAST_TRIAL: f64 = 200.0;
/// Trials of each level of a grid.
const ROUNDS: f64 = 3.0;

/// The end of a search.
struct End {
    covers: bool,
    exact: bool,
    trials: usize,
    /// Half-width of the interval, as a share of the answer.
    half: f64,
    /// Estimate over truth.
    off: f64,
}

/// Searches the rate at which the 99th percentile of a queue is `limit` service times.
fn search(queue: Queue, limit: f64, truth: f64, terms: &SearchTerms, random: &mut Random) -> End {
    let mut trials: Vec<SearchTrial> = Vec::new();
    while let SearchNext::Try { level, .. } = search_next(&trials, terms) {
        if trials.len() >= MOST {
            break;
        }
        let measured = queue.trial(level, random);
        trials.push(SearchTrial {
            level,
            ratio: Some(measured.p99 * queue.capacity / limit),
            value: Some(measured.rate),
            reached: Some(measured.rate),
        });
    }
    let answer = search_answer(&trials, terms);
    let exact = answer.is_final(terms);
    match answer {
        SearchAnswer::Found { level, .. } => End {
            covers: level.low <= truth && truth <= level.high,
            exact,
            trials: trials.len(),
            half: level.relative_half_width(),
            off: level.value / truth,
        },
        _ => End { covers: false, exact: false, trials: trials.len(), half: f64::INFINITY, off: f64::NAN },
    }
}

/// The trials of a grid over a factor of ten, for who knows the order of magnitude, with steps as wide as an interval of this half-width.
fn grid(half: f64) -> f64 {
    ROUNDS * (10.0_f64.ln() / (2.0 * half)).ceil()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The interval holds the limit in 93 to 97.5 % over all queues, in at most a third of a grid's device time.
#[test]
fn the_limit_is_in_the_interval_and_takes_a_third_of_a_grid() {
    let n = repetitions(60);
    let columns = [
        "limit",
        "load there",
        "trial",
        "between trials",
        "covers",
        "no interval",
        "as exact as asked",
        "trials",
        "median half-width",
        "mean error",
        "of a grid's time",
    ];
    let title = "Searches for the rate with p99 within a limit (±5 % asked, at most 40 trials), M/D/1 queues";
    let mut table = Table::new("75-search.md", title, &columns);
    let (mut covered, mut all, mut spent, mut of_grid) = (0, 0, 0.0, 0.0);
    for limit in [3.0, 8.0, 20.0, 50.0] {
        for (services, between) in [(4000.0, 0.0), (4000.0, 0.02), (20_000.0, 0.01), (20_000.0, 0.05)] {
            if services < LEAST_TRIAL * limit {
                continue;
            }
            let load = load_of(limit, 0.99);
            let queue = Queue { capacity: 400.0, seconds: services / 400.0, between };
            let mut random = Random::new(47);
            let ends: Vec<End> =
                (0..n).map(|_| search(queue, limit, 400.0 * load, &TERMS, &mut random)).collect();
            let ends: Vec<&End> = ends.iter().filter(|end| end.half.is_finite()).collect();
            let found = ends.len() as u32;
            let count = |of: fn(&End) -> bool| ends.iter().filter(|end| of(end)).count() as u32;
            let mean =
                |of: &dyn Fn(&End) -> f64| ends.iter().map(|end| of(end)).sum::<f64>() / f64::from(found);
            let (covers, exact) = (count(|end| end.covers), count(|end| end.exact));
            let trials = mean(&|end| end.trials as f64);
            let grids = mean(&|end| grid(end.half));
            covered += covers;
            all += found;
            spent += trials;
            of_grid += grids;
            table.row(&[
                format!("{limit} services"),
                percent(load),
                format!("{services} services"),
                percent(between),
                percent(share(covers, found)),
                (n - found).to_string(),
                percent(share(exact, n)),
                format!("{trials:.1}"),
                percent(median(ends.iter().map(|end| end.half).collect())),
                percent(mean(&|end| end.off) - 1.0),
                format!("{:.2}", trials / grids),
            ]);
        }
    }
    let coverage = share(covered, all);
    table.row(
        &["all", "", "", "", &percent(coverage), "", "", "", "", "", &format!("{:.2}", spent / of_grid)]
            .map(str::to_owned),
    );
    table.write();
    assert!(coverage >= 0.93 - slack(0.93, all) && coverage <= 0.975 + slack(0.975, all), "{coverage}");
    assert!(spent / of_grid <= 1.0 / 3.0, "{spent} of {of_grid}");
}
