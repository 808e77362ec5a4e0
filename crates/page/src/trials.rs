//! What a page shows of the trials beyond their judged figures: courses, percentiles, commands. A trial's record is large, so each is
//! reduced when it is read.

mod course;
mod percentiles;
mod reading;
mod shared;

pub(crate) use course::{Course, Piece, Track};
pub(crate) use percentiles::{Curve, LEAST_BEYOND};
pub use reading::Reading;

use record::id::CellId;
use record::knobs::Setting;
use record::printable::{Shown as _, printable, printable_lines};
use record::trial::{Outcome, TrialRecord};
use std::collections::BTreeMap;

/// The trials of a run, by cell.
#[derive(Debug, Default)]
pub struct Trials {
    cells: BTreeMap<CellId, CellTrials>,
}

/// The trials of one cell.
#[derive(Debug, Default)]
pub(crate) struct CellTrials {
    /// Its trials in the order of measurement, including failed ones.
    pub(crate) rounds: Vec<Round>,
    /// The job and the commands of the latest measured trial.
    pub(crate) ran: Option<Ran>,
}

/// One trial.
#[derive(Debug)]
pub(crate) struct Round {
    /// The round, from 0.
    pub(crate) round: u32,
    /// Why it failed; `None`: it was measured.
    pub(crate) failed: Option<String>,
    /// What a failed trial is called: `failed` or `cut off`.
    pub(crate) word: &'static str,
    /// Its rates over time.
    pub(crate) course: Course,
    /// Its latencies by percentile, by the kind of request.
    pub(crate) curves: Vec<(&'static str, Curve)>,
}

/// The job of a trial as it ran.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The round, from 0.
    pub(crate) round: u32,
    /// The engine's command.
    pub(crate) argv: String,
    /// The engine's input, in lines.
    pub(crate) input: String,
    /// What the engine did in another way than asked.
    pub(crate) departures: Vec<String>,
    /// The commands that built the stack, in order.
    pub(crate) built: Vec<String>,
    /// Changed kernel settings.
    pub(crate) settings: Vec<String>,
}

/// What a page shows of one trial.
#[derive(Debug)]
pub struct TrialPart {
    cell: CellId,
    round: Round,
    ran: Option<Ran>,
}

impl TrialPart {
    /// Reduces a trial. Its samples come apart from its record, since they are by far the larger part.
    #[must_use]
    pub fn of(trial: &TrialRecord, readings: &[Reading]) -> Self {
        let failed = match &trial.outcome {
            Outcome::Measured => None,
            Outcome::Failed(why) => Some(printable(why).into_owned()),
        };
        Self {
            cell: trial.id.cell.clone(),
            ran: if failed.is_none() { ran(trial) } else { None },
            round: Round {
                round: trial.id.round,
                failed,
                word: if trial.cut_off { "cut off" } else { "failed" },
                course: Course::of(trial, readings),
                curves: percentiles::curves(trial),
            },
        }
    }
}

impl Trials {
    /// Adds a trial, in the order of measurement.
    pub fn add(&mut self, part: TrialPart) {
        let cell = self.cells.entry(part.cell).or_default();
        cell.ran = part.ran.or(cell.ran.take());
        cell.rounds.push(part.round);
    }

    /// The trials of a cell.
    pub(crate) fn of(&self, cell: &CellId) -> Option<&CellTrials> {
        self.cells.get(cell)
    }
}

fn ran(trial: &TrialRecord) -> Option<Ran> {
    let engine = trial.engine.as_ref()?;
    Some(Ran {
        round: trial.id.round,
        argv: command(&engine.argv),
        input: printable_lines(&engine.input).into_owned(),
        departures: engine.departures.iter().map(|d| printable(&d.text).into_owned()).collect(),
        built: trial.built.iter().map(|argv| command(argv)).collect(),
        settings: trial.settings.iter().map(setting).collect(),
    })
}

fn setting(setting: &Setting) -> String {
    format!("{} = {} (before: {})", setting.path.shown(), setting.value.shown(), setting.before.shown())
}

/// A command as it is typed in a shell.
fn command(argv: &[String]) -> String {
    let quoted = |word: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
        let word = printable(word);
        if !word.is_empty() && word.chars().all(plain) {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn a_command_is_one_for_a_shell() {
        let argv = ["mkfs.xfs", "-L", "a b", "it's", ""].map(str::to_owned);
        assert_eq!(command(&argv), r"mkfs.xfs -L 'a b' 'it'\''s' ''");
    }
}
