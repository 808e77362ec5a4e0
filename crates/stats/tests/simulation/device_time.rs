//! Device time until a ±5 % result: this rule, the usual protocol and pilot-bench's rule on the same simulated storage, second by second.

use super::noise::{TRUTH, normal};
use super::random::Random;
use super::rivals::pilot;
use super::table::{Table, percent, repetitions, share, slack};
use diskproof_stats::{Asked, Decision, StopRule, TrialPlan, mean_t, trial_length};

/// Seconds a trial takes besides its measured time.
const OVERHEAD: f64 = 2.0;
/// Autocorrelation from one second to the next.
const RHO: f64 = 0.5;
/// Most trials.
const MOST: usize = 60;

/// Storage whose trials differ by `between` and whose seconds differ by `within`, both in percent.
#[derive(Clone, Copy)]
struct Storage {
    between: f64,
    within: f64,
}

impl Storage {
    fn trial(self, seconds: usize, random: &mut Random) -> Vec<f64> {
        let level = TRUTH + self.between * normal(random);
        let mut state = normal(random);
        let step = |_| {
            let now = level + self.within * state;
            state = RHO * state + (1.0 - RHO * RHO).sqrt() * normal(random);
            now
        };
        (0..seconds).map(step).collect()
    }
}

/// The end of a protocol: whether the interval contains the truth, whether it is narrow enough, and the device time in seconds.
struct End {
    covers: bool,
    narrow: bool,
    seconds: f64,
}

fn end(centre: f64, half: f64, trials: usize, each: usize) -> End {
    End {
        covers: (centre - TRUTH).abs() <= half,
        narrow: half <= 0.05 * centre,
        seconds: trials as f64 * (each as f64 + OVERHEAD),
    }
}

fn mean(series: &[f64]) -> f64 {
    series.iter().sum::<f64>() / series.len() as f64
}

/// The usual protocol: five trials of a minute.
fn usual(storage: Storage, random: &mut Random) -> End {
    let trials: Vec<f64> = (0..5).map(|_| mean(&storage.trial(60, random))).collect();
    let e = mean_t(&trials, 0.95).unwrap();
    end(e.value, e.half_width(), 5, 60)
}

/// pilot-bench's presets on readings of one second, in rounds of ten seconds, at ±5 % (its "10 % of mean" is the whole width).
fn pilot_preset(limit: f64, least: usize, storage: Storage, random: &mut Random) -> End {
    let mut readings = Vec::new();
    for trials in 1..=MOST {
        readings.extend(storage.trial(10, random));
        if let Some((centre, half)) = pilot(&readings, limit, least, 0.05) {
            return end(centre, half, trials, 10);
        }
    }
    end(mean(&readings), f64::INFINITY, MOST, 10)
}

fn rule() -> StopRule {
    StopRule::new(Asked::HalfWidth(0.05), 0.95).unwrap()
}

/// This rule with trials of this many seconds, after the given trials.
fn go_on(mut trials: Vec<f64>, each: usize, storage: Storage, random: &mut Random) -> End {
    let rule = rule();
    loop {
        trials.push(mean(&storage.trial(each, random)));
        let look = rule.look(&trials, &[]).unwrap();
        if matches!(look.decision, Decision::Enough(_)) || trials.len() >= MOST {
            return end(look.interval.value, look.interval.half_width(), trials.len(), each);
        }
    }
}

/// This rule with trials of this many seconds.
fn ours(each: usize, storage: Storage, random: &mut Random) -> End {
    go_on(Vec::new(), each, storage, random)
}

/// The shortest trial of a range.
const SHORTEST: usize = 5;
/// Smallest ratio of a longer trial's length to the pilot's; with less, a run keeps its length (`run/src/ledger/length.rs`).
const LEAST_CHANGE: f64 = 1.25;

/// What a run with `trial: 5s..60s` does with one cell: three pilot trials of 5 s, then longer ones, if these save time although
/// the pilots don't count; otherwise it goes on as before.
fn chosen(storage: Storage, random: &mut Random) -> End {
    let pilots: Vec<Vec<f64>> = (0..3).map(|_| storage.trial(SHORTEST, random)).collect();
    // A run reads the counters several times a second: the series in half seconds has the ten steps that the function needs.
    let halves: Vec<Vec<f64>> = pilots.iter().map(|p| p.iter().flat_map(|x| [*x, *x]).collect()).collect();
    let plan = |shortest_seconds: f64, longest_seconds: f64| TrialPlan {
        half_width: 0.05,
        rule: rule(),
        ratios: false,
        batch_seconds: 0.5,
        overhead_seconds: OVERHEAD,
        shortest_seconds,
        longest_seconds,
    };
    let views: Vec<&[f64]> = halves.iter().map(|p| &p[..]).collect();
    let best = |shortest: f64, longest: f64| trial_length(&views, &plan(shortest, longest));
    let short = SHORTEST as f64;
    let wanted = best(short, 60.0).map_or(short, |l| l.trial_seconds.round());
    let spent = 3.0 * (short + OVERHEAD);
    let saves = best(wanted, wanted).zip(best(short, short));
    let worth = saves.is_some_and(|(then, now)| then.device_seconds + spent < now.device_seconds);
    if worth && wanted >= LEAST_CHANGE * short {
        let measured = ours(wanted as usize, storage, random);
        return End { seconds: measured.seconds + spent, ..measured };
    }
    go_on(pilots.iter().map(|p| mean(p)).collect(), SHORTEST, storage, random)
}

type Protocol = fn(Storage, &mut Random) -> End;

#[test]
fn a_fifth_of_the_usual_time_at_typical_noise() {
    let n = repetitions(300);
    let storages = [
        ("quiet: trials 0.5 %, seconds 2 %", Storage { between: 0.5, within: 2.0 }),
        ("typical: trials 2 %, seconds 3 %", Storage { between: 2.0, within: 3.0 }),
        ("busy seconds: trials 1 %, seconds 10 %", Storage { between: 1.0, within: 10.0 }),
        ("noisy trials: trials 5 %, seconds 5 %", Storage { between: 5.0, within: 5.0 }),
        ("very noisy: trials 8 %, seconds 15 %", Storage { between: 8.0, within: 15.0 }),
    ];
    let protocols: [(&str, Protocol); 7] = [
        ("usual: 5 x 60 s", usual),
        ("pilot-bench, quick", |s, r| pilot_preset(0.8, 30, s, r)),
        ("pilot-bench, normal", |s, r| pilot_preset(0.2, 50, s, r)),
        ("pilot-bench, strict", |s, r| pilot_preset(0.1, 200, s, r)),
        ("this rule, trials of 5 s", |s, r| ours(5, s, r)),
        ("this rule, trials of 8 s", |s, r| ours(8, s, r)),
        ("this rule, trials of 5 to 60 s, chosen as a run does", chosen),
    ];
    let columns = ["storage", "protocol", "covers", "reaches ±5 %", "device time", "of the usual"];
    let title = "Device time to ±5 % at 95 %, 2 s of overhead a trial, seconds autocorrelated by 0.5";
    let mut table = Table::new("70-device-time.md", title, &columns);
    for (name, storage) in storages {
        for (protocol, run) in protocols {
            let mut random = Random::new(51);
            let (mut covers, mut narrow, mut seconds) = (0, 0, 0.0);
            for _ in 0..n {
                let end = run(storage, &mut random);
                covers += u32::from(end.covers);
                narrow += u32::from(end.narrow);
                seconds += end.seconds;
            }
            let time = seconds / f64::from(n);
            let of_usual = time / 310.0;
            if protocol.starts_with("this") {
                assert!(share(covers, n) > 0.93 - slack(0.93, n), "{name}, {protocol}: {covers} of {n}");
            }
            if name.starts_with("typical") && (protocol.ends_with("5 s") || protocol.ends_with("does")) {
                assert!(of_usual < 0.215, "{name}: {time} s");
            }
            table.row(&[
                name.to_owned(),
                protocol.to_owned(),
                percent(share(covers, n)),
                percent(share(narrow, n)),
                format!("{time:.0} s"),
                format!("{of_usual:.2}"),
            ]);
        }
    }
    table.write();
}
