//! The figures of a run: a dot plot per workload and metric, with the numbers of the table.

use crate::document::{DotPlot, DotRow, Expected, ExpectedBy, Place};
use crate::index::Index;
use crate::measured::{Measured, mark};
use crate::number::with_interval;
use record::judged::{Answer, CellView, Metric};

/// The most plots that a medium of characters draws: the table below has all figures.
const IN_TEXT: usize = 4;

/// The dot plots of all metrics in the table, in its order; and of metrics that an answer is about and no line of the table has.
pub(crate) fn figures(index: &Index<'_>, body: &[Measured<'_>]) -> Vec<DotPlot> {
    let mut plots: Vec<DotPlot> = Vec::new();
    for (cell, line) in body.iter().flat_map(|(cell, lines)| lines.iter().map(move |line| (*cell, line))) {
        let Some((name, metric)) =
            line.metrics.first().and_then(|name| Some((name, cell.metrics.get(name)?)))
        else {
            continue;
        };
        let shown = format!("{} {}", line.value, line.unit).trim_end().to_owned();
        let row = row(index, cell, metric, &line.metrics, shown);
        let same = |plot: &&mut DotPlot| plot.workload == cell.workload && plot.metric == *name;
        match plots.iter_mut().rev().find(same) {
            Some(plot) => plot.rows.push(row),
            None => plots.push(plot(cell, name, metric, vec![row])),
        }
    }
    let is_drawn = |answer: &&Answer| {
        plots.iter().any(|p| p.workload == answer.workload && p.rows.iter().any(|row| row.place.is_some()))
    };
    let more: Vec<DotPlot> = index
        .view
        .answers
        .iter()
        .filter(|a| !is_drawn(a))
        .filter_map(|a| of_answer(index, body, a))
        .collect();
    plots.extend(more);
    ranked(plots)
}

fn plot(cell: &CellView, name: &str, metric: &Metric, rows: Vec<DotRow>) -> DotPlot {
    DotPlot {
        workload: cell.workload.clone(),
        metric: name.to_owned(),
        unit: metric.unit.clone(),
        confidence: metric.confidence,
        rows,
        leads: false,
        in_text: false,
    }
}

/// The plot of an answer about the sum of several lines, as of the reads and writes of a mix.
fn of_answer(index: &Index<'_>, body: &[Measured<'_>], answer: &Answer) -> Option<DotPlot> {
    let cells = || body.iter().map(|(cell, _)| *cell).filter(|cell| cell.workload == answer.workload);
    let names = [answer.metric.clone()];
    let of = |cell: &CellView| {
        let metric = cell.metrics.get(&answer.metric)?;
        let (value, unit) = with_interval(metric);
        Some(row(index, cell, metric, &names, format!("{value} {unit}").trim_end().to_owned()))
    };
    let rows: Vec<DotRow> = cells().filter_map(of).collect();
    let first = cells().find(|cell| cell.metrics.contains_key(&answer.metric))?;
    Some(plot(first, &answer.metric, first.metrics.get(&answer.metric)?, rows))
}

/// The same plots, with those marked that stand beside the answer, and those of them that a medium of characters draws.
fn ranked(mut plots: Vec<DotPlot>) -> Vec<DotPlot> {
    let is_answered = |plot: &DotPlot| plot.rows.iter().any(|row| row.place.is_some());
    let any = plots.iter().any(is_answered);
    let mut drawn = 0;
    for (place, plot) in plots.iter_mut().enumerate() {
        plot.leads = if any { is_answered(plot) } else { place == 0 };
        // One row says no more than its figure does.
        plot.in_text = plot.leads && plot.rows.len() > 1 && drawn < IN_TEXT;
        drawn += usize::from(plot.in_text);
    }
    plots
}

/// A cell's row. `names` are the metrics that have this figure.
fn row(index: &Index<'_>, cell: &CellView, metric: &Metric, names: &[String], shown: String) -> DotRow {
    let about = |a: &&Answer| a.workload == cell.workload && names.contains(&a.metric);
    let answer = index.view.answers.iter().find(about);
    // Records of older versions don't know the rounds.
    let counted = 0..u32::try_from(metric.values.len()).unwrap_or(u32::MAX);
    let rounds =
        if cell.rounds.len() == metric.values.len() { cell.rounds.clone() } else { counted.collect() };
    DotRow {
        label: index.name(&cell.id),
        shown,
        estimate: metric.estimate,
        low: metric.low,
        high: metric.high,
        trials: rounds.into_iter().zip(metric.values.iter().copied()).collect(),
        void: mark(cell),
        place: answer.and_then(|answer| place(answer, cell)),
        expected: expected(index, cell, names),
    }
}

/// What the experiment expects of a figure, else what the model does.
fn expected(index: &Index<'_>, cell: &CellView, names: &[String]) -> Option<Expected> {
    let asked = index.expectations(&cell.id).iter().find(|e| names.contains(&e.of));
    let model = || cell.model.as_ref().filter(|model| names.contains(&model.of)).map(|model| model.expected);
    match asked {
        Some(asked) => Some(Expected { value: asked.expected, by: ExpectedBy::Experiment }),
        None => model().map(|value| Expected { value, by: ExpectedBy::Model }),
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
    use crate::document::{ExpectedBy, Place};
    use crate::index::Index;
    use crate::measured::{NOT_STORAGE, measured};
    use crate::testing;
    use record::judged::{ComparisonView, RatioView, Relation, RunView};

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
                ("randrw-16k", "write_iops", 4),
                ("randrw-16k", "iops", 4)
            ]
        );
        let rows = &plots[0].rows;
        assert_eq!(rows[0].shown, "80.2 ± 0.5 IOPS");
        assert_eq!(rows[0].trials.iter().map(|t| t.0).collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!((plots[0].unit.as_str(), rows[0].low.is_some(), rows[0].void), ("1/s", true, None));
        let places = [None, Some(Place::Tied(None)), Some(Place::Behind(Some(ratio))), Some(Place::Best)];
        assert_eq!(rows.iter().map(|row| row.place).collect::<Vec<_>>(), places);
        assert!(plots[1].rows.iter().all(|row| row.place.is_none()), "the answer is about both directions");
        assert_eq!(plots[3].rows[3].place, Some(Place::Best));
        assert_eq!(plots.iter().map(|plot| plot.leads).collect::<Vec<_>>(), [true, false, false, true]);
        let expected = plots[2].rows[3].expected.unwrap();
        assert_eq!((expected.value, expected.by), (320.0, ExpectedBy::Experiment));
        assert_eq!(plots[3].rows[3].expected, None, "nothing is expected of the sum");
    }

    #[test]
    fn a_model_is_expected_where_the_experiment_expects_nothing() {
        let mut view = testing::striped();
        view.expectations.retain(|e| e.cell != view.cells[0].id);
        for cell in &mut view.cells[..2] {
            cell.model = Some(testing::model("iops", 82.0));
        }
        let index = Index::of(&view);
        let plots = figures(&index, &measured(&index).0);
        let by: Vec<_> =
            plots[0].rows.iter().filter_map(|row| row.expected).map(|e| (e.value, e.by)).collect();
        assert_eq!(by[..2], [(82.0, ExpectedBy::Model), (160.0, ExpectedBy::Experiment)]);
    }

    #[test]
    fn without_an_answer_the_first_plot_leads_and_one_row_is_not_drawn_in_characters() {
        let mut view = testing::striped();
        view.answers.clear();
        let leads = |view: &RunView| {
            let index = Index::of(view);
            figures(&index, &measured(&index).0).iter().map(|p| (p.leads, p.in_text)).collect::<Vec<_>>()
        };
        assert_eq!(leads(&view), [(true, true), (false, false), (false, false)]);
        view.cells.truncate(1);
        assert_eq!(leads(&view), [(true, false)]);
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
