//! CSV in long format: one row per cell and metric, quoted by RFC 4180, UTF-8, lines end in CR LF.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and a formula can start programs. Names and levels come
//! from the experiment's author, so such a text gets an apostrophe, which makes every spreadsheet take it for text.

use crate::index::Index;
use record::finding::{Finding, Served};
use record::judged::{CellView, RunView, Status};
use record::metric::{MetricInfo, Side, info};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Display;

/// The first columns; one column per factor and then [`TAIL`] follow.
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

/// How to write texts that a spreadsheet would take for formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formulas {
    /// With an apostrophe before them.
    AsText,
    /// Unchanged, for programs.
    Raw,
}

/// Writes a run as CSV. A cell without metrics has one row with an empty metric, so that it isn't lost. An unknown value is empty.
#[must_use]
pub fn csv(view: &RunView, formulas: Formulas) -> String {
    let factors: BTreeSet<&str> =
        view.cells.iter().flat_map(|c| c.levels.keys()).map(String::as_str).collect();
    let index = Index::of(view);
    let mut out = Rows::new(formulas);
    let mut header: Vec<String> = HEAD.iter().map(ToString::to_string).collect();
    header.extend(factors.iter().map(|f| format!("level_{f}")));
    header.extend(TAIL.iter().map(ToString::to_string));
    out.row(&header);
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
            out.row(&[head.clone(), tail(&index, cell, None, &findings)].concat());
        }
        let fast = cell.too_fast.keys().filter(|name| !cell.metrics.contains_key(*name));
        for name in cell.metrics.keys().chain(fast) {
            out.row(&[head.clone(), tail(&index, cell, Some(name), &findings)].concat());
        }
    }
    out.text
}

fn tail(index: &Index<'_>, cell: &CellView, name: Option<&str>, findings: &str) -> Vec<String> {
    let metric = name.and_then(|n| cell.metrics.get(n));
    let served = match name.and_then(info).and_then(MetricInfo::side) {
        Some(Side::Read) => cell.served_read,
        Some(Side::Write) => cell.served_write,
        Some(Side::Trim) => None,
        None => cell.served,
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

/// A value's name in JSON.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.as_ref().and_then(|v| v.as_str()).unwrap_or_default().to_owned()
}

fn optional(value: Option<impl Display>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

/// The rows so far.
pub(crate) struct Rows {
    pub(crate) text: String,
    formulas: Formulas,
}

impl Rows {
    pub(crate) fn new(formulas: Formulas) -> Self {
        Self { text: String::new(), formulas }
    }

    pub(crate) fn row(&mut self, fields: &[String]) {
        let quoted: Vec<String> = fields
            .iter()
            .map(|field| match self.formulas {
                Formulas::AsText => quote(&as_text(field)),
                Formulas::Raw => quote(field),
            })
            .collect();
        self.text.push_str(&quoted.join(","));
        self.text.push_str("\r\n");
    }
}

/// A field that no spreadsheet takes for a formula. Numbers stay unchanged, also negative ones.
///
/// Spreadsheets in locales with a decimal comma separate cells by `;`, and some split at tabs. The text after such a separator begins a
/// cell there, so it is checked as well.
fn as_text(field: &str) -> Cow<'_, str> {
    if is_number(field) || !field.contains(computes) {
        return Cow::Borrowed(field);
    }
    let parts = field.split_inclusive([';', '\t', '\r', '\n']);
    Cow::Owned(parts.flat_map(|part| [if is_formula(part) { "'" } else { "" }, part]).collect())
}

/// Whether a spreadsheet would take a cell for a formula, after blanks and quotation marks that it may drop. Apostrophes are skipped too,
/// so that no two texts get the same escaped form.
fn is_formula(cell: &str) -> bool {
    cell.trim_start_matches(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\''))
        .starts_with(computes)
}

/// Whether a character begins a formula. East Asian editions of spreadsheets also take the full-width forms.
fn computes(c: char) -> bool {
    matches!(c, '=' | '+' | '-' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}')
}

/// Whether a field is a number as programs write it, e.g. `-1.5e-9`. `-inf` isn't: a spreadsheet takes it for a name.
fn is_number(field: &str) -> bool {
    field.parse::<f64>().is_ok()
        && !field.contains(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E'))
}

/// Quotes a field by RFC 4180, section 2, rules 5 to 7; also for other separators than the comma.
fn quote(field: &str) -> String {
    if field.contains(['"', ',', ';', '\t', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Formulas, as_text, csv, quote};
    use crate::testing;

    #[test]
    fn one_row_per_cell_and_metric() {
        let mut view = testing::trap();
        view.experiment = "trap, \"compressing\"".to_owned();
        let text = csv(&view, Formulas::AsText);
        insta::assert_snapshot!(text.replace("\r\n", "\n"));
        assert!(text.ends_with("\r\n") && text.lines().all(|l| !l.is_empty()));
    }

    #[test]
    fn every_row_has_the_header_s_columns() {
        let text = csv(&testing::striped(), Formulas::AsText);
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

    const ATTACKS: [&str; 14] = [
        "=cmd|' /C calc'!A0",
        "+1+cmd",
        "-1+cmd",
        "@SUM(A1)",
        "\t=1+1",
        "\r=1+1",
        "\n=1+1",
        " \u{a0}=1+1",
        "\"=1+1",
        "'=1+1",
        "\u{ff1d}1+1",
        "-inf",
        "-1,5",
        "=",
    ];

    #[test]
    fn what_a_spreadsheet_would_compute_is_text() {
        for attack in ATTACKS {
            let text = as_text(attack);
            assert!(
                text.starts_with('\'')
                    || text.contains("\n'=")
                    || text.contains("\r'=")
                    || text.contains("\t'="),
                "{text:?}"
            );
            assert!(text.ends_with(attack.trim_start()), "{text:?}");
        }
        assert_eq!(as_text("a;=1+1;b\t@x"), "a;'=1+1;b\t'@x");
        assert_eq!(quote("a;b"), "\"a;b\"");
    }

    #[test]
    fn numbers_and_plain_words_stay() {
        for plain in ["-1.5", "-1e-9", "+5", "0", "", "16k", "a=b", "lvm-3x16k", "a - b", "~ -1", "'quoted'"]
        {
            assert_eq!(as_text(plain), plain);
        }
    }

    #[test]
    fn no_cell_of_a_hostile_run_computes_unless_asked() {
        for attack in ATTACKS {
            let mut view = testing::striped();
            attack.clone_into(&mut view.experiment);
            for cell in &mut view.cells {
                attack.clone_into(&mut cell.stack);
                attack.clone_into(&mut cell.workload);
                attack.clone_into(&mut cell.target);
                cell.levels.values_mut().for_each(|level| attack.clone_into(level));
                let metrics = std::mem::take(&mut cell.metrics);
                cell.metrics =
                    metrics.into_iter().map(|(name, metric)| (format!("{attack}{name}"), metric)).collect();
            }
            let count = |text: &str| cells(text).iter().flatten().filter(|cell| computed(cell)).count();
            assert_eq!(count(&csv(&view, Formulas::AsText)), 0, "{attack:?}");
            let raw = cells(&csv(&view, Formulas::Raw));
            assert!(raw.iter().flatten().filter(|cell| *cell == attack).count() >= view.cells.len() * 4);
        }
    }

    /// Decides like a spreadsheet that drops blanks and quotation marks; an apostrophe makes a cell text.
    fn computed(cell: &str) -> bool {
        let bare = cell.trim_start_matches(|c: char| c.is_whitespace() || c == '"');
        bare.starts_with(['=', '+', '-', '@', '\u{ff1d}']) && bare.parse::<f64>().is_err()
    }

    /// The fields of a CSV text by RFC 4180.
    fn cells(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut cell, mut inside) = (Vec::new(), Vec::new(), String::new(), false);
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '"' if inside && rest.peek() == Some(&'"') => cell.extend(rest.next()),
                '"' => inside = !inside,
                ',' if !inside => row.push(std::mem::take(&mut cell)),
                '\r' if !inside && rest.peek() == Some(&'\n') => {
                    rest.next();
                    row.push(std::mem::take(&mut cell));
                    rows.push(std::mem::take(&mut row));
                }
                c => cell.push(c),
            }
        }
        assert!(!inside && row.is_empty() && cell.is_empty());
        rows
    }
}
