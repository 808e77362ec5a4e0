//! The details of the selected cell, and all changes that an undo would take back.

use super::line::{Paint, put};
use super::state::State;
use crate::progress::fit::wrapped;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use record::finding::Severity;

/// Draws as many lines as fit, from the one on that the user has scrolled to.
pub(super) fn draw(state: &mut State, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let mut lines: Vec<(String, Paint)> = Vec::new();
    for (text, paint) in texts(state) {
        let whole = wrapped(&text.replace('\n', " "), Some(width));
        lines.extend(whole.lines().map(|line| (line.to_owned(), paint)));
    }
    let most = lines.len().saturating_sub(usize::from(area.height));
    let first = state.details.unwrap_or(0).min(most);
    state.details = Some(first);
    for (row, (text, paint)) in (0..area.height).zip(&lines[first..]) {
        put(buffer, area, row, text, *paint);
    }
}

fn texts(state: &State) -> Vec<(String, Paint)> {
    let Some(cell) = state.cells.get(state.selected) else { return Vec::new() };
    let plain = |text: String| (text, Paint::Plain);
    let mut texts = vec![(cell.name.clone(), Paint::Strong)];
    let layers = if cell.layers.is_empty() { "none".to_owned() } else { cell.layers.join(", ") };
    texts.push(plain(format!("layers: {layers}")));
    if !cell.levels.is_empty() {
        texts.push(plain(format!("levels: {}", cell.levels.join(", "))));
    }
    if let Some(round) = cell.skipped {
        texts.push(plain(format!("skipped in round {}: it gets no more trials in this run", round + 1)));
    }
    texts.extend(cell.in_words().map(plain));
    if cell.trials.is_empty() {
        texts.push(plain("no trial yet".to_owned()));
    }
    texts.extend(cell.trials.iter().map(|trial| plain(cell.trial_in_words(trial))));
    for finding in &cell.findings {
        let paint = match finding.severity {
            Severity::Void => Paint::Bad,
            Severity::Caveat => Paint::Doubtful,
            Severity::Note => Paint::Plain,
        };
        let severity = match finding.severity {
            Severity::Void => "void",
            Severity::Caveat => "caveat",
            Severity::Note => "note",
        };
        texts.push((format!("{severity}: {} {}", finding.text, finding.remedy), paint));
    }
    for (target, changes) in &state.changes {
        let count =
            if changes.is_empty() { "nothing".to_owned() } else { format!("{} changes", changes.len()) };
        texts.push((format!("to undo on {target}: {count}"), Paint::Strong));
        texts.extend(changes.iter().rev().map(|change| plain(format!("  {change}"))));
    }
    texts
}
