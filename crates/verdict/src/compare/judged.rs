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
    /// Metrics; empty: the usual ones.
    pub metrics: Vec<String>,
    /// Names of stacks; empty: all.
    pub stacks: Vec<String>,
    /// Names of workloads; empty: all.
    pub workloads: Vec<String>,
    /// The factor in which two cells of a run differ, with everything else the same; `None`: cells of one workload are compared.
    pub along: Option<String>,
    /// Which metrics are compared if none are named.
    pub usual: Usual,
}

/// Which metrics are compared if none are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Usual {
    /// The rate by which each workload is judged, derived metrics, and the 99th percentiles.
    #[default]
    Compared,
    /// The same, with only those percentiles that ten I/Os of each trial lie beyond, and with the CPU cost of an I/O.
    Gated,
}

/// A cell's name in a comparison.
pub(crate) fn name(cell: &CellView) -> CellName {
    CellName {
        id: cell.id.clone(),
        target: cell.target.clone(),
        stack: cell.stack.clone(),
        workload: cell.workload.clone(),
        levels: cell.levels.clone(),
    }
}
