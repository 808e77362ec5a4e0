//! `diskproof report RUN -o DIR/`: a run of many cells as an overview and pages of a few cells each.

use super::read::Read;
use super::write;
use crate::exit::Failure;
use ::page::{FolderPart, Link, OVERVIEW, RunFolder, Trials};
use record::printable::Shown as _;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
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
    // While one page is drawn, the trials of the next one are read.
    std::thread::scope(|scope| {
        let (give, take) = sync_channel::<(usize, Trials)>(0);
        let drawing = scope.spawn(|| {
            take.into_iter().try_for_each(|(place, trials)| {
                let file = pages.parts().get(place).map_or("", FolderPart::file);
                write(&folder.join(file), &pages.page(place, &trials))
            })
        });
        let read = trials(store, read, pages.parts(), give);
        let drawn = drawing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        drawn.and(read)
    })?;
    write(&folder.join(OVERVIEW), &pages.overview(links))?;
    Ok(pages.parts().len() + 1)
}

/// Reads the trials of each page and passes them on, with the place of the page.
///
/// # Errors
/// A trial can't be read.
fn trials(
    store: &Store,
    read: &Read,
    parts: &[FolderPart<'_>],
    give: SyncSender<(usize, Trials)>,
) -> Result<(), Failure> {
    for (place, part) in parts.iter().enumerate() {
        let trials = read.trials_of(store, &part.cells())?;
        // Nobody takes more after a page that can't be written.
        if give.send((place, trials)).is_err() {
            break;
        }
    }
    Ok(())
}
