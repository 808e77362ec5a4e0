//! `until: { best: price }`: which cells may still be the cheapest that keeps the limits, by `stats`.

use super::{History, Ledger};
use record::event::{Event, Widest};
use record::plan::{Bound, Want};
use stats::{Hunt, Limited, Offered, Sought};

impl Ledger<'_> {
    /// The limits, if the run looks for the cheapest cell that keeps them.
    pub(super) fn wants(&self) -> Option<&[Want]> {
        self.plan.measure.until.as_ref()?.cheapest_with()
    }

    /// Looks at the first `made` rounds; `None` if the run doesn't look for the cheapest cell.
    pub(super) fn hunt(&self, made: u32) -> Option<Hunt> {
        let wants = self.wants()?;
        let values: Vec<Vec<Vec<f64>>> =
            self.cells.iter().map(|cell| cell.wanted(wants.len(), made)).collect();
        let offered = |place: usize| {
            let price = self.plan.price_per_hour(&self.plan.cells[place]);
            let limits = wants.iter().zip(&values[place]).map(|(want, values)| Limited {
                values,
                at_least: want.bound == Bound::AtLeast,
                limit: want.value,
            });
            Offered {
                family: self.families[place],
                price: price.unwrap_or(f64::INFINITY),
                limits: limits.collect(),
                alive: price.is_some() && self.decides(place),
            }
        };
        let cells: Vec<Offered<'_>> = (0..self.cells.len()).map(offered).collect();
        let measure = &self.plan.measure;
        Some(Sought { confidence: measure.confidence, trim: measure.trim }.look(&cells))
    }

    /// What a round's look found.
    pub(super) fn report_hunt(&self, made: u32, hunt: &Hunt) -> Event {
        let open: Vec<usize> = hunt.answers.iter().flat_map(|(_, answer)| answer.open.clone()).collect();
        let price =
            |place: &usize| self.plan.price_per_hour(&self.plan.cells[*place]).unwrap_or(f64::INFINITY);
        let next = open.iter().copied().min_by(|a, b| price(a).total_cmp(&price(b)));
        Event::RoundFinished {
            rounds: made,
            most_rounds: self.plan.measure.rounds,
            asked: hunt.keeps.len() as u64,
            open: open.len() as u64,
            widest: next.map(|place| Widest {
                cell: self.plan.cells[place].id.clone(),
                against: None,
                width: None,
            }),
            more_rounds: hunt.more_rounds.filter(|_| !open.is_empty()),
        }
    }
}

impl History {
    /// The values of each limit's metric in the first `made` rounds, in order. Rounds that lack one of the metrics are left out.
    fn wanted(&self, limits: usize, made: u32) -> Vec<Vec<f64>> {
        let mut values = vec![Vec::new(); limits];
        for seen in self.trials.range(..made).map(|(_, seen)| seen).filter(|seen| seen.measured) {
            let all: Option<Vec<f64>> = seen.wanted.iter().copied().collect();
            for (values, value) in values.iter_mut().zip(all.unwrap_or_default()) {
                values.push(value);
            }
        }
        values
    }
}
