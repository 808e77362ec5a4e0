//! Findings over rounds that aren't replicates.

use super::machine::drift;
use super::not_replicates::{FAR, of_machine, of_order, of_outliers, of_rebuilt, of_warming};
use super::order::{Log, OrderTests, Suspect};
use super::rounds::CellRounds;
use super::shape::count;
use crate::detected::WORTH_SAYING;
use record::finding::{Claim, Finding};
use record::id::CellId;
use record::plan::Measure;

/// The rates of false alarms for a clean run: 1 % for the machine's drift, 3 % for the order of the rounds of all cells, 1 % for outliers.
const MACHINE: f64 = 0.01;
const ORDER: f64 = 0.03;
const OUTLIERS: f64 = 0.01;

/// Finds what speaks against a run's rounds being replicates: first what all cells share, then each cell without that.
pub(crate) fn over_rounds(cells: &[CellRounds], measure: &Measure) -> Vec<Finding> {
    let logs: Vec<Log> = cells.iter().map(CellRounds::log).collect();
    let enough: Vec<(&CellRounds, &Log)> =
        cells.iter().zip(&logs).filter(|(_, log)| log.len() >= 3).collect();
    let shared: Vec<(&CellRounds, &Log)> = enough.iter().filter(|(_, log)| log.len() >= 4).copied().collect();
    let views: Vec<&Log> = shared.iter().map(|(_, log)| *log).collect();
    let drift = drift(&views, MACHINE).filter(|d| worth(d.effects.values()));
    let own: Vec<Log> = enough
        .iter()
        .map(|(_, log)| drift.as_ref().map_or_else(|| (*log).clone(), |d| d.removed(log)))
        .collect();
    let tests: Vec<OrderTests> =
        own.iter().map(|log| OrderTests::of(&log.values().copied().collect::<Vec<_>>())).collect();
    let raw: Vec<f64> = tests.iter().flat_map(OrderTests::p_values).collect();
    let adjusted = stats::holm(&raw);
    let mut findings: Vec<Finding> = drift.iter().filter_map(|d| of_machine(d, &shared)).collect();
    let lists = adjusted.chunks_exact(4).zip(&tests);
    for (((cell, _), log), (adjusted, tests)) in enough.iter().zip(&own).zip(lists) {
        let suspect =
            only_climbs(log).or_else(|| tests.suspect(adjusted, ORDER)).filter(|_| worth(log.values()));
        let finding = match suspect {
            Some(suspect) => of_order(cell, log, suspect),
            None => of_outliers(cell, log, OUTLIERS / count(enough.len()), measure),
        };
        findings.extend(finding);
    }
    let climbs: Vec<CellId> =
        findings.iter().filter(|f| f.claim == Claim::Trend).map(|f| f.cell.clone()).collect();
    findings.extend(cells.iter().filter(|cell| !climbs.contains(&cell.id)).filter_map(of_warming));
    findings.extend(cells.iter().filter_map(of_rebuilt));
    findings
}

/// Whether the figures differ enough for a finding.
fn worth<'a>(logs: impl Iterator<Item = &'a f64> + Clone) -> bool {
    let high = logs.clone().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = logs.copied().fold(f64::INFINITY, f64::min);
    high - low >= WORTH_SAYING
}

/// Rounds that only rise or only fall and are far apart at the ends; with so few rounds no test could show it.
fn only_climbs(log: &Log) -> Option<Suspect> {
    let x: Vec<f64> = log.values().copied().collect();
    let (first, last) = (x.first()?, x.last()?);
    let one_way = x.windows(2).all(|w| w[0] < w[1]) || x.windows(2).all(|w| w[0] > w[1]);
    let far = (last - first).abs() >= FAR.ln();
    (x.len() >= 3 && one_way && far).then(|| Suspect::Trend((last - first) / count(x.len() - 1)))
}
