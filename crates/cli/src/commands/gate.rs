//! `diskproof gate --baseline RUN [RUN]`: checks a run for regressions.

use super::compare::{StoredRun, print, wanted};
use super::show::open_existing;
use crate::args::{Gate, Undecided};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use record::comparison::{Comparison, DifferenceOf, Passage};
use record::finding::Severity;

pub(crate) fn gate(args: &Gate, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    let (baseline, run) = (StoredRun::of(&store, &args.baseline)?, StoredRun::of(&store, &args.run)?);
    if baseline.view.run == run.view.run {
        return Err(Failure::input(format!("run {} can't be its own baseline", run.view.run)));
    }
    let wanted = wanted(&args.choice, &[&baseline, &run], true)?;
    let comparison = verdict::gate(&run.judged(), &baseline.judged(), &wanted, args.margin / 100.0);
    if verdict::other_machine(&comparison) && !args.across_machines {
        return Err(Failure::machine(refusal(&comparison)));
    }
    print(&comparison, args.json, settings)?;
    if comparison.lines.is_empty() {
        return Err(Failure::machine(format!(
            "no figure of run {} can be compared with one of run {}",
            run.view.run, baseline.view.run
        )));
    }
    Ok(exit(comparison.gate.map_or(Passage::Undecided, |gate| gate.passage), args.undecided))
}

fn exit(passage: Passage, undecided: Option<Undecided>) -> Exit {
    match (passage, undecided) {
        (Passage::Pass, _) | (Passage::Undecided, Some(Undecided::Pass)) => Exit::Fine,
        (Passage::Regression, _) | (Passage::Undecided, Some(Undecided::Fail)) => Exit::NotMet,
        (Passage::Undecided, None) => Exit::Undecided,
    }
}

fn refusal(comparison: &Comparison) -> String {
    let differences = comparison.differences.iter();
    let machine = differences.filter(|d| d.of == DifferenceOf::Machine && d.severity == Severity::Void);
    let texts: Vec<&str> = machine.map(|d| d.text.as_str()).collect();
    format!("the runs can't be compared: {} (--across-machines compares them all the same)", texts.join("; "))
}
