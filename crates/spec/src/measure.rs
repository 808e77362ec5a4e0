//! How to measure: `measure`.

use crate::fields::Fields;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use crate::vocabulary::{BUDGET, MEASURE};
use record::plan::Measure;
use record::quantity::Seconds;

/// What is used when the file says nothing.
pub(crate) fn defaults() -> Measure {
    Measure {
        trial_seconds: 10.0,
        ramp_seconds: 2.0,
        rounds: 3,
        confidence: 0.95,
        interval: None,
        sample_hz: 10.0,
        max_seconds: None,
        until: None,
        max_trial_seconds: None,
        max_written_bytes: None,
        max_cost: None,
        trim: None,
    }
}

pub(crate) fn read(node: Option<&Node>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Measure {
    let mut measure = defaults();
    let Some(fields) = node.and_then(|node| Fields::open(node, &MEASURE, problems)) else { return measure };
    if let Some(node) = fields.get("trial") {
        measure.trial_seconds = time(node, 0.5, 86_400.0, scope, problems).unwrap_or(measure.trial_seconds);
    }
    if let Some(node) = fields.get("ramp") {
        measure.ramp_seconds = time(node, 0.0, 86_400.0, scope, problems).unwrap_or(measure.ramp_seconds);
    }
    if let Some(node) = fields.get("rounds") {
        measure.rounds = rounds(node, scope, problems).unwrap_or(measure.rounds);
    }
    if let Some(node) = fields.get("interval") {
        measure.interval = share(node, 0.0, 1.0, "above 0%, at most 100%, e.g. `5%`", scope, problems);
    }
    if let Some(node) = fields.get("confidence") {
        let expected = "from 50% to 99.99%, e.g. `95%`";
        measure.confidence = share(node, 0.499_999, 0.9999, expected, scope, problems).unwrap_or(0.95);
    }
    if let Some(node) = fields.get("sample_hz") {
        measure.sample_hz = hertz(node, scope, problems).unwrap_or(measure.sample_hz);
    }
    if let Some(budget) = fields.get("budget").and_then(|node| Fields::open(node, &BUDGET, problems)) {
        if let Some(node) = budget.get("time") {
            measure.max_seconds = time(node, 1.0, 31_622_400.0, scope, problems);
        }
        if let Some(node) = budget.get("rounds") {
            let most = rounds(node, scope, problems).unwrap_or(measure.rounds);
            measure.rounds = if fields.get("rounds").is_some() { measure.rounds.min(most) } else { most };
        }
    }
    if let (1, Some(node)) = (measure.rounds, fields.get("rounds")) {
        problems.note(
            node.span,
            "one round gives no interval: nobody can tell how sure its numbers are; use at least 3",
        );
    }
    measure
}

fn rounds(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u32> {
    value::integer(node, 1..=10_000, scope, problems).and_then(|rounds| u32::try_from(rounds).ok())
}

fn time(node: &Node, least: f64, most: f64, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    let seconds = value::seconds(node, scope, problems)?;
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

/// A ratio above `low`, at most `high`.
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
