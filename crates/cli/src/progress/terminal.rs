//! A bar in the last line of the terminal, with the current step.

use super::fit::{around, wrapped};
use super::tracker::{Tracker, found};
use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::event::Event;
use record::printable::{indented, printable};
use std::time::{Duration, Instant};

/// How often the bar is drawn without an event: once a second, so that drawing is no load beside the measured one.
const TICK: Duration = Duration::from_secs(1);
/// The number of columns where it can't be told.
const WIDTH: usize = 80;
/// The most and the fewest columns of the bar itself.
const BAR: (usize, usize) = (40, 10);
/// The columns in the line of the bar beside the bar and the prefix: `  [`, `] `, and `, 12s so far`.
const BESIDE: usize = 3 + 2 + 14;

/// Progress on a terminal.
pub(crate) struct Bar {
    tracker: Tracker,
    bar: ProgressBar,
}

/// What the bar shows below the log.
#[derive(Debug, PartialEq, Eq)]
struct Below {
    /// The current step, and the state after the last round.
    message: String,
    /// The numbers of trials and the time that is left.
    prefix: String,
    /// The columns of the bar.
    bar: usize,
    /// Whether the bar has its line for itself.
    alone: bool,
}

impl Below {
    fn of(tracker: &Tracker, now: Instant, width: usize) -> Self {
        let (finished, total) = tracker.count();
        let left = tracker.left(now).map(|left| format!(", about {left} left")).unwrap_or_default();
        let most = if tracker.stops_when_enough() { "at most " } else { "" };
        let prefix = format!("{finished} of {most}{total} trials{left}");
        // the spinner and a blank stand before the first line
        let doing = wrapped(&printable(&tracker.doing(Some(width - 2))), Some(width - 2));
        let standing = tracker.standing(Some(width)).map(|text| {
            let text = format!("  {}", printable(&text));
            format!("\n{}", wrapped(&text, Some(width)))
        });
        let room = width.saturating_sub(BESIDE + prefix.chars().count());
        let alone = room < BAR.1;
        let room = if alone { width.saturating_sub(5) } else { room };
        Self { message: doing + &standing.unwrap_or_default(), prefix, bar: room.min(BAR.0), alone }
    }

    fn template(&self) -> String {
        let between = if self.alone { "]\n  " } else { "] " };
        format!("{{spinner}} {{msg}}\n  [{{bar:{}}}{between}{{prefix}}, {{elapsed}} so far", self.bar)
    }
}

impl Bar {
    pub(crate) fn new(tracker: Tracker) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(4));
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
                let tries = self.tracker.tries(&id.cell, record.tried);
                let after = format!("{tries}, round {}: {}", id.round + 1, found(record));
                let name = self.tracker.name(&id.cell);
                self.say(&around(&format!("{finished}/{total} "), name, &after, output::aside_width()));
            }
            Event::CellEstimated { .. } => {
                self.say(&format!("  so far {}", self.tracker.estimated(event).unwrap_or_default()));
            }
            _ => {}
        }
        self.draw(now);
    }

    fn say(&self, text: &str) {
        self.bar.println(wrapped(&indented(text), output::aside_width()));
    }

    fn draw(&self, now: Instant) {
        let (finished, total) = self.tracker.count();
        let below = Below::of(&self.tracker, now, output::aside_width().unwrap_or(WIDTH).max(BAR.1));
        if let Ok(style) = ProgressStyle::with_template(&below.template()) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.set_length(total.max(1));
        self.bar.set_position(finished);
        self.bar.set_prefix(below.prefix);
        self.bar.set_message(below.message);
    }

    pub(crate) fn speaker(&self) -> Box<dyn Fn(&str) + Send> {
        let bar = self.bar.clone();
        Box::new(move |text| {
            if bar.is_finished() {
                output::aside(text);
            } else {
                bar.println(wrapped(&indented(text), output::aside_width()));
            }
        })
    }

    pub(crate) fn end(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Below;
    use crate::progress::tracker::Tracker;
    use crate::progress::tracker::tests::{plan, started};
    use record::event::{Event, Widest};
    use record::id::{CellId, RunId};
    use record::plan::{Goal, Until};
    use std::time::Instant;

    /// A run in its tenth round, with long names.
    fn tracker(now: Instant) -> Tracker {
        let mut plan = plan();
        plan.cells[0].stack.name = "lvm-raid10-on-luks-with-a-writeback-cache".to_owned();
        plan.cells[0].workload.name = "randwrite-16k-depth-64".to_owned();
        plan.measure.until = Some(Until::new(Goal::Interval(0.05), None));
        let mut tracker = Tracker::new(&plan, 17);
        let run = RunId("r".to_owned());
        tracker.take(&Event::RunStarted { run, trials: 12_000, forecast_seconds: 98_765.0 }, now);
        let widest = Some(Widest { cell: CellId("a".to_owned()), against: None, width: Some(0.061) });
        let finished = Event::RoundFinished {
            rounds: 9,
            most_rounds: 30,
            asked: 2,
            open: 1,
            widest,
            more_rounds: Some(3),
        };
        tracker.take(&finished, now);
        tracker.take(&started("a", 9), now);
        tracker
    }

    #[test]
    fn every_line_below_the_log_fits_and_numbers_stay_whole() {
        let now = Instant::now();
        let tracker = tracker(now);
        for width in 60..160 {
            let below = Below::of(&tracker, now, width);
            let columns = |line: &str| line.chars().count();
            let mut lines = below.message.lines();
            assert!(columns(lines.next().unwrap()) <= width - 2, "{width}: {below:?}");
            assert!(lines.all(|line| columns(line) <= width), "{width}: {below:?}");
            // `  [`, the bar, `] ` and `, 12s so far`
            let (bar, text) = (below.bar, columns(&below.prefix) + 12);
            let widest = if below.alone { (bar + 4).max(text + 2) } else { bar + text + 5 };
            assert!(widest <= width, "{width}: {below:?}");
            let words = below.message.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(", round 10/2: build round 9 of at most 30: lvm"), "{words}");
            assert!(words.ends_with("±6.1 %, asked ±5 %; about 3 more rounds"), "{words}");
        }
        let wide = Below::of(&tracker, now, 160);
        assert!(
            wide.message.starts_with("lvm-raid10-on-luks-with-a-writeback-cache randwrite-16k-depth-64,")
        );
        assert_eq!((wide.bar, wide.alone), (40, false));
        assert!(Below::of(&tracker, now, 60).alone);
    }
}
