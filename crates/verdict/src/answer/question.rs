//! A question about the cells of a workload, and the comparisons that decide it.

use crate::direction::Direction;
use crate::pairing::{FamilyMember, Level};
use record::finding::Finding;

/// One question about the cells of a workload.
pub(super) struct Question<'a> {
    pub(super) workload: &'a str,
    pub(super) metric: String,
    /// The beginning of the answer, if the metric isn't the workload's own.
    pub(super) label: Option<String>,
    pub(super) direction: Direction,
    pub(super) level: Level,
    /// Measured seconds of a trial.
    pub(super) seconds: f64,
    /// The findings of the whole run.
    pub(super) findings: &'a [Finding],
}

/// A pair of cells and the result of their comparison; `a` has the better estimate.
pub(super) struct Match {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) told: FamilyMember,
}
