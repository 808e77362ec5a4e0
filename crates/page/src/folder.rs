//! A run of many cells as a folder: an overview, and pages of a few cells each. A page is made from the trials of its own cells, so a
//! program that writes the folder never needs all trials at once.

mod overview;
#[cfg(test)]
mod tests;

use crate::document::block;
use crate::dots::dots;
use crate::enlarge::courses;
use crate::figure::Figure;
use crate::frame::{Frame, Link, frame};
use crate::lookup::{Lookup, dot_plots};
use crate::pairs::{Pairs, of_pairs};
use crate::run::{RunPage, figures};
use crate::searches::{Limited, limits, of_limit};
use crate::sweeps::{Cells, by_id, of_sweep};
use crate::trials::Trials;
use maud::html;
use record::id::CellId;
use record::judged::{CellView, RunView, SweepView};
use record::printable::one_line;
use report::{Block, Document, DotPlot, DotRow, Level, Table};
use std::collections::BTreeMap;

/// The most cells of a run that one page shows: 300 cells of 20 rounds are about 8 MB, which a browser opens in some seconds.
pub const MOST_CELLS: usize = 300;
/// The name of the overview.
pub const OVERVIEW: &str = "index.html";
/// The most cells of a page in a folder.
const TOGETHER: usize = 50;

/// The pages of a run.
pub struct RunFolder<'a> {
    view: &'a RunView,
    document: &'a Document,
    source: &'a str,
    lookup: Lookup<'a>,
    cells: Cells<'a>,
    parts: Vec<FolderPart<'a>>,
}

/// One page: some cells of one workload.
pub struct FolderPart<'a> {
    file: String,
    workload: &'a str,
    /// The place of its first cell among those of the workload, from 0, and their number.
    first: usize,
    of: usize,
    cells: Vec<&'a CellView>,
    /// The rows of its cells, by the place of their dot plot in the document.
    rows: BTreeMap<usize, Vec<&'a DotRow>>,
    /// The table of its cells.
    table: Option<Block>,
    /// Pairs and sweeps that begin with one of its cells, and searches of its cells, with their places in the run.
    pairs: Vec<(usize, &'a Pairs)>,
    sweeps: Vec<(usize, &'a SweepView)>,
    searches: Vec<Limited<'a>>,
}

impl FolderPart<'_> {
    /// The name of its file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The cells that its trials are needed of.
    #[must_use]
    pub fn cells(&self) -> Vec<CellId> {
        self.cells.iter().map(|cell| cell.id.clone()).collect()
    }

    /// Its title: the workload, and which of its cells these are.
    fn title(&self) -> String {
        let last = self.first + self.cells.len();
        format!("{}: cells {} to {last} of {}", self.workload, self.first + 1, self.of)
    }
}

impl<'a> RunFolder<'a> {
    /// The folder of a run. [`RunFolder::page`] uses only the trials that it gets.
    #[must_use]
    pub fn of(run: &RunPage<'a>) -> Self {
        let RunPage { view, document, source, .. } = *run;
        let lookup = Lookup::of(view, document);
        let mut parts = parts(view);
        let mut named = BTreeMap::new();
        let mut places = BTreeMap::new();
        for (place, part) in parts.iter().enumerate() {
            for cell in &part.cells {
                named.insert((part.workload, lookup.name(cell).to_owned()), place);
                places.insert(&cell.id, place);
            }
        }
        for (plot, at) in dot_plots(document).zip(0..) {
            for row in &plot.rows {
                let place = named.get(&(plot.workload.as_str(), row.label.clone()));
                if let Some(part) = place.and_then(|place| parts.get_mut(*place)) {
                    part.rows.entry(at).or_default().push(row);
                }
            }
        }
        tables(document, &mut parts);
        let place_of = |cell: Option<&CellId>| cell.and_then(|cell| places.get(cell)).copied();
        for (place, pairs) in (1..).zip(run.pairs) {
            let part = place_of(pairs.best()).and_then(|at| parts.get_mut(at));
            part.into_iter().for_each(|part| part.pairs.push((place, pairs)));
        }
        for (place, sweep) in (1..).zip(&view.sweeps) {
            let part = place_of(sweep.cells.first()).and_then(|at| parts.get_mut(at));
            part.into_iter().for_each(|part| part.sweeps.push((place, sweep)));
        }
        for limited in limits(view) {
            let part = place_of(Some(&limited.1.cell)).and_then(|at| parts.get_mut(at));
            part.into_iter().for_each(|part| part.searches.push(limited));
        }
        Self { view, document, source, lookup, cells: by_id(view), parts }
    }

    /// Its pages beside the overview.
    #[must_use]
    pub fn parts(&self) -> &[FolderPart<'a>] {
        &self.parts
    }

    /// The overview, with links to pages outside the folder.
    #[must_use]
    pub fn overview(&self, links: &[Link]) -> String {
        overview::overview(self, links)
    }

    /// One of the pages beside the overview, by its place; `trials` has the trials of its cells.
    #[must_use]
    pub fn page(&self, place: usize, trials: &Trials) -> String {
        let Some(part) = self.parts.get(place) else { return String::new() };
        let link =
            |part: &FolderPart<'_>, text: &str| Link { file: part.file.clone(), text: text.to_owned() };
        let mut links = vec![Link { file: OVERVIEW.to_owned(), text: "Overview".to_owned() }];
        links.extend(
            place.checked_sub(1).and_then(|before| self.parts.get(before)).map(|p| link(p, "Cells before")),
        );
        links.extend(self.parts.get(place + 1).map(|p| link(p, "Next cells")));
        let body = html! {
            h1 { (one_line(&part.title())) }
            p { "A part of the run " (one_line(&self.view.run.0)) " of " (one_line(&self.view.experiment)) "." }
            @for figure in self.plots(part) { (figure.markup()) }
            @if let Some(table) = &part.table { (block(table)) }
            (figures("More pictures", &self.of_several(part)))
            h2 { "Cell by cell" }
            @for cell in &part.cells { (self.lookup.part(cell, trials).markup(true)) }
        };
        let courses = courses(part.cells.iter().copied(), trials);
        frame(&Frame { title: &part.title(), links: &links, body, courses })
    }

    /// Its pairs, sweeps and searches.
    fn of_several(&self, part: &FolderPart<'_>) -> Vec<Figure> {
        let names = self.lookup.names();
        let pairs = part.pairs.iter().filter_map(|(place, pairs)| of_pairs(*place, pairs, names));
        let sweeps = part.sweeps.iter().filter_map(|(place, sweep)| of_sweep(*place, sweep, &self.cells));
        let searches = part.searches.iter().filter_map(|limited| of_limit(limited, names));
        pairs.chain(sweeps).chain(searches).collect()
    }

    /// The dot plots of a page: those of the run, with the rows of its cells.
    fn plots(&self, part: &FolderPart<'_>) -> Vec<Figure> {
        let own = |(at, plot): (usize, &DotPlot)| {
            let rows = part.rows.get(&at)?.iter().copied().cloned().collect();
            Some(dots(format!("dots-{}", at + 1), &DotPlot { rows, ..about(plot) }))
        };
        (0..).zip(dot_plots(self.document)).filter_map(own).collect()
    }
}

/// A dot plot without its rows.
fn about(plot: &DotPlot) -> DotPlot {
    DotPlot {
        workload: plot.workload.clone(),
        metric: plot.metric.clone(),
        unit: plot.unit.clone(),
        confidence: plot.confidence,
        rows: Vec::new(),
        leads: plot.leads,
        in_text: plot.in_text,
    }
}

/// Divides the table of all cells: it has them in the order of the pages.
fn tables(document: &Document, parts: &mut [FolderPart<'_>]) {
    let measured = document.blocks.iter().find_map(|block| match block {
        Block::Table(table) if table.title == Some(report::MEASURED) => Some(table),
        _ => None,
    });
    let Some(table) = measured else { return };
    let mut cells = table.rows.chunk_by(|_, next| next.begins == Level::Line);
    for part in parts {
        let rows = cells.by_ref().take(part.cells.len()).flatten().cloned().collect();
        part.table = Some(Block::Table(Table { rows, ..head(table) }));
    }
}

/// A table without its rows.
fn head(table: &Table) -> Table {
    Table {
        title: table.title,
        columns: table.columns.clone(),
        rows: Vec::new(),
        layouts: table.layouts.clone(),
        left_out: table.left_out.clone(),
    }
}

/// The cells by workload, in their order, a few together.
fn parts<'a>(view: &'a RunView) -> Vec<FolderPart<'a>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut workloads: Vec<(&str, Vec<&CellView>)> = Vec::new();
    for cell in &view.cells {
        let place = *places.entry(&cell.workload).or_insert(workloads.len());
        match workloads.get_mut(place) {
            Some((_, cells)) => cells.push(cell),
            None => workloads.push((&cell.workload, vec![cell])),
        }
    }
    let chunks = workloads.iter().flat_map(|(workload, cells)| {
        (0..)
            .step_by(TOGETHER)
            .zip(cells.chunks(TOGETHER))
            .map(move |(first, some)| (*workload, first, cells.len(), some))
    });
    let part = |((workload, first, of, cells), number): (_, u32)| {
        let cells: &[&'a CellView] = cells;
        FolderPart {
            file: format!("cells-{number:04}.html"),
            workload,
            first,
            of,
            cells: cells.to_vec(),
            rows: BTreeMap::new(),
            table: None,
            pairs: Vec::new(),
            sweeps: Vec::new(),
            searches: Vec::new(),
        }
    };
    chunks.zip(1..).map(part).collect()
}
