//! All comparisons behind an answer. The answer itself keeps those with the best cell.

use super::question::Question;
use super::words;
use crate::direction::Direction;
use crate::pairing::{Level, most_trials};
use record::judged::{Answer, CellView, ComparisonView, Metric, RunView};
use record::plan::Plan;

/// Each pair of the cells of an answer, in the order of their estimates, the best first: the better one over the other. They are the
/// comparisons that decided the answer, with the same adjustment (Holm) over all of them. Empty for an answer about the price of
/// performance: cells have no such metric of their own.
#[must_use]
pub fn pairs(plan: &Plan, view: &RunView, answer: &Answer) -> Vec<ComparisonView> {
    let own: Vec<&CellView> = view.cells.iter().filter(|cell| cell.workload == answer.workload).collect();
    let (void, rivals): (Vec<&CellView>, Vec<&CellView>) = own.iter().partition(|cell| cell.void);
    let question = Question {
        workload: &answer.workload,
        metric: answer.metric.clone(),
        label: None,
        direction: Direction::of(plan, &answer.metric),
        level: Level::of([(&plan.measure, most_trials(own.iter().copied()))]),
        seconds: plan.measure.trial_seconds,
        findings: &view.findings,
    };
    let mut ranked: Vec<(&CellView, &Metric)> =
        rivals.iter().filter_map(|cell| Some((*cell, cell.metrics.get(&answer.metric)?))).collect();
    ranked.sort_by(|a, b| question.direction.order(a.1.estimate, b.1.estimate));
    let cells: Vec<&CellView> = ranked.into_iter().map(|(cell, _)| cell).collect();
    let matches = question.matches(&cells);
    let names = words::names(&cells, &void);
    matches.iter().map(|pair| question.comparison(&cells, pair.a, pair.b, &matches, &names)).collect()
}

#[cfg(test)]
mod tests {
    use super::pairs;
    use crate::run_tests::{cell, run_with};
    use record::judged::Relation;

    #[test]
    fn the_pairs_with_the_best_are_those_of_the_answer_and_all_others_are_there_too() {
        let cells = vec![
            cell("c", &[1500, 1512, 1489]),
            cell("a", &[2000, 2010, 1990]),
            cell("b", &[1501, 1509, 1492]),
            cell("d", &[500, 503, 499]),
        ];
        let mut plan = None;
        let view = run_with(&cells, |own| plan = Some(own.clone()));
        let answer = &view.answers[0];
        let all = pairs(&plan.unwrap(), &view, answer);
        let with_best: Vec<_> = all.iter().filter(|pair| pair.a == answer.best).cloned().collect();
        assert_eq!(with_best, answer.comparisons);
        let named: Vec<(&str, &str)> =
            all.iter().map(|pair| (pair.a.0.as_str(), pair.b.0.as_str())).collect();
        assert_eq!(named, [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]);
        let tied: Vec<bool> = all.iter().map(|pair| pair.relation == Relation::NotApart).collect();
        assert_eq!(tied, [false, false, false, true, false, false]);
    }
}
