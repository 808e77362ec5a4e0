//! What came of a trial, as the controller's lane learns it.

use crate::error::RunError;
use record::trial::TrialRecord;

/// What came of a trial.
#[derive(Debug)]
pub(crate) struct Made {
    /// Its record; `None` when the user stopped it.
    pub(crate) record: Option<TrialRecord>,
    /// Why machines are lost that took part in it.
    pub(crate) lost: Option<RunError>,
}
