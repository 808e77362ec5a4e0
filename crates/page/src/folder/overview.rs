//! The overview of a run of many cells: the answer with the cells nearest to the best, what to know before quoting it, and a line for each
//! cell that leads to its page.

use super::{RunFolder, about, head};
use crate::cells::id;
use crate::document::{block, title};
use crate::dots::dots;
use crate::figure::Figure;
use crate::frame::{Frame, Link, frame};
use crate::layout::{again, answers, blocks, is_note, plots};
use crate::ratios::ratios;
use maud::{Markup, html};
use record::judged::CellView;
use record::printable::one_line;
use report::{Block, DotPlot, DotRow, List, Place, Table};

/// The most dot plots, the most rows of each, and the most items of a list or rows of a table.
const PLOTS: usize = 12;
const ROWS: usize = 20;
const ITEMS: usize = 100;

/// The page.
pub(super) fn overview(folder: &RunFolder<'_>, links: &[Link]) -> String {
    let document = folder.document;
    let (first, _) = plots(document);
    let (top, rest) = blocks(document);
    // The table of all cells is below, with links.
    let is_measured =
        |block: &Block| matches!(block, Block::Table(table) if table.title == Some(report::MEASURED));
    let rest: Vec<&Block> = rest.into_iter().filter(|block| !is_measured(block)).collect();
    let left_out = first.len().saturating_sub(PLOTS);
    let body = html! {
        @if let Some(Block::Title(text, under)) = document.blocks.first() { (title(text, under)) }
        @for answer in answers(document) { (short(answer)) }
        @for (place, plot) in first.into_iter().take(PLOTS) { (leaders(place, plot).markup()) }
        @if left_out > 0 { p { (left_out) " more pictures like these stand on the pages of the cells." } }
        @for part in &top { (short(part)) }
        @for part in rest.iter().filter(|block| !is_note(block)) { (short(part)) }
        @if let Some(figure) = ratios(folder.view) { h2 { "More pictures" } (figure.markup()) }
        (cells(folder))
        @for part in rest.iter().filter(|block| is_note(block)) { (short(part)) }
        (again(folder.view, folder.source))
    };
    frame(&Frame { title: &folder.view.experiment, links, body, courses: None })
}

/// A dot plot of the cells that come first. No number depends on which are shown.
fn leaders(place: usize, plot: &DotPlot) -> Figure {
    let mut order: Vec<(f64, usize)> = plot.rows.iter().map(distance).zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut kept: Vec<usize> = order.into_iter().take(ROWS).map(|(_, at)| at).collect();
    kept.sort_unstable();
    let rows: Vec<DotRow> = kept.iter().filter_map(|at| plot.rows.get(*at)).cloned().collect();
    let shown = rows.len();
    let mut figure = dots(format!("dots-{place}"), &DotPlot { rows, ..about(plot) });
    if shown < plot.rows.len() {
        figure.sentence.push_str(&format!(
            " {shown} of {} cells: the best, its ties, and the nearest behind it. The pages below have all cells.",
            plot.rows.len()
        ));
    }
    figure
}

/// How far a row is behind the best: 0 for the best, then the ties, then the others by their ratio.
fn distance(row: &DotRow) -> f64 {
    match row.place {
        Some(Place::Best) => 0.0,
        Some(Place::Tied(_)) => f64::MIN_POSITIVE,
        // A ratio of a figure that is better low is below 1.
        Some(Place::Behind(Some(ratio))) if ratio.ratio > 0.0 => 1.0 + ratio.ratio.ln().abs(),
        _ => f64::INFINITY,
    }
}

/// A block with the first of its items, and how many it leaves out.
fn short(whole: &Block) -> Markup {
    let (shown, left_out) = match whole {
        Block::Answer(items) => cut(items, Block::Answer),
        Block::List(list) => cut(&list.items, |items| Block::List(List { items, most: list.most })),
        Block::Tree(branches) => cut(branches, Block::Tree),
        Block::Caveats(all) => cut(all, Block::Caveats),
        Block::Table(table) => cut(&table.rows, |rows| Block::Table(Table { rows, ..head(table) })),
        _ => return block(whole),
    };
    html! {
        (block(&shown))
        @if left_out > 0 { p { "And " (left_out) " more, which " code { "diskproof show" } " prints." } }
    }
}

fn cut<T: Clone>(items: &[T], made: impl Fn(Vec<T>) -> Block) -> (Block, usize) {
    (made(items.iter().take(ITEMS).cloned().collect()), items.len().saturating_sub(ITEMS))
}

/// A line for each cell, with a link to its page.
fn cells(folder: &RunFolder<'_>) -> Markup {
    html! {
        h2 { "All cells" }
        div class="scroll" tabindex="0" role="group" aria-label="All cells" {
            table class="numbers" {
                thead; tr; th; "cell" th; "figure" th; "value" th; "trials" th; "place" th; "findings"
                tbody;
                @for part in folder.parts() { @for cell in &part.cells { (line(folder, &part.file, cell)) } }
            }
        }
    }
}

fn line(folder: &RunFolder<'_>, file: &str, cell: &CellView) -> Markup {
    let judged = folder.lookup.judged(cell);
    let row = judged.map(|(_, row)| row);
    let place = row.and_then(|row| row.place).map_or("", |place| match place {
        Place::Best => "best",
        Place::Tied(_) => "tied",
        Place::Behind(_) => "behind",
    });
    html! {
        tr; td class="t"; a href=(format!("{file}#cell-{}", id(&cell.id.0))) { (one_line(folder.lookup.name(cell))) }
        td class="t"; @if let Some((metric, _)) = judged { (one_line(metric)) }
        td; @match row { Some(row) if row.void.is_some() => { s { (one_line(&row.shown)) } }, Some(row) => { (one_line(&row.shown)) }, None => { "not measured" } }
        td; (cell.trials.done)
        td class="t"; (place)
        td; (folder.lookup.findings(&cell.id).len())
    }
}
