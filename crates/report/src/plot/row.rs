//! A row of a plot.

use crate::scale::Scale;
use record::printable::one_line;

/// A row.
pub(super) struct Row {
    pub(super) label: String,
    pub(super) estimate: f64,
    pub(super) interval: Option<(f64, f64)>,
    /// Whether the estimate is that of one trial.
    pub(super) is_single: bool,
    pub(super) trials: Vec<f64>,
    pub(super) expected: Option<f64>,
    /// The words beside the scale, the longest first.
    pub(super) said: Vec<String>,
}

/// The column of a value; values beyond the scale have the column of its end.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a line")]
pub(super) fn column(scale: &Scale, value: f64, columns: usize) -> usize {
    (scale.place(value).round().max(0.0) as usize).min(columns.saturating_sub(1))
}

/// A cell's label, with tildes if its number is struck out.
pub(super) fn label(text: &str, is_struck: bool) -> String {
    let text = one_line(text);
    if is_struck { format!("~{text}~") } else { text }
}
