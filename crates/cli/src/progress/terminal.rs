//! A bar in the last line of the terminal, with the current step.

use super::tracker::{Tracker, found};
use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::event::Event;
use record::printable::{indented, printable};
use std::time::{Duration, Instant};

/// How often the bar is drawn without an event: once a second, so that drawing is no load beside the measured one.
const TICK: Duration = Duration::from_secs(1);

/// Progress on a terminal.
pub(crate) struct Bar {
    tracker: Tracker,
    bar: ProgressBar,
}

impl Bar {
    pub(crate) fn new(tracker: Tracker) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(4));
        let template = "{spinner} {wide_msg}\n  [{bar:40}] {prefix}, {elapsed} so far";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        let this = Self { tracker, bar };
        this.draw(Instant::now());
        this.bar.enable_steady_tick(TICK);
        this
    }

    pub(crate) fn tell(&mut self, event: &Event) {
        let now = Instant::now();
        self.tracker.take(event, now);
        let (finished, total) = self.tracker.count();
        match event {
            Event::Warning { text } => self.say(&format!("warning: {text}")),
            Event::LengthChosen { .. } => self.say(&Tracker::length(event).unwrap_or_default()),
            Event::TrialFinished { record } => {
                let id = &record.id;
                let (name, tries) = (self.tracker.name(&id.cell), self.tracker.tries(&id.cell, record.tried));
                let round = id.round + 1;
                self.say(&format!("{finished}/{total} {name}{tries}, round {round}: {}", found(record)));
            }
            _ => {}
        }
        self.draw(now);
    }

    fn say(&self, text: &str) {
        self.bar.println(indented(text));
    }

    fn draw(&self, now: Instant) {
        let (finished, total) = self.tracker.count();
        let left = self.tracker.left(now).map(|left| format!(", about {left} left")).unwrap_or_default();
        self.bar.set_length(total.max(1));
        self.bar.set_position(finished);
        let most = if self.tracker.stops_when_enough() { "at most " } else { "" };
        let standing =
            self.tracker.standing().map(|text| format!("\n  {}", printable(text))).unwrap_or_default();
        self.bar.set_prefix(format!("{finished} of {most}{total} trials{left}{standing}"));
        self.bar.set_message(printable(&self.tracker.doing()).into_owned());
    }

    pub(crate) fn speaker(&self) -> Box<dyn Fn(&str) + Send> {
        let bar = self.bar.clone();
        Box::new(move |text| {
            if bar.is_finished() {
                output::aside(text);
            } else {
                bar.println(indented(text));
            }
        })
    }

    pub(crate) fn end(&mut self) {
        self.bar.finish_and_clear();
    }
}
