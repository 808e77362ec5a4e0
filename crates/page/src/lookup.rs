//! What the parts of a page need to know of a cell, looked up once, so that a run of many thousand cells is drawn in one pass.

use crate::cells::CellPart;
use crate::trials::Trials;
use record::finding::Finding;
use record::id::CellId;
use record::judged::{CellView, RunView};
use report::{Block, Document, DotPlot, DotRow};
use std::collections::BTreeMap;

/// Names, judged figures and findings of the cells of a run.
pub(crate) struct Lookup<'a> {
    names: BTreeMap<CellId, String>,
    /// The metric and the row of the dot plot that has a row of this workload and label: the one that an answer is about, or else the first.
    judged: BTreeMap<(&'a str, &'a str), (&'a str, &'a DotRow)>,
    findings: BTreeMap<&'a CellId, Vec<&'a Finding>>,
}

impl<'a> Lookup<'a> {
    /// The lookup of a run and its document.
    pub(crate) fn of(view: &'a RunView, document: &'a Document) -> Self {
        let mut judged: BTreeMap<(&str, &str), (&str, &DotRow)> = BTreeMap::new();
        for plot in dot_plots(document) {
            for row in &plot.rows {
                let cell = (plot.workload.as_str(), row.label.as_str());
                let found = judged.entry(cell).or_insert((plot.metric.as_str(), row));
                if found.1.place.is_none() && row.place.is_some() {
                    *found = (plot.metric.as_str(), row);
                }
            }
        }
        let mut findings: BTreeMap<_, Vec<_>> = BTreeMap::new();
        view.findings.iter().for_each(|finding| findings.entry(&finding.cell).or_default().push(finding));
        Self { names: report::names(view), judged, findings }
    }

    /// The names of all cells: the parts in which they differ.
    pub(crate) fn names(&self) -> &BTreeMap<CellId, String> {
        &self.names
    }

    /// The name of a cell.
    pub(crate) fn name<'b>(&'b self, cell: &'b CellView) -> &'b str {
        self.names.get(&cell.id).map_or(cell.stack.as_str(), String::as_str)
    }

    /// The findings of a cell, the worst first.
    pub(crate) fn findings(&self, cell: &CellId) -> &[&'a Finding] {
        self.findings.get(cell).map_or(&[], Vec::as_slice)
    }

    /// The metric that a cell is judged by, and its row of the dot plot of this metric.
    pub(crate) fn judged(&self, cell: &CellView) -> Option<(&'a str, &'a DotRow)> {
        self.judged.get(&(cell.workload.as_str(), self.name(cell))).copied()
    }

    /// A cell with what is shown of it.
    pub(crate) fn part<'b>(&'b self, cell: &'b CellView, trials: &'b Trials) -> CellPart<'b> {
        CellPart {
            cell,
            name: self.name(cell),
            judged: self.judged(cell).map(|(metric, _)| metric),
            findings: self.findings(&cell.id),
            trials,
        }
    }
}

/// The dot plots of a document.
pub(crate) fn dot_plots(document: &Document) -> impl Iterator<Item = &DotPlot> {
    document.blocks.iter().filter_map(|block| match block {
        Block::DotPlot(plot) => Some(plot),
        _ => None,
    })
}
