//! A run of many cells as a folder: each cell has its page, the overview leads to it, and a page needs the trials of its cells only.

use super::{OVERVIEW, RunFolder};
use crate::testing::{Made, made};
use crate::tests::{close, elements, figure, parsed, rows, text, xml};
use crate::{Link, Trials};
use record::id::CellId;
use std::collections::{BTreeMap, BTreeSet};

/// The cells of a run, and those of the first one, which have trials.
const CELLS: usize = 130;

/// A run of two workloads: the cells of the small run, repeated with other names.
fn wide() -> Made {
    let mut made = made("randread");
    let known = made.view.cells.clone();
    let more = (known.len()..CELLS).zip(known.iter().cycle()).map(|(at, cell)| {
        let mut cell = cell.clone();
        cell.id = CellId(format!("more-{at}"));
        cell.stack = format!("stack-{at}");
        if at % 2 == 0 {
            cell.workload = "other".to_owned();
        }
        cell
    });
    made.view.cells.extend(more);
    made
}

#[test]
fn each_cell_is_on_one_page_and_the_overview_leads_to_it() {
    let made = wide();
    let document = report::result(&made.view);
    let none = Trials::default();
    let folder = RunFolder::of(&crate::RunPage { trials: &none, ..made.page(&document) });
    let pages: BTreeMap<&str, String> = folder
        .parts()
        .iter()
        .zip(0..)
        .map(|(part, at)| (part.file(), folder.page(at, &made.trials)))
        .collect();
    assert_eq!(pages.len(), 4, "no page has more than 50 cells, or cells of two workloads");
    let overview = folder.overview(&[Link { file: "../index.html".to_owned(), text: "All".to_owned() }]);
    let overview = xml(&overview);
    let overview = parsed(&overview);
    let links: Vec<&str> = elements(overview.root(), "a")
        .filter_map(|a| a.attribute("href"))
        .filter(|to| to.contains('#'))
        .collect();
    assert_eq!(links.len(), CELLS);
    assert_eq!(links.iter().collect::<BTreeSet<_>>().len(), CELLS);
    for link in links {
        let (file, id) = link.split_once('#').unwrap();
        assert!(pages[file].contains(&format!("id=\"{id}\"")), "{link} leads nowhere");
    }
    let home = format!("href=\"{OVERVIEW}\"");
    assert!(pages.values().all(|page| page.contains(&home)));
}

#[test]
fn a_page_has_the_figures_of_its_cells_and_the_pictures_of_their_trials() {
    let made = wide();
    let document = report::result(&made.view);
    let folder = RunFolder::of(&made.page(&document));
    let page = xml(&folder.page(0, &made.trials));
    let page = parsed(&page);
    let cells = folder.parts()[0].cells();
    let plot = rows(figure(&page, "dots-1"));
    let table = elements(page.root(), "tbody")
        .find(|body| !body.ancestors().any(|n| n.tag_name().name() == "figure"));
    assert_eq!((cells.len(), plot.len()), (50, 50));
    assert_eq!(elements(table.unwrap(), "tr").count(), 50, "the lines of its cells");
    for (row, id) in plot.iter().zip(&cells) {
        let cell = made.view.cells.iter().find(|cell| cell.id == *id).unwrap();
        assert!(close(&row[1], cell.metrics["iops"].estimate) && row[0].starts_with(&cell.stack), "{row:?}");
    }
    figure(&page, "sweep-1");
    figure(&page, "search-1");
    figure(&page, &format!("rounds-{}", cells[0]));
    let title = elements(page.root(), "h1").next().unwrap();
    assert_eq!(text(title), "randread: cells 1 to 50 of 67");
}

#[test]
fn the_overview_shows_the_cells_nearest_to_the_best_and_says_so() {
    let made = wide();
    let document = report::result(&made.view);
    let folder = RunFolder::of(&made.page(&document));
    let page = xml(&folder.overview(&[]));
    let page = parsed(&page);
    let plot = figure(&page, "dots-1");
    let shown = rows(plot);
    assert_eq!(shown.len(), 20);
    // The three cells of the answer are nearer than those that it doesn't compare.
    for cell in &made.view.cells[..3] {
        assert!(shown.iter().any(|row| row[0].starts_with(&cell.stack)), "{} is missing", cell.stack);
    }
    assert!(text(plot).contains("20 of 67 cells"), "{}", text(plot));
}
