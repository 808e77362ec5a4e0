//! A run's progress, derived from its events. Pure; the caller passes the time in.

use super::fit::{around, halved};
use record::event::Event;
use record::find::{FindBy, Tried};
use record::id::CellId;
use record::judged::Metric;
use record::plan::{Goal, Plan};
use record::quantity::Seconds;
use record::trial::{Outcome, Totals, TrialRecord};
use report::{margin, single, so_far};
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
    /// Whether trials run on more than one machine.
    has_machines: bool,
    /// The trials that are under way, the one that told something last at the end.
    running: Vec<Running>,
    /// What is done while no trial is under way.
    step: String,
    step_done: Option<f64>,
    /// The end of the last round; only for a run with `measure: until`.
    standing: Option<Event>,
    /// The number of trials that are still expected, if the last round reported it.
    expected: Option<u64>,
    asked: Option<Goal>,
}

/// A trial that is under way.
struct Running {
    cell: CellId,
    round: u32,
    step: String,
    done: Option<f64>,
}

impl Tracker {
    pub(crate) fn new(plan: &Plan, done: u64) -> Self {
        let has_machines = plan.cells.iter().any(|cell| cell.target != plan.cells[0].target);
        let name = |cell: &record::plan::Cell| {
            let machine = if has_machines { format!("{}: ", cell.target) } else { String::new() };
            format!("{machine}{} {}", cell.stack.name, cell.workload.name)
        };
        Self {
            names: plan.cells.iter().map(|cell| (cell.id.clone(), name(cell))).collect(),
            searches: plan.cells.iter().filter_map(|cell| Some((cell.id.clone(), cell.find()?.by))).collect(),
            rounds: plan.measure.rounds,
            total: plan.cells.len() as u64 * u64::from(plan.measure.rounds),
            finished: done,
            earlier: done,
            forecast_seconds: 0.0,
            trials_begun: None,
            has_machines,
            running: Vec::new(),
            step: "starting the agent process".to_owned(),
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
            Event::Step { cell, step, done } => self.step(cell.as_ref(), step, *done),
            Event::TrialStarted { cell, round, .. } => {
                self.trials_begun.get_or_insert(now);
                let step = "build".to_owned();
                self.running.push(Running { cell: cell.clone(), round: *round, step, done: None });
            }
            Event::TrialFinished { record } => {
                self.finished += 1;
                self.expected = self.expected.map(|n| n.saturating_sub(1));
                self.running.retain(|running| running.cell != record.id.cell);
                "next".clone_into(&mut self.step);
                self.step_done = None;
            }
            Event::RunFinished { .. } => {
                self.running.clear();
                "done".clone_into(&mut self.step);
            }
            Event::RoundFinished { open, more_rounds, .. } => {
                self.standing = Some(event.clone());
                self.expected = more_rounds.map(|more| u64::from(more) * open.max(&1));
            }
            Event::NodeReady { .. }
            | Event::CellEstimated { .. }
            | Event::Provisioned { .. }
            | Event::VolumesReady { .. }
            | Event::LengthChosen { .. }
            | Event::LoadSampled { .. }
            | Event::Spent { .. }
            | Event::ChangesToUndo { .. }
            | Event::CellSkipped { .. }
            | Event::Warning { .. } => {}
        }
    }

    fn step(&mut self, cell: Option<&CellId>, step: &str, done: Option<f64>) {
        match self.running.iter().position(|running| Some(&running.cell) == cell) {
            Some(at) => {
                let Running { cell, round, .. } = self.running.remove(at);
                self.running.push(Running { cell, round, step: step.to_owned(), done });
            }
            None => {
                step.clone_into(&mut self.step);
                self.step_done = done;
            }
        }
    }

    /// A round's result in words: `round 7 of at most 30: xfs randread ±6.1 %, asked ±5 %; about 3 more rounds`.
    /// Names take at most half of these columns each.
    pub(crate) fn reported(&self, event: &Event, columns: Option<usize>) -> Option<String> {
        let Event::RoundFinished { rounds, most_rounds, asked, open, widest, more_rounds } = event else {
            return None;
        };
        let round = format!("round {rounds} of at most {most_rounds}");
        if self.asked == Some(Goal::Cheapest) {
            let Some(next) = widest else { return Some(format!("{round}: the answer is known")) };
            let plural = if *more_rounds == Some(1) { "" } else { "s" };
            let more =
                more_rounds.map(|more| format!("; about {more} more round{plural}")).unwrap_or_default();
            let next = halved(self.name(&next.cell), columns);
            return Some(format!(
                "{round}: {open} of {asked} cells may still be the answer, {next} the cheapest{more}"
            ));
        }
        let Some(widest) = widest else { return Some(format!("{round}: all {asked} are as asked")) };
        let against =
            widest.against.as_ref().map(|other| format!(" against {}", halved(self.name(other), columns)));
        let width = match (widest.width, self.asked) {
            (None, _) => "no interval yet".to_owned(),
            (Some(width), Some(Goal::Told(_))) => {
                format!("a difference of {} isn't excluded", margin(width))
            }
            (Some(width), _) => format!("±{}", margin(width)),
        };
        let goal = match self.asked {
            Some(Goal::Interval(x) | Goal::Ratios(x)) => format!(", asked ±{}", margin(x)),
            Some(Goal::Told(x)) => format!(", asked {}", margin(x)),
            Some(Goal::Cheapest) | None => String::new(),
        };
        let others = if *open > 1 { format!(", and {} more", open - 1) } else { String::new() };
        let more = match more_rounds {
            Some(1) => "; about 1 more round".to_owned(),
            Some(more) => format!("; about {more} more rounds"),
            None => String::new(),
        };
        let against = against.unwrap_or_default();
        Some(format!(
            "{round}: {}{against} {width}{goal}{others}{more}",
            halved(self.name(&widest.cell), columns)
        ))
    }

    /// The figure of a cell over its trials so far: `1,240 IOPS ± 6.2 % after 3 rounds, asked ±5 %`.
    pub(crate) fn estimated(&self, event: &Event) -> Option<String> {
        let Event::CellEstimated { of, unit, estimate, low, high, confidence, trials, .. } = event else {
            return None;
        };
        let figure = so_far(&Metric {
            estimate: *estimate,
            low: Some(*low),
            high: Some(*high),
            confidence: *confidence,
            n: *trials,
            unit: unit.clone(),
            values: Vec::new(),
            median: None,
            trimmed: None,
        });
        // a rate says by its unit what it is
        let name = if unit.ends_with("/s") { String::new() } else { format!("{of} ") };
        let asked = match self.asked {
            Some(Goal::Interval(x)) => format!(", asked ±{}", margin(x)),
            Some(Goal::Ratios(_) | Goal::Told(_) | Goal::Cheapest) | None => String::new(),
        };
        Some(format!("{name}{figure} after {trials} rounds{asked}"))
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
    pub(crate) fn standing(&self, width: Option<usize>) -> Option<String> {
        self.reported(self.standing.as_ref()?, width)
    }

    /// The chosen length of trials, in words.
    pub(crate) fn length(event: &Event) -> Option<String> {
        let Event::LengthChosen { workload, pilot_seconds, trial_seconds, rounds, rounds_of_pilots, .. } =
            event
        else {
            return None;
        };
        Some(format!(
            "trials of {workload} take {} from now on: about {rounds} rounds of these are enough, where {} would take about {rounds_of_pilots}; the first rounds don't count",
            Seconds(*trial_seconds),
            Seconds(*pilot_seconds)
        ))
    }

    /// The numbers of finished and of planned trials.
    pub(crate) fn count(&self) -> (u64, u64) {
        (self.finished, self.total)
    }

    /// The number of trials that have begun: those under way are the last ones.
    pub(crate) fn begun(&self) -> u64 {
        self.finished + self.running.len() as u64
    }

    /// The cell's name and a colon where trials of other machines may run at the same time, else nothing.
    pub(crate) fn of(&self, cell: &CellId) -> String {
        if self.has_machines { format!("{}: ", self.name(cell)) } else { String::new() }
    }

    /// The current cell, round and step, with a shorter name if that makes it fit into `width` columns. Of several trials at the same
    /// time, it is the one that told something last, with their number.
    pub(crate) fn doing(&self, width: Option<usize>) -> String {
        let share = |done: Option<f64>| {
            done.map(|done| format!(" {:.0} %", done.clamp(0.0, 1.0) * 100.0)).unwrap_or_default()
        };
        let Some(last) = self.running.last() else {
            return format!("{}{}", self.step, share(self.step_done));
        };
        let many = match self.running.len() {
            1 => String::new(),
            many => format!("{many} trials at once; "),
        };
        let state = format!(", round {}/{}: {}{}", last.round + 1, self.rounds, last.step, share(last.done));
        around(&many, self.name(&last.cell), &state, width)
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

/// A trial's result in a few words; one trial has no interval.
pub(crate) fn found(record: &TrialRecord) -> String {
    if let Outcome::Failed(reason) = &record.outcome {
        let how = if record.cut_off { "cut off" } else { "failed" };
        return format!("{how}: {reason}");
    }
    let Some(engine) = &record.engine else { return "no engine ran".to_owned() };
    let metrics = engine.metrics();
    if let (Some(rate), Some(seconds)) = (metrics.get("files_per_second"), metrics.get("seconds")) {
        let ratio = metrics.get("compress_ratio").map(|r| format!(", {r:.2}:1")).unwrap_or_default();
        return format!("{} in {}{ratio}", single(*rate, "files/s"), single(*seconds, "s"));
    }
    if let Some(bonnie) = &engine.bonnie {
        let fast = engine.too_fast().count();
        return format!("{} figures, {fast} too fast to measure", bonnie.figures.len() - fast);
    }
    let direction = |name: &str, totals: &Option<Totals>| {
        let totals = totals.as_ref().filter(|t| t.ios > 0)?;
        Some(format!("{name} {}, {}", single(totals.iops, "1/s"), single(totals.bytes_per_second, "B/s")))
    };
    let both = [direction("read", &engine.read), direction("write", &engine.write)];
    let text = both.into_iter().flatten().collect::<Vec<_>>().join("; ");
    if text.is_empty() { "no I/O completed".to_owned() } else { text }
}

#[cfg(test)]
pub(crate) mod tests;
