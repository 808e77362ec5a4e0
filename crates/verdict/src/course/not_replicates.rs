//! Findings about rounds that aren't replicates, in words.

use super::cache::{remedy, warming};
use super::machine::Drift;
use super::order::{Log, Suspect};
use super::rounds::{CellRounds, Round};
use super::shape::{count, mean};
use super::words::rates;
use crate::detected::WORTH_SAYING;
use crate::figures::{percent, rate, with_unit};
use crate::span::number;
use record::finding::{Claim, Finding, Severity};
use record::plan::Measure;
use stats::{Autocorrelation, TwoModes};
use std::collections::BTreeMap;

/// Rounds that only rise (or only fall) by this factor aren't replicates, however few they are.
pub(super) const FAR: f64 = 2.0;

/// The most rounds that are listed.
const NAMED: usize = 8;

fn finding(cell: &CellRounds, claim: Claim, said: (BTreeMap<String, f64>, String, String)) -> Finding {
    let (evidence, text, remedy) = said;
    let severity = if claim == Claim::Outliers { Severity::Note } else { Severity::Caveat };
    Finding {
        claim,
        severity,
        cell: cell.id.clone(),
        trials: number(cell.rounds.len()),
        rounds: Vec::new(),
        evidence,
        text,
        remedy,
    }
}

pub(super) fn of_order(cell: &CellRounds, log: &Log, suspect: Suspect) -> Option<Finding> {
    match suspect {
        Suspect::Trend(per_round) => Some(of_trend(cell, per_round * (count(log.len()) - 1.0))),
        Suspect::First => of_first(cell),
        Suspect::TwoModes(modes) => Some(of_modes(cell, log, &modes)),
        Suspect::Serial(serial) => Some(of_serial(cell, &serial)),
    }
}

/// A trend. `total` is the logarithm of the last round over the first one, by the line through all rounds.
fn of_trend(cell: &CellRounds, total: f64) -> Finding {
    // A cache that warms makes rates higher and latencies lower.
    let warming = warming(&cell.rounds).filter(|_| (total > 0.0) == cell.higher);
    let values = cell.values();
    let ratio = total.exp();
    let by = if ratio >= FAR || ratio <= 1.0 / FAR {
        format!("by a factor of {}", rate(ratio.max(1.0 / ratio)))
    } else {
        format!("by {}", percent((ratio - 1.0).abs()))
    };
    let text = format!(
        "From round to round the figure {} {by}: {}. These rounds are not replicates, and their mean of {} describes no lasting state.{}",
        if total > 0.0 { "climbs" } else { "falls" },
        listed(&values, &cell.unit),
        with_unit(cell.mean(), &cell.unit),
        warming.as_ref().map_or(String::new(), super::cache::Warming::text)
    );
    let mut evidence = ends(cell);
    evidence.insert("last_over_first_fitted".to_owned(), ratio);
    if let Some(w) = &warming {
        evidence.insert(format!("first_{}", w.counter), w.first);
        evidence.insert(format!("last_{}", w.counter), w.last);
    }
    finding(cell, Claim::Trend, (evidence, text, remedy(cell, warming.as_ref())))
}

/// A cache that warmed over rounds without a significant trend, or over too few rounds for a test.
pub(super) fn of_warming(cell: &CellRounds) -> Option<Finding> {
    let stays = cell.rounds.iter().any(|round| round.trials_before.is_some());
    let by_itself = |counter| match counter {
        "cache_device_share" => true,
        "page_cache_share" | "other_cache_share" => stays,
        _ => false,
    };
    let warming = warming(&cell.rounds).filter(|w| by_itself(w.counter))?;
    let text = format!(
        "The rounds gave {}. These rounds are not replicates: the state changed from round to round, so their mean of {} describes \
         no lasting state.{}",
        listed(&cell.values(), &cell.unit),
        with_unit(cell.mean(), &cell.unit),
        warming.text()
    );
    let mut evidence = ends(cell);
    evidence.insert(format!("first_{}", warming.counter), warming.first);
    evidence.insert(format!("last_{}", warming.counter), warming.last);
    Some(finding(cell, Claim::CacheWarming, (evidence, text, remedy(cell, Some(&warming)))))
}

/// A persistent stack that was built again during the run.
pub(super) fn of_rebuilt(cell: &CellRounds) -> Option<Finding> {
    let anew: Vec<u32> = cell
        .rounds
        .windows(2)
        .filter(|pair| pair[1].trials_before == Some(0))
        .map(|pair| pair[1].number + 1)
        .collect();
    let first = anew.first()?;
    let rounds: Vec<String> = anew.iter().take(NAMED).map(u32::to_string).collect();
    let text = format!(
        "The persistent stack (rebuild: run) was rebuilt before round {}: the run was interrupted, or a trial failed. Its caches \
         lost their content, so the rounds before and after don't form one series.",
        rounds.join(", ")
    );
    let evidence = BTreeMap::from([
        ("times_rebuilt".to_owned(), count(anew.len())),
        ("first_round_rebuilt".to_owned(), f64::from(*first)),
    ]);
    let remedy = "Run it again without interruption if the change over the rounds matters.".to_owned();
    Some(finding(cell, Claim::StackRebuilt, (evidence, text, remedy)))
}

fn of_first(cell: &CellRounds) -> Option<Finding> {
    let values = cell.values();
    let (first, others) = values.split_first()?;
    let usual = mean(others);
    let text = format!(
        "The first round is unlike the others: {}, then {}, {} on average.",
        with_unit(*first, &cell.unit),
        listed(others, &cell.unit),
        with_unit(usual, &cell.unit)
    );
    let mut evidence = ends(cell);
    evidence.insert("first_over_others".to_owned(), first / usual);
    let remedy = "Find what the first round changes for the others (a cache that fills, credits that are spent, space that is used \
                  for the first time). The mean without the first round describes the others."
        .to_owned();
    Some(finding(cell, Claim::Trend, (evidence, text, remedy)))
}

fn of_modes(cell: &CellRounds, log: &Log, modes: &TwoModes) -> Finding {
    let middle = f64::midpoint(modes.low, modes.high);
    let group = |upper: bool| {
        let inside = |r: &&Round| log.get(&r.number).is_some_and(|x| (*x > middle) == upper);
        cell.rounds.iter().filter(inside).collect::<Vec<_>>()
    };
    let (low, high) = (group(false), group(true));
    let average = |group: &[&Round]| mean(&group.iter().map(|r| r.value).collect::<Vec<_>>());
    let describe = |group: &[&Round]| {
        let rounds: Vec<String> = group.iter().take(NAMED).map(|r| (r.number + 1).to_string()).collect();
        let more = if group.len() > NAMED { ", ..." } else { "" };
        format!("{} (rounds {}{more})", with_unit(average(group), &cell.unit), rounds.join(", "))
    };
    let text = format!(
        "The rounds fall into two groups: {} at about {}, {} at about {}. The mean of {} belongs to neither.",
        low.len(),
        describe(&low),
        high.len(),
        describe(&high),
        with_unit(cell.mean(), &cell.unit)
    );
    let mut evidence =
        BTreeMap::from([(named("low", cell), average(&low)), (named("high", cell), average(&high))]);
    evidence.extend(ends(cell));
    evidence.insert("low_rounds".to_owned(), count(low.len()));
    evidence.insert("high_rounds".to_owned(), count(high.len()));
    let remedy = "See what differs between the rounds of the two groups (where the data lies on the disk, which path or CPU was \
                  used), and quote the groups separately."
        .to_owned();
    finding(cell, Claim::Bimodal, (evidence, text, remedy))
}

fn of_serial(cell: &CellRounds, serial: &Autocorrelation) -> Finding {
    let n = count(cell.rounds.len());
    let wider = (n / serial.effective_n).sqrt();
    let text = format!(
        "A round resembles the one before it (autocorrelation {:.2}): {n:.0} rounds are worth about {:.0}, so the interval should be about {wider:.1} times as \
         wide.",
        serial.rho, serial.effective_n
    );
    let mut evidence = ends(cell);
    evidence.extend([
        ("autocorrelation".to_owned(), serial.rho),
        ("effective_rounds".to_owned(), serial.effective_n),
    ]);
    let remedy = "Comparisons within rounds cancel what the cells of a round have in common. For this cell's own figure, measure \
                  more rounds over a longer time."
        .to_owned();
    finding(cell, Claim::Autocorrelated, (evidence, text, remedy))
}

pub(super) fn of_outliers(cell: &CellRounds, log: &Log, level: f64, measure: &Measure) -> Option<Finding> {
    let (numbers, logs): (Vec<u32>, Vec<f64>) = log.iter().map(|(r, x)| (*r, *x)).unzip();
    let middle = mean(&logs);
    let far = |o: &stats::Outlier| logs.get(o.index).is_some_and(|x| (x - middle).abs() >= WORTH_SAYING);
    let found: Vec<stats::Outlier> = stats::outliers(&logs, level).into_iter().filter(far).collect();
    let farthest = found.iter().map(|o| o.deviations).fold(0.0, f64::max);
    let named: Vec<String> = found
        .iter()
        .filter_map(|o| {
            let round = numbers.get(o.index)?;
            let value = cell.rounds.iter().find(|r| r.number == *round)?.value;
            Some(format!("round {} ({})", round + 1, with_unit(value, &cell.unit)))
        })
        .collect();
    if named.is_empty() {
        return None;
    }
    let text = format!(
        "Far from the other rounds (the mean of all is {}): {}; by up to {farthest:.1} standard deviations.",
        with_unit(cell.mean(), &cell.unit),
        named.join(", ")
    );
    let mut evidence = ends(cell);
    evidence
        .extend([("outliers".to_owned(), count(named.len())), ("farthest_deviations".to_owned(), farthest)]);
    let remedy = match measure.trim {
        None => "See what else ran then. The mean includes them; measure: { trim: 10% } takes it without the highest and the \
                 lowest tenth of the rounds.".to_owned(),
        Some(trim) => {
            format!("See what else ran then. measure: {{ trim: {} }} takes the mean without that share of the rounds at each end.", percent(trim))
        }
    };
    Some(finding(cell, Claim::Outliers, (evidence, text, remedy)))
}

/// The machine's drift, as a finding about the cell that follows it most.
pub(super) fn of_machine(drift: &Drift, cells: &[(&CellRounds, &Log)]) -> Option<Finding> {
    let most = drift.part.iter().zip(cells).max_by(|a, b| a.0.total_cmp(b.0))?;
    let (cell, _) = most.1;
    let effects: Vec<f64> = drift.effects.values().copied().collect();
    let (first, others) = effects.split_first()?;
    let share = |log: f64| percent((log.exp() - 1.0).abs());
    let direction = |log: f64| if log > 0.0 { "higher" } else { "lower" };
    let (how, size) = match drift.suspect {
        Suspect::Trend(per_round) => {
            let total = per_round * count(others.len());
            (
                format!(
                    "drifted together: the last round was {} {} than the first one",
                    share(total),
                    direction(total)
                ),
                total,
            )
        }
        Suspect::First => {
            let off = first - mean(others);
            (format!("had a first round unlike the others: {} {}", share(off), direction(off)), off)
        }
        Suspect::Serial(_) | Suspect::TwoModes(_) => {
            let (high, low) = (
                effects.iter().copied().fold(f64::MIN, f64::max),
                effects.iter().copied().fold(f64::MAX, f64::min),
            );
            (
                format!("rose and fell together for several rounds at a time, within {}", share(high - low)),
                high - low,
            )
        }
    };
    let text = format!(
        "All {} cells {how} (fitted). The machine changed during the run, not one of the stacks.",
        cells.len()
    );
    let evidence = BTreeMap::from([
        ("cells".to_owned(), count(cells.len())),
        ("change_share".to_owned(), size.exp() - 1.0),
        ("rounds".to_owned(), count(effects.len())),
    ]);
    let remedy = "Comparisons of cells within rounds hold, since both sides share the drift. A single cell's figure holds only for \
                  the time when it was measured: see what else ran on the machine or on what it shares (heat, other guests, \
                  credits), and measure again."
        .to_owned();
    Some(finding(cell, Claim::MachineDrift, (evidence, text, remedy)))
}

/// The name of the cell's figure in evidence: `NAME_iops`, `NAME_bytes_per_second`, `NAME_files_per_second`.
fn named(name: &str, cell: &CellRounds) -> String {
    let figure = if cell.figure == "bw" || cell.figure.ends_with("_bw") && cell.unit == "B/s" {
        "bytes_per_second"
    } else {
        cell.figure.as_str()
    };
    format!("{name}_{figure}")
}

fn ends(cell: &CellRounds) -> BTreeMap<String, f64> {
    let (first, last) = (cell.rounds.first(), cell.rounds.last());
    let named = [("first_round", first), ("last_round", last)];
    named.into_iter().filter_map(|(name, round)| Some((self::named(name, cell), round?.value))).collect()
}

/// The figures in order of rounds; of many, the first and the last ones.
fn listed(values: &[f64], unit: &str) -> String {
    match values {
        [first @ .., a, b, c] if values.len() > NAMED => {
            let first: Vec<f64> = first.iter().take(3).copied().collect();
            format!("{}, ..., {}", rates(&first, unit), rates(&[*a, *b, *c], unit))
        }
        all => rates(all, unit),
    }
}
