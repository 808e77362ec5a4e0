//! Tells the user what a run does: one of the consumers of its events.

mod lines;
mod terminal;
mod tracker;

use crate::exit::Failure;
use crate::output;
use crate::settings::keys::Progress;
use lines::Lines;
use record::event::Event;
use record::plan::Plan;
use record::printable::indented;
use std::io::IsTerminal as _;
use terminal::Bar;
use tracker::Tracker;

/// How a run is told.
pub(crate) enum Teller {
    /// A bar at the foot of a terminal.
    Bar(Box<Bar>),
    /// One line per thing that happened.
    Lines(Box<Lines>),
    /// Every event as one line of JSON on standard output.
    Json,
    /// Only warnings.
    Quiet,
}

impl Teller {
    /// The teller for `plan`; `done` trials were finished in earlier sittings.
    pub(crate) fn new(how: Progress, plan: &Plan, done: u64) -> Self {
        let tracker = || Tracker::new(plan, done);
        let is_terminal = std::io::stderr().is_terminal();
        match how {
            Progress::Json => Self::Json,
            Progress::None => Self::Quiet,
            Progress::Auto if is_terminal => Self::Bar(Box::new(Bar::new(tracker()))),
            Progress::Bar => Self::Bar(Box::new(Bar::new(tracker()))),
            Progress::Auto | Progress::Lines => Self::Lines(Box::new(Lines::new(tracker()))),
        }
    }

    /// Tells of one event.
    ///
    /// # Errors
    /// Only in [`Self::Json`]: events are somebody's data, so a stream that can't be written ends the run.
    pub(crate) fn tell(&mut self, event: &Event) -> Result<(), Failure> {
        match self {
            Self::Bar(bar) => bar.tell(event),
            Self::Lines(lines) => lines.tell(event),
            Self::Json => {
                let line = serde_json::to_string(event).map_err(Failure::ours)?;
                output::json(&line)?;
            }
            Self::Quiet => {
                if let Event::Warning { text } = event {
                    output::aside(&indented(&format!("warning: {text}")));
                }
            }
        }
        Ok(())
    }

    /// A way to say something beside the events, also from another thread, without garbling the display.
    pub(crate) fn speaker(&self) -> Box<dyn Fn(&str) + Send> {
        match self {
            Self::Bar(bar) => bar.speaker(),
            _ => Box::new(output::aside),
        }
    }

    /// Clears what should not stay on the screen.
    pub(crate) fn end(&mut self) {
        if let Self::Bar(bar) = self {
            bar.end();
        }
    }
}
