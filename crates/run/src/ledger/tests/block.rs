//! One round of a run, as a block of a queue.

use super::plan;
use crate::ledger::{Earlier, Ledger, Next};
use record::event::Stopped;
use record::id::TrialId;
use record::plan::Plan;
use record::trial::{Outcome, TrialRecord};

/// The trials of a run that begins with `first`, and why it ends.
fn made(plan: &Plan, first: u32) -> (Vec<TrialId>, Stopped) {
    let mut ledger = Ledger::new(plan, &Earlier::before_round(first), None);
    let mut all = Vec::new();
    loop {
        match ledger.next(0.0, &|_| true) {
            Next::Tell(_) => {}
            Next::Wait => panic!("nothing is under way"),
            Next::Ended(stopped) => return (all, stopped),
            Next::Trial { cell, round, .. } => {
                let id = TrialId { cell: cell.id.clone(), round };
                ledger.take(&TrialRecord::new(id.clone(), 0, 0, Outcome::Measured));
                all.push(id);
            }
        }
    }
}

#[test]
fn a_block_has_the_trials_of_its_round_in_the_order_of_the_whole_run() {
    let whole = plan(&["a", "b", "c", "d"], None, 3);
    let (all, _) = made(&whole, 0);
    assert_eq!(all.len(), 12);
    for round in 0..3 {
        let mut part = whole.clone();
        part.measure.rounds = round + 1;
        let (trials, stopped) = made(&part, round);
        let expected: Vec<TrialId> = all.iter().filter(|id| id.round == round).cloned().collect();
        assert_eq!(trials, expected);
        assert_eq!(stopped, Stopped::RoundsDone { rounds: round + 1 });
    }
}

#[test]
fn cells_that_are_done_keep_their_place_in_the_order() {
    let mut part = plan(&["a", "b", "c", "d"], None, 3);
    let (all, _) = made(&part, 2);
    part.skipped.insert(all[1].cell.clone(), 2);
    assert_eq!(made(&part, 2).0, [all[0].clone(), all[2].clone(), all[3].clone()]);
}
