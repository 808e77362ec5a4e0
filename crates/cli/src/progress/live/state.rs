//! What the view shows, derived from events and keys. Pure; the caller passes the time in.

use super::cell::CellState;
use super::findings;
use super::keys::Key;
use crate::progress::tracker::Tracker;
use record::environment::Environment;
use record::event::{Event, MachinesHeard};
use record::finding::Severity;
use record::id::{CellId, RunId};
use record::plan::Plan;
use record::printable::printable;
use record::trial::{TrialRecord, TrialStep};
use record::volume::VolumeFacts;
use report::finding_title;
use std::collections::BTreeMap;
use std::time::Instant;

/// Messages that are kept for the screen.
const MOST_MESSAGES: usize = 200;
/// The rows that PageUp and PageDown move by.
const PAGE: usize = 10;

/// The state of the view.
pub(super) struct State {
    pub(super) tracker: Tracker,
    pub(super) plan: Plan,
    pub(super) run: Option<RunId>,
    pub(super) begun: Instant,
    /// In the order of the plan.
    pub(super) cells: Vec<CellState>,
    places: BTreeMap<CellId, usize>,
    environment: Environment,
    volumes: Vec<VolumeFacts>,
    /// The cell that is measured now; of several, the one that began last.
    pub(super) current: Option<usize>,
    /// All cells that are measured now, by their places: on several machines, several at the same time.
    running: BTreeMap<usize, Running>,
    /// The cell that keys apply to.
    pub(super) selected: usize,
    /// Whether the selection follows the current cell: until the user moves it.
    follows: bool,
    /// Whether the details of the selected cell are shown instead of the matrix, from this line on.
    pub(super) details: Option<usize>,
    /// Whether the user is asked to confirm a skip.
    pub(super) asks_to_skip: bool,
    pub(super) ends_after_round: bool,
    pub(super) stops: bool,
    /// What is spent of the budgets, and when this was told.
    pub(super) spent: Option<(Spent, Instant)>,
    /// The changes that are not undone yet, by machine.
    pub(super) changes: BTreeMap<String, Vec<String>>,
    /// Findings and warnings, the oldest first.
    pub(super) messages: Vec<Message>,
    /// Whether the view is to be blank while a load runs.
    blank: bool,
}

/// A cell that is measured now.
#[derive(Debug, Clone, Copy, Default)]
struct Running {
    measures: bool,
    load: Option<Load>,
}

/// A finding or a warning in one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Finding(Severity),
    Warning,
    /// A choice of the run, or an answer to a signal.
    News,
}

/// The load that runs now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    /// By the devices under it, if any is known.
    pub(super) iops: Option<f64>,
    pub(super) bytes_per_second: Option<f64>,
    pub(super) wait_ms: Option<f64>,
    /// Of the load itself, as far as its engine tells: I/Os per second, the 99th percentile of their latencies, and the share of its bytes
    /// that the devices moved.
    pub(super) own_iops: Option<f64>,
    pub(super) own_p99_ms: Option<f64>,
    pub(super) device_share: Option<f64>,
    /// Whose rates these are the sums of; `None`: it is one machine.
    pub(super) machines: Option<MachinesHeard>,
}

/// What is spent of the budgets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spent {
    pub(super) seconds: f64,
    pub(super) written_bytes: f64,
    pub(super) cost: Option<f64>,
}

/// What a key asks of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    Skip(CellId),
    EndAfterRound(bool),
    /// As the first Ctrl-C.
    Stop,
}

impl State {
    pub(super) fn new(plan: &Plan, tracker: Tracker, blank: bool, now: Instant) -> Self {
        Self {
            tracker,
            run: None,
            begun: now,
            cells: plan.cells.iter().map(|cell| CellState::new(cell, plan)).collect(),
            places: plan.cells.iter().enumerate().map(|(place, cell)| (cell.id.clone(), place)).collect(),
            plan: plan.clone(),
            environment: Environment::default(),
            volumes: Vec::new(),
            current: None,
            running: BTreeMap::new(),
            selected: 0,
            follows: true,
            details: None,
            asks_to_skip: false,
            ends_after_round: false,
            stops: false,
            spent: None,
            changes: BTreeMap::new(),
            messages: Vec::new(),
            blank,
        }
    }

    /// Updates the state by an event.
    pub(super) fn take(&mut self, event: &Event, now: Instant) {
        self.tracker.take(event, now);
        match event {
            Event::RunStarted { run, .. } => self.run = Some(run.clone()),
            Event::NodeReady { environment } | Event::Provisioned { environment } => {
                self.environment.clone_from(environment);
            }
            Event::VolumesReady { volumes } => self.volumes.clone_from(volumes),
            Event::Step { cell: Some(cell), step, .. } => {
                if let Some(running) = self.running_mut(cell) {
                    *running = Running { measures: step == TrialStep::Measure.name(), load: None };
                }
            }
            Event::Step { cell: None, .. } => {}
            Event::TrialStarted { cell, .. } => {
                self.current = self.places.get(cell).copied();
                self.running.extend(self.current.map(|place| (place, Running::default())));
                if let (Some(current), true) = (self.current, self.follows) {
                    self.selected = current;
                }
            }
            Event::TrialFinished { record } => self.finished(record),
            Event::CellEstimated { cell, .. } => {
                if let Some(cell) = self.cell_mut(cell) {
                    cell.estimated(event);
                }
            }
            Event::LoadSampled {
                cell,
                iops,
                bytes_per_second,
                wait_ms,
                load_iops,
                load_p99_ms,
                device_share,
                machines,
            } => {
                if let Some(running) = self.running_mut(cell) {
                    running.load = Some(Load {
                        iops: *iops,
                        bytes_per_second: *bytes_per_second,
                        wait_ms: *wait_ms,
                        own_iops: *load_iops,
                        own_p99_ms: *load_p99_ms,
                        device_share: *device_share,
                        machines: *machines,
                    });
                }
            }
            Event::Spent { seconds, written_bytes, cost } => {
                let (seconds, written_bytes, cost) = (*seconds, *written_bytes, *cost);
                self.spent = Some((Spent { seconds, written_bytes, cost }, now));
            }
            Event::ChangesToUndo { target, changes } => {
                self.changes.insert(target.clone(), changes.clone());
            }
            Event::CellSkipped { cell, round } => {
                if let Some(cell) = self.cell_mut(cell) {
                    cell.skipped = Some(*round);
                }
            }
            Event::Warning { text } => self.say(Kind::Warning, text),
            Event::LengthChosen { .. } => {
                self.say(Kind::News, &Tracker::length(event).unwrap_or_default());
            }
            Event::RunFinished { .. } => {
                self.current = None;
                self.running.clear();
            }
            Event::RoundFinished { .. } => {}
        }
    }

    /// Adds a message.
    pub(super) fn say(&mut self, kind: Kind, text: &str) {
        let text = printable(text).into_owned();
        self.messages.push(Message { kind, text });
        let many = self.messages.len().saturating_sub(MOST_MESSAGES);
        self.messages.drain(..many);
    }

    fn finished(&mut self, record: &TrialRecord) {
        let Some(place) = self.places.get(&record.id.cell).copied() else { return };
        self.running.remove(&place);
        if self.current == Some(place) {
            self.current = self.running.keys().next_back().copied();
        }
        self.cells[place].finished(record, &self.plan);
        for finding in findings::of_trial(&self.plan, place, &self.environment, &self.volumes, record) {
            if self.cells[place].is_news(&finding) {
                let (title, name) = (finding_title(&finding), &self.cells[place].name);
                let text = format!("{title}: {name}: {}", finding.text);
                self.say(Kind::Finding(finding.severity), &text);
            }
        }
    }

    fn cell_mut(&mut self, id: &CellId) -> Option<&mut CellState> {
        let place = *self.places.get(id)?;
        self.cells.get_mut(place)
    }

    fn running_mut(&mut self, id: &CellId) -> Option<&mut Running> {
        self.running.get_mut(self.places.get(id)?)
    }

    /// Whether a cell is measured now.
    pub(super) fn is_running(&self, place: usize) -> bool {
        self.running.contains_key(&place)
    }

    /// The loads that run now.
    pub(super) fn loads(&self) -> Vec<Load> {
        self.running.values().filter_map(|running| running.load).collect()
    }

    /// Whether nothing but one sentence is shown now, and it doesn't change.
    pub(super) fn is_blank(&self) -> bool {
        self.blank && self.running.values().any(|running| running.measures)
    }

    /// Takes a key, and returns what it asks of the run.
    pub(super) fn press(&mut self, key: Key) -> Option<Wish> {
        if std::mem::take(&mut self.asks_to_skip) {
            return (key == Key::Char('s')).then(|| self.skip()).flatten();
        }
        match key {
            Key::Char('s') => self.asks_to_skip = self.may_skip(),
            Key::Char('e') => {
                self.ends_after_round = !self.ends_after_round;
                return Some(Wish::EndAfterRound(self.ends_after_round));
            }
            Key::Char('d') => self.details = if self.details.is_some() { None } else { Some(0) },
            Key::Escape => self.details = None,
            Key::Char('q') if !self.stops => {
                self.stops = true;
                return Some(Wish::Stop);
            }
            Key::Char(_) => {}
            _ => self.go(key),
        }
        None
    }

    fn go(&mut self, key: Key) {
        let moved = |from: usize| match key {
            Key::Up => from.saturating_sub(1),
            Key::Down => from + 1,
            Key::PageUp => from.saturating_sub(PAGE),
            Key::PageDown => from + PAGE,
            Key::Home => 0,
            _ => usize::MAX,
        };
        match &mut self.details {
            // The frame knows how many lines there are.
            Some(line) => *line = moved(*line).min(1 << 16),
            None => {
                self.follows = false;
                self.selected = moved(self.selected).min(self.cells.len().saturating_sub(1));
            }
        }
    }

    fn may_skip(&self) -> bool {
        self.cells.get(self.selected).is_some_and(|cell| cell.skipped.is_none() && !cell.is_to_be_skipped)
    }

    fn skip(&mut self) -> Option<Wish> {
        let cell = self.cells.get_mut(self.selected)?;
        cell.is_to_be_skipped = true;
        Some(Wish::Skip(cell.id.clone()))
    }
}
