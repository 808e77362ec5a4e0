//! Progress display: one of the consumers of a run's events.

mod fit;
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

/// A progress display.
pub(crate) enum Teller {
    /// A bar in the last line of a terminal.
    Bar(Box<Bar>),
    /// One line per event.
    Lines(Box<Lines>),
    /// Every event as one line of JSON on standard output.
    Json,
    /// Only warnings.
    Quiet,
}

impl Teller {
    /// Creates the display for `plan`; earlier sessions finished `done` trials.
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

    /// Shows one event.
    ///
    /// # Errors
    /// Standard output can't be written, in [`Self::Json`] only: another program needs the events, so the run ends.
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

    /// Returns a function that prints a line without garbling the display, also from another thread.
    pub(crate) fn speaker(&self) -> Box<dyn Fn(&str) + Send> {
        match self {
            Self::Bar(bar) => bar.speaker(),
            _ => Box::new(output::aside),
        }
    }

    /// Removes the bar from the screen.
    pub(crate) fn end(&mut self) {
        if let Self::Bar(bar) = self {
            bar.end();
        }
    }
}
