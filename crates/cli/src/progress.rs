//! Progress display: one of the consumers of a run's events.

mod fit;
mod lines;
mod live;
mod tracker;

use crate::exit::Failure;
use crate::output;
use crate::settings::keys::Progress;
use lines::Lines;
use live::{Live, Look};
use record::event::Event;
use record::plan::Plan;
use record::printable::indented;
use run::Wishes;
use std::sync::Arc;
use tracker::Tracker;

/// A progress display.
pub(crate) enum Teller {
    /// The live view on a terminal.
    Live(Box<Live>, Look),
    /// One line per event.
    Lines(Box<Lines>),
    /// Every event as one line of JSON on standard output.
    Json,
    /// Only warnings.
    Quiet,
}

impl Teller {
    /// Creates the display for `plan`; earlier sessions finished `done` trials. The live view passes what the user wants on to `wishes`.
    pub(crate) fn new(how: Progress, colours: bool, plan: &Plan, done: u64, wishes: &Arc<Wishes>) -> Self {
        let lines = || Self::Lines(Box::new(Lines::new(Tracker::new(plan, done))));
        let (blank, is_asked_for) = match how {
            Progress::Json => return Self::Json,
            Progress::None => return Self::Quiet,
            Progress::Lines => return lines(),
            Progress::Auto if live::is_beside_a_pager() => return lines(),
            Progress::Auto => (false, false),
            Progress::Live => (false, true),
            Progress::Blank => (true, true),
        };
        let look = Look { colours, blank };
        let live = if live::has_room() {
            Live::start(plan, Tracker::new(plan, done), Arc::clone(wishes), look)
                .map_err(|why| why.to_string())
        } else {
            Err("it needs a terminal of at least 40x12 in the foreground, and a TERM other than dumb"
                .to_owned())
        };
        match live {
            Ok(live) => Self::Live(Box::new(live), look),
            Err(why) => {
                if is_asked_for {
                    output::aside(&format!("note: there is no live view, but lines: {why}"));
                }
                lines()
            }
        }
    }

    /// Whether the display shows the load while it runs ([`Event::LoadSampled`]).
    pub(crate) fn shows_load(&self) -> bool {
        matches!(self, Self::Live(_, look) if !look.blank)
    }

    /// Shows one event.
    ///
    /// # Errors
    /// Standard output can't be written, in [`Self::Json`] only: another program needs the events, so the run ends.
    pub(crate) fn tell(&mut self, event: &Event) -> Result<(), Failure> {
        match self {
            Self::Live(live, _) => live.tell(event),
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

    /// Returns a function that tells the user something without garbling the display, also from another thread.
    pub(crate) fn speaker(&self) -> Box<dyn Fn(&str) + Send> {
        match self {
            Self::Live(live, _) => live.speaker(),
            _ => Box::new(output::aside),
        }
    }

    /// Gives the terminal back.
    pub(crate) fn end(&mut self) {
        if let Self::Live(live, _) = self {
            live.end();
        }
    }
}
