//! What a detector gets: one trial, and what is known around it.

use crate::attribute::Attribution;
use crate::facts::Facts;
use record::emulated::Range;
use record::environment::Environment;
use record::volume::VolumeFacts;

/// The input of a detector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) facts: &'a Facts<'a>,
    pub(crate) shares: &'a Attribution,
    /// Facts of the volumes under this cell.
    pub(crate) volumes: &'a [&'a VolumeFacts],
    /// The machine it ran on.
    pub(crate) machine: &'a Environment,
    /// The range in which figures of a lab guest's disks are valid.
    pub(crate) believed: Option<Range>,
}
