//! The table of cells.

use crate::document::{Cell, Column, Level, Row, Style, Table, Tone};
use crate::index::Index;
use crate::rows::{self, Line};
use record::judged::{CellView, ExpectationView, RunView, Status};
use std::collections::BTreeMap;

/// The title of the table: it has the lines of one cell after the other, workload by workload.
pub const MEASURED: &str = "Measured";

/// The mark of a number that isn't a storage figure.
pub(crate) const NOT_STORAGE: &str = "NOT STORAGE";

/// The mark of a cell with lost or damaged data.
pub(crate) const WRONG_CONTENT: &str = "WRONG CONTENT";

// Titles of columns that some layouts leave out.
const P99: &str = "p99";
const LIMIT: &str = "limited by";
const REST: &str = "the rest";
const MARK: &str = "mark";

/// The columns that each layout leaves out, widest layout first: the mark says in short what the rest says.
const LEFT_OUT: [&[&str]; 5] = [&[MARK], &[MARK, LIMIT], &[REST], &[REST, LIMIT], &[REST, LIMIT, P99]];

/// A measured cell with its lines.
pub(crate) type Measured<'a> = (&'a CellView, Vec<Line>);

/// All cells with at least one line each, and the expectations in these lines.
pub(crate) fn measured<'a>(index: &Index<'a>) -> (Vec<Measured<'a>>, Vec<&'a ExpectationView>) {
    let mut shown = Vec::new();
    let mut lines = |cell: &CellView| {
        let lines = rows::lines(index, cell, &mut shown);
        match lines.is_empty() {
            true if index.is_searched(&cell.id) => vec![Line::not_found()],
            true => vec![Line::not_measured()],
            false => lines,
        }
    };
    let body = by_workload(index.view).into_iter().map(|cell| (cell, lines(cell))).collect();
    (body, shown)
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

/// The table of the cells.
pub(crate) fn table(index: &Index<'_>, body: &[Measured<'_>]) -> Table {
    let shown: Vec<_> = columns(index, body).into_iter().filter(|column| column.shown).collect();
    let mut table = Table::new(shown.iter().map(|shown| shown.column.clone()).collect());
    table.title = Some(MEASURED);
    let all = table.columns.iter().enumerate();
    let without = |left_out: &&[&str]| {
        let kept = all.clone().filter(|(_, column)| !left_out.contains(&column.title));
        kept.map(|(place, _)| place).collect::<Vec<usize>>()
    };
    table.layouts = LEFT_OUT.iter().map(without).collect();
    // With one of both only, each cell is a row of its own.
    let parts = has(&table, "workload") && has(&table, "stack");
    let mut last = None;
    for (cell, lines) in body {
        let fresh = parts && last != Some(&cell.workload);
        last = Some(&cell.workload);
        for (place, line) in lines.iter().enumerate() {
            let begins = match (place, fresh) {
                (0, true) => Level::Part,
                (0, false) => Level::Group,
                _ => Level::Line,
            };
            let cells = shown.iter().map(|shown| (shown.cell)(cell, line)).collect();
            table.rows.push(Row { begins, cells });
        }
    }
    table
}

fn has(table: &Table, title: &str) -> bool {
    table.columns.iter().any(|column| column.title == title)
}

/// A column that may be shown, and what it shows of a line.
struct Shown {
    shown: bool,
    column: Column,
    cell: fn(&CellView, &Line) -> Cell,
}

fn column(shown: bool, column: Column, cell: fn(&CellView, &Line) -> Cell) -> Shown {
    Shown { shown, column, cell }
}

/// All columns; one that would say the same in all rows, or nothing, isn't shown.
fn columns(index: &Index<'_>, body: &[Measured<'_>]) -> Vec<Shown> {
    let any = |has: fn(&Line) -> bool| body.iter().flat_map(|(_, lines)| lines).any(has);
    let void = body.iter().any(|(cell, _)| cell.void);
    let limit = body.iter().any(|(cell, _)| cell.limited_by.is_some());
    let (stacks, workloads) = (index.stacks, index.workloads);
    let (workload, stack) = (workloads || !stacks, stacks || !workloads);
    let group = |title| Column::words(title).once(Level::Group);
    let part = if stack { Level::Part } else { Level::Group };
    vec![
        column(index.targets, group("target"), |cell, _| cell.target.as_str().into()),
        column(workload, Column::words("workload").once(part), |cell, _| cell.workload.as_str().into()),
        column(stack, group("stack"), |cell, _| cell.stack.as_str().into()),
        column(any(|l| !matches!(&*l.side, "" | "read")), Column::words("side").evident(), |_, line| {
            (&*line.side).into()
        }),
        column(true, Column::numbers("measured"), |cell, line| Cell {
            unit: line.unit,
            ..figure(cell, &line.value)
        }),
        column(any(|l| !l.p99.is_empty()), Column::numbers(P99), |cell, line| figure(cell, &line.p99)),
        column(true, Column::numbers("n").once(Level::Group), |cell, _| rows::trials(cell).into()),
        column(true, Column::numbers("device"), |_, line| line.device.as_str().into()),
        column(limit, group(LIMIT), |cell, _| rows::limited_by(cell).into()),
        column(any(|l| l.expected.is_some() || l.model.is_some()), Column::words("expected"), |_, line| {
            expectation(line)
        }),
        column(void || any(|l| !l.rest.is_empty()), Column::words(REST), rest),
        column(void, Column::words(MARK).evident(), |cell, _| {
            mark(cell).map_or_else(Cell::default, |mark| Cell::toned(Tone::Bad, mark))
        }),
    ]
}

/// The cells sorted by workload, in the order of the file, so that the stacks of a workload stand together.
fn by_workload(view: &RunView) -> Vec<&CellView> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in &view.cells {
        let next = places.len();
        places.entry(&cell.workload).or_insert(next);
    }
    let mut cells: Vec<&CellView> = view.cells.iter().collect();
    cells.sort_by_key(|c| places.get(c.workload.as_str()).copied());
    cells
}

/// Why a cell's numbers are no storage figures; `None` if they are, or if there are none.
pub(crate) fn mark(cell: &CellView) -> Option<&'static str> {
    let wrong = cell.verified.is_some_and(|checked| checked.wrong_blocks > 0);
    (cell.void && !cell.metrics.is_empty()).then_some(if wrong { WRONG_CONTENT } else { NOT_STORAGE })
}

/// A number's table cell, struck out if it isn't a storage figure.
fn figure(cell: &CellView, text: &str) -> Cell {
    let struck = mark(cell).is_some() && !text.is_empty();
    Cell::styled(if struck { Style::Struck } else { Style::Plain }, text)
}

/// The sources of the bytes that didn't come from the devices, behind the mark.
fn rest(cell: &CellView, line: &Line) -> Cell {
    match mark(cell) {
        Some(mark) if line.rest.is_empty() => Cell::toned(Tone::Bad, mark),
        Some(mark) => Cell::toned(Tone::Bad, format!("{mark}: {}", line.rest)),
        None => Cell::toned(Tone::Warn, line.rest.as_str()),
    }
}

fn expectation(line: &Line) -> Cell {
    match &line.expected {
        None => line.model.as_deref().unwrap_or_default().into(),
        Some((Status::Met, value)) => Cell::toned(Tone::Good, format!("{value} met")),
        Some((Status::Missed, value)) => Cell::toned(Tone::Bad, format!("{value} MISSED")),
        Some((Status::Undecided, value)) => Cell::toned(Tone::Warn, format!("{value} open")),
    }
}
