//! The best stack of each workload, by performance and by price: paired within rounds, corrected for all pairs of a workload. The rules
//! are in docs/statistics.md.

pub(crate) mod doubts;
mod pairs;
pub(crate) mod price;
mod question;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use pairs::pairs;

use crate::direction::Direction;
use crate::pairing::{FamilyMember, Level, Rivals, by_round, family, most_trials};
use question::{Match, Question};
use record::finding::Finding;
use record::judged::{Answer, CellView, ComparisonView, Metric, Relation};
use record::plan::Plan;
use std::collections::BTreeMap;

/// One answer per workload and metric for which at least two cells have storage figures; of a workload, those about money first.
pub(crate) fn of(plan: &Plan, cells: &[CellView], findings: &[Finding]) -> Vec<Answer> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut workloads: Vec<(&str, Vec<&CellView>)> = Vec::new();
    for cell in cells {
        let place = *places.entry(&cell.workload).or_insert(workloads.len());
        match workloads.get_mut(place) {
            Some((_, rivals)) => rivals.push(cell),
            None => workloads.push((&cell.workload, vec![cell])),
        }
    }
    workloads.into_iter().flat_map(|(workload, rivals)| answers(plan, workload, &rivals, findings)).collect()
}

fn answers(plan: &Plan, workload: &str, all: &[&CellView], findings: &[Finding]) -> Vec<Answer> {
    let level = Level::of([(&plan.measure, most_trials(all.iter().copied()))]);
    let (void, rivals): (Vec<&CellView>, Vec<&CellView>) = all.iter().partition(|c| c.void);
    let Some(first) = rivals.first() else { return Vec::new() };
    let main = main_metric(plan, first);
    let mut metrics = vec![main.clone()];
    metrics.extend(plan.derived.iter().map(|d| d.name.clone()).filter(|name| *name != main));
    let question = |metric: &str| Question {
        workload,
        metric: metric.to_owned(),
        label: (metric != main).then(|| format!("by {metric}")),
        direction: Direction::of(plan, metric),
        level,
        seconds: plan.measure.trial_seconds,
        findings,
    };
    let mut found: Vec<Answer> = metrics.iter().filter_map(|m| question(m).answer(&rivals, &void)).collect();
    if let Some((question, cells)) = price::question(plan, &question(&main), &rivals) {
        found.extend(question.answer(&cells.iter().collect::<Vec<_>>(), &void));
    }
    let is_not = price::what_it_is_not(plan, &rivals).unwrap_or_default();
    let about_money = |answer: &Answer| price::is_about_money(plan, &answer.metric);
    found.iter_mut().filter(|a| about_money(a)).for_each(|answer| answer.text.push_str(is_not));
    // Who declares prices asks what the money buys: that comes first.
    found.sort_by_key(|answer| !about_money(answer));
    found
}

/// The metric that the experiment judges by; without one, bandwidth for large blocks, else IOPS.
fn main_metric(plan: &Plan, cell: &CellView) -> String {
    let asked = plan.measure.until.as_ref().and_then(|u| u.of.clone());
    asked.filter(|of| cell.metrics.contains_key(of)).unwrap_or_else(|| headline(plan, cell).to_owned())
}

/// The default metric: bandwidth for large blocks, IOPS for small ones.
pub(crate) fn headline(plan: &Plan, cell: &CellView) -> &'static str {
    plan.cells.iter().find(|c| c.id == cell.id).map_or("iops", |c| c.workload.headline())
}

impl Question<'_> {
    /// The answer; `None` if fewer than two cells have the metric.
    fn answer(&self, rivals: &[&CellView], void: &[&CellView]) -> Option<Answer> {
        let mut ranked: Vec<(&CellView, &Metric)> =
            rivals.iter().filter_map(|c| Some((*c, c.metrics.get(&self.metric)?))).collect();
        if ranked.len() < 2 {
            return None;
        }
        ranked.sort_by(|a, b| self.direction.order(a.1.estimate, b.1.estimate));
        let cells: Vec<&CellView> = ranked.iter().map(|(c, _)| *c).collect();
        let matches = self.matches(&cells);
        let unbeaten: Vec<usize> = (0..cells.len()).filter(|i| !self.is_beaten(*i, &matches)).collect();
        let best = unbeaten.first().copied().unwrap_or(0);
        let tied: Vec<usize> = unbeaten.into_iter().filter(|i| *i != best).collect();
        let names = words::names(&cells, void);
        let comparisons = (0..cells.len())
            .filter(|other| *other != best)
            .map(|other| self.comparison(&cells, best, other, &matches, &names))
            .collect();
        let outcome = words::Outcome {
            question: self,
            metric: ranked.get(best).map(|(_, m)| *m),
            best,
            tied: &tied,
            behind: self.behind_at_most(&cells, best, &tied),
            matches: &matches,
            names: &names,
            rivals: cells.len(),
        };
        Some(Answer {
            workload: self.workload.to_owned(),
            metric: self.metric.clone(),
            best: cells[best].id.clone(),
            tied: tied.iter().map(|i| cells[*i].id.clone()).collect(),
            comparisons,
            text: outcome.text()
                + &doubts::of(self.findings, &outcome.named(&cells))
                + &words::left_out(void, &names),
        })
    }

    /// All pairs, with Holm's adjustment over them.
    fn matches(&self, cells: &[&CellView]) -> Vec<Match> {
        let places: Vec<(usize, usize)> =
            (0..cells.len()).flat_map(|a| (a + 1..cells.len()).map(move |b| (a, b))).collect();
        let rivals: Vec<Rivals> = places
            .iter()
            .map(|(a, b)| Rivals::paired(cells[*a], cells[*b], &self.metric, self.seconds))
            .collect();
        let told = family(&rivals, &self.level);
        places.into_iter().zip(told).map(|((a, b), told)| Match { a, b, told }).collect()
    }

    /// Whether another cell is shown to be better.
    fn is_beaten(&self, cell: usize, matches: &[Match]) -> bool {
        matches.iter().any(|m| {
            let above = m.told.estimate.is_some_and(|e| self.direction.is_better(e.log_mean));
            m.told.relation == Relation::Apart && cell == if above { m.b } else { m.a }
        })
    }

    /// The true best is better than the best by estimate, and than each cell that can't be told from it, by at most this factor,
    /// simultaneously; `None` if nothing bounds it.
    fn behind_at_most(&self, cells: &[&CellView], best: usize, tied: &[usize]) -> Option<f64> {
        let rounds: Vec<Vec<Option<f64>>> =
            cells.iter().map(|c| by_round(c, &self.metric)).collect::<Option<_>>()?;
        let rounds: Vec<&[Option<f64>]> = rounds.iter().map(Vec::as_slice).collect();
        let members = crate::span::float(tied.len() as u64 + 1);
        let confidence = 1.0 - self.level.error() / members;
        let standings =
            stats::standings_trimmed(&rounds, self.direction.of_stats(), self.level.trim, confidence)?;
        let of = |i: usize| standings.get(i).map(|s| s.behind_at_most);
        let most = tied.iter().chain([&best]).filter_map(|i| of(*i)).fold(1.0, f64::max);
        Some(most).filter(|x| x.is_finite())
    }

    fn comparison(
        &self,
        cells: &[&CellView],
        best: usize,
        other: usize,
        matches: &[Match],
        names: &[String],
    ) -> ComparisonView {
        let known = words::between(best, other, matches);
        ComparisonView {
            a: cells[best].id.clone(),
            b: cells[other].id.clone(),
            metric: self.metric.clone(),
            ratio: known.as_ref().and_then(FamilyMember::view),
            relation: known.as_ref().map_or(Relation::Nothing, |t| t.relation),
            excluded_difference: known.as_ref().and_then(FamilyMember::excluded),
            text: known
                .map_or_else(String::new, |t| t.text(&names[best], &names[other], words::AT_THIS_BUDGET)),
        }
    }
}
