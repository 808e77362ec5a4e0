//! `measure`: how the cells are measured.

mod best;
mod check;
mod money;
mod rounds;
mod until;

pub(crate) use check::{Rest, check};
pub(crate) use money::currency;

use crate::fields::Fields;
use crate::limits::MAX_TARGETS;
use crate::problems::Problems;
use crate::quantity::duration;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use crate::vocabulary::{BUDGET, MEASURE};
use record::plan::Measure;
use record::quantity::Seconds;

/// Rounds without `until`, if the file has no number.
const DEFAULT_ROUNDS: u32 = 3;
/// Shortest and longest trial, in seconds.
const SHORTEST: f64 = 0.5;
const LONGEST: f64 = 86_400.0;

/// Returns the defaults.
pub(crate) fn defaults() -> Measure {
    Measure::new(10.0, 2.0, DEFAULT_ROUNDS)
}

/// Reads `measure`. `metrics` are the names that `until` may use.
pub(crate) fn read(
    node: Option<&Node>,
    metrics: &[&str],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Measure {
    let mut measure = defaults();
    let Some(fields) = node.and_then(|node| Fields::open(node, &MEASURE, problems)) else { return measure };
    if let Some(node) = fields.get("trial") {
        trial(node, &fields, &mut measure, scope, problems);
    }
    if let Some(node) = fields.get("ramp") {
        measure.ramp_seconds = time(node, 0.0, LONGEST, scope, problems).unwrap_or(measure.ramp_seconds);
    }
    if let Some(node) = fields.get("interval") {
        measure.interval = share(node, 0.0, 1.0, "above 0%, at most 100%, e.g. `5%`", scope, problems);
    }
    if let Some(node) = fields.get("confidence") {
        measure.confidence = confidence(node, scope, problems).unwrap_or(measure.confidence);
    }
    if let Some(node) = fields.get("until") {
        until::read(node, &fields, &mut measure, metrics, scope, problems);
    }
    if let Some(node) = fields.get("trim") {
        measure.trim = trim(node, scope, problems);
    }
    if let Some(node) = fields.get("sample_hz") {
        measure.sample_hz = hertz(node, scope, problems).unwrap_or(measure.sample_hz);
    }
    measure.at_once = fields.get("at_once").and_then(|node| {
        let most = value::integer(node, 1..=MAX_TARGETS as u64, scope, problems)?;
        u32::try_from(most).ok()
    });
    let budget = fields.get("budget").and_then(|node| Fields::open(node, &BUDGET, problems));
    if let Some(budget) = &budget {
        measure.max_seconds =
            budget.get("time").and_then(|node| time(node, 1.0, 31_622_400.0, scope, problems));
        measure.max_written_bytes = budget.get("written").and_then(|node| value::size(node, scope, problems));
        measure.max_cost = money::read(budget, scope, problems);
    }
    measure.rounds = rounds::read(&fields, budget.as_ref(), scope, problems);
    measure
}

/// Reads the length of a trial, or the range that it may be chosen from.
fn trial(
    node: &Node,
    fields: &Fields<'_>,
    measure: &mut Measure,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    const EXPECTED: &str = "a time, e.g. `10s`, or with `until` a range to choose from: `5s..60s`";
    let typed = value::text(node, EXPECTED, scope, problems)?;
    let Some((least, most)) = typed.split_once("..") else {
        measure.trial_seconds = time(node, SHORTEST, LONGEST, scope, problems)?;
        return Some(());
    };
    let mut end = |text: &str| match duration(text) {
        Ok(seconds) => within(node, seconds.to_f64(), SHORTEST, LONGEST, problems),
        Err(why) => {
            value::wrong(node, why, scope, problems);
            problems.amend(node.span).expected(EXPECTED);
            None
        }
    };
    let (least, most) = (end(least)?, end(most)?);
    if least >= most {
        problems
            .add(node.span, format!("a range from {} to {} is empty", Seconds(least), Seconds(most)))
            .expected(EXPECTED);
        return None;
    }
    if fields.get("until").is_none() {
        problems
            .add(
                node.span,
                "a range of lengths needs `until`: without a goal nothing tells how long is enough",
            )
            .expected(EXPECTED)
            .help("add e.g. `until: { interval: 5% }`, or write one time");
        return None;
    }
    (measure.trial_seconds, measure.max_trial_seconds) = (least, Some(most));
    Some(())
}

/// Returns the value of `until`. If `measure` also has a value (`said`), both must be equal.
fn agreed(key: &str, node: &Node, value: f64, said: Option<f64>, problems: &mut Problems<'_>) -> f64 {
    if said.is_some_and(|said| said.total_cmp(&value).is_ne()) {
        problems
            .add(node.span, format!("`{key}` here contradicts the `{key}` of `measure`"))
            .help(format!("leave one of the two out; `{key}` in `until` holds for `measure` as well"));
    }
    value
}

fn confidence(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    share(node, 0.499_999, 0.9999, "from 50% to 99.99%, e.g. `95%`", scope, problems)
}

/// Reads the share of trials that is cut off at each end.
fn trim(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    const EXPECTED: &str = "above 0%, below 50%, e.g. `10%`: that share of the trials is cut off at each end";
    share(node, 0.0, 0.5 - f64::EPSILON, EXPECTED, scope, problems)
}

fn time(node: &Node, least: f64, most: f64, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    let seconds = value::seconds(node, scope, problems)?;
    within(node, seconds, least, most, problems)
}

fn within(node: &Node, seconds: f64, least: f64, most: f64, problems: &mut Problems<'_>) -> Option<f64> {
    if (least..=most).contains(&seconds) {
        return Some(seconds);
    }
    problems
        .add(
            node.span,
            format!("{} is too {}", Seconds(seconds), if seconds < least { "short" } else { "long" }),
        )
        .expected(format!("from {} to {}", Seconds(least), Seconds(most)));
    None
}

/// Reads a ratio above `low` and at most `high`.
fn share(
    node: &Node,
    low: f64,
    high: f64,
    expected: &str,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<f64> {
    let ratio = value::ratio(node, scope, problems)?;
    if ratio > low && ratio <= high {
        return Some(ratio);
    }
    problems.add(node.span, format!("{} is out of range", node.kind())).expected(expected);
    None
}

fn hertz(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    const EXPECTED: &str = "samples per second, from 0.1 to 100";
    let hertz = value::number(node, EXPECTED, scope, problems)?.to_f64();
    if (0.1..=100.0).contains(&hertz) {
        return Some(hertz);
    }
    problems.add(node.span, format!("{} is out of range", node.kind())).expected(EXPECTED);
    None
}
