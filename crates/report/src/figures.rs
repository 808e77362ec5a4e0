//! The figures of a run: a dot plot per workload and metric, with the numbers of the table.

use crate::document::{DotPlot, DotRow, Place};
use crate::index::Index;
use crate::measured::{Measured, mark};
use crate::rows::Line;
use record::judged::{Answer, CellView, Metric};

/// The dot plots of all metrics in the table, in its order.
pub(crate) fn figures(index: &Index<'_>, body: &[Measured<'_>]) -> Vec<DotPlot> {
    let mut plots: Vec<DotPlot> = Vec::new();
    for (cell, line) in body.iter().flat_map(|(cell, lines)| lines.iter().map(move |line| (*cell, line))) {
        let Some((name, metric)) =
            line.metrics.first().and_then(|name| Some((name, cell.metrics.get(name)?)))
        else {
            continue;
        };
        let row = row(index, cell, metric, line);
        let same = |plot: &&mut DotPlot| plot.workload == cell.workload && plot.metric == *name;
        match plots.iter_mut().rev().find(same) {
            Some(plot) => plot.rows.push(row),
            None => plots.push(DotPlot {
                workload: cell.workload.clone(),
                metric: name.clone(),
                unit: metric.unit.clone(),
                confidence: metric.confidence,
                rows: vec![row],
            }),
        }
    }
    plots
}

fn row(index: &Index<'_>, cell: &CellView, metric: &Metric, line: &Line) -> DotRow {
    let about = |a: &&Answer| a.workload == cell.workload && line.metrics.contains(&a.metric);
    let answer = index.view.answers.iter().find(about);
    // Records of older versions don't know the rounds.
    let counted = 0..u32::try_from(metric.values.len()).unwrap_or(u32::MAX);
    let rounds =
        if cell.rounds.len() == metric.values.len() { cell.rounds.clone() } else { counted.collect() };
    DotRow {
        label: index.name(&cell.id),
        shown: format!("{} {}", line.value, line.unit).trim_end().to_owned(),
        estimate: metric.estimate,
        low: metric.low,
        high: metric.high,
        trials: rounds.into_iter().zip(metric.values.iter().copied()).collect(),
        void: mark(cell),
        place: answer.and_then(|answer| place(answer, cell)),
    }
}

/// A cell's place; `None` if it isn't among the cells of the answer.
fn place(answer: &Answer, cell: &CellView) -> Option<Place> {
    if answer.best == cell.id {
        return Some(Place::Best);
    }
    let tied = answer.tied.contains(&cell.id);
    let compared = answer.comparisons.iter().find(|c| c.a == answer.best && c.b == cell.id);
    match compared.map(|comparison| comparison.ratio) {
        Some(ratio) if tied => Some(Place::Tied(ratio)),
        Some(ratio) => Some(Place::Behind(ratio)),
        None => tied.then_some(Place::Tied(None)),
    }
}

#[cfg(test)]
mod tests {
    use super::figures;
    use crate::document::Place;
    use crate::index::Index;
    use crate::measured::{NOT_STORAGE, measured};
    use crate::testing;
    use record::judged::{ComparisonView, RatioView, Relation};

    #[test]
    fn a_plot_has_each_cell_of_a_workload_with_every_trial_and_its_place() {
        let mut view = testing::striped();
        view.cells[0].rounds = vec![0, 2, 3];
        let ratio = RatioView { ratio: 1.33, low: Some(1.32), high: Some(1.35), confidence: 0.95, n: 3 };
        view.answers[0].comparisons = vec![ComparisonView {
            a: view.cells[3].id.clone(),
            b: view.cells[2].id.clone(),
            metric: "iops".to_owned(),
            ratio: Some(ratio),
            relation: Relation::Apart,
            excluded_difference: None,
            text: String::new(),
        }];
        view.answers[0].tied = vec![view.cells[1].id.clone()];
        let index = Index::of(&view);
        let plots = figures(&index, &measured(&index).0);
        let named: Vec<_> =
            plots.iter().map(|p| (p.workload.as_str(), p.metric.as_str(), p.rows.len())).collect();
        assert_eq!(
            named,
            [
                ("randread-16k", "read_iops", 4),
                ("randrw-16k", "read_iops", 4),
                ("randrw-16k", "write_iops", 4)
            ]
        );
        let rows = &plots[0].rows;
        assert_eq!(rows[0].shown, "80.2 ± 0.5 IOPS");
        assert_eq!(rows[0].trials.iter().map(|t| t.0).collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!((plots[0].unit.as_str(), rows[0].low.is_some(), rows[0].void), ("1/s", true, None));
        let places = [None, Some(Place::Tied(None)), Some(Place::Behind(Some(ratio))), Some(Place::Best)];
        assert_eq!(rows.iter().map(|row| row.place).collect::<Vec<_>>(), places);
        assert!(plots[1].rows.iter().all(|row| row.place.is_none()), "the answer is about both directions");
    }

    #[test]
    fn a_number_that_is_no_storage_figure_stays_and_says_so() {
        let view = testing::trap();
        let index = Index::of(&view);
        let plots = figures(&index, &measured(&index).0);
        assert_eq!(plots.len(), 4, "one cell was not measured");
        assert_eq!(plots[0].rows[0].void, Some(NOT_STORAGE));
        assert_eq!((plots[3].rows[0].low, plots[3].rows[0].trials.len()), (None, 1));
    }
}
