//! Searches: which level the next trial of a cell tries, by `stats`.

use super::Ledger;
use super::course::float;
use record::find::{Find, Tried, TriedWhy};
use record::plan::Plan;
use stats::{SearchNext, SearchStep, SearchTerms, SearchTrial, search_next};

impl Ledger<'_> {
    /// What the search of a cell tries next; `None` when it has ended, or when the cell is no search.
    pub(super) fn tries(&self, place: usize) -> Option<Tried> {
        let find = self.plan.cells[place].find()?;
        let trials: Vec<SearchTrial> =
            self.cells[place].trials.values().filter_map(|seen| seen.searched).collect();
        match search_next(&trials, &terms(find, self.plan)) {
            SearchNext::Try { level, step } => Some(Tried { level: whole(level), why: why(step) }),
            SearchNext::Done => None,
        }
    }

    /// Whether a cell is a search.
    pub(super) fn is_search(&self, place: usize) -> bool {
        self.plan.cells[place].find().is_some()
    }

    /// Whether a search that can still be measured goes on; `None` if no cell is a search.
    pub(super) fn searches_on(&self) -> Option<bool> {
        let mut searches = (0..self.cells.len()).filter(|&place| self.is_search(place)).peekable();
        searches.peek()?;
        Some(searches.any(|place| self.is_alive(place) && self.tries(place).is_some()))
    }
}

fn terms(find: &Find, plan: &Plan) -> SearchTerms {
    SearchTerms {
        from: float(find.from),
        to: float(find.to),
        confidence: plan.measure.confidence,
        half_width: find.within,
    }
}

fn why(step: SearchStep) -> TriedWhy {
    match step {
        SearchStep::Highest => TriedWhy::Highest,
        SearchStep::Lower => TriedWhy::Lower,
        SearchStep::Between => TriedWhy::Between,
        SearchStep::Again => TriedWhy::Again,
        SearchStep::Near => TriedWhy::Near,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole and between the search's ends"
)]
fn whole(level: f64) -> u64 {
    level as u64
}

#[cfg(test)]
mod tests;
