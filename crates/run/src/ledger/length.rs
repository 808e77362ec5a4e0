//! The length of trials, where the experiment lets diskproof choose it.

use super::Ledger;
use super::course::{Course, float};
use super::seen::Seen;
use record::event::Event;
use record::plan::{Cell, Goal};
use record::workload::Ask;
use stats::{Asked, StopRule, TrialLength, TrialPlan, trial_length};
use std::collections::BTreeSet;

/// The least factor by which a chosen length exceeds the plan's: a smaller gain isn't worth the pilot rounds that are then left
/// out. It also distinguishes pilots from other trials ([`record::pilot::left_out`]).
const LEAST_CHANGE: f64 = 1.25;

/// A cell's pilot trials.
struct Pilots<'a> {
    courses: Vec<&'a Course>,
    /// The parameters for the choice of a length.
    plan: TrialPlan,
}

impl Ledger<'_> {
    /// Chooses the lengths from the pilot rounds. The same trials give the same lengths, so a resumed run keeps them.
    pub(super) fn choose_lengths(&mut self) {
        let groups: BTreeSet<usize> = self.groups.iter().copied().collect();
        for group in groups {
            if let Some((chosen, event)) = self.choose(group) {
                self.lengths.0.insert(group, chosen);
                self.news.push_back(event);
            }
        }
    }

    /// Cells that are compared have one length: the longest that any of them needs.
    fn choose(&self, group: usize) -> Option<(f64, Event)> {
        let places: Vec<usize> = (0..self.cells.len()).filter(|&place| self.groups[place] == group).collect();
        let pilots: Vec<Pilots<'_>> = places.iter().filter_map(|&place| self.pilots(place)).collect();
        let first = &pilots.first()?.plan;
        let (shortest, longest) = (first.shortest_seconds, first.longest_seconds);
        let wanted = pilots.iter().filter_map(|p| p.best(shortest, longest));
        let chosen = wanted.map(|l| rounded(l.trial_seconds)).fold(shortest, f64::max).min(longest);
        let all = |seconds: f64| -> Option<Vec<TrialLength>> {
            pilots.iter().map(|p| p.best(seconds, seconds)).collect()
        };
        let (kept, changed) = (all(shortest)?, all(chosen)?);
        let total = |lengths: &[TrialLength]| lengths.iter().map(|l| l.device_seconds).sum::<f64>();
        let rounds = |lengths: &[TrialLength]| lengths.iter().map(|l| l.rounds).max().unwrap_or(0);
        let pilot_seconds: f64 = pilots.iter().map(Pilots::seconds).sum();
        let worth = total(&changed) + pilot_seconds < total(&kept);
        if chosen < shortest * LEAST_CHANGE || !worth {
            return None;
        }
        let cell = &self.plan.cells[*places.first()?];
        let event = Event::LengthChosen {
            workload: cell.workload.name.clone(),
            target: cell.target.clone(),
            pilot_seconds: shortest,
            trial_seconds: chosen,
            rounds: rounds(&changed),
            rounds_of_pilots: rounds(&kept),
        };
        Some((chosen, event))
    }

    fn pilots(&self, place: usize) -> Option<Pilots<'_>> {
        let measure = &self.plan.measure;
        let longest_seconds = measure.max_trial_seconds.filter(|_| is_free(&self.plan.cells[place]))?;
        // A ratio varies with both its sides, so each side gets the width divided by √2.
        let (half_width, ratios) = match measure.until.as_ref()?.goal {
            Goal::Interval(x) => (x, false),
            Goal::Ratios(x) | Goal::Told(x) => (x / std::f64::consts::SQRT_2, true),
            Goal::Cheapest => return None,
        };
        let seen: Vec<&Seen> =
            self.cells[place].trials.range(..record::pilot::ROUNDS).map(|(_, seen)| seen).collect();
        let courses: Vec<&Course> = seen.iter().filter_map(|s| s.course.as_ref()).collect();
        let batch_seconds = courses.first()?.step_seconds;
        let beside: f64 = seen.iter().map(|s| s.seconds - s.window_seconds).sum();
        let plan = TrialPlan {
            half_width,
            rule: StopRule::new(Asked::HalfWidth(half_width), measure.confidence)?,
            ratios,
            batch_seconds,
            overhead_seconds: (beside / float(seen.len() as u64)).max(0.0),
            shortest_seconds: measure.trial_seconds,
            longest_seconds,
        };
        Some(Pilots { courses, plan })
    }
}

impl Pilots<'_> {
    /// The trial length with the least total time, between `shortest` and `longest` seconds.
    fn best(&self, shortest: f64, longest: f64) -> Option<TrialLength> {
        let courses: Vec<&[f64]> = self.courses.iter().map(|c| &c.rates[..]).collect();
        let plan = TrialPlan { shortest_seconds: shortest, longest_seconds: longest, ..self.plan };
        trial_length(&courses, &plan)
    }

    /// The time of the pilot rounds in seconds, which is lost if they are left out.
    fn seconds(&self) -> f64 {
        f64::from(record::pilot::ROUNDS) * (self.plan.shortest_seconds + self.plan.overhead_seconds)
    }
}

/// Whether the workload leaves its duration to the experiment.
fn is_free(cell: &Cell) -> bool {
    matches!(&cell.workload.ask, Ask::Options(options) if options.time_based && options.runtime_ms.is_none())
}

/// Rounds to whole seconds from 10 s on, else to half seconds.
fn rounded(seconds: f64) -> f64 {
    let step = if seconds >= 10.0 { 1.0 } else { 0.5 };
    (seconds / step).round() * step
}
