//! Searches on a busy machine: a throttled volume whose limit is known, and trials that were disturbed.

use super::random::Random;
use super::table::{Table, percent, repetitions, share, slack};
use diskproof_stats::{SearchAnswer, SearchNext, SearchTerms, SearchTrial, search_answer, search_next};

const TERMS: SearchTerms = SearchTerms { from: 1.0, to: 10_000_000.0, confidence: 0.95, half_width: 0.08 };
/// Most trials of a search.
const MOST: usize = 20;
/// Reads that the volume serves per second.
const CAPACITY: f64 = 200.0;
/// Seconds in which the kernel's throttle counts.
const SLICE: f64 = 0.1;
/// Seconds of a trial.
const SECONDS: f64 = 8.0;
/// The limit of the 99th percentile, in seconds.
const LIMIT: f64 = 0.1;
/// How far off an estimate may be before it counts as wrong.
const WRONG: f64 = 0.12;
/// The share of searches that may be wrong.
const MOST_WRONG: f64 = 0.005;
/// So many trials in a row at one level that all broke the limit: the search is stuck.
const STUCK: usize = 5;

/// A volume behind a throttle, and what disturbs its trials.
struct Case {
    name: &'static str,
    /// Reads that the throttle lets pass later if a slice didn't use them up.
    saved: f64,
    /// The rate at the limit.
    truth: f64,
    disturbed: Disturbed,
    /// The share of searches that may be open after [`MOST`] trials.
    most_open: f64,
}

/// What disturbs the trials of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Disturbed {
    Never,
    /// The first trial between 95 and 120 % of the capacity meets an idle throttle, and keeps the limit.
    OneKept,
    /// One of the first four trials below the capacity hangs for a second, and breaks the limit.
    OneBroken,
    /// Every tenth trial hangs for up to a second.
    Often,
    /// The first trial, an overload, reaches 60 % of what the others reach.
    FirstSlow,
}

const CASES: [Case; 7] = [
    Case::new("nothing", 0.0, Disturbed::Never, 0.005),
    Case::new("one trial keeps the limit at too high a level", 0.0, Disturbed::OneKept, 0.005),
    Case::new("one trial breaks it at too low a level", 0.0, Disturbed::OneBroken, 0.03),
    Case::new("every tenth trial hangs", 0.0, Disturbed::Often, 0.03),
    Case::new("the first trial reaches less than the others", 0.0, Disturbed::FirstSlow, 0.2),
    Case::new("nothing, the throttle saves reads", 20.0, Disturbed::Never, 0.005),
    Case::new("every tenth trial hangs, the throttle saves reads", 20.0, Disturbed::Often, 0.06),
];

impl Case {
    const fn new(name: &'static str, saved: f64, disturbed: Disturbed, most_open: f64) -> Self {
        // Without saved reads: `bench/find/table.py`. With them no read waits below the capacity.
        let truth = if saved > 0.0 { 198.0 } else { 185.8 };
        Self { name, saved, truth, disturbed, most_open }
    }
}

/// A trial at this rate of arrivals: the 99th percentile in seconds, and the reads per second.
fn trial(rate: f64, saved: f64, random: &mut Random) -> (f64, f64) {
    if rate > 2.0 * CAPACITY {
        return (0.99 * SECONDS * (1.0 - CAPACITY / rate), CAPACITY);
    }
    let passes = CAPACITY * SLICE;
    let (mut now, mut slot, mut left, mut latencies) = (0.0_f64, 0.0_f64, passes, Vec::new());
    while now < SECONDS {
        now -= (1.0 - random.uniform()).ln() / rate;
        let slices = (now / SLICE).floor() - slot;
        if slices > 0.0 {
            slot += slices;
            left = passes + (left + passes * (slices - 1.0)).clamp(0.0, saved);
        }
        if left < 1.0 {
            slot += 1.0;
            left += passes;
        }
        left -= 1.0;
        let done = now.max(slot * SLICE) + 0.002;
        if done < SECONDS {
            latencies.push(done - now);
        }
    }
    let n = latencies.len();
    let rank = ((n as f64 * 0.99).ceil() as usize).clamp(1, n) - 1;
    let (_, p99, _) = latencies.select_nth_unstable_by(rank, f64::total_cmp);
    (*p99, n as f64 / SECONDS)
}

/// The end of a search.
struct End {
    is_open: bool,
    is_wrong: bool,
    is_stuck: bool,
    trials: usize,
}

fn search(case: &Case, random: &mut Random) -> End {
    let (mut trials, mut pending, hangs_at) = (Vec::<SearchTrial>::new(), true, 1 + random.below(4));
    while let SearchNext::Try { level, .. } = search_next(&trials, &TERMS) {
        if trials.len() >= MOST {
            break;
        }
        let (mut p99, mut rate) = trial(level, case.saved, random);
        let hang = random.uniform();
        match case.disturbed {
            Disturbed::OneKept if pending && (0.95..1.2).contains(&(level / CAPACITY)) => {
                (p99, pending) = (0.4 * LIMIT, false);
            }
            Disturbed::OneBroken if trials.len() == hangs_at && level < CAPACITY => p99 += 1.0,
            Disturbed::Often if random.below(10) == 0 => p99 += hang,
            Disturbed::FirstSlow if trials.is_empty() => rate *= 0.6,
            _ => {}
        }
        trials.push(SearchTrial { level, ratio: Some(p99 / LIMIT), value: Some(rate), reached: Some(rate) });
    }
    let answer = search_answer(&trials, &TERMS);
    let off = |level: f64| (level / case.truth - 1.0).abs() > WRONG;
    let stays = |few: &[SearchTrial]| {
        few.iter().all(|trial| trial.level == few[0].level && trial.ratio.is_some_and(|ratio| ratio > 1.0))
    };
    End {
        is_open: matches!(answer, SearchAnswer::Open { .. }),
        is_wrong: matches!(answer, SearchAnswer::Found { level, .. } if off(level.value))
            || matches!(answer, SearchAnswer::NotEven(_) | SearchAnswer::AtLeast(_)),
        is_stuck: trials.windows(STUCK).any(stays),
        trials: trials.len(),
    }
}

/// A search leaves a level that breaks the limit again and again, and it ends with the limit, whatever a single trial said.
#[test]
fn a_disturbed_search_finds_the_limit_all_the_same() {
    let n = repetitions(200);
    let columns = ["disturbed by", "open after 20 trials", "off by more than 12 %", "stuck", "trials"];
    let title = "Searches on a busy machine (a throttle of 200 reads per second, trials of 8 s, ±8 % asked)";
    let mut table = Table::new("76-disturbed-search.md", title, &columns);
    for case in &CASES {
        let mut random = Random::new(83);
        let ends: Vec<End> = (0..n).map(|_| search(case, &mut random)).collect();
        let count = |of: fn(&End) -> bool| ends.iter().filter(|end| of(end)).count() as u32;
        let (open, wrong, stuck) =
            (count(|end| end.is_open), count(|end| end.is_wrong), count(|end| end.is_stuck));
        let trials = ends.iter().map(|end| end.trials as f64).sum::<f64>() / f64::from(n);
        let row = [
            case.name.to_owned(),
            percent(share(open, n)),
            percent(share(wrong, n)),
            percent(share(stuck, n)),
            format!("{trials:.1}"),
        ];
        table.row(&row);
        let name = case.name;
        assert_eq!(stuck, 0, "{name}");
        assert!(
            share(open, n) <= case.most_open + slack(case.most_open, n),
            "{name}: {open} of {n} are open"
        );
        assert!(share(wrong, n) <= MOST_WRONG + slack(MOST_WRONG, n), "{name}: {wrong} of {n} are wrong");
    }
    table.write();
}
