//! The page of one run.

use crate::bonnie::bonnie;
use crate::cells::{self, CellPart};
use crate::document::{block, title};
use crate::dots::dots;
use crate::enlarge::courses;
use crate::figure::Figure;
use crate::frame::{Frame, Link, frame};
use crate::layout::{Placed, again, answers, blocks, is_note, plots};
use crate::lookup::Lookup;
use crate::pairs::{Pairs, of_pairs};
use crate::ratios::ratios;
use crate::searches::{limits, of_limit};
use crate::style::CHART;
use crate::sweeps::sweeps;
use crate::trials::Trials;
use maud::{Markup, html};
use record::id::CellId;
use record::judged::RunView;
use record::printable::printable;
use report::{Block, Document};
use thiserror::Error;

/// The most cells that are unfolded when the page is opened.
const UNFOLDED: usize = 3;

/// What a page shows of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunPage<'a> {
    /// The judged run.
    pub view: &'a RunView,
    /// Its document: `report::result` of the same view.
    pub document: &'a Document,
    /// Its trials.
    pub trials: &'a Trials,
    /// The text of the experiment file.
    pub source: &'a str,
    /// All comparisons behind its answers; empty: they aren't drawn.
    pub pairs: &'a [Pairs],
}

/// A run has no picture of this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the run has no picture `{}`; it has {}", printable(.name), listed(.known))]
pub struct NoSuchChart {
    /// The name that was asked for.
    pub name: String,
    /// The names of all its pictures.
    pub known: Vec<String>,
}

/// The most names of pictures in an error.
const NAMED: usize = 100;

fn listed(known: &[String]) -> String {
    let first: Vec<&str> = known.iter().take(NAMED).map(String::as_str).collect();
    match known.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!(
            "{} and {more} more; those of a cell are named `rounds-CELL`, `latency-CELL-read` and `bytes-CELL` by its id in `export --json`",
            first.join(", ")
        ),
    }
}

impl RunPage<'_> {
    /// The page as one HTML file that needs nothing else: no network, and no script to be complete.
    #[must_use]
    pub fn html(&self) -> String {
        self.linked(&[])
    }

    /// The same page with links to other pages of its folder.
    #[must_use]
    pub fn linked(&self, links: &[Link]) -> String {
        let lookup = Lookup::of(self.view, self.document);
        let (first, others) = self.plots();
        let (top, rest) = blocks(self.document);
        let others: Vec<Figure> = others.into_iter().chain(self.of_several(&lookup)).collect();
        let body = html! {
            @if let Some(Block::Title(text, under)) = self.document.blocks.first() { (title(text, under)) }
            @for answer in answers(self.document) { (block(answer)) }
            @for figure in &first { (figure.markup()) }
            @for part in &top { (block(part)) }
            @for part in rest.iter().filter(|block| !is_note(block)) { (block(part)) }
            (figures("More pictures", &others))
            (self.cells(&lookup))
            @for part in rest.iter().filter(|block| is_note(block)) { (block(part)) }
            (again(self.view, self.source))
        };
        let courses = courses(self.view.cells.iter(), self.trials);
        frame(&Frame { title: &self.view.experiment, links, body, courses })
    }

    /// The picture of this name as an SVG file.
    ///
    /// # Errors
    /// The run has no picture of this name; the error names those that it has.
    pub fn chart(&self, name: &str) -> Result<String, NoSuchChart> {
        let all = self.figures();
        match all.iter().find(|figure| figure.name == name) {
            Some(figure) => Ok(figure.file(CHART)),
            None => Err(NoSuchChart {
                name: name.to_owned(),
                known: all.into_iter().map(|figure| figure.name).collect(),
            }),
        }
    }

    /// The cell of a picture's name, e.g. of `rounds-CELL`: the picture needs the trials of this cell only. `None`: it needs no trials, or
    /// there is no such picture.
    #[must_use]
    pub fn cell_of_chart<'b>(view: &'b RunView, name: &str) -> Option<&'b CellId> {
        let of = |id: &str| cells::PICTURES.iter().any(|kind| is_of(name, kind, id));
        view.cells.iter().map(|cell| &cell.id).find(|id| of(&cells::id(&id.0)))
    }

    /// All figures, in the order of the page.
    fn figures(&self) -> Vec<Figure> {
        let lookup = Lookup::of(self.view, self.document);
        let (mut all, others) = self.plots();
        all.extend(others);
        all.extend(self.of_several(&lookup));
        all.extend(self.view.cells.iter().flat_map(|cell| lookup.part(cell, self.trials).figures()));
        all
    }

    /// Pairs, sweeps, ratios and searches.
    fn of_several(&self, lookup: &Lookup<'_>) -> Vec<Figure> {
        let names = lookup.names();
        let pairs = self.pairs.iter().zip(1..).filter_map(|(pairs, place)| of_pairs(place, pairs, names));
        let searches = limits(self.view).into_iter().filter_map(|limited| of_limit(&limited, names));
        pairs
            .chain(sweeps(self.view))
            .chain(bonnie(self.view))
            .chain(ratios(self.view))
            .chain(searches)
            .collect()
    }

    /// The dot plots: those for the first screen, and the others.
    fn plots(&self) -> (Vec<Figure>, Vec<Figure>) {
        let (first, others) = plots(self.document);
        let drawn = |all: Placed<'_>| {
            all.into_iter().map(|(place, plot)| dots(format!("dots-{place}"), plot)).collect()
        };
        (drawn(first), drawn(others))
    }

    fn cells(&self, lookup: &Lookup<'_>) -> Markup {
        let open = self.view.cells.len() <= UNFOLDED;
        let parts = || self.view.cells.iter().map(|cell| lookup.part(cell, self.trials));
        html! {
            @if !self.view.cells.is_empty() {
                h2 { "Cell by cell" }
                @for part in parts() { (CellPart::markup(&part, open)) }
            }
        }
    }
}

/// Whether a picture's name is a kind of picture of a cell, e.g. `latency-CELL-read`.
fn is_of(name: &str, kind: &str, id: &str) -> bool {
    let rest = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
    rest.and_then(|rest| rest.strip_prefix(id)).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Figures under a heading; nothing without one.
pub(crate) fn figures(heading: &str, all: &[Figure]) -> Markup {
    html! {
        @if !all.is_empty() {
            h2 { (heading) }
            @for figure in all { (figure.markup()) }
        }
    }
}
