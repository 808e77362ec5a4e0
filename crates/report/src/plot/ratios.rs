//! Ratios in characters.

use super::lines::{Plot, lines};
use super::row::{Row, label};
use crate::document::{RatioPlot, RatioRow};
use crate::number::percent;

/// Draws ratios in lines of at most `width` columns; `None` without room.
pub(crate) fn ratios(plot: &RatioPlot, width: usize) -> Option<Vec<String>> {
    let drawn = Plot {
        title: plot.of.to_owned(),
        interval: format!("{} interval", percent(plot.confidence)),
        rows: plot.rows.iter().map(row).collect(),
        beside: "",
        line: Some(1.0),
        expected: "",
        factor: 1.0,
    };
    lines(&drawn, width, |range, _| plot.scale(range))
}

fn row(row: &RatioRow) -> Row {
    let first = |text: &str| text.split(',').next().unwrap_or_default().to_owned();
    Row {
        label: label(&row.label, false),
        estimate: row.ratio.ratio,
        interval: row.ratio.low.zip(row.ratio.high),
        is_single: row.ratio.low.is_none(),
        trials: Vec::new(),
        expected: None,
        said: vec![row.said.clone(), first(&row.said), String::new()],
    }
}
