//! The page of one run.

use crate::bonnie::bonnie;
use crate::cells::CellPart;
use crate::document::{block, title};
use crate::dots::dots;
use crate::figure::Figure;
use crate::frame::{Frame, Link, frame};
use crate::ratios::ratios;
use crate::searches::searches;
use crate::style::CHART;
use crate::sweeps::sweeps;
use crate::trials::Trials;
use maud::{Markup, html};
use record::id::CellId;
use record::judged::RunView;
use record::printable::{printable, printable_lines};
use report::{Block, Document, DotPlot};
use std::collections::BTreeMap;
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
}

/// A run has no picture of this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the run has no picture `{}`; it has {}", printable(.name), .known.join(", "))]
pub struct NoSuchChart {
    /// The name that was asked for.
    pub name: String,
    /// The names of all its pictures.
    pub known: Vec<String>,
}

impl RunPage<'_> {
    /// The page as one HTML file that needs nothing else: no script, no network.
    #[must_use]
    pub fn html(&self) -> String {
        self.linked(&[])
    }

    /// The same page with links to other pages of its folder.
    #[must_use]
    pub fn linked(&self, links: &[Link]) -> String {
        let names = report::names(self.view);
        let (first, others) = self.plots();
        let (top, rest) = self.blocks();
        let more = others.into_iter().chain(self.of_run(&names)).collect();
        let body = html! {
            @if let Some(Block::Title(text, under)) = self.document.blocks.first() { (title(text, under)) }
            @for answer in self.answers() { (block(answer)) }
            @for figure in &first { (figure.markup()) }
            @for part in &top { (block(part)) }
            @for part in rest.iter().filter(|block| !is_note(block)) { (block(part)) }
            (figures("More pictures", more))
            (self.cells(&names))
            @for part in rest.iter().filter(|block| is_note(block)) { (block(part)) }
            (self.again())
        };
        frame(&Frame { title: &self.view.experiment, links, body })
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

    /// All figures, in the order of the page.
    fn figures(&self) -> Vec<Figure> {
        let names = report::names(self.view);
        let (mut all, others) = self.plots();
        all.extend(others);
        all.extend(self.of_run(&names));
        all.extend(self.parts(&names).iter().flat_map(CellPart::figures));
        all
    }

    /// The figures of the whole run but the dot plots.
    fn of_run(&self, names: &BTreeMap<CellId, String>) -> Vec<Figure> {
        let all = sweeps(self.view).into_iter().chain(bonnie(self.view)).chain(ratios(self.view));
        all.chain(searches(self.view, names)).collect()
    }

    /// The dot plots: those that the answer is about, or else the first one; and the others.
    fn plots(&self) -> (Vec<Figure>, Vec<Figure>) {
        let (mut first, mut others) = (Vec::new(), Vec::new());
        for (plot, place) in self.dot_plots().zip(1..) {
            let figure = dots(format!("dots-{place}"), plot);
            if plot.leads { first.push(figure) } else { others.push(figure) }
        }
        (first, others)
    }

    fn dot_plots(&self) -> impl Iterator<Item = &DotPlot> {
        self.document.blocks.iter().filter_map(|block| match block {
            Block::DotPlot(plot) => Some(plot),
            _ => None,
        })
    }

    fn answers(&self) -> impl Iterator<Item = &Block> {
        self.document.blocks.iter().filter(|block| matches!(block, Block::Answer(_)))
    }

    /// The blocks that belong on the first screen (caveats and expectations with their headings), and all others.
    fn blocks(&self) -> (Vec<&Block>, Vec<&Block>) {
        let shown =
            |block: &&Block| !matches!(block, Block::Title(..) | Block::Answer(_) | Block::DotPlot(_));
        let all: Vec<&Block> = self.document.blocks.iter().filter(shown).collect();
        let heads = |block: &Block| matches!(block, Block::Heading(_) | Block::Table(_) | Block::Notes(_));
        let sections: Vec<&[&Block]> =
            all.chunk_by(|before, next| !heads(next) || is_heading_of(before, next)).collect();
        let (top, rest): (Vec<_>, Vec<_>) = sections.into_iter().partition(|section| is_for_the_top(section));
        // What is wrong with the figures comes before what was expected of them.
        let (caveats, expected): (Vec<_>, Vec<_>) = top
            .into_iter()
            .partition(|section| section.iter().any(|block| matches!(block, Block::Caveats(_))));
        (caveats.concat().into_iter().chain(expected.concat()).collect(), rest.concat())
    }

    fn parts<'a>(&'a self, names: &'a BTreeMap<CellId, String>) -> Vec<CellPart<'a>> {
        let part = |cell: &'a record::judged::CellView| {
            let name = names.get(&cell.id).map_or(cell.stack.as_str(), String::as_str);
            let own = |plot: &&DotPlot| {
                plot.workload == cell.workload && plot.rows.iter().any(|row| row.label == name)
            };
            let judged = self.dot_plots().find(own).map(|plot| plot.metric.as_str());
            CellPart { view: self.view, cell, name, judged, trials: self.trials }
        };
        self.view.cells.iter().map(part).collect()
    }

    fn cells(&self, names: &BTreeMap<CellId, String>) -> Markup {
        let open = self.view.cells.len() <= UNFOLDED;
        html! {
            @if !self.view.cells.is_empty() {
                h2 { "Cell by cell" }
                @for part in self.parts(names) { (part.markup(open)) }
            }
        }
    }

    /// The experiment file, and how to run it again.
    fn again(&self) -> Markup {
        let set = |(name, value): (&String, &String)| format!(" --set {name}={value}");
        let set: String = self.view.parameters.iter().map(set).collect();
        let command = format!("diskproof run experiment.yaml --seed {}{set}", self.view.seed);
        html! {
            @if !self.source.is_empty() {
                h2 { "The experiment file" }
                p { "To run it again, save this text as experiment.yaml; then " code { (printable_lines(&command)) } "." }
                details { summary { "Its text" } pre tabindex="0" { (printable_lines(self.source)) } }
            }
        }
    }
}

/// Whether a heading's content begins with the next block: a table below a heading belongs to it.
fn is_heading_of(before: &Block, next: &Block) -> bool {
    matches!(before, Block::Heading(_)) && matches!(next, Block::Table(_))
}

/// Whether a block says how the figures were measured: that stands at the end.
fn is_note(block: &Block) -> bool {
    matches!(block, Block::Notes(_))
}

fn is_for_the_top(section: &[&Block]) -> bool {
    section.iter().any(|block| match block {
        Block::Caveats(_) => true,
        Block::Heading(heading) => heading.text == report::EXPECTATIONS,
        _ => false,
    })
}

fn figures(heading: &str, all: Vec<Figure>) -> Markup {
    html! {
        @if !all.is_empty() {
            h2 { (heading) }
            @for figure in &all { (figure.markup()) }
        }
    }
}
