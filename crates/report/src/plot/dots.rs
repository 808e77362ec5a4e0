//! A dot plot in characters.

use super::lines::{Plot, lines};
use super::row::{Row, label};
use crate::document::{DotPlot, DotRow, ExpectedBy, Place};
use crate::number::{percent, scale};
use record::printable::one_line;

/// Draws a dot plot in lines of at most `width` columns; `None` without room.
pub(crate) fn dots(plot: &DotPlot, width: usize) -> Option<Vec<String>> {
    let unit = scale(plot.scale((0.0, 1.0), 4).domain().1, &plot.unit);
    let of = if unit.unit.is_empty() { String::new() } else { format!(", {}", unit.unit) };
    let is_placed = plot.rows.iter().any(|row| row.place.is_some());
    let drawn = Plot {
        title: format!("{} of {}{of}", plot.metric.replace('_', " "), one_line(&plot.workload)),
        interval: format!("{} interval", percent(plot.confidence)),
        rows: plot.rows.iter().map(|one| row(one, &plot.workload)).collect(),
        beside: if is_placed { "best / this one" } else { "" },
        line: None,
        expected: expected(plot),
        factor: unit.factor,
    };
    lines(&drawn, width, |range, most| plot.scale(range, most))
}

fn row(row: &DotRow, workload: &str) -> Row {
    // The title names the workload.
    let name = row.label.strip_suffix(workload).and_then(|name| name.strip_suffix('/')).unwrap_or(&row.label);
    let place = |words: fn(Place) -> String| match (row.void, row.place) {
        (Some(void), _) => void.to_owned(),
        (None, Some(place)) => words(place),
        (None, None) => String::new(),
    };
    Row {
        label: label(name, row.void.is_some()),
        estimate: row.estimate,
        interval: row.low.zip(row.high),
        is_single: row.trials.len() < 2,
        trials: row.trials.iter().map(|trial| trial.1).collect(),
        expected: row.expected.map(|expected| expected.value),
        said: vec![place(Place::words), place(Place::short)],
    }
}

/// What the marks of expected values are.
fn expected(plot: &DotPlot) -> &'static str {
    let by = |by: ExpectedBy| plot.rows.iter().filter_map(|row| row.expected).any(|e| e.by == by);
    match (by(ExpectedBy::Experiment), by(ExpectedBy::Model)) {
        (true, true) => "expected by the file or the model",
        (false, true) => "expected by the model",
        _ => "expected",
    }
}
