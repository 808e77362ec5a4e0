//! Runs and cells by their names, where several runs meet.

use crate::id::{CellId, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run in a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// The run.
    pub run: RunId,
    /// Its experiment's name.
    pub experiment: String,
}

/// The names of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellName {
    /// Identity of the cell.
    pub id: CellId,
    /// Machine that the cell ran on.
    pub target: String,
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// Levels of all factors.
    pub levels: BTreeMap<String, String>,
}
