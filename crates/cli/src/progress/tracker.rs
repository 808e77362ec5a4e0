//! A run's progress, derived from its events. Pure; the caller passes the time in.

use record::event::Event;
use record::find::{FindBy, Tried};
use record::id::CellId;
use record::plan::{Goal, Plan};
use record::quantity::{Bytes, Seconds};
use record::trial::{Outcome, Totals, TrialRecord};
use std::collections::BTreeMap;
use std::time::Instant;

/// A run's progress.
pub(crate) struct Tracker {
    names: BTreeMap<CellId, String>,
    /// The options that searches vary.
    searches: BTreeMap<CellId, FindBy>,
    rounds: u32,
    total: u64,
    finished: u64,
    /// The finished trials of earlier sessions.
    earlier: u64,
    /// The forecast for one trial, in seconds, used until trials are measured.
    forecast_seconds: f64,
    trials_begun: Option<Instant>,
    cell: Option<CellId>,
    round: u32,
    step: String,
    step_done: Option<f64>,
    /// The state after the last round, in words; only for a run with `measure: until`.
    standing: Option<String>,
    /// The number of trials that are still expected, if the last round reported it.
    expected: Option<u64>,
    asked: Option<Goal>,
}

impl Tracker {
    pub(crate) fn new(plan: &Plan, done: u64) -> Self {
        let name = |cell: &record::plan::Cell| format!("{} {}", cell.stack.name, cell.workload.name);
        Self {
            names: plan.cells.iter().map(|cell| (cell.id.clone(), name(cell))).collect(),
            searches: plan.cells.iter().filter_map(|cell| Some((cell.id.clone(), cell.find()?.by))).collect(),
            rounds: plan.measure.rounds,
            total: plan.cells.len() as u64 * u64::from(plan.measure.rounds),
            finished: done,
            earlier: done,
            forecast_seconds: 0.0,
            trials_begun: None,
            cell: None,
            round: 0,
            step: "starting the node".to_owned(),
            step_done: None,
            standing: None,
            expected: None,
            asked: plan.measure.until.as_ref().map(|until| until.goal),
        }
    }

    /// Updates the state by an event.
    pub(crate) fn take(&mut self, event: &Event, now: Instant) {
        match event {
            Event::RunStarted { trials, forecast_seconds, .. } => {
                self.total = *trials;
                self.forecast_seconds = *forecast_seconds;
            }
            Event::Step { step, done, .. } => {
                self.step.clone_from(step);
                self.step_done = *done;
            }
            Event::TrialStarted { cell, round, .. } => {
                self.trials_begun.get_or_insert(now);
                self.cell = Some(cell.clone());
                self.round = *round;
                "build".clone_into(&mut self.step);
                self.step_done = None;
            }
            Event::TrialFinished { .. } => {
                self.finished += 1;
                self.expected = self.expected.map(|n| n.saturating_sub(1));
                self.cell = None;
                "next".clone_into(&mut self.step);
                self.step_done = None;
            }
            Event::RunFinished { .. } => {
                self.cell = None;
                "done".clone_into(&mut self.step);
            }
            Event::RoundFinished { open, more_rounds, .. } => {
                self.standing = self.reported(event);
                self.expected = more_rounds.map(|more| u64::from(more) * open.max(&1));
            }
            Event::NodeReady { .. }
            | Event::Provisioned { .. }
            | Event::VolumesReady { .. }
            | Event::LengthChosen { .. }
            | Event::Warning { .. } => {}
        }
    }

    /// A round's result in words: `round 7 of at most 30: xfs randread ±6.1 %, asked ±5 %; about 3 more rounds`.
    pub(crate) fn reported(&self, event: &Event) -> Option<String> {
        let Event::RoundFinished { rounds, most_rounds, asked, open, widest, more_rounds } = event else {
            return None;
        };
        let round = format!("round {rounds} of at most {most_rounds}");
        let Some(widest) = widest else { return Some(format!("{round}: all {asked} are as asked")) };
        let against = widest.against.as_ref().map(|other| format!(" against {}", self.name(other)));
        let width = match (widest.width, self.asked) {
            (None, _) => "no interval yet".to_owned(),
            (Some(width), Some(Goal::Told(_))) => {
                format!("a difference of {} isn't excluded", percent(width))
            }
            (Some(width), _) => format!("±{}", percent(width)),
        };
        let goal = match self.asked {
            Some(Goal::Interval(x) | Goal::Ratios(x)) => format!(", asked ±{}", percent(x)),
            Some(Goal::Told(x)) => format!(", asked {}", percent(x)),
            None => String::new(),
        };
        let others = if *open > 1 { format!(", and {} more", open - 1) } else { String::new() };
        let more = match more_rounds {
            Some(1) => "; about 1 more round".to_owned(),
            Some(more) => format!("; about {more} more rounds"),
            None => String::new(),
        };
        let against = against.unwrap_or_default();
        Some(format!("{round}: {}{against} {width}{goal}{others}{more}", self.name(&widest.cell)))
    }

    /// Whether the number of trials is only a maximum.
    pub(crate) fn stops_when_enough(&self) -> bool {
        self.asked.is_some() || !self.searches.is_empty()
    }

    /// The level that a search tries, and why: ` at rate_iops 1200 (near the estimate)`; empty for other cells.
    pub(crate) fn tries(&self, cell: &CellId, tried: Option<Tried>) -> String {
        let said = self.searches.get(cell).zip(tried);
        said.map_or_else(String::new, |(by, tried)| {
            format!(" at {} {} ({})", by.name(), tried.level, tried.why.words())
        })
    }

    /// The state after the last round, in words; only for a run with `measure: until`.
    pub(crate) fn standing(&self) -> Option<&str> {
        self.standing.as_deref()
    }

    /// The chosen length of trials, in words.
    pub(crate) fn length(event: &Event) -> Option<String> {
        let Event::LengthChosen { workload, pilot_seconds, trial_seconds, rounds, rounds_of_pilots, .. } =
            event
        else {
            return None;
        };
        Some(format!(
            "trials of {workload} take {} from now on: about {rounds} rounds of these will do, where {} would take about \
             {rounds_of_pilots}; the first rounds don't count",
            Seconds(*trial_seconds),
            Seconds(*pilot_seconds)
        ))
    }

    /// The numbers of finished and of planned trials.
    pub(crate) fn count(&self) -> (u64, u64) {
        (self.finished, self.total)
    }

    /// The current cell, round and step.
    pub(crate) fn doing(&self) -> String {
        let share =
            self.step_done.map(|done| format!(" {:.0} %", done.clamp(0.0, 1.0) * 100.0)).unwrap_or_default();
        match &self.cell {
            None => format!("{}{share}", self.step),
            Some(cell) => {
                format!("{}, round {}/{}: {}{share}", self.name(cell), self.round + 1, self.rounds, self.step)
            }
        }
    }

    /// The expected time that is left: from this session's trials, or from the forecast before the first one.
    pub(crate) fn left(&self, now: Instant) -> Option<Seconds> {
        let most = self.total.saturating_sub(self.finished);
        let missing = self.expected.map_or(most, |expected| expected.min(most));
        let here = self.finished - self.earlier;
        #[expect(clippy::cast_precision_loss, reason = "numbers of trials")]
        let seconds = match self.trials_begun {
            Some(begun) if here > 0 => now.duration_since(begun).as_secs_f64() / here as f64 * missing as f64,
            _ if self.total > 0 => self.forecast_seconds * missing as f64 / self.total as f64,
            _ => return None,
        };
        (seconds > 0.0).then_some(Seconds(seconds))
    }

    /// A cell's stack and workload.
    pub(crate) fn name<'a>(&'a self, cell: &'a CellId) -> &'a str {
        self.names.get(cell).map_or(&cell.0, String::as_str)
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let whole = percent >= 100.0 || (percent - percent.round()).abs() < 0.05;
    if whole { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// A trial's result in a few words; one trial has no interval.
pub(crate) fn found(record: &TrialRecord) -> String {
    if let Outcome::Failed(reason) = &record.outcome {
        return format!("failed: {reason}");
    }
    let Some(engine) = &record.engine else { return "no engine ran".to_owned() };
    let metrics = engine.metrics();
    if let (Some(rate), Some(seconds)) = (metrics.get("files_per_second"), metrics.get("seconds")) {
        let ratio = metrics.get("compress_ratio").map(|r| format!(", {r:.2}:1")).unwrap_or_default();
        return format!("{rate:.0} files/s in {seconds:.1} s{ratio}");
    }
    if let Some(bonnie) = &engine.bonnie {
        let fast = engine.too_fast().count();
        return format!("{} figures, {fast} too fast to measure", bonnie.figures.len() - fast);
    }
    let direction = |name: &str, totals: &Option<Totals>| {
        let totals = totals.as_ref().filter(|t| t.ios > 0)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate, shown in three digits"
        )]
        let rate = Bytes(totals.bytes_per_second.max(0.0) as u64);
        Some(format!("{name} {:.0} IOPS, {rate}/s", totals.iops))
    };
    let both = [direction("read", &engine.read), direction("write", &engine.write)];
    let text = both.into_iter().flatten().collect::<Vec<_>>().join("; ");
    if text.is_empty() { "no I/O completed".to_owned() } else { text }
}

#[cfg(test)]
mod tests;
