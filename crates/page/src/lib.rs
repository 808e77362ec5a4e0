//! Pages: a judged run as one HTML file that needs nothing else, with pictures. Sentences come from `report`'s document, figures from the
//! judged run; this crate only draws and lays out, and can't judge: it doesn't import `verdict`.

mod axis;
mod bonnie;
mod bytes;
mod cells;
mod curves;
mod document;
mod dots;
mod enlarge;
mod envelope;
mod figure;
mod folder;
mod frame;
mod layout;
mod lookup;
mod number;
mod pairs;
mod past;
mod ratios;
mod rounds;
mod run;
mod searches;
mod site;
mod style;
mod svg;
mod sweeps;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tracks;
mod trials;

use report::scale;

pub use folder::{FolderPart, MOST_CELLS, OVERVIEW, RunFolder};
pub use frame::Link;
pub use pairs::{MOST_PAIRED, Pairs};
pub use run::{NoSuchChart, RunPage};
pub use site::{ExperimentEntry, FileNames, RunEntry, document_page, first_answer, history_page, index};
pub use trials::{Reading, TrialPart, Trials};
