//! Judges expectations by intervals.
//!
//! The rule is that of an equivalence test (Schuirmann 1987, two one-sided tests): *met* needs the whole interval inside the
//! band, *missed* needs all of it outside, anything else is *undecided*. If only the estimate is inside the band, the data
//! don't show that the expectation is met. See docs/statistics.md.

use crate::figures::{percent, range, with_unit};
use record::finding::{Claim, Finding, Severity};
use record::judged::{CellView, ExpectationView, Metric, Status};
use record::plan::{Bound, Expectation, Plan};
use std::collections::BTreeMap;

pub(crate) fn check(plan: &Plan, cells: &[CellView]) -> Vec<ExpectationView> {
    let mut views = Vec::new();
    for expectation in &plan.expectations {
        for cell in cells {
            if let Some(&expected) = expectation.values.get(&cell.id) {
                views.push(view(expectation, cell, expected));
            }
        }
    }
    views
}

fn view(expectation: &Expectation, cell: &CellView, expected: f64) -> ExpectationView {
    let metric = cell.metrics.get(&expectation.of);
    let (status, text) = decide(expectation, cell, metric, expected);
    ExpectationView {
        cell: cell.id.clone(),
        of: expectation.of.clone(),
        expression: expectation.expression.clone(),
        expected,
        bound: expectation.bound,
        within: expectation.within,
        estimate: metric.map(|m| m.estimate),
        low: metric.and_then(|m| m.low),
        high: metric.and_then(|m| m.high),
        status,
        text,
    }
}

fn decide(
    expectation: &Expectation,
    cell: &CellView,
    metric: Option<&Metric>,
    expected: f64,
) -> (Status, String) {
    let of = &expectation.of;
    let Some(metric) = metric else {
        return (Status::Undecided, format!("{of} was not measured"));
    };
    let show = |x: f64| with_unit(x, &metric.unit);
    let value = format!("{} ({})", show(expected), expectation.expression);
    let reach = expected.abs() * expectation.within;
    let (floor, ceiling, asked) = match expectation.bound {
        Bound::Within => {
            (expected - reach, expected + reach, format!("{value} within {}", percent(expectation.within)))
        }
        Bound::AtMost => (f64::NEG_INFINITY, expected, format!("at most {value}")),
        Bound::AtLeast => (expected, f64::INFINITY, format!("at least {value}")),
    };
    let (Some(low), Some(high)) = (metric.low, metric.high) else {
        let measured = show(metric.estimate);
        return (
            Status::Undecided,
            format!("{of}: expected {asked}; one trial measured {measured}, and one trial has no interval"),
        );
    };
    let measured = format!("{} ({})", show(metric.estimate), range(low, high, &metric.unit));
    let off = if expected == 0.0 {
        String::new()
    } else {
        let share = metric.estimate / expected - 1.0;
        format!(", {} {}", percent(share.abs()), if share < 0.0 { "below" } else { "above" })
    };
    if high < floor || low > ceiling {
        (Status::Missed, format!("{of}: expected {asked}, measured {measured}{off}"))
    } else if cell.void {
        (
            Status::Undecided,
            format!("{of}: expected {asked}, measured {measured}, which is no storage figure"),
        )
    } else if low >= floor && high <= ceiling {
        (Status::Met, format!("{of}: expected {asked}, measured {measured}"))
    } else {
        (
            Status::Undecided,
            format!(
                "{of}: expected {asked}, measured {measured}: the interval crosses the bound; more rounds would decide"
            ),
        )
    }
}

/// A finding for each missed expectation.
pub(crate) fn findings(expectations: &[ExpectationView]) -> Vec<Finding> {
    let missed = expectations.iter().filter(|e| e.status == Status::Missed);
    let mut by_cell: BTreeMap<_, Finding> = BTreeMap::new();
    for e in missed {
        let mut evidence = BTreeMap::from([
            (format!("{}_expected", e.of), e.expected),
            (format!("{}_within_share", e.of), e.within),
        ]);
        let measured = [("estimate", e.estimate), ("low", e.low), ("high", e.high)];
        evidence.extend(measured.into_iter().filter_map(|(k, v)| Some((format!("{}_{k}", e.of), v?))));
        match by_cell.get_mut(&e.cell) {
            Some(finding) => {
                finding.evidence.extend(evidence);
                finding.text = format!("{}; {}", finding.text, e.text);
            }
            None => {
                by_cell.insert(
                    &e.cell,
                    Finding {
                        claim: Claim::ExpectationMissed,
                        severity: Severity::Caveat,
                        cell: e.cell.clone(),
                        trials: 0,
                        rounds: Vec::new(),
                        evidence,
                        text: e.text.clone(),
                        remedy: "Look at this cell's other findings first. If there are none, the stack or its volumes don't \
                                 deliver what the expectation assumes."
                            .to_owned(),
                    },
                );
            }
        }
    }
    by_cell.into_values().collect()
}
