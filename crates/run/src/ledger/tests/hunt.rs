//! Runs that look for the cheapest cell that keeps limits.

use super::{BROKEN, QUIET, Storage, plan, run, sit};
use record::event::{Event, Stopped};
use record::id::TrialId;
use record::plan::{Bound, Goal, Plan, Until, Want};
use record::volume::{Limits, Volume, VolumeKind};

/// A plan that looks for the cheapest cell with 300 IOPS. The cells cost 1, 2, 3... an hour, in the order of their names.
fn market(cells: &[&str], rounds: u32) -> Plan {
    let mut plan = plan(cells, Some(Goal::Cheapest), rounds);
    let written = "iops >= 300".to_owned();
    let want = Want { of: "iops".to_owned(), bound: Bound::AtLeast, value: 300.0, written };
    plan.measure.until =
        Some(Until { wants: vec![want], ..Until::new(Goal::Cheapest, Some("iops".to_owned())) });
    let mut price = 0.0;
    for cell in &mut plan.cells {
        price += 1.0;
        let kind = VolumeKind::Emulate { size_bytes: 1 << 30, limits: Limits::default() };
        cell.stack.volumes = vec![Volume { name: cell.id.0.clone(), kind }];
        plan.prices.per_hour.insert(cell.id.0.clone(), price);
    }
    plan
}

const SLOW: Storage = Storage { iops: 100.0, ..QUIET };
const NEAR: Storage = Storage { iops: 301.0, between: 0.05, ..QUIET };

#[test]
fn the_cheapest_cell_is_found_without_measuring_dearer_ones() {
    let ran = run(&market(&["a", "b", "c", "d"], 30), &[SLOW, SLOW, QUIET, QUIET]);
    assert!(matches!(ran.stopped, Stopped::Enough { .. }), "{:?}", ran.stopped);
    let rounds: Vec<usize> = ["a", "b", "c", "d"].map(|cell| ran.rounds_of(cell)).to_vec();
    assert_eq!(rounds, [4, 4, 6, 0]);
    let last = ran.events.iter().rev().find(|event| matches!(event, Event::RoundFinished { .. }));
    let Some(Event::RoundFinished { open, asked, more_rounds, .. }) = last else { panic!("no round ended") };
    assert_eq!((*open, *asked, *more_rounds), (0, 4, None));
}

#[test]
fn where_none_does_all_are_shown_not_to_and_a_broken_cell_is_not_waited_for() {
    let ran = run(&market(&["a", "b", "c"], 30), &[SLOW, BROKEN, SLOW]);
    assert!(matches!(ran.stopped, Stopped::Enough { .. }), "{:?}", ran.stopped);
    assert_eq!(["a", "b", "c"].map(|cell| ran.rounds_of(cell)), [4, 2, 4]);
}

#[test]
fn a_cell_at_its_limit_stays_undecided_when_the_budget_ends() {
    let ran = run(&market(&["a", "b", "c"], 20), &[NEAR, QUIET, QUIET]);
    assert_eq!(ran.stopped, Stopped::RoundsDone { rounds: 20 });
    assert_eq!((ran.rounds_of("a"), ran.rounds_of("c")), (20, 0));
    assert_eq!(ran.rounds_of("b"), 6, "it is decided while the first is not");
}

#[test]
fn cells_without_a_price_are_not_measured() {
    let mut plan = market(&["a", "b"], 30);
    plan.prices.per_hour.remove("a");
    let ran = run(&plan, &[QUIET, QUIET]);
    assert_eq!((ran.rounds_of("a"), ran.rounds_of("b")), (0, 6));
}

#[test]
fn a_search_for_the_cheapest_resumes_where_it_was() {
    let plan = market(&["a", "b", "c", "d"], 25);
    let storages = [SLOW, NEAR, QUIET, QUIET];
    let whole = run(&plan, &storages);
    for patience in 0..whole.records.len() {
        let first = sit(&plan, &storages, &[], patience);
        let rest = sit(&plan, &storages, &first.records, usize::MAX);
        let ids: Vec<TrialId> = first.ids().into_iter().chain(rest.ids()).collect();
        assert_eq!((ids, rest.stopped), (whole.ids(), whole.stopped.clone()), "after {patience}");
    }
}
