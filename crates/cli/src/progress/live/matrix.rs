//! The matrix: one row per cell, with its figure so far.

use super::cell::CellState;
use super::line::{Paint, put_at};
use super::state::State;
use crate::progress::fit::shortened;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Modifier;

/// The columns beside the name: heading, width, and the least width of the terminal that has room for it.
const COLUMNS: [(&str, u16, u16); 7] = [
    ("n", 4, 0),
    ("so far", 12, 0),
    ("±", 9, 0),
    ("asked", 7, 60),
    ("p99", 9, 66),
    ("device", 8, 76),
    ("", 15, 96),
];
/// The columns of the marks before the name.
const MARKS: u16 = 2;

/// Draws the header and as many rows as fit, so that the selected one is among them.
pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let columns: Vec<&(&str, u16, u16)> = COLUMNS.iter().filter(|column| column.2 <= area.width).collect();
    let taken: u16 = columns.iter().map(|column| column.1).sum();
    let name_width = area.width.saturating_sub(taken + MARKS);
    let rows = usize::from(area.height.saturating_sub(1));
    let first = first_row(state.selected, state.cells.len(), rows);
    let hidden = state.cells.len() - rows.min(state.cells.len());
    let title = if hidden > 0 {
        format!("{}-{} of {}", first + 1, first + rows, state.cells.len())
    } else {
        "cell".to_owned()
    };
    put_at(buffer, area, (MARKS, 0), &shortened(&title, usize::from(name_width)), Paint::Faint);
    cells(
        buffer,
        area,
        0,
        name_width,
        columns.iter().map(|column| (column.1, column.0.to_owned())),
        Paint::Faint,
    );
    let shown = state.cells.iter().enumerate().skip(first).take(rows);
    for (row, (place, cell)) in (1..).zip(shown) {
        let is_current = state.is_running(place);
        let marks = [if place == state.selected { '>' } else { ' ' }, if is_current { '▶' } else { ' ' }];
        let paint = paint(cell, is_current);
        put_at(buffer, area, (0, row), &marks.iter().collect::<String>(), paint);
        put_at(buffer, area, (MARKS, row), &shortened(&cell.name, usize::from(name_width)), paint);
        let texts = texts(cell, is_current);
        let fit = columns.iter().zip(texts).map(|(column, text)| (column.1, text));
        cells(buffer, area, row, name_width, fit, paint);
        if place == state.selected {
            let whole = Rect { y: area.y + row, height: 1, ..area }.intersection(buffer.area);
            buffer.set_style(whole, Paint::Plain.style().add_modifier(Modifier::REVERSED));
        }
    }
}

/// Writes the columns of a row to the right end of their places.
fn cells(
    buffer: &mut Buffer,
    area: Rect,
    row: u16,
    name_width: u16,
    texts: impl Iterator<Item = (u16, String)>,
    paint: Paint,
) {
    let mut column = MARKS + name_width;
    for (width, text) in texts {
        let text = shortened(&text, usize::from(width.saturating_sub(1))).into_owned();
        let used = u16::try_from(text.chars().count()).unwrap_or(width);
        put_at(buffer, area, (column + width.saturating_sub(used), row), &text, paint);
        column += width;
    }
}

fn texts(cell: &CellState, is_current: bool) -> [String; 7] {
    [
        cell.count(),
        cell.figure(),
        cell.interval(),
        cell.asked(),
        cell.p99(),
        cell.device(),
        cell.word(is_current),
    ]
}

fn paint(cell: &CellState, is_current: bool) -> Paint {
    match cell.is_as_asked() {
        _ if cell.skipped.is_some() || cell.is_to_be_skipped => Paint::Struck,
        _ if is_current => Paint::Active,
        Some(true) => Paint::Good,
        Some(false) | None => Paint::Plain,
    }
}

/// The first of the rows that are shown: the selected one is in the middle, as far as there are rows around it.
fn first_row(selected: usize, all: usize, rows: usize) -> usize {
    selected.saturating_sub(rows / 2).min(all.saturating_sub(rows))
}

#[cfg(test)]
mod tests {
    use super::first_row;

    #[test]
    fn the_selected_row_is_always_shown() {
        for all in 0..30 {
            for rows in 1..12 {
                for selected in 0..all {
                    let first = first_row(selected, all, rows);
                    assert!((first..first + rows).contains(&selected), "{selected} of {all} in {rows}");
                    assert!(first + rows <= all.max(rows), "no empty row while others are hidden");
                }
            }
        }
    }
}
