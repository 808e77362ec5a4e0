//! A table of a document, drawn in columns.

use super::line::painted;
use crate::document::{Align, Cell, Column, Level, Row, Style, Table, Tone};
use crate::paint::Paint;
use comfy_table::{Attribute, CellAlignment, Color, ContentArrangement, LineStyle, TableStyle};
use record::printable::one_line;
use std::collections::BTreeSet;

/// Blank columns and one rule under the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Draws the first layout that fits, else the narrowest with wrapped cells.
pub(super) fn grid(table: &Table, width: usize, paint: Paint) -> String {
    let fits = |layout: &&Vec<usize>| widest(&draw(table, layout, None, false)) <= width;
    let mut out = match (table.layouts.iter().find(fits), table.layouts.last()) {
        (Some(layout), _) => draw(table, layout, None, paint.colour),
        (None, Some(narrowest)) => draw(table, narrowest, Some(width), paint.colour),
        (None, None) => String::new(),
    };
    if let Some(words) = &table.left_out {
        out.push_str(&painted("  ", words, width, paint));
    }
    out
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// A drawn column: the texts of the table's column, or the units of its numbers.
struct Drawn<'a> {
    index: usize,
    column: &'a Column,
    title: &'a str,
    units: bool,
    /// Whether the column of its units follows.
    unit_follows: bool,
}

/// The drawn columns of a layout. A unit that all numbers of a column have is its title; units that differ have a column.
fn drawn<'a>(table: &'a Table, layout: &[usize]) -> Vec<Drawn<'a>> {
    let columns = layout.iter().filter_map(|&index| Some((index, table.columns.get(index)?)));
    let of_column = |(index, column): (usize, &'a Column)| {
        let cells = table.rows.iter().filter_map(move |row| row.cells.get(index));
        let units: BTreeSet<&str> = cells.map(|cell| cell.unit).filter(|unit| !unit.is_empty()).collect();
        let named = if column.evident { "" } else { column.title };
        let title = units.first().copied().filter(|_| units.len() == 1).unwrap_or(named);
        let differ = units.len() > 1;
        let text = Drawn { index, column, title, units: false, unit_follows: differ };
        let unit = differ.then_some(Drawn { index, column, title: "", units: true, unit_follows: false });
        [Some(text), unit].into_iter().flatten()
    };
    columns.flat_map(of_column).collect()
}

fn draw(table: &Table, layout: &[usize], width: Option<usize>, colour: bool) -> String {
    let columns = drawn(table, layout);
    let mut out = comfy_table::Table::new();
    out.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled);
    if let Some(width) = width {
        out.set_content_arrangement(ContentArrangement::Dynamic);
        out.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    if colour {
        out.enforce_styling();
    } else {
        out.force_no_tty();
    }
    out.set_header(columns.iter().map(|c| comfy_table::Cell::new(c.title).add_attribute(Attribute::Bold)));
    for (place, row) in table.rows.iter().enumerate() {
        if place > 0 && row.begins == Level::Part {
            out.add_row(vec![comfy_table::Cell::new("")]);
        }
        out.add_row(columns.iter().map(|column| cell(row, column)));
    }
    // A table with narrower layouts has many columns: they stand closer.
    let gap = if table.layouts.len() > 1 { 1 } else { 2 };
    let last = columns.len().saturating_sub(1);
    for (place, (drawn, column)) in columns.iter().zip(out.column_iter_mut()).enumerate() {
        column.set_padding((0, if place == last || drawn.unit_follows { 0 } else { gap }));
        column.set_cell_alignment(match drawn.column.align {
            Align::Right if !drawn.units => CellAlignment::Right,
            _ => CellAlignment::Left,
        });
    }
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn cell(row: &Row, drawn: &Drawn<'_>) -> comfy_table::Cell {
    let Some(cell) = row.cells.get(drawn.index).filter(|_| row.begins >= drawn.column.once) else {
        return comfy_table::Cell::new("");
    };
    if drawn.units { comfy_table::Cell::new(cell.unit) } else { styled(cell) }
}

/// A struck-out text has tildes too, so that nobody quotes the number by mistake where colours are off.
fn styled(cell: &Cell) -> comfy_table::Cell {
    let text = one_line(&cell.text);
    match cell.style {
        Style::Struck => {
            comfy_table::Cell::new(format!("~{text}~")).fg(Color::Red).add_attribute(Attribute::CrossedOut)
        }
        Style::Toned(Tone::Bad) => comfy_table::Cell::new(text).fg(Color::Red),
        Style::Toned(Tone::Warn) => comfy_table::Cell::new(text).fg(Color::Yellow),
        Style::Toned(Tone::Good) => comfy_table::Cell::new(text).fg(Color::Green),
        Style::Toned(Tone::Faint) | Style::Plain | Style::Strong => comfy_table::Cell::new(text),
    }
}
