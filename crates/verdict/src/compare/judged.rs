//! What is compared: judged runs, by the names of their cells.

use record::comparison::CellName;
use record::judged::{CellView, RunView};
use record::plan::Plan;

/// A judged run with its plan.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The judged result.
    pub view: &'a RunView,
}

/// What is compared.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Metrics; empty: the rate by which each workload is judged, and the 99th percentiles of its latencies.
    pub metrics: Vec<String>,
    /// Names of stacks; empty: all.
    pub stacks: Vec<String>,
    /// Names of workloads; empty: all.
    pub workloads: Vec<String>,
    /// Whether to compare only rates if no metrics are named.
    pub rates_only: bool,
}

/// A cell's name in a comparison.
pub(super) fn name(cell: &CellView) -> CellName {
    CellName {
        id: cell.id.clone(),
        target: cell.target.clone(),
        stack: cell.stack.clone(),
        workload: cell.workload.clone(),
        levels: cell.levels.clone(),
    }
}
