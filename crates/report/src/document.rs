//! The document: what a report says, as data. A function per subject builds it, and a function per medium renders it.
//!
//! All texts may come from outside (names of experiments, hosts, devices, messages of programs). They stand here as they are, and each
//! renderer escapes them.

mod figure;
mod table;
mod words;

pub use figure::{
    DotPlot, DotRow, Expected, ExpectedBy, Place, Point, RatioPlot, RatioRow, Scatter, Series, ratio_scale,
};
pub use table::{Align, Cell, Column, Level, Row, Table};
pub use words::{Span, Style, Tone, Words};

/// A document: its blocks in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// The document's title, with lines that belong to it.
    Title(String, Vec<Paragraph>),
    /// The answer to the document's question, one sentence per item.
    Answer(Vec<Words>),
    /// The heading of the blocks up to the next heading.
    Heading(Heading),
    /// Paragraphs.
    Paragraphs(Vec<Paragraph>),
    /// A list.
    List(List),
    /// A tree: its branches from top to bottom.
    Tree(Vec<Branch>),
    /// A table.
    Table(Table),
    /// A dot plot.
    DotPlot(DotPlot),
    /// Ratios with their intervals.
    Ratios(RatioPlot),
    /// Points with a limit.
    Scatter(Scatter),
    /// Warnings about figures.
    Caveats(Vec<Caveat>),
    /// How the figures were measured and judged.
    Notes(Vec<String>),
}

/// A paragraph of running text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paragraph {
    /// What it is, e.g. `with`; a terminal aligns the text behind it.
    pub label: Option<&'static str>,
    /// The text.
    pub words: Words,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The heading's text.
    pub text: String,
    /// The result of what follows, e.g. `not as asked`.
    pub result: Option<(Tone, String)>,
}

/// A list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// The items.
    pub items: Vec<Words>,
    /// The most items that a terminal shows; it counts the others.
    pub most: usize,
}

/// A branch of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Number of branches between it and the root.
    pub depth: usize,
    /// What it says.
    pub text: String,
}

/// A warning about figures: what is wrong, with which cells, and the remedy.
#[derive(Debug, Clone, PartialEq)]
pub struct Caveat {
    /// How grave it is, e.g. `caveat`.
    pub label: &'static str,
    /// The label's tone.
    pub tone: Tone,
    /// The claim.
    pub title: &'static str,
    /// The cell that the text is about, if the caveat holds for several.
    pub example: Option<String>,
    /// The claim's figures.
    pub text: String,
    /// The time series that the caveat is about: the cell's name, if it holds for several cells, and the series.
    pub courses: Vec<(Option<String>, Series)>,
    /// All cells for which it holds; `None` if the run has one cell.
    pub cells: Option<String>,
    /// What to do.
    pub remedy: String,
}

impl Document {
    /// A document of this title.
    pub(crate) fn new(title: impl Into<String>, under: Vec<Paragraph>) -> Self {
        Self { blocks: vec![Block::Title(title.into(), under)] }
    }

    /// The blocks in the order of a page, which is read from its top: the answer follows the title. A terminal ends at its last line and
    /// keeps the order of the blocks, in which the answer follows the table.
    pub(crate) fn in_page_order(&self) -> Vec<&Block> {
        let mut blocks: Vec<&Block> = self.blocks.iter().collect();
        blocks.sort_by_key(|block| match block {
            Block::Title(..) => 0,
            Block::Answer(_) => 1,
            _ => 2,
        });
        blocks
    }

    /// Adds a heading and its list; nothing if the list is empty.
    pub(crate) fn section(&mut self, heading: &str, items: Vec<Words>) {
        if !items.is_empty() {
            self.blocks.extend([Block::heading(heading), Block::list(items)]);
        }
    }

    /// Adds paragraphs; nothing if there are none.
    pub(crate) fn paragraphs(&mut self, paragraphs: Vec<Paragraph>) {
        if !paragraphs.is_empty() {
            self.blocks.push(Block::Paragraphs(paragraphs));
        }
    }
}

impl Block {
    /// A heading without a result.
    pub(crate) fn heading(text: impl Into<String>) -> Self {
        Self::Heading(Heading { text: text.into(), result: None })
    }

    /// A list that is shown whole.
    pub(crate) fn list(items: Vec<Words>) -> Self {
        Self::List(List { items, most: usize::MAX })
    }
}

impl Paragraph {
    /// A paragraph behind a label.
    pub(crate) fn labelled(label: &'static str, words: impl Into<Words>) -> Self {
        Self { label: Some(label), words: words.into() }
    }
}

impl<T: Into<Words>> From<T> for Paragraph {
    fn from(words: T) -> Self {
        Self { label: None, words: words.into() }
    }
}
