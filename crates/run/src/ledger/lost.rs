//! Machines that are lost while the run goes on.

use super::Ledger;
use record::id::TrialId;

impl Ledger<'_> {
    /// Gives a trial up that a lost machine cut off; a resumed run makes it.
    pub(crate) fn give_up(&mut self, id: &TrialId) {
        self.running.retain(|&place| self.plan.cells[place].id != id.cell);
    }

    /// Leaves out the cells that need this machine, for the rest of the session.
    pub(crate) fn lose(&mut self, target: &str) {
        for (cell, history) in self.plan.cells.iter().zip(&mut self.cells) {
            history.lost |= cell.machines().contains(&target);
        }
    }

    /// The number of trials that the lost machines did not make; `None` if the run decides itself how many it makes.
    pub(crate) fn missing(&self) -> Option<u64> {
        if self.plan.measure.until.is_some() || self.searches_on().is_some() {
            return None;
        }
        let rounds = u64::from(self.plan.measure.rounds);
        let lost = self.cells.iter().filter(|cell| cell.lost && !cell.skipped);
        Some(lost.map(|cell| rounds.saturating_sub(cell.trials.len() as u64)).sum())
    }
}
