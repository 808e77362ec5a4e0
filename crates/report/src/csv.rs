//! CSV in long format: one row per cell and metric, quoted by RFC 4180, UTF-8, lines end in CR LF.

use crate::index::Index;
use record::finding::{Finding, Served};
use record::judged::{CellView, RunView, Status};
use std::collections::BTreeSet;
use std::fmt::Display;

/// Columns before the levels; one column per factor and then [`TAIL`] follow.
const HEAD: [&str; 6] = ["run", "experiment", "cell", "target", "stack", "workload"];
const TAIL: [&str; 33] = [
    "metric",
    "estimate",
    "low",
    "high",
    "confidence",
    "n",
    "unit",
    "trials_done",
    "trials_failed",
    "trials_planned",
    "void",
    "device_share",
    "page_cache_share",
    "hole_share",
    "other_share",
    "unknown_share",
    "expected",
    "expectation",
    "findings",
    "verified_bytes",
    "wrong_blocks",
    "limited_by",
    "limit_shown",
    "median",
    "median_low",
    "median_high",
    "trimmed",
    "trimmed_low",
    "trimmed_high",
    "model_expected",
    "measured_over_model",
    "other_cache_share",
    "too_fast_trials",
];

/// A run as CSV. A cell without metrics has one row with an empty metric, so that it isn't lost. What isn't known is empty.
#[must_use]
pub fn csv(view: &RunView) -> String {
    let factors: BTreeSet<&str> =
        view.cells.iter().flat_map(|c| c.levels.keys()).map(String::as_str).collect();
    let index = Index::of(view);
    let mut out = String::new();
    let mut header: Vec<String> = HEAD.iter().map(ToString::to_string).collect();
    header.extend(factors.iter().map(|f| format!("level_{f}")));
    header.extend(TAIL.iter().map(ToString::to_string));
    row(&mut out, &header);
    for cell in &view.cells {
        let mut head = vec![
            view.run.to_string(),
            view.experiment.clone(),
            cell.id.to_string(),
            cell.target.clone(),
            cell.stack.clone(),
            cell.workload.clone(),
        ];
        head.extend(factors.iter().map(|f| cell.levels.get(*f).cloned().unwrap_or_default()));
        let findings = claims(&index, cell);
        if cell.metrics.is_empty() && cell.too_fast.is_empty() {
            row(&mut out, &[head.clone(), tail(&index, cell, None, &findings)].concat());
        }
        let fast = cell.too_fast.keys().filter(|name| !cell.metrics.contains_key(*name));
        for name in cell.metrics.keys().chain(fast) {
            row(&mut out, &[head.clone(), tail(&index, cell, Some(name), &findings)].concat());
        }
    }
    out
}

fn tail(index: &Index<'_>, cell: &CellView, name: Option<&str>, findings: &str) -> Vec<String> {
    let metric = name.and_then(|n| cell.metrics.get(n));
    let served = match name {
        Some(n) if n.starts_with("read_") => cell.served_read,
        Some(n) if n.starts_with("write_") => cell.served_write,
        Some(n) if n.starts_with("trim_") => None,
        _ => cell.served,
    };
    let share = |of: fn(&Served) -> f64| optional(served.as_ref().map(of));
    let expectation = index.expectations(&cell.id).iter().find(|e| Some(e.of.as_str()) == name);
    let model = cell.model.as_ref().filter(|m| Some(m.of.as_str()) == name);
    let status = expectation.map_or("", |e| match e.status {
        Status::Met => "met",
        Status::Missed => "missed",
        Status::Undecided => "undecided",
    });
    let mut columns = vec![
        name.unwrap_or_default().to_owned(),
        optional(metric.map(|m| m.estimate)),
        optional(metric.and_then(|m| m.low)),
        optional(metric.and_then(|m| m.high)),
        optional(metric.map(|m| m.confidence)),
        optional(metric.map(|m| m.n)),
        metric.map(|m| m.unit.clone()).unwrap_or_default(),
        cell.trials.done.to_string(),
        cell.trials.failed.to_string(),
        cell.trials.planned.to_string(),
        cell.void.to_string(),
        share(|s| s.device),
        share(|s| s.page_cache),
        share(|s| s.hole),
        share(|s| s.other),
        share(|s| s.unknown),
        optional(expectation.map(|e| e.expected)),
        status.to_owned(),
        findings.to_owned(),
        optional(cell.verified.map(|v| v.bytes)),
        optional(cell.verified.map(|v| v.wrong_blocks)),
        cell.limited_by.as_ref().map_or_else(String::new, |l| word(&l.by)),
        optional(cell.limited_by.as_ref().map(|l| l.shown)),
    ];
    for other in [metric.and_then(|m| m.median), metric.and_then(|m| m.trimmed)] {
        columns
            .extend([other.map(|i| i.estimate), other.map(|i| i.low), other.map(|i| i.high)].map(optional));
    }
    columns.extend([
        optional(model.map(|m| m.expected)),
        optional(model.and_then(|m| m.ratio).map(|r| r.ratio)),
        share(|s| s.other_cache),
        optional(name.and_then(|name| cell.too_fast.get(name))),
    ]);
    columns
}

/// The claims about a cell, separated by blanks.
fn claims(index: &Index<'_>, cell: &CellView) -> String {
    let names: BTreeSet<String> =
        index.findings(&cell.id).iter().map(|f: &&Finding| word(&f.claim)).collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

/// As in JSON.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.as_ref().and_then(|v| v.as_str()).unwrap_or_default().to_owned()
}

fn optional(value: Option<impl Display>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn row(out: &mut String, fields: &[String]) {
    let quoted: Vec<String> = fields.iter().map(|f| quote(f)).collect();
    out.push_str(&quoted.join(","));
    out.push_str("\r\n");
}

/// RFC 4180, section 2, rules 5 to 7.
fn quote(field: &str) -> String {
    if field.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{csv, quote};
    use crate::testing;

    #[test]
    fn one_row_per_cell_and_metric() {
        let mut view = testing::trap();
        view.experiment = "trap, \"compressing\"".to_owned();
        let text = csv(&view);
        insta::assert_snapshot!(text.replace("\r\n", "\n"));
        assert!(text.ends_with("\r\n") && text.lines().all(|l| !l.is_empty()));
    }

    #[test]
    fn every_row_has_the_header_s_columns() {
        let text = csv(&testing::striped());
        let count = |l: &str| l.split(',').count();
        let header = count(text.lines().next().unwrap());
        assert!(text.lines().all(|l| count(l) == header));
        assert!(text.lines().next().unwrap().contains("level_n"));
    }

    #[test]
    fn quotes_by_the_rfc() {
        assert_eq!(quote("plain text"), "plain text");
        assert_eq!(quote("a,b"), "\"a,b\"");
        assert_eq!(quote("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(quote("two\nlines"), "\"two\nlines\"");
    }
}
