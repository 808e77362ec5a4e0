//! `diskproof list`: the runs that measured something, the latest last.

use super::judged::unreadable;
use super::show::open_existing;
use crate::args::List;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use jiff::Timestamp;
use record::event::Stopped;
use record::printable::{Shown as _, printable};
use store::RunSummary;

pub(crate) fn list(args: &List, settings: &Settings) -> Result<Exit, Failure> {
    if args.live {
        return super::create::live(args, settings);
    }
    let mut runs = if settings.store.value.exists() {
        open_existing(settings)?.runs().map_err(unreadable)?
    } else {
        Vec::new()
    };
    if let Some(experiment) = &args.experiment {
        runs.retain(|run| run.experiment == *experiment);
    }
    let known = runs.len();
    // one that is under way, or was killed and may have left something, is of interest before its first trial is done
    let matters = |run: &RunSummary| {
        run.trials_done > run.trials_failed
            || matches!(run.stopped, Stopped::Unfinished | Stopped::Queued { .. })
    };
    runs.retain(|run| args.all || matters(run));
    let left_out = known - runs.len();
    runs.reverse(); // the store gives the latest first; ids of one second are in no order
    if args.json {
        let list: Vec<_> = runs.iter().map(document).collect();
        let text = serde_json::to_string_pretty(&list).map_err(Failure::ours)?;
        output::json(&text)?;
    } else if runs.is_empty() {
        let of = args.experiment.as_ref().map(|name| format!(" of {}", name.shown())).unwrap_or_default();
        output::aside(&format!("no run{of} is kept yet in {}", settings.store.value.shown()));
    } else {
        let tagged = runs.iter().any(|run| !run.tags.is_empty());
        let tags = if tagged { "tags" } else { "" };
        let mut rows =
            vec![["run", "experiment", "started (UTC)", "trials", "ended", tags].map(str::to_owned)];
        rows.extend(runs.iter().map(row));
        output::answer(&output::columns(&rows))?;
    }
    if left_out > 0 {
        let runs = if left_out == 1 {
            "1 run that measured nothing"
        } else {
            &format!("{left_out} runs that measured nothing")
        };
        output::aside(&format!("left out: {runs}; list --all shows them"));
    }
    Ok(Exit::Fine)
}

fn document(run: &RunSummary) -> serde_json::Value {
    serde_json::json!({
        "run": run.id,
        "experiment": run.experiment,
        "started_unix_ms": run.started_unix_ms,
        "trials": {"done": run.trials_done, "failed": run.trials_failed, "planned": run.trials_planned},
        "stopped": run.stopped,
        "tags": run.tags,
    })
}

/// When a run began: day and minute, UTC.
pub(crate) fn started(run: &RunSummary) -> String {
    let millis = i64::try_from(run.started_unix_ms).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(millis)
        .map_or_else(|_| "?".to_owned(), |t| t.strftime("%Y-%m-%d %H:%M").to_string())
}

fn row(run: &RunSummary) -> [String; 6] {
    let started = started(run);
    let trials = trials(run);
    // a store may be somebody else's
    let tags = run.tags.join(", ");
    [run.id.to_string(), run.experiment.clone(), started, trials, ended(&run.stopped), tags]
        .map(|text| printable(&text).into_owned())
}

/// The number of measured trials, of the planned ones, and of failed ones if there are any.
fn trials(run: &RunSummary) -> String {
    let measured = run.trials_done.saturating_sub(run.trials_failed);
    let failed =
        if run.trials_failed > 0 { format!(", {} failed", run.trials_failed) } else { String::new() };
    match run.stopped {
        // The planned number was only the maximum.
        Stopped::Enough { .. } => format!("{measured}{failed}"),
        _ => format!("{measured}/{}{failed}", run.trials_planned.max(run.trials_done)),
    }
}

fn ended(stopped: &Stopped) -> String {
    match stopped {
        Stopped::RoundsDone { rounds: 1 } => "after 1 round".to_owned(),
        Stopped::RoundsDone { rounds } => format!("after {rounds} rounds"),
        Stopped::Enough { rounds } => format!("sure enough after {rounds} rounds"),
        Stopped::WrittenSpent => "budget of bytes written spent".to_owned(),
        Stopped::CostSpent => "budget of money spent".to_owned(),
        Stopped::TimeSpent => "time budget spent".to_owned(),
        Stopped::Requested { rounds } => format!("on request after {rounds} rounds"),
        Stopped::Interrupted => "interrupted".to_owned(),
        Stopped::Failed { error } => {
            let line = error.lines().next().unwrap_or_default();
            let cut: String = line.chars().take(60).collect();
            format!("failed: {cut}{}", if cut.len() < line.len() { "..." } else { "" })
        }
        Stopped::Imported { files } => format!("imported ({files} files)"),
        Stopped::Queued { blocks } => format!("not yet: {blocks} blocks were made for a queue"),
        Stopped::Unfinished => "never (killed, or still running)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::trials;
    use record::event::Stopped;
    use record::id::RunId;
    use store::RunSummary;

    #[test]
    fn a_failed_trial_is_not_counted_as_measured() {
        let run = |done, failed, planned, stopped| RunSummary {
            id: RunId("20261121-201455-3f9a".to_owned()),
            experiment: "demo".to_owned(),
            started_unix_ms: 0,
            trials_done: done,
            trials_failed: failed,
            trials_planned: planned,
            stopped,
            tags: Vec::new(),
        };
        assert_eq!(trials(&run(1, 1, 1, Stopped::RoundsDone { rounds: 1 })), "0/1, 1 failed");
        assert_eq!(trials(&run(4, 0, 6, Stopped::Interrupted)), "4/6");
        assert_eq!(trials(&run(8, 2, 90, Stopped::Enough { rounds: 4 })), "6, 2 failed");
    }
}
