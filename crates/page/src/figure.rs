//! A figure: a picture, a sentence that says what it shows, and a table of the same numbers.

use crate::number::plain;
use crate::svg::Svg;
use maud::{Markup, PreEscaped, html};
use record::printable::printable;

/// A figure.
#[derive(Debug)]
pub(crate) struct Figure {
    /// Its name within a run, e.g. `dots-1`: `report --chart` takes it.
    pub(crate) name: String,
    /// Its heading.
    pub(crate) title: String,
    /// What its marks are: `95 % interval of what, over what`.
    pub(crate) sentence: String,
    /// The picture.
    pub(crate) svg: Svg,
    /// The numbers in the picture.
    pub(crate) numbers: Numbers,
}

/// The numbers of a picture as a table.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// The titles of the columns, with units.
    pub(crate) columns: Vec<String>,
    /// The rows: one entry per column.
    pub(crate) rows: Vec<Vec<Entry>>,
}

/// An entry of such a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// A name or a remark.
    Text(String),
    /// A number.
    Number(f64),
    /// Several numbers, in order.
    Numbers(Vec<f64>),
    /// There is no number.
    Unknown,
}

impl From<Option<f64>> for Entry {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Unknown, Self::Number)
    }
}

impl From<&str> for Entry {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Numbers {
    /// A table of these columns, without rows.
    pub(crate) fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|title| (*title).to_owned()).collect(), rows: Vec::new() }
    }
}

impl Figure {
    /// The figure as a part of a page.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            figure id=(self.name) {
                figcaption { strong { (printable(&self.title)) } " " (printable(&self.sentence)) }
                div class="scroll" tabindex="0" role="group" aria-label=(printable(&self.title)) {
                    (PreEscaped(self.svg.element(&self.title)))
                }
                (folded("The same numbers as a table", &self.numbers))
            }
        }
    }

    /// The picture as a file of its own.
    pub(crate) fn file(&self, style: &str) -> String {
        self.svg.file(&format!("{}. {}", self.title, self.sentence), style)
    }
}

/// A table that a reader may unfold; nothing if it has no rows.
pub(crate) fn folded(summary: &str, numbers: &Numbers) -> Markup {
    html! {
        @if !numbers.rows.is_empty() {
            details { summary { (summary) } div class="scroll" tabindex="0" role="group" aria-label="table" { (table(numbers)) } }
        }
    }
}

/// The table. Its rows and entries have no end tags, which HTML doesn't need: numbers are the largest part of a page.
pub(crate) fn table(numbers: &Numbers) -> Markup {
    html! {
        table class="numbers" {
            thead; tr; @for title in &numbers.columns { th; (printable(title)) }
            tbody; @for row in &numbers.rows { tr; @for entry in row { (self::entry(entry)) } }
        }
    }
}

fn entry(entry: &Entry) -> Markup {
    match entry {
        Entry::Text(text) => html! { td class="t"; (printable(text)) },
        Entry::Number(value) => html! { td; (plain(*value)) },
        Entry::Numbers(values) => {
            html! { td class="t"; (values.iter().map(|value| plain(*value)).collect::<Vec<_>>().join(", ")) }
        }
        Entry::Unknown => html! { td; "?" },
    }
}
