//! Tables as data.

use super::words::{Style, Tone, Words};

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The heading above it on a page. A terminal leaves it out.
    pub title: Option<&'static str>,
    /// All columns.
    pub columns: Vec<Column>,
    /// All rows.
    pub rows: Vec<Row>,
    /// Selections of columns, by index. The first is the complete table; a narrow medium takes the first that fits.
    pub layouts: Vec<Vec<usize>>,
    /// A remark on rows that the table leaves out.
    pub left_out: Option<Words>,
}

/// The side to which a column's cells are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// The parts of a table, the smallest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// One row.
    Line,
    /// The rows of one subject, e.g. of one cell of the matrix.
    Group,
    /// Groups that belong together, e.g. the cells with one workload.
    Part,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its title.
    pub title: &'static str,
    /// Whether the cells explain themselves, so that a terminal needs no title.
    pub evident: bool,
    /// The side to which its cells are aligned.
    pub align: Align,
    /// The part of the table for which one value holds. A terminal shows it once in this part.
    pub once: Level,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The largest part of the table that begins with this row.
    pub begins: Level,
    /// One cell for each column, complete in each row.
    pub cells: Vec<Cell>,
}

/// A cell of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Its text, which may come from outside.
    pub text: String,
    /// The unit of the number in the text; empty if it has none, or if the text names it.
    pub unit: &'static str,
    /// Its style.
    pub style: Style,
}

impl Table {
    /// A table of these columns, without rows.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        let layouts = vec![(0..columns.len()).collect()];
        Self { title: None, columns, rows: Vec::new(), layouts, left_out: None }
    }

    /// Adds a row; a fresh one begins a group.
    pub(crate) fn add(&mut self, fresh: bool, cells: Vec<Cell>) {
        self.rows.push(Row { begins: if fresh { Level::Group } else { Level::Line }, cells });
    }
}

impl Column {
    /// A column of words.
    pub(crate) fn words(title: &'static str) -> Self {
        Self { title, evident: false, align: Align::Left, once: Level::Line }
    }

    /// A column of numbers.
    pub(crate) fn numbers(title: &'static str) -> Self {
        Self { align: Align::Right, ..Self::words(title) }
    }

    /// The same column without a title in a terminal.
    pub(crate) fn evident(self) -> Self {
        Self { evident: true, ..self }
    }

    /// The same column with one value for this part of the table.
    pub(crate) fn once(self, once: Level) -> Self {
        Self { once, ..self }
    }
}

impl Cell {
    /// A cell with a text in a style.
    pub(crate) fn styled(style: Style, text: impl Into<String>) -> Self {
        Self { text: text.into(), unit: "", style }
    }

    /// A cell with a text in the style of a tone.
    pub(crate) fn toned(tone: Tone, text: impl Into<String>) -> Self {
        Self::styled(Style::Toned(tone), text)
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(Style::Plain, text)
    }
}
