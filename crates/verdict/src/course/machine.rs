//! The drift of the machine: the effect of each round that all cells share.

use super::order::{Log, OrderTests, Suspect};
use super::shape::count;
use std::collections::BTreeMap;

/// The share of the cells that must follow the drift. A few cells that drift by themselves move the mean of all, but not most cells.
const FOLLOWERS: f64 = 0.75;

/// The part of the common effect that a cell must show to follow it.
const FOLLOWS: f64 = 0.5;

/// A drift that the cells share.
pub(super) struct Drift {
    /// The logarithm of the common effect, by round.
    pub(super) effects: BTreeMap<u32, f64>,
    /// How the rounds differ from replicates.
    pub(super) suspect: Suspect,
    /// The part of the drift that each cell shows, 1 on average, in the order of the cells.
    pub(super) part: Vec<f64>,
}

/// The drift of at least two cells, if independent rounds don't explain the common effect and most cells follow it.
pub(super) fn drift(cells: &[&Log], level: f64) -> Option<Drift> {
    if cells.len() < 2 {
        return None;
    }
    let last = cells.iter().filter_map(|log| log.keys().next_back()).max()?;
    let values: Vec<Vec<Option<f64>>> =
        cells.iter().map(|log| (0..=*last).map(|r| log.get(&r).map(|x| x.exp())).collect()).collect();
    let views: Vec<&[Option<f64>]> = values.iter().map(Vec::as_slice).collect();
    let complete = (0..=*last).filter(|r| cells.iter().all(|log| log.contains_key(r)));
    let effects: Vec<f64> = stats::machine_rounds(&views)?.into_iter().map(f64::ln).collect();
    let tests = OrderTests::of(&effects);
    let suspect = tests.suspect(&stats::holm(&tests.p_values()), level)?;
    if matches!(suspect, Suspect::TwoModes(_)) {
        return None;
    }
    let effects: BTreeMap<u32, f64> = complete.zip(effects).collect();
    let part: Vec<f64> = cells.iter().map(|log| part(log, &effects)).collect();
    let followers = part.iter().filter(|c| **c >= FOLLOWS).count();
    let enough = count(followers) >= FOLLOWERS * count(cells.len());
    enough.then_some(Drift { effects, suspect, part })
}

/// The least-squares coefficient of a cell's logarithms on the effects.
fn part(log: &Log, effects: &BTreeMap<u32, f64>) -> f64 {
    let own: Vec<(f64, f64)> = effects.iter().filter_map(|(r, e)| Some((*log.get(r)?, *e))).collect();
    let mean = own.iter().map(|(x, _)| x).sum::<f64>() / count(own.len().max(1));
    let product: f64 = own.iter().map(|(x, e)| (x - mean) * e).sum();
    let squares: f64 = own.iter().map(|(_, e)| e * e).sum();
    if squares > 0.0 { product / squares } else { 0.0 }
}

impl Drift {
    /// A cell's logarithms without the drift, in the rounds that all cells have.
    pub(super) fn removed(&self, log: &Log) -> Log {
        log.iter().filter_map(|(r, x)| Some((*r, x - self.effects.get(r)?))).collect()
    }
}
