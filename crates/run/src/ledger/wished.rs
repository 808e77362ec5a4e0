//! What the user wants otherwise than planned: cells to skip, and an end after a round.

use super::Ledger;
use crate::wishes::Wishes;
use record::event::{Event, Stopped};

impl Ledger<'_> {
    /// Takes the user's wishes into account.
    pub(crate) fn heed(&mut self, wishes: &Wishes) {
        self.last_round = wishes.ends_after_round();
        for id in wishes.take_skips() {
            let Some(place) = self.plan.cells.iter().position(|cell| cell.id == id) else { continue };
            if !std::mem::replace(&mut self.cells[place].skipped, true) {
                self.news.push_back(Event::CellSkipped { cell: id, round: self.round });
            }
        }
    }

    /// Why the run ends after `made` rounds: the user asked for it, unless it is over anyway, or skipped every cell.
    pub(super) fn requested(&self, made: u32, is_over: bool) -> Option<Stopped> {
        let nothing_left = self.cells.iter().all(|cell| cell.skipped);
        (nothing_left || (self.last_round && !is_over)).then_some(Stopped::Requested { rounds: made })
    }
}
