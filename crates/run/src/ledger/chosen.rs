//! The lengths of trials that diskproof chose.

use std::collections::BTreeMap;

/// The chosen lengths in seconds, by group of cells; other groups keep the plan's length.
#[derive(Debug, Default)]
pub(super) struct Lengths(pub(super) BTreeMap<usize, f64>);

impl Lengths {
    pub(super) fn of(&self, group: usize, otherwise: f64) -> f64 {
        self.chosen(group).unwrap_or(otherwise)
    }

    pub(super) fn chosen(&self, group: usize) -> Option<f64> {
        self.0.get(&group).copied()
    }
}
