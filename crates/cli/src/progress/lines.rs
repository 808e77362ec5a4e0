//! One line per event, for logs and pipes.

use super::tracker::{Tracker, found};
use crate::output;
use record::event::Event;
use record::printable::indented;
use record::quantity::Seconds;
use std::time::Instant;

/// Progress in lines.
pub(crate) struct Lines {
    tracker: Tracker,
    /// The step that was printed last, so that its progress isn't printed as a new step.
    step: String,
    trial_begun: Instant,
}

impl Lines {
    pub(crate) fn new(tracker: Tracker) -> Self {
        Self { tracker, step: String::new(), trial_begun: Instant::now() }
    }

    pub(crate) fn tell(&mut self, event: &Event) {
        let now = Instant::now();
        self.tracker.take(event, now);
        if let Some(line) = self.line(event, now) {
            output::aside(&indented(&line));
        }
    }

    fn line(&mut self, event: &Event, now: Instant) -> Option<String> {
        let (finished, total) = self.tracker.count();
        match event {
            Event::RunStarted { run, trials, forecast_seconds } => {
                let most = if self.tracker.stops_when_enough() { "at most " } else { "" };
                Some(format!("run {run}: {most}{trials} trials, about {}", Seconds(*forecast_seconds)))
            }
            Event::Step { cell: None, step, .. } if *step != self.step => {
                self.step.clone_from(step);
                Some(step.clone())
            }
            Event::VolumesReady { volumes } => Some(format!(
                "volumes ready: {}",
                volumes.iter().map(|v| v.name.as_str()).collect::<Vec<_>>().join(", ")
            )),
            Event::TrialStarted { cell, round, tried, .. } => {
                self.trial_begun = now;
                let (name, tries) = (self.tracker.name(cell), self.tracker.tries(cell, *tried));
                Some(format!("trial {}/{total}: {name}{tries}, round {}", finished + 1, round + 1))
            }
            Event::TrialFinished { record } => {
                let took = Seconds(now.duration_since(self.trial_begun).as_secs_f64());
                let left =
                    self.tracker.left(now).map(|left| format!(", about {left} left")).unwrap_or_default();
                Some(format!("  {} ({took}{left})", found(record)))
            }
            Event::RoundFinished { .. } => self.tracker.reported(event),
            Event::LengthChosen { .. } => Tracker::length(event),
            Event::Warning { text } => Some(format!("warning: {text}")),
            Event::Step { .. }
            | Event::NodeReady { .. }
            | Event::Provisioned { .. }
            | Event::RunFinished { .. } => None,
        }
    }
}
