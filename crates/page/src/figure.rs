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
                div class="scroll" tabindex="0" role="group" aria-label="picture" {
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

/// The columns whose texts the style sheet can align without a class of each entry.
const STYLED: usize = 24;

/// The table. Its rows and entries have no end tags, which HTML doesn't need: numbers are the largest part of a page.
pub(crate) fn table(numbers: &Numbers) -> Markup {
    let texts: Vec<bool> = (0..numbers.columns.len()).map(|column| is_of_texts(numbers, column)).collect();
    let names = texts.iter().zip(1..).filter(|(is, _)| **is).map(|(_, column)| format!(" t{column}"));
    let class = format!("numbers{}", names.collect::<String>());
    html! {
        table class=(class) {
            thead; tr; @for title in &numbers.columns { th; (printable(title)) }
            tbody; @for row in &numbers.rows { tr; @for (entry, styled) in row.iter().zip(&texts) { (self::entry(entry, *styled)) } }
        }
    }
}

/// Whether a column has only texts, so that the style sheet can align it as a whole.
fn is_of_texts(numbers: &Numbers, column: usize) -> bool {
    let is_text = |entry: &Entry| matches!(entry, Entry::Text(_) | Entry::Numbers(_));
    column < STYLED && numbers.rows.iter().all(|row| row.get(column).is_some_and(is_text))
}

/// An entry; `styled`: its column is aligned as one of texts.
fn entry(entry: &Entry, styled: bool) -> Markup {
    let text = |text: &str| match styled {
        true => html! { td; (text) },
        false => html! { td class="t"; (text) },
    };
    match entry {
        Entry::Text(shown) => text(&printable(shown)),
        Entry::Number(value) => html! { td; (plain(*value)) },
        Entry::Numbers(values) => {
            text(&values.iter().map(|value| plain(*value)).collect::<Vec<_>>().join(", "))
        }
        Entry::Unknown => html! { td; "?" },
    }
}
