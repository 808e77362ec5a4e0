//! Where the data of a job file lies, and how much it is.

use super::{Asked, span};
use crate::diagnostic::printable;
use crate::problems::Problems;
use crate::source::Source;
use record::job_file::{Placed, Section, effective, resolve};

/// Reads the places and sizes of all jobs.
pub(super) fn read(
    source: &Source,
    sections: &[Section],
    problems: &mut Problems<'_>,
) -> Option<Vec<Placed>> {
    let mut placed = Vec::new();
    for (section, options) in effective(sections) {
        match Placed::of(section, &options) {
            Ok(place) => placed.push(place),
            Err(misplaced) => {
                let at = options.get(misplaced.option()).map_or(&section.at, |given| &given.at);
                problems.add_in(source, span(at), printable(&misplaced.to_string(), 200)).help(
                    "sizes are e.g. `256m`, `50%` of the file or device, or `8z` zones beside `zonesize`",
                );
                return None;
            }
        }
    }
    Some(placed)
}

/// Returns the bytes of all files together; `Some(None)`: the file or device decides, and the experiment says nothing.
pub(super) fn total(
    asked: &Asked<'_>,
    placed: &[Placed],
    problems: &mut Problems<'_>,
) -> Option<Option<u64>> {
    if let Ok((_, total)) = resolve(placed, None) {
        return Some(Some(total).filter(|bytes| *bytes > 0));
    }
    let Some(room) = asked.room else { return Some(None) };
    match resolve(placed, Some(room)) {
        Ok(_) => Some(None),
        Err(why) => {
            problems
                .add(asked.node.span, printable(&why.to_string(), 200))
                .expected("a larger `size`: it is the room of all files of the job file together");
            None
        }
    }
}
