//! A folder of pages: an index of the experiments, their histories, and comparisons of runs. Any web server can serve it, and a browser
//! can open it from a disk.

use crate::cells::id;
use crate::document::{block, title};
use crate::frame::{Frame, Link, frame};
use crate::past::{course, pasts};
use maud::{Markup, PreEscaped, html};
use record::history::History;
use record::printable::one_line;
use report::{Block, Document};
use std::collections::BTreeSet;

/// The most figures of an experiment that the index draws.
const DRAWN: usize = 4;

/// An experiment in the index.
#[derive(Debug)]
pub struct ExperimentEntry {
    /// Its name.
    pub name: String,
    /// Its history.
    pub history: History,
    /// The file of its history.
    pub file: String,
    /// Its runs, the latest first.
    pub runs: Vec<RunEntry>,
}

/// A run in the index.
#[derive(Debug)]
pub struct RunEntry {
    /// Its name.
    pub run: String,
    /// The file of its page.
    pub file: String,
    /// When it began, in words.
    pub started: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The first sentence of its answer; empty if it has none.
    pub answer: String,
    /// The file that compares it with the run before; `None`: there is none before.
    pub compared: Option<String>,
}

/// Names of files that don't collide, of letters, digits and `-`, whatever they are made of.
#[derive(Debug, Default)]
pub struct FileNames {
    taken: BTreeSet<String>,
}

impl FileNames {
    /// A name that no other file has, e.g. `run-20261121-201455-3f9a.html`.
    pub fn name(&mut self, kind: &str, of: &str) -> String {
        let base = format!("{kind}-{}", id(of));
        let numbered = (2_u32..).map(|number| format!("{base}-{number}"));
        let mut all = std::iter::once(base.clone()).chain(numbered);
        // A file system doesn't distinguish upper and lower case everywhere.
        let free = all.find(|name| self.taken.insert(name.to_ascii_lowercase()));
        format!("{}.html", free.unwrap_or(base))
    }
}

/// The first sentence of a document's answer; empty if it has none.
#[must_use]
pub fn first_answer(document: &Document) -> String {
    let answers = document.blocks.iter().filter_map(|block| match block {
        Block::Answer(items) => items.first(),
        _ => None,
    });
    let text = |words: &report::Words| words.0.iter().map(|span| span.text.as_str()).collect::<String>();
    answers.map(text).next().unwrap_or_default()
}

/// A document as a page of a site, e.g. a comparison.
#[must_use]
pub fn document_page(name: &str, document: &Document, links: &[Link]) -> String {
    let body = html! {
        @for one in in_order(document) {
            @match one { Block::Title(text, under) => { (title(text, under)) } _ => { (block(one)) } }
        }
    };
    frame(&Frame { title: name, links, body, courses: None })
}

/// The page of a history: its document, and a picture of each figure with its changes of level.
#[must_use]
pub fn history_page(history: &History, document: &Document, links: &[Link]) -> String {
    let body = html! {
        @for one in in_order(document) {
            @match one { Block::Title(text, under) => { (title(text, under)) } _ => { (block(one)) } }
        }
        @for figure in pasts(history) { (figure.markup()) }
    };
    frame(&Frame { title: &history.experiment, links, body, courses: None })
}

/// The index of a site.
#[must_use]
pub fn index(experiments: &[ExperimentEntry]) -> String {
    let body = html! {
        h1 { "Experiments" }
        @if experiments.is_empty() { p { "No run is kept yet." } }
        @for experiment in experiments { (self::experiment(experiment)) }
    };
    frame(&Frame { title: "Experiments", links: &[], body, courses: None })
}

fn experiment(entry: &ExperimentEntry) -> Markup {
    let lines = || entry.history.lines.iter().filter(|line| line.points.len() > 1);
    html! {
        h2 { (one_line(&entry.name)) }
        p { a href=(entry.file) { "History" } @if lines().count() > DRAWN { ", with all figures" } }
        @if lines().next().is_some() {
            table {
                thead { tr { th scope="col" { "figure" } th scope="col" { "runs, oldest first" } th scope="col" class="n" { "latest" } } }
                tbody {
                    @for line in lines().take(DRAWN) {
                        tr {
                            td { (one_line(&line.metric)) " of " (one_line(&line.cell.stack)) "/" (one_line(&line.cell.workload)) }
                            td { (PreEscaped(course(&entry.history, line))) }
                            td class="n" { @if let Some(last) = line.points.last() { (report::quantity(last.value, &line.unit)) } }
                        }
                    }
                }
            }
        }
        table {
            thead { tr { th scope="col" { "run" } th scope="col" { "started (UTC)" } th scope="col" { "answer" } th scope="col" { "change" } } }
            tbody {
                @for run in &entry.runs {
                    tr {
                        td { a href=(run.file) { (one_line(&run.run)) } @for tag in &run.tags { " " (one_line(tag)) } }
                        td { (run.started) }
                        td { (one_line(&run.answer)) }
                        td { @if let Some(file) = &run.compared { a href=(file) { "since the run before" } } }
                    }
                }
            }
        }
    }
}

/// The blocks in the order of a page: the answer follows the title.
fn in_order(document: &Document) -> Vec<&Block> {
    let mut blocks: Vec<&Block> = document.blocks.iter().collect();
    blocks.sort_by_key(|block| match block {
        Block::Title(..) => 0,
        Block::Answer(_) => 1,
        _ => 2,
    });
    blocks
}

#[cfg(test)]
mod tests {
    use super::FileNames;

    #[test]
    fn names_of_files_never_leave_the_folder_and_never_collide() {
        let mut names = FileNames::default();
        let made = ["a b", "a-b", "A-B", "../../etc/passwd", "<script>"].map(|of| names.name("history", of));
        let expected = [
            "history-a-b.html",
            "history-a-b-2.html",
            "history-A-B-3.html",
            "history-------etc-passwd.html",
            "history--script-.html",
        ];
        assert_eq!(made, expected);
    }
}
