//! The trials of a search: the level of each, and what it shows.

use crate::find::{Find, FindBy};
use crate::plan::Cell;
use crate::trial::TrialRecord;
use crate::workload::{Ask, Options};

/// The share of its level that a load must reach. A load that falls further behind breaks the limit, whatever the latencies are.
const REACHED: f64 = 0.9;
/// The number of standard deviations by which the number of random arrivals may fall short.
const CHANCE: f64 = 3.0;

/// What a search's trial shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// The worst of the limited metrics, divided by its limit: up to 1 the limits are kept. `None`: the trial lacks one of them,
    /// because it has too few I/Os for a percentile.
    pub ratio: Option<f64>,
    /// The metric that is to be as high as possible; `None` likewise.
    pub value: Option<f64>,
    /// The level that the load reached; `None` where it can't fall behind the level that was asked for.
    pub reached: Option<f64>,
    /// Whether it fell behind by more than chance.
    pub is_behind: bool,
}

impl FindBy {
    /// Sets the option to a level.
    pub fn set(self, options: &mut Options, level: u64) {
        let small = || u32::try_from(level).unwrap_or(u32::MAX);
        match self {
            Self::RateIops => options.rate_iops = Some(level),
            Self::Iodepth => options.iodepth = small(),
            Self::Numjobs => options.numjobs = small(),
        }
    }
}

impl Find {
    /// Returns what a measured trial of this search shows; `None` for a trial without a level.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "levels are far below 2^52")]
    pub fn shown(&self, cell: &Cell, trial: &TrialRecord) -> Option<Shown> {
        let level = trial.tried?.level as f64;
        let metrics = trial.metrics();
        let ratios = self.limits.iter().map(|limit| Some(metrics.get(&limit.of)? / limit.at_most));
        let worst =
            ratios.collect::<Option<Vec<f64>>>().and_then(|all| all.into_iter().max_by(f64::total_cmp));
        let jobs = cell.options().map_or(1.0, |options| f64::from(options.numjobs.max(1)));
        let reached =
            (self.by == FindBy::RateIops).then(|| metrics.get("iops").map_or(0.0, |all| all / jobs));
        let due = level * jobs * trial.engine.as_ref().map_or(0.0, |engine| engine.window.seconds());
        let is_behind = reached.is_some_and(|reached| {
            let short = 1.0 - reached / level;
            short > 1.0 - REACHED && short > CHANCE / due.sqrt()
        });
        let ratio = match reached.filter(|reached| is_behind && *reached > 0.0) {
            Some(reached) => Some(worst.unwrap_or(0.0).max(level / reached)),
            None => worst,
        };
        Some(Shown { ratio, value: metrics.get(&self.most).copied(), reached, is_behind })
    }
}

impl Cell {
    /// Returns the options of its workload; `None` for job files, copies and Bonnie++.
    #[must_use]
    pub fn options(&self) -> Option<&Options> {
        match &self.workload.ask {
            Ask::Options(options) => Some(options),
            Ask::JobFile { .. } | Ask::Copy(_) | Ask::Bonnie(_) => None,
        }
    }

    /// Returns the search that its trials make, if it is one.
    #[must_use]
    pub fn find(&self) -> Option<&Find> {
        self.options()?.find.as_ref()
    }

    /// Returns the cell as a trial of its search performs it: with this level, and without a search.
    #[must_use]
    pub fn at_level(&self, level: u64) -> Self {
        let mut cell = self.clone();
        if let Ask::Options(options) = &mut cell.workload.ask
            && let Some(find) = options.find.take()
        {
            find.by.set(options, level);
        }
        cell
    }

    /// Returns the cell as this trial performed it: at its level, if the cell is a search.
    #[must_use]
    pub fn of_trial(&self, trial: &TrialRecord) -> Self {
        trial.tried.map_or_else(|| self.clone(), |tried| self.at_level(tried.level))
    }
}

#[cfg(test)]
mod tests {
    use crate::find::{Find, FindBy, FindLimit, Tried, TriedWhy};
    use crate::id::{CellId, TrialId};
    use crate::latency::LatencyHistogram;
    use crate::plan::Cell;
    use crate::stack::{Rebuild, Stack};
    use crate::trial::{EngineOutput, Outcome, Totals, TrialRecord, Window};
    use crate::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
    use std::collections::BTreeMap;

    fn cell(by: FindBy) -> Cell {
        let limit = |of: &str, at_most| FindLimit { of: of.to_owned(), at_most, written: "1ms".to_owned() };
        let find = Find {
            most: "iops".to_owned(),
            limits: vec![limit("read_lat_p99", 1000.0), limit("read_lat_p50", 100.0)],
            by,
            from: 1,
            to: 100_000,
            within: 0.05,
        };
        let options = Options { numjobs: 2, find: Some(find), ..Options::new(Rw::Randread, 4096, 1 << 20) };
        Cell {
            id: CellId("c".to_owned()),
            target: "local".to_owned(),
            stack: Stack {
                name: "raw".to_owned(),
                volumes: Vec::new(),
                beside: Vec::new(),
                layers: Vec::new(),
                rebuild: Rebuild::Trial,
            },
            workload: Workload {
                name: "w".to_owned(),
                engine: EngineKind::Native,
                ask: Ask::Options(options),
                layout: Layout::Written,
                cache: CacheStart::Cold,
                on: Vec::new(),
            },
            levels: BTreeMap::new(),
        }
    }

    fn trial(level: u64, iops: u64, latency_us: u64) -> TrialRecord {
        let totals = Totals {
            ios: 10 * iops,
            iops: iops as f64,
            latency: LatencyHistogram { bins_ns: [(latency_us * 1000, 10 * iops)].into() },
            ..Totals::default()
        };
        let window = Window { start_ns: 0, end_ns: 10_000_000_000 };
        let id = TrialId { cell: CellId("c".to_owned()), round: 0 };
        TrialRecord {
            tried: Some(Tried { level, why: TriedWhy::Near }),
            engine: Some(EngineOutput {
                read: Some(totals),
                ..EngineOutput::new("native-0.1.0".to_owned(), window)
            }),
            ..TrialRecord::new(id, 0, 0, Outcome::Measured)
        }
    }

    #[test]
    fn a_trial_shows_its_worst_limit_and_the_rate_of_a_job() {
        let cell = cell(FindBy::RateIops);
        let shown = |trial: &TrialRecord| cell.find().unwrap().shown(&cell, trial).unwrap();
        let kept = shown(&trial(500, 1000, 80));
        assert_eq!((kept.ratio, kept.value, kept.reached), (Some(0.8), Some(1000.0), Some(500.0)));
        let behind = shown(&trial(1000, 1000, 80));
        assert_eq!(behind.ratio, Some(2.0), "half of the load wasn't carried");
        let few = shown(&trial(5, 9, 80));
        assert_eq!((few.ratio, few.reached), (None, Some(4.5)), "90 I/Os have no p99");
        let by_chance = shown(&trial(1, 1, 80));
        assert_eq!((by_chance.ratio, by_chance.is_behind), (None, false), "10 of 20 random arrivals");
        assert_eq!(cell.find().unwrap().shown(&cell, &TrialRecord { tried: None, ..trial(1, 1, 1) }), None);
    }

    #[test]
    fn only_a_rate_can_fall_behind() {
        let cell = cell(FindBy::Iodepth);
        let shown = cell.find().unwrap().shown(&cell, &trial(64, 1000, 150)).unwrap();
        assert_eq!((shown.ratio, shown.reached), (Some(1.5), None));
    }

    #[test]
    fn a_trial_performs_its_own_level_and_no_search() {
        for (by, expected) in [
            (FindBy::RateIops, (Some(7), 1, 2)),
            (FindBy::Iodepth, (None, 7, 2)),
            (FindBy::Numjobs, (None, 1, 7)),
        ] {
            let cell = cell(by).of_trial(&trial(7, 1, 1));
            let options = cell.options().unwrap();
            assert_eq!((options.rate_iops, options.iodepth, options.numjobs), expected);
            assert!(cell.find().is_none());
        }
        assert!(
            cell(FindBy::Iodepth).of_trial(&TrialRecord { tried: None, ..trial(1, 1, 1) }).find().is_some()
        );
    }
}
