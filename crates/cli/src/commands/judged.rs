//! From stored records to the answer: judged anew every time, so that a better judge applies to old runs.

use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::id::RunId;
use record::judged::{RunView, Status};
use std::io::IsTerminal as _;
use store::RunData;

/// Judges a run.
pub(crate) fn judge(run: &RunId, data: &RunData) -> RunView {
    verdict::judge(&verdict::Input {
        run,
        plan: &data.plan,
        environment: &data.environment,
        volumes: &data.volumes,
        trials: &data.trials,
        stopped: &data.stopped,
    })
}

/// The answer for people, as wide and colourful as standard output allows.
pub(crate) fn terminal(view: &RunView, settings: &Settings) -> String {
    let colored = settings.colored(std::io::stdout().is_terminal());
    report::terminal(view, output::width(), colored)
}

/// How a run's end is told to the shell.
///
/// # Errors
/// A cell was planned and could never be measured: then there is no whole answer.
pub(crate) fn exit_of(view: &RunView) -> Result<Exit, Failure> {
    let unmeasured: Vec<&str> = view
        .cells
        .iter()
        .filter(|cell| cell.trials.done == 0 && cell.trials.failed > 0)
        .map(|cell| cell.stack.as_str())
        .collect();
    if let [first, ..] = unmeasured.as_slice() {
        let count = unmeasured.len();
        return Err(Failure::machine(format!(
            "{count} of {} cells could not be measured (the first: {first}); the findings say why",
            view.cells.len()
        )));
    }
    let missed = view.expectations.iter().any(|e| e.status == Status::Missed);
    Ok(if missed { Exit::NotMet } else { Exit::Fine })
}
