//! Answers in words.

use super::question::{Match, Question};
use crate::figures::{percent, range, with_unit};
use crate::pairing::{FamilyMember, exclusion, rounded_up, times};
use crate::too_few;
use record::id::CellId;
use record::judged::{CellView, Metric, Relation};

pub(crate) const AT_THIS_BUDGET: &str = " at this budget";

/// The result of a question; cells are numbers of places in the ranking.
pub(super) struct Outcome<'a> {
    pub(super) question: &'a Question<'a>,
    pub(super) metric: Option<&'a Metric>,
    pub(super) best: usize,
    pub(super) tied: &'a [usize],
    pub(super) behind: Option<f64>,
    pub(super) matches: &'a [Match],
    /// The names of the cells and then of the void ones.
    pub(super) names: &'a [String],
    /// The number of cells that aren't void.
    pub(super) rivals: usize,
}

impl Outcome<'_> {
    pub(super) fn text(&self) -> String {
        let label = self.question.label.as_ref().map(|l| format!("{l}: ")).unwrap_or_default();
        let best = &self.names[self.best];
        let over = |winner, n| {
            let ratio = between(winner, n, self.matches).and_then(|told| told.view());
            ratio.map(|ratio| times(&ratio, &self.names[n]))
        };
        if self.tied.is_empty() {
            let won = self.next().and_then(|n| over(self.best, n)).unwrap_or_default();
            return format!("{label}{best} is {won}, the next best; {best}: {}", self.figure());
        }
        let rest = self.next().and_then(|n| {
            let winner = self.shown_better(n);
            Some(format!("; {} is {}, the best of the others", self.names[winner], over(winner, n)?))
        });
        format!("{label}{}; {best}: {}{}", self.tie(), self.figure(), rest.unwrap_or_default())
    }

    /// The cells in the sentence: the best, those that can't be told from it, and the best of the others.
    pub(super) fn named<'c>(&'c self, cells: &[&'c CellView]) -> Vec<(&'c CellId, &'c str)> {
        let places = [self.best].into_iter().chain(self.tied.iter().copied()).chain(self.next());
        places.map(|i| (&cells[i].id, self.names[i].as_str())).collect()
    }

    fn next(&self) -> Option<usize> {
        (0..self.rivals).find(|i| *i != self.best && !self.tied.contains(i))
    }

    /// The first cell that may be the best and is shown to be better than this one. It isn't always the best by estimate, which may be too
    /// uncertain.
    fn shown_better(&self, other: usize) -> usize {
        let mut all = [self.best].into_iter().chain(self.tied.iter().copied());
        let apart =
            |i: &usize| between(*i, other, self.matches).is_some_and(|told| told.relation == Relation::Apart);
        all.find(apart).unwrap_or(self.best)
    }

    /// The cells that can't be told from the best, in words.
    fn tie(&self) -> String {
        let best = &self.names[self.best];
        if let [one] = self.tied {
            let told = between(self.best, *one, self.matches);
            return told.map_or_else(String::new, |t| t.text(best, &self.names[*one], AT_THIS_BUDGET));
        }
        let mut members = vec![best.clone()];
        members.extend(self.tied.iter().map(|i| self.names[*i].clone()));
        let bound = match self.behind {
            Some(factor) if factor <= 2.0 => {
                format!("none of them is more than {} behind it", percent(rounded_up(factor - 1.0)))
            }
            Some(factor) => exclusion(factor - 1.0),
            None => "the rounds set no bound on the difference".to_owned(),
        };
        format!("{} can't be told from the best{AT_THIS_BUDGET}; {bound}", list(&members))
    }

    fn figure(&self) -> String {
        let Some(m) = self.metric else { return String::new() };
        if let Some(text) = too_few::of_metric(m) {
            return text;
        }
        match (m.low, m.high) {
            (Some(low), Some(high)) => {
                format!("{} ({})", with_unit(m.estimate, &m.unit), range(low, high, &m.unit))
            }
            _ if m.n == 1 => format!("{} in one trial", with_unit(m.estimate, &m.unit)),
            _ => format!("{}, without an interval from {} trials", with_unit(m.estimate, &m.unit), m.n),
        }
    }
}

/// The comparison of two cells, as the ratio of the first over the second.
pub(super) fn between(a: usize, b: usize, matches: &[Match]) -> Option<FamilyMember> {
    matches.iter().find_map(|m| match (m.a, m.b) {
        pair if pair == (a, b) => Some(m.told),
        pair if pair == (b, a) => Some(m.told.turned()),
        _ => None,
    })
}

/// The names of the cells and then of the void ones: the stack's name, with the machine's if there are several.
pub(super) fn names(cells: &[&CellView], void: &[&CellView]) -> Vec<String> {
    let all: Vec<&&CellView> = cells.iter().chain(void).collect();
    let several = all.iter().any(|c| all.first().is_some_and(|first| c.target != first.target));
    let name =
        |c: &&&CellView| if several { format!("{} on {}", c.stack, c.target) } else { c.stack.clone() };
    all.iter().map(name).collect()
}

/// The cells that were left out, in words.
pub(super) fn left_out(void: &[&CellView], names: &[String]) -> String {
    if void.is_empty() {
        return String::new();
    }
    let last = &names[names.len().saturating_sub(void.len())..];
    format!(" (not compared, since their figures are not storage figures: {})", list(last))
}

/// Names in a sentence; of many names, the first few and the number of all.
pub(crate) fn list(names: &[String]) -> String {
    const MOST: usize = 6;
    match names {
        [] => String::new(),
        [one] => one.clone(),
        many if many.len() > MOST => format!("{} and {} more", many[..MOST].join(", "), many.len() - MOST),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
