//! The live view of a run on a terminal.
//!
//! A thread of its own draws it: it waits for events, keys and signals, and draws at most four frames a second, each only if something
//! changed. The alternate screen leaves the scrollback to what stays: at the end the warnings are printed there, and then the result.

mod backend;
mod cell;
mod details;
mod drawing;
mod findings;
mod frame;
mod keys;
mod line;
mod matrix;
mod screen;
mod signals;
mod state;
#[cfg(test)]
mod tests;

use super::tracker::Tracker;
use crate::output;
use drawing::{Drawing, Shared};
use record::event::Event;
use record::plan::Plan;
use record::printable::indented;
use run::Wishes;
use screen::Screen;
use state::{Kind, State};
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

/// The live view.
pub(crate) struct Live {
    shared: Arc<Shared>,
    screen: Arc<Screen>,
    thread: Option<JoinHandle<()>>,
    /// What is printed at the end, since the screen is gone then.
    stays: Vec<String>,
}

/// How the view is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Whether it may have colours.
    pub(crate) colours: bool,
    /// Whether it shows nothing while a load runs.
    pub(crate) blank: bool,
}

/// Whether standard error is a terminal that the view fits on, and this process has it.
pub(crate) fn has_room() -> bool {
    let error = io::stderr();
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let (columns, rows) = frame::LEAST;
    let is_large =
        rustix::termios::tcgetwinsize(&error).is_ok_and(|size| size.ws_col >= columns && size.ws_row >= rows);
    let is_in_front =
        rustix::termios::tcgetpgrp(&error).is_ok_and(|group| group == rustix::process::getpgrp());
    error.is_terminal() && !is_dumb && is_large && is_in_front
}

/// Whether standard output goes through a pipe: `| less` has the terminal for itself.
pub(crate) fn is_beside_a_pager() -> bool {
    let kind = |stat: rustix::fs::Stat| rustix::fs::FileType::from_raw_mode(stat.st_mode);
    rustix::fs::fstat(io::stdout()).map(kind).is_ok_and(|kind| kind == rustix::fs::FileType::Fifo)
}

impl Live {
    /// Takes the terminal and begins to draw.
    ///
    /// # Errors
    /// The terminal can't be opened or set, or signals can't be caught.
    pub(crate) fn start(plan: &Plan, tracker: Tracker, wishes: Arc<Wishes>, look: Look) -> io::Result<Self> {
        let output = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let stdin = io::stdin();
        let input =
            if stdin.is_terminal() { Some(File::from(stdin.as_fd().try_clone_to_owned()?)) } else { None };
        let screen = Arc::new(Screen::new(output, input));
        let state = State::new(plan, tracker, look.blank, Instant::now());
        let shared = Arc::new(Shared::new(state)?);
        let drawing = Drawing::new(Arc::clone(&shared), Arc::clone(&screen), wishes, look.colours)?;
        give_back_on_panic(&screen);
        screen.take()?;
        let thread = std::thread::Builder::new()
            .name("diskproof-view".to_owned())
            .spawn(move || drawing.until_the_end())
            .inspect_err(|_| screen.give_back())?;
        Ok(Self { shared, screen, thread: Some(thread), stays: Vec::new() })
    }

    pub(crate) fn tell(&mut self, event: &Event) {
        match event {
            Event::Warning { text } => self.stays.push(format!("warning: {text}")),
            Event::LengthChosen { .. } => self.stays.extend(Tracker::length(event)),
            _ => {}
        }
        self.shared.change(|state| state.take(event, Instant::now()));
    }

    pub(crate) fn speaker(&self) -> Box<dyn Fn(&str) + Send> {
        let (shared, screen) = (Arc::clone(&self.shared), Arc::clone(&self.screen));
        Box::new(move |text| {
            if screen.is_ours() {
                shared.change(|state| {
                    state.stops = true;
                    state.say(Kind::News, text);
                });
            } else {
                output::aside(text);
            }
        })
    }

    /// Gives the terminal back, and prints what stays.
    pub(crate) fn end(&mut self) {
        self.shared.end();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
        self.screen.give_back();
        for text in self.stays.drain(..) {
            output::aside(&indented(&text));
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}

/// Has a panic of any thread give the terminal back before it is printed.
fn give_back_on_panic(screen: &Arc<Screen>) {
    let (screen, before) = (Arc::downgrade(screen), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(screen) = screen.upgrade() {
            screen.give_back();
        }
        before(panic);
    }));
}
