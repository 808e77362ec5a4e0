//! `diskproof report RUN -o DIR/`: a run of many cells as an overview and pages of a few cells each.

use super::read::Read;
use super::write;
use crate::exit::Failure;
use ::page::{Link, OVERVIEW, RunFolder, Trials};
use record::printable::Shown as _;
use std::path::Path;
use store::Store;

/// Writes the pages, each from the trials of its own cells, and returns their number. `links` lead from the overview to other pages.
///
/// # Errors
/// A trial can't be read, or a file can't be written.
pub(super) fn write_run(store: &Store, read: &Read, folder: &Path, links: &[Link]) -> Result<usize, Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Failure::machine(format!("can't create {}: {e}", folder.shown())))?;
    let document = report::result(&read.view);
    let none = Trials::default();
    let pages = RunFolder::of(&read.page(&document, &none));
    for (place, part) in pages.parts().iter().enumerate() {
        let trials = read.trials_of(store, &part.cells())?;
        write(&folder.join(part.file()), &pages.page(place, &trials))?;
    }
    write(&folder.join(OVERVIEW), &pages.overview(links))?;
    Ok(pages.parts().len() + 1)
}
