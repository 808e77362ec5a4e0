//! The answer of a search, derived from its stored trials.

use crate::figures::{counted, percent, with_unit};
use crate::metrics::unit;
use crate::span::{float, number};
use record::find::{Find, FindBy};
use record::judged::{Found, Interval, Metric, SearchView, TriedView};
use record::plan::Cell;
use record::trial::TrialRecord;
use record::tried::Shown;
use record::workload::Options;
use stats::{Estimate, SearchAnswer, SearchTerms, SearchTrial, search_answer};
use std::collections::BTreeMap;

/// Trials up to this factor from the answer's level say what the stack does there; the others are overloads, or hardly a load.
const NEAR: f64 = 1.35;

/// The answer of a cell's search from its measured trials, in order of rounds; `None` if the cell is no search.
pub(crate) fn of(cell: &Cell, trials: &[&TrialRecord], confidence: f64) -> Option<SearchView> {
    let find = cell.find()?;
    let told: Vec<(&TrialRecord, Shown)> =
        trials.iter().filter_map(|trial| Some((*trial, find.shown(cell, trial)?))).collect();
    let terms =
        SearchTerms { from: float(find.from), to: float(find.to), confidence, half_width: find.within };
    let searched: Vec<SearchTrial> = told
        .iter()
        .filter_map(|(trial, shown)| {
            let level = float(trial.tried?.level);
            Some(SearchTrial {
                level,
                ratio: shown.ratio,
                value: shown.value,
                reached: shown.reached.filter(|_| shown.is_behind),
            })
        })
        .collect();
    let answer = search_answer(&searched, &terms);
    let tried: Vec<TriedView> = told.iter().filter_map(|(trial, shown)| tried(find, trial, shown)).collect();
    let (found, level, value, n) = match answer {
        SearchAnswer::Found { level, value } => (Found::Found, interval(level), interval(value), level.n),
        SearchAnswer::NotEven(_) => (Found::NotEven, None, None, tried.len()),
        SearchAnswer::AtLeast(_) => (Found::AtLeast, None, None, tried.len()),
        SearchAnswer::Open { .. } => (Found::Open, None, None, tried.len()),
    };
    Some(SearchView {
        cell: cell.id.clone(),
        most: find.most.clone(),
        limits: find.limits.clone(),
        by: find.by,
        from: find.from,
        to: find.to,
        within: find.within,
        text: text(find, &answer, &tried, answer.is_final(&terms)),
        found,
        level,
        value,
        confidence,
        n: number(n),
        is_exact: answer.is_final(&terms),
        tried,
    })
}

fn interval(e: Estimate) -> Option<Interval> {
    e.is_bounded().then_some(Interval { estimate: e.value, low: e.low, high: e.high })
}

fn tried(find: &Find, trial: &TrialRecord, shown: &Shown) -> Option<TriedView> {
    let (tried, metrics) = (trial.tried?, trial.metrics());
    let limited = find.limits.iter().filter_map(|limit| Some((limit.of.clone(), *metrics.get(&limit.of)?)));
    Some(TriedView {
        round: trial.id.round,
        level: tried.level,
        why: tried.why,
        value: shown.value,
        limited: limited.collect(),
        kept: shown.ratio.map(|ratio| ratio <= 1.0),
        reached: shown.reached,
    })
}

/// The metrics of a search's cell: the highest load that keeps the limits, where it was found. Its trials are no repetitions, so no metric
/// has a mean over them.
pub(crate) fn metrics(cell: &Cell, view: &SearchView) -> BTreeMap<String, Metric> {
    let Some(value) = view.value else { return BTreeMap::new() };
    let metric = |name: &str, factor: f64| {
        let metric = Metric {
            estimate: value.estimate * factor,
            low: Some(value.low * factor),
            high: Some(value.high * factor),
            confidence: view.confidence,
            n: view.n,
            unit: unit(name).to_owned(),
            values: Vec::new(),
            median: None,
            trimmed: None,
        };
        (name.to_owned(), metric)
    };
    let mut metrics = BTreeMap::from([metric(&view.most, 1.0)]);
    if let Some((side, block)) = cell.options().and_then(only_one) {
        let names =
            [("iops", 1.0), ("bw", block)].map(|(rate, bytes)| (rate, format!("{side}_{rate}"), bytes));
        let own = names.iter().find(|(rate, of_side, _)| view.most == *rate || view.most == *of_side);
        if let Some((.., per_io)) = own {
            for (rate, of_side, bytes) in &names {
                metrics.extend([metric(rate, bytes / per_io), metric(of_side, bytes / per_io)]);
            }
        }
    }
    metrics
}

/// The direction and the block size of a load with one of each.
fn only_one(options: &Options) -> Option<(&'static str, f64)> {
    let sides = [("read", options.rw.reads()), ("write", options.rw.writes()), ("trim", options.rw.trims())];
    let mut active = sides.into_iter().filter(|(_, does)| *does);
    let side = active.next().filter(|_| active.next().is_none() && !options.has_several_sizes())?;
    Some((side.0, float(options.bs_bytes)))
}

/// Whether a trial says what the stack does at the answer; without an answer each does.
pub(crate) fn is_near(view: &SearchView, trial: &TrialRecord) -> bool {
    let Some((level, tried)) = view.level.zip(trial.tried) else { return true };
    let ratio = float(tried.level) / level.estimate;
    (1.0 / NEAR..=NEAR).contains(&ratio)
}

fn text(find: &Find, answer: &SearchAnswer, tried: &[TriedView], is_exact: bool) -> String {
    let unit = unit(&find.most);
    let (limits, by, trials) = (find.limits_in_words(), find.by.name(), counted(tried.len() as u64, "trial"));
    match answer {
        _ if tried.is_empty() => "no trial was measured".to_owned(),
        SearchAnswer::Found { level, value } => {
            let shown = in_words(value, unit);
            // The rate is the figure itself, for one job.
            let at = match find.by {
                FindBy::RateIops => String::new(),
                FindBy::Iodepth | FindBy::Numjobs => {
                    format!(
                        ", at {by} {} ({} to {})",
                        digits(level.value),
                        digits(level.low),
                        digits(level.high)
                    )
                }
            };
            let open = match is_exact {
                true => String::new(),
                false => format!(", which is not within the ±{} that were asked for", percent(find.within)),
            };
            format!("{shown} at {limits}{at}; {trials}{open}")
        }
        SearchAnswer::NotEven(level) => {
            format!(
                "not even {by} {}, the lowest level that was tried, keeps {limits}; {trials}",
                digits(*level)
            )
        }
        SearchAnswer::AtLeast(level) => {
            let top = tried.iter().filter(|tried| float(tried.level) >= *level);
            let least = top.filter_map(|tried| tried.value).min_by(f64::total_cmp);
            let least =
                least.map_or_else(String::new, |value| format!("at least {}: ", with_unit(value, unit)));
            format!(
                "{least}{limits} held even at {by} {}, the highest level; the limit was never reached; {trials}",
                digits(*level)
            )
        }
        SearchAnswer::Open { kept: Some(kept), broken: Some(broken) } if kept >= broken => {
            let ends = [*broken, *kept].map(digits);
            format!(
                "{trials} don't show yet where {limits} ends: at {by} {} to {} some kept it and some broke it",
                ends[0], ends[1]
            )
        }
        SearchAnswer::Open { kept, broken } => {
            let end = |level: &Option<f64>, did: &str| {
                level.map_or_else(
                    || format!("no level {did}"),
                    |level| format!("{by} {} {did}", digits(level)),
                )
            };
            format!(
                "{trials} don't show yet where {limits} ends: {}, {}",
                end(kept, "kept it"),
                end(broken, "broke it")
            )
        }
    }
}

/// `2,310 IOPS (2,240 to 2,370)`.
fn in_words(value: &Estimate, unit: &str) -> String {
    let [at, low, high] = [value.value, value.low, value.high].map(|value| with_unit(value, unit));
    let number = |text: &str| text.split_once(' ').map(|(number, unit)| (number.to_owned(), unit.to_owned()));
    match (number(&at), number(&low), number(&high)) {
        (Some((_, own)), Some((low, a)), Some((high, b))) if own == a && a == b => {
            format!("{at} ({low} to {high})")
        }
        _ => format!("{at} ({low} to {high})"),
    }
}

/// A level: whole from 100 on, else with one decimal where it has one.
fn digits(level: f64) -> String {
    if level >= 100.0 || (level - level.round()).abs() < 0.05 {
        crate::figures::rate(level.round())
    } else {
        format!("{level:.1}")
    }
}

#[cfg(test)]
mod tests;
