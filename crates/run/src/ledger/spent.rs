//! Budgets: what is spent, and what another round costs.

use super::Ledger;
use super::course::float;
use super::seen::Seen;
use record::event::{Event, Stopped};
use stats::{Allowance, Resource};

impl Ledger<'_> {
    /// Which budget is spent, checked before each trial of a round.
    pub(super) fn overspent(&self, seconds: f64) -> Option<Stopped> {
        let measure = &self.plan.measure;
        let beyond = |spent: f64, most: Option<f64>| most.is_some_and(|most| spent >= most);
        if beyond(self.seconds(seconds), measure.max_seconds) {
            Some(Stopped::TimeSpent)
        } else if beyond(self.written(), measure.max_written_bytes.map(float)) {
            Some(Stopped::WrittenSpent)
        } else if beyond(self.cost(self.seconds(seconds)), measure.max_cost) {
            Some(Stopped::CostSpent)
        } else {
            None
        }
    }

    /// What is used of the budgets, `seconds` after this session began.
    pub(crate) fn spent(&self, seconds: f64) -> Event {
        let seconds = self.seconds(seconds);
        let has_prices = !self.plan.prices.is_empty();
        let cost = has_prices.then(|| self.cost(seconds));
        Event::Spent { seconds, written_bytes: self.written(), cost }
    }

    /// How many more rounds of the `needed` cells each budget allows, `seconds` after this session began.
    pub(super) fn allowances(&self, made: u32, needed: &[bool], seconds: f64) -> Vec<Allowance> {
        let measure = &self.plan.measure;
        let places = || (0..self.cells.len()).filter(|&place| needed[place]);
        let work = places().map(|place| (self.plan.cells[place].target.as_str(), self.trial_seconds(place)));
        let next_seconds = self.lanes.span(work);
        let next_bytes: f64 = places().map(|place| self.trial_bytes(place)).sum();
        let spent = self.seconds(seconds);
        let budgets = [
            (Resource::Time, measure.max_seconds, spent, next_seconds),
            (Resource::BytesWritten, measure.max_written_bytes.map(float), self.written(), next_bytes),
            (Resource::Money, measure.max_cost, self.cost(spent), self.cost(next_seconds)),
        ];
        let left = |(resource, most, spent, next): (Resource, Option<f64>, f64, f64)| {
            Some(Allowance { resource, rounds_left: fits(most? - spent, next) })
        };
        let rounds =
            Allowance { resource: Resource::Rounds, rounds_left: measure.rounds.saturating_sub(made) };
        [rounds].into_iter().chain(budgets.into_iter().filter_map(left)).collect()
    }

    /// The seconds of the whole run: the trials of earlier sessions, and this session.
    fn seconds(&self, here: f64) -> f64 {
        self.earlier_seconds + here
    }

    /// The price of the volumes and machines for this many seconds.
    fn cost(&self, seconds: f64) -> f64 {
        self.plan.total_price_per_hour() * seconds / 3600.0
    }

    fn written(&self) -> f64 {
        let all = self.cells.iter().flat_map(|cell| cell.trials.values());
        self.cut_off_bytes + all.map(Seen::written_bytes).sum::<f64>()
    }

    /// The expected duration of a cell's next trial, from its earlier ones: their overhead, plus their measured time scaled to
    /// the new length.
    fn trial_seconds(&self, place: usize) -> f64 {
        let beside = self.mean(place, |seen| seen.seconds - seen.window_seconds);
        beside + self.mean(place, |seen| seen.window_seconds) * self.longer(place)
    }

    fn trial_bytes(&self, place: usize) -> f64 {
        self.mean(place, |seen| seen.laid_out_bytes)
            + self.mean(place, |seen| seen.load_bytes) * self.longer(place)
    }

    /// The length of the next trial relative to the mean of the earlier ones.
    fn longer(&self, place: usize) -> f64 {
        let seen = self.mean(place, |seen| seen.window_seconds);
        match self.lengths.chosen(self.groups[place]) {
            Some(next) if seen > 0.0 => next / seen,
            _ => 1.0,
        }
    }

    fn mean(&self, place: usize, of: impl Fn(&Seen) -> f64) -> f64 {
        let trials = &self.cells[place].trials;
        if trials.is_empty() {
            return 0.0;
        }
        trials.values().map(of).sum::<f64>() / float(trials.len() as u64)
    }
}

/// How many rounds of `each` fit into what is `left`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped; saturates")]
fn fits(left: f64, each: f64) -> u32 {
    if left <= 0.0 {
        0
    } else if each <= 0.0 {
        u32::MAX
    } else {
        (left / each).min(f64::from(u32::MAX)) as u32
    }
}
