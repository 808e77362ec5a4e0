//! The rounds of a cell, with what may explain differences between them.

use super::order::Log;
use super::shape::mean;
use crate::attribute::Attribution;
use crate::cache_device::CacheUse;
use crate::direction::Direction;
use crate::facts::Facts;
use crate::span::float;
use record::extents::Residency;
use record::id::CellId;
use record::judged::Metric;
use record::plan::{Cell, Plan};
use record::workload::CacheStart;
use std::collections::BTreeMap;

/// A cell's rounds.
pub(crate) struct CellRounds {
    pub(super) id: CellId,
    /// The examined figure: that of `until`, else the workload's headline.
    pub(super) figure: String,
    /// Its unit, for people.
    pub(super) unit: String,
    /// Whether higher is better.
    pub(super) higher: bool,
    pub(super) cache: CacheStart,
    pub(super) rounds: Vec<Round>,
}

/// One measured round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) number: u32,
    pub(super) value: f64,
    /// The share of the bytes that the page cache served; `None` if unknown.
    pub(super) page_cache: Option<f64>,
    /// The share of the bytes that another cache above the devices served, e.g. ARC.
    pub(super) other_cache: Option<f64>,
    /// The share of the loop devices' backing files in the page cache at the begin of the trial.
    pub(super) backing: Option<f64>,
    /// The share of the reads that were in an LVM cache.
    pub(super) cache_device: Option<f64>,
    /// The number of earlier trials on the same stack, if it is persistent.
    pub(super) trials_before: Option<u32>,
}

impl CellRounds {
    /// Takes the measured trials, in order of rounds.
    pub(crate) fn of(
        plan: &Plan,
        cell: &Cell,
        facts: &[Facts<'_>],
        shares: &[Attribution],
        metrics: &BTreeMap<String, Metric>,
    ) -> Self {
        let asked = plan.figure_name(cell);
        let has_it = facts.iter().any(|facts| plan.figure(cell, facts.trial).is_some());
        let figure = if has_it { asked } else { cell.workload.headline() };
        // A trial without the figure doesn't count as a round.
        let round = |(facts, shares): (&Facts<'_>, &Attribution)| {
            let value = match has_it {
                true => plan.figure(cell, facts.trial),
                false => plan.metrics(cell, facts.trial).get(figure).copied(),
            };
            Some(Round {
                number: facts.trial.id.round,
                value: value?,
                page_cache: (shares.both.unknown < 0.5).then_some(shares.both.page_cache),
                other_cache: (shares.both.unknown < 0.5).then_some(shares.both.other_cache),
                backing: cached_share(&facts.trial.backing_before),
                cache_device: CacheUse::of(facts.trial).and_then(|cache| cache.read_share()),
                trials_before: facts.trial.trials_before,
            })
        };
        let rounds = facts.iter().zip(shares).filter_map(round).collect();
        let unit = metrics.get(figure).map_or("1", |metric| metric.unit.as_str());
        Self {
            id: cell.id.clone(),
            figure: figure.to_owned(),
            unit: in_words(figure, unit),
            higher: Direction::of(plan, figure).is_higher(),
            cache: cell.workload.cache,
            rounds,
        }
    }

    /// Rounds with these IOPS, for tests.
    #[cfg(test)]
    pub(super) fn made(id: &str, values: &[f64]) -> Self {
        let round = |(number, value): (u32, &f64)| Round {
            number,
            value: *value,
            page_cache: None,
            other_cache: None,
            backing: None,
            cache_device: None,
            trials_before: None,
        };
        let rounds = (0..).zip(values).map(round).collect();
        let (figure, unit) = ("iops".to_owned(), "1/s".to_owned());
        Self { id: CellId(id.to_owned()), figure, unit, higher: true, cache: CacheStart::Cold, rounds }
    }

    /// The same on a persistent stack with a cache: the shares of reads in the cache, and the numbers of earlier trials.
    #[cfg(test)]
    pub(super) fn cached(mut self, rounds: &[(f64, u32)]) -> Self {
        for (round, (share, before)) in self.rounds.iter_mut().zip(rounds) {
            (round.cache_device, round.trials_before) = (Some(*share), Some(*before));
        }
        self
    }

    /// The logarithms by round; empty if a figure has none.
    pub(super) fn log(&self) -> Log {
        let sound = self.rounds.iter().all(|r| r.value > 0.0 && r.value.is_finite());
        self.rounds.iter().filter(|_| sound).map(|r| (r.number, r.value.ln())).collect()
    }

    pub(super) fn values(&self) -> Vec<f64> {
        self.rounds.iter().map(|r| r.value).collect()
    }

    pub(super) fn mean(&self) -> f64 {
        mean(&self.values())
    }
}

/// The unit as sentences say it: Bonnie++ counts files and seeks, not I/Os.
fn in_words(figure: &str, unit: &str) -> String {
    match record::metric::info(figure).and_then(|metric| metric.counts) {
        Some(counts) => format!("{counts} per second"),
        None => unit.to_owned(),
    }
}

fn cached_share(files: &[Residency]) -> Option<f64> {
    let sum = |of: fn(&Residency) -> u64| files.iter().map(|f| float(of(f))).sum::<f64>();
    let size = sum(|f| f.size_bytes);
    (size > 0.0).then(|| sum(|f| f.cached_bytes) / size)
}
