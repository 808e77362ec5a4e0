//! `report` of a run of many cells: a folder, whose pages lead to each other.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod home;
#[path = "../../store/tests/support/sample.rs"]
#[allow(dead_code, reason = "the store's own tests use more of it")]
mod sample;

use home::Home;
use record::event::Stopped;
use sample::{environment, plan, run_id, trial};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One more than a page shows.
const CELLS: u32 = 301;

/// A store with a run of many cells, measured once each.
fn home() -> Home {
    let home = Home::new();
    let (store, run) = (home.store(), run_id("large"));
    store.create_run(&run, &plan(CELLS, 1), &environment("6.1.0")).unwrap();
    (0..CELLS).for_each(|cell| store.append_trial(&run, &trial(cell, 0)).unwrap());
    store.finish_run(&run, &Stopped::RoundsDone { rounds: 1 }).unwrap();
    home
}

/// The exit code and what standard error has.
fn report(home: &Home, args: &[&str]) -> (i32, String) {
    let answer = home.diskproof(&[&["report"], args].concat()).flat();
    (answer.code, answer.err)
}

/// The targets of a page's links: files, without the places in them.
fn targets(page: &Path) -> BTreeSet<PathBuf> {
    let text = std::fs::read_to_string(page).unwrap();
    let links = text.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
    links.map(|link| page.parent().unwrap().join(link.split('#').next().unwrap())).collect()
}

/// Follows all links from a page, and returns the pages that are reached.
fn reached(from: PathBuf) -> BTreeSet<PathBuf> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(page) = next.pop() {
        let page = page.canonicalize().unwrap_or_else(|_| panic!("{page:?} doesn't exist"));
        if seen.insert(page.clone()) {
            next.extend(targets(&page));
        }
    }
    seen
}

#[test]
fn a_run_of_many_cells_is_a_folder_and_each_page_is_reached() {
    let home = home();
    let (code, said) = report(&home, &["latest", "-o", "one.html"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("the run has 301 cells") && said.contains("-o report/"), "{said}");
    assert!(!home.file("one.html").exists());

    let (code, said) = report(&home, &["latest", "-o", "many/"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("wrote 8 pages of 301 cells: many/index.html"), "{said}");
    let folder = home.file("many");
    assert_eq!(reached(folder.join("index.html")).len(), 8);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 8);
    // An existing folder needs no slash.
    assert_eq!(report(&home, &["latest", "-o", "many"]).0, 0);
}

#[test]
fn a_site_has_the_folder_of_a_run_of_many_cells_in_it() {
    let home = home();
    let (code, said) = report(&home, &["--all", "site"]);
    assert_eq!(code, 0, "{said}");
    let index = home.file("site").join("index.html").canonicalize().unwrap();
    let pages = reached(index.clone());
    assert_eq!(pages.len(), 10, "the index, the history, and the folder: {pages:?}");
    let own: Vec<&PathBuf> = pages.iter().filter(|page| page.ends_with("run-large/index.html")).collect();
    assert!(reached(own[0].clone()).contains(&index), "its overview leads back");
}

#[test]
fn a_picture_of_a_cell_is_one_file() {
    let home = home();
    let cell = trial(7, 0).id.cell;
    let name = format!("rounds-{cell}");
    assert_eq!(report(&home, &["latest", "--chart", &name, "-o", "rounds.svg"]).0, 0);
    let svg = std::fs::read_to_string(home.file("rounds.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("class=\"track\""), "{svg}");
    std::fs::create_dir(home.file("folder")).unwrap();
    let (code, said) = report(&home, &["latest", "--chart", &name, "-o", "folder"]);
    assert!(code == 2 && said.contains("a picture is one file"), "{said}");
    let (code, said) = report(&home, &["latest", "--chart", "no", "-o", "no.svg"]);
    assert!(code == 2 && said.contains("more") && said.len() < 5000, "{said}");
}
