//! `diskproof report [RUN]`: the result as one HTML file, one of its pictures, or pages of all runs.

mod folder;
mod read;
mod site;

use super::show::{find, open_existing};
use crate::args::Report;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use ::page::{MOST_CELLS, RunPage, Trials};
use read::Read;
use record::printable::Shown as _;
use std::io::IsTerminal as _;
use std::path::Path;
use store::Store;

pub(crate) fn report(args: &Report, settings: &Settings) -> Result<Exit, Failure> {
    if args.all.is_none() && args.output.is_none() && std::io::stdout().is_terminal() {
        return Err(Failure::input("a terminal can't show pictures: give a file, e.g. -o report.html"));
    }
    let store = open_existing(settings)?;
    if let Some(folder) = &args.all {
        return site::write_all(&store, folder);
    }
    let run = find(&store, &args.run)?;
    let read = Read::of(&store, &run)?;
    let text = match (&args.chart, args.output.as_deref().filter(|path| is_folder(path))) {
        (Some(_), Some(folder)) => {
            return Err(Failure::input(format!("a picture is one file, but {} is a folder", folder.shown())));
        }
        (Some(name), None) => chart(&store, &read, name)?,
        (None, Some(folder)) => {
            let pages = folder::write_run(&store, &read, folder, &[])?;
            output::aside(&format!(
                "wrote {pages} pages of {} cells: {}",
                read.view.cells.len(),
                folder.join(::page::OVERVIEW).shown()
            ));
            return Ok(Exit::Fine);
        }
        (None, None) => one_page(&store, &read)?,
    };
    match &args.output {
        None => output::answer(&text)?,
        Some(path) => write(path, &text)?,
    }
    Ok(Exit::Fine)
}

/// Whether a path names a folder: it is one, or it ends with a slash.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// # Errors
/// The run has too many cells for one page, or its trials can't be read.
fn one_page(store: &Store, read: &Read) -> Result<String, Failure> {
    let cells = read.view.cells.len();
    if cells > MOST_CELLS {
        return Err(Failure::input(format!(
            "the run has {cells} cells, too many for one page (at most {MOST_CELLS}): give a folder, e.g. -o report/"
        )));
    }
    let trials = read.trials(store)?;
    let document = report::result(&read.view);
    Ok(read.page(&document, &trials).html())
}

/// A picture, from the trials that it needs.
///
/// # Errors
/// There is no such picture, or the trials can't be read.
fn chart(store: &Store, read: &Read, name: &str) -> Result<String, Failure> {
    let trials = match RunPage::cell_of_chart(&read.view, name) {
        Some(cell) => read.trials_of(store, std::slice::from_ref(cell))?,
        None => Trials::default(),
    };
    let document = report::result(&read.view);
    let drawn = read.page(&document, &trials).chart(name);
    if drawn.is_ok() || read.view.cells.len() > MOST_CELLS {
        return drawn.map_err(Failure::input);
    }
    // The answer to a wrong name lists all pictures, and which there are depends on the trials.
    read.page(&document, &read.trials(store)?).chart(name).map_err(Failure::input)
}

/// # Errors
/// The file can't be written.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| Failure::machine(format!("can't write {}: {e}", path.shown())))
}
