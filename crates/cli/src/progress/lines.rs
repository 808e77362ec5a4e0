//! One line per event, for logs and pipes; on a terminal, lines fit its width.

use super::fit::{around, wrapped};
use super::tracker::{Tracker, found};
use crate::output;
use record::event::Event;
use record::id::CellId;
use record::printable::indented;
use record::quantity::Seconds;
use std::collections::BTreeMap;
use std::time::Instant;

/// Progress in lines.
pub(crate) struct Lines {
    tracker: Tracker,
    /// The step that was printed last, so that its progress isn't printed as a new step.
    step: String,
    trials_begun: BTreeMap<CellId, Instant>,
}

impl Lines {
    pub(crate) fn new(tracker: Tracker) -> Self {
        Self { tracker, step: String::new(), trials_begun: BTreeMap::new() }
    }

    pub(crate) fn tell(&mut self, event: &Event) {
        let (now, width) = (Instant::now(), output::aside_width());
        self.tracker.take(event, now);
        if let Some(line) = self.line(event, now, width) {
            output::aside(&wrapped(&indented(&line), width));
        }
    }

    fn line(&mut self, event: &Event, now: Instant, width: Option<usize>) -> Option<String> {
        let (_, total) = self.tracker.count();
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
                self.trials_begun.insert(cell.clone(), now);
                let after = format!("{}, round {}", self.tracker.tries(cell, *tried), round + 1);
                let before = format!("trial {}/{total}: ", self.tracker.begun());
                Some(around(&before, self.tracker.name(cell), &after, width))
            }
            Event::TrialFinished { record } => {
                let begun = self.trials_begun.remove(&record.id.cell).unwrap_or(now);
                let took = Seconds(now.duration_since(begun).as_secs_f64());
                let left =
                    self.tracker.left(now).map(|left| format!(", about {left} left")).unwrap_or_default();
                Some(format!("  {}{} ({took}{left})", self.tracker.of(&record.id.cell), found(record)))
            }
            Event::CellEstimated { cell, .. } => {
                let name = self.tracker.of(cell);
                self.tracker.estimated(event).map(|figure| format!("  {name}so far {figure}"))
            }
            Event::RoundFinished { .. } => self.tracker.reported(event, width),
            Event::LengthChosen { .. } => Tracker::length(event),
            Event::Warning { text } => Some(format!("warning: {text}")),
            Event::Step { .. }
            | Event::NodeReady { .. }
            | Event::Provisioned { .. }
            | Event::LoadSampled { .. }
            | Event::Spent { .. }
            | Event::ChangesToUndo { .. }
            | Event::CellSkipped { .. }
            | Event::RunFinished { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use crate::progress::fit::wrapped;
    use crate::progress::tracker::Tracker;
    use crate::progress::tracker::tests::{plan, started};
    use std::time::Instant;

    #[test]
    fn a_trial_of_long_names_is_one_line_of_the_terminal() {
        let mut plan = plan();
        plan.cells[0].stack.name = "lvm-raid10-on-luks-with-a-writeback-cache".to_owned();
        plan.cells[0].workload.name = "randwrite-16k-with-a-sync-after-every-4-writes".to_owned();
        let mut lines = Lines::new(Tracker::new(&plan, 0));
        lines.tracker.take(&started("a", 0), Instant::now());
        let mut at = |width| {
            let line = lines.line(&started("a", 0), Instant::now(), width).unwrap();
            wrapped(&line, width)
        };
        assert!(at(None).contains("writeback-cache randwrite-16k"), "{}", at(None));
        for width in [40, 60, 80] {
            let line = at(Some(width));
            assert!(line.chars().count() <= width && !line.contains('\n'), "{line}");
            assert!(line.starts_with("trial 1/4: lvm") && line.ends_with("writes, round 1"), "{line}");
        }
    }
}
