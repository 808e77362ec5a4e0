//! What a trial tells its cell's search.

use super::course::float;
use record::plan::Cell;
use record::trial::{Outcome, TrialRecord};
use stats::SearchTrial;

/// What a measured trial tells its cell's search; `None` for other trials.
pub(super) fn told(cell: &Cell, record: &TrialRecord) -> Option<SearchTrial> {
    let find = cell.find().filter(|_| record.outcome == Outcome::Measured && record.engine.is_some())?;
    let shown = find.shown(cell, record)?;
    Some(SearchTrial {
        level: float(record.tried?.level),
        ratio: shown.ratio,
        value: shown.value,
        reached: shown.reached.filter(|_| shown.is_behind),
    })
}
