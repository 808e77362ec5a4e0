//! Findings and expectations by cell, so that a run of many thousand cells is formatted in one pass.

use record::finding::{Claim, Finding, Severity};
use record::id::CellId;
use record::judged::{CellView, ExpectationView, RunView};
use std::collections::BTreeMap;

/// A judged run with an index of its cells.
#[derive(Debug)]
pub(crate) struct Index<'a> {
    pub(crate) view: &'a RunView,
    cells: BTreeMap<&'a CellId, &'a CellView>,
    expectations: BTreeMap<&'a CellId, Vec<&'a ExpectationView>>,
    findings: BTreeMap<&'a CellId, Vec<&'a Finding>>,
    /// Whether the cells differ in target, stack and workload.
    pub(crate) targets: bool,
    pub(crate) stacks: bool,
    pub(crate) workloads: bool,
}

impl<'a> Index<'a> {
    pub(crate) fn of(view: &'a RunView) -> Self {
        let mut expectations: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for e in &view.expectations {
            expectations.entry(&e.cell).or_default().push(e);
        }
        let mut findings: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for f in &view.findings {
            findings.entry(&f.cell).or_default().push(f);
        }
        let differ = |of: fn(&CellView) -> &String| view.cells.iter().any(|c| of(c) != of(&view.cells[0]));
        Self {
            view,
            cells: view.cells.iter().map(|c| (&c.id, c)).collect(),
            expectations,
            findings,
            targets: differ(|c| &c.target),
            stacks: differ(|c| &c.stack),
            workloads: differ(|c| &c.workload),
        }
    }

    pub(crate) fn expectations(&self, cell: &CellId) -> &[&'a ExpectationView] {
        self.expectations.get(cell).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn findings(&self, cell: &CellId) -> &[&'a Finding] {
        self.findings.get(cell).map_or(&[], Vec::as_slice)
    }

    /// Whether a cell's rounds rise or fall steadily, so that their mean doesn't hold.
    pub(crate) fn climbs(&self, cell: &CellId) -> bool {
        self.findings(cell).iter().any(|finding| says_it_climbs(finding))
    }

    /// Whether a cell is a search that made trials.
    pub(crate) fn is_searched(&self, cell: &CellId) -> bool {
        self.view.searches.iter().any(|search| search.cell == *cell && !search.tried.is_empty())
    }

    pub(crate) fn cell(&self, id: &CellId) -> Option<&'a CellView> {
        self.cells.get(id).copied()
    }

    /// A cell's name: the parts in which the cells differ.
    pub(crate) fn name(&self, id: &CellId) -> String {
        let Some(cell) = self.cells.get(id) else {
            return id.to_string();
        };
        let base = match (self.stacks, self.workloads) {
            (true, true) => format!("{}/{}", cell.stack, cell.workload),
            (false, true) => cell.workload.clone(),
            _ => cell.stack.clone(),
        };
        if self.targets { format!("{}:{base}", cell.target) } else { base }
    }
}

/// The name of each cell: the parts in which the cells of the run differ.
#[must_use]
pub fn names(view: &RunView) -> BTreeMap<CellId, String> {
    let index = Index::of(view);
    view.cells.iter().map(|cell| (cell.id.clone(), index.name(&cell.id))).collect()
}

pub(crate) fn says_it_climbs(finding: &Finding) -> bool {
    matches!(finding.claim, Claim::Trend | Claim::CacheWarming) && finding.severity == Severity::Caveat
}
