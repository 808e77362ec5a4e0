//! The table of cells.

use crate::index::Index;
use crate::rows::{self, Line};
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, TableStyle};
use record::judged::{CellView, ExpectationView, RunView, Status};
use std::collections::BTreeMap;

/// Blank columns and one rule under the header.
pub(crate) const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The mark of a number that isn't a storage figure.
pub(crate) const NOT_STORAGE: &str = "NOT STORAGE";

/// The mark of a cell with lost or damaged data.
pub(crate) const WRONG_CONTENT: &str = "WRONG CONTENT";

/// The columns of the table.
#[derive(Debug, Clone, Copy)]
struct Columns {
    target: bool,
    workload: bool,
    stack: bool,
    side: bool,
    /// The unit of all lines, used as the header of the numbers; `None`: the units differ and have a column.
    unit: Option<&'static str>,
    p99: bool,
    limit: bool,
    remark: Remark,
    expected: bool,
}

/// How much the table says about bytes that didn't come from the devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remark {
    /// The mark of a number that isn't a storage figure, and the sources of the bytes.
    Full,
    /// Only the mark.
    Short,
    /// Nothing.
    None,
}

type Body<'a> = Vec<(&'a CellView, Vec<Line>)>;

/// Formats the table, and returns it with the expectations in it.
pub(crate) fn table<'a>(index: &Index<'a>, width: usize, colour: bool) -> (String, Vec<&'a ExpectationView>) {
    let mut shown = Vec::new();
    let body: Body<'_> = by_workload(index.view)
        .into_iter()
        .map(|cell| (cell, rows::lines(index, cell, &mut shown)))
        .collect();
    let full = wanted(index, &body);
    let short = Columns { remark: full.remark.short(&body), ..full };
    let narrower = [
        full,
        Columns { limit: false, ..full },
        short,
        Columns { limit: false, ..short },
        Columns { limit: false, p99: false, ..short },
    ];
    // The first that fits; else the narrowest, wrapped.
    for columns in narrower {
        let plain = render(&body, columns, None, false);
        if widest(&plain) <= width {
            let text = if colour { render(&body, columns, None, true) } else { plain };
            return (text, shown);
        }
    }
    (render(&body, narrower[narrower.len() - 1], Some(width), colour), shown)
}

/// What all cells have in common, which the table leaves out.
pub(crate) fn in_common(index: &Index<'_>) -> String {
    let Some(first) = index.view.cells.first() else {
        return "no cells".to_owned();
    };
    match (index.stacks, index.workloads) {
        (false, true) => format!("stack {}", first.stack),
        (true, false) => format!("workload {}", first.workload),
        _ => String::new(),
    }
}

fn wanted(index: &Index<'_>, body: &Body<'_>) -> Columns {
    let all = || body.iter().flat_map(|(_, lines)| lines);
    let (stacks, workloads) = (index.stacks, index.workloads);
    let mut units = all().map(|l| l.unit).filter(|u| !u.is_empty());
    let unit = units.next().filter(|first| all().all(|l| l.unit == *first || l.unit.is_empty()));
    let remark = all().any(|l| !l.rest.is_empty()) || body.iter().any(|(c, _)| c.void);
    Columns {
        target: index.targets,
        workload: workloads || !stacks,
        stack: stacks || !workloads,
        side: all().any(|l| l.side != "read"),
        unit,
        p99: all().any(|l| !l.p99.is_empty()),
        limit: body.iter().any(|(c, _)| c.limited_by.is_some()),
        remark: if remark { Remark::Full } else { Remark::None },
        expected: all().any(|l| l.expected.is_some() || l.model.is_some()),
    }
}

impl Remark {
    fn short(self, body: &Body<'_>) -> Self {
        if body.iter().any(|(c, _)| c.void) { Self::Short } else { Self::None }
    }
}

fn widest(text: &str) -> usize {
    text.lines().map(|l| l.chars().count()).max().unwrap_or(0)
}

fn render(body: &Body<'_>, columns: Columns, width: Option<usize>, colour: bool) -> String {
    let mut table = Table::new();
    table.load_style(STYLE);
    match width {
        Some(width) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        }
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    if colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table.set_header(header(columns));
    let mut last_workload = None;
    for (cell, lines) in body {
        let fresh = last_workload != Some(&cell.workload);
        if fresh && last_workload.is_some() && columns.stack && columns.workload {
            table.add_row(vec![Cell::new("")]);
        }
        last_workload = Some(&cell.workload);
        add(&mut table, cell, lines, columns, fresh || !columns.stack);
    }
    align(&mut table, columns);
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The cells sorted by workload, in the order of the file, so that the stacks of a workload stand together.
pub(crate) fn by_workload(view: &RunView) -> Vec<&CellView> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in &view.cells {
        let next = places.len();
        places.entry(&cell.workload).or_insert(next);
    }
    let mut cells: Vec<&CellView> = view.cells.iter().collect();
    cells.sort_by_key(|c| places.get(c.workload.as_str()).copied());
    cells
}

/// Names and alignment of the columns that are shown.
fn columns_of(columns: Columns) -> Vec<(&'static str, CellAlignment)> {
    use CellAlignment::{Left, Right};
    let all = [
        (columns.target, "target", Left),
        (columns.workload, "workload", Left),
        (columns.stack, "stack", Left),
        (columns.side, "", Left),
        (true, columns.unit.unwrap_or("measured"), Right),
        (columns.unit.is_none(), "", Left),
        (columns.p99, "p99", Right),
        (true, "n", Right),
        (true, "device", Right),
        (columns.limit, "limited by", Left),
        (columns.expected, "expected", Left),
        (columns.remark == Remark::Full, "the rest", Left),
        (columns.remark == Remark::Short, "", Left),
    ];
    all.into_iter().filter(|(shown, ..)| *shown).map(|(_, name, alignment)| (name, alignment)).collect()
}

fn header(columns: Columns) -> Vec<Cell> {
    columns_of(columns).into_iter().map(|(name, _)| Cell::new(name).add_attribute(Attribute::Bold)).collect()
}

fn align(table: &mut Table, columns: Columns) {
    let alignments = columns_of(columns);
    let last = alignments.len().saturating_sub(1);
    let before = [columns.target, columns.workload, columns.stack, columns.side];
    let lead = before.into_iter().filter(|shown| *shown).count();
    for (index, (column, (_, alignment))) in table.column_iter_mut().zip(alignments).enumerate() {
        // The unit follows its number.
        let unit_follows = columns.unit.is_none() && index == lead;
        column.set_padding((0, u16::from(index != last && !unit_follows)));
        column.set_cell_alignment(alignment);
    }
}

fn add(table: &mut Table, cell: &CellView, lines: &[Line], columns: Columns, name_workload: bool) {
    let nothing = [Line::not_measured()];
    let lines = if lines.is_empty() { &nothing[..] } else { lines };
    for (index, line) in lines.iter().enumerate() {
        let first = index == 0;
        let named = |name: &str, wanted: bool| Cell::new(if wanted { name } else { "" });
        let mut row = Vec::new();
        if columns.target {
            row.push(named(&cell.target, first));
        }
        if columns.workload {
            row.push(named(&cell.workload, first && name_workload));
        }
        if columns.stack {
            row.push(named(&cell.stack, first));
        }
        if columns.side {
            row.push(Cell::new(&line.side));
        }
        row.push(figure(cell, &line.value));
        if columns.unit.is_none() {
            row.push(Cell::new(line.unit));
        }
        if columns.p99 {
            row.push(figure(cell, &line.p99));
        }
        row.push(named(&rows::trials(cell), first));
        row.push(Cell::new(&line.device));
        if columns.limit {
            row.push(named(&rows::limited_by(cell), first));
        }
        if columns.expected {
            row.push(expectation(line));
        }
        if columns.remark != Remark::None {
            row.push(remark(cell, line, columns.remark));
        }
        table.add_row(row);
    }
}

/// A number's table cell. A number that isn't a storage figure is struck out, in plain characters too, so that nobody quotes it by mistake.
fn figure(cell: &CellView, text: &str) -> Cell {
    if !cell.void || text.is_empty() || cell.metrics.is_empty() {
        return Cell::new(text);
    }
    Cell::new(format!("~{text}~")).fg(Color::Red).add_attribute(Attribute::CrossedOut)
}

fn remark(cell: &CellView, line: &Line, how: Remark) -> Cell {
    let void = cell.void && !cell.metrics.is_empty();
    let name = if cell.verified.is_some_and(|v| v.wrong_blocks > 0) { WRONG_CONTENT } else { NOT_STORAGE };
    match (void, how) {
        (true, Remark::Full) if !line.rest.is_empty() => {
            Cell::new(format!("{name}: {}", line.rest)).fg(Color::Red)
        }
        (true, _) => Cell::new(name).fg(Color::Red),
        (false, Remark::Full) => Cell::new(&line.rest).fg(Color::Yellow),
        (false, _) => Cell::new(""),
    }
}

fn expectation(line: &Line) -> Cell {
    match &line.expected {
        None => Cell::new(line.model.as_deref().unwrap_or_default()),
        Some((Status::Met, value)) => Cell::new(format!("{value} met")).fg(Color::Green),
        Some((Status::Missed, value)) => Cell::new(format!("{value} MISSED")).fg(Color::Red),
        Some((Status::Undecided, value)) => Cell::new(format!("{value} open")).fg(Color::Yellow),
    }
}
