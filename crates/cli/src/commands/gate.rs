//! `diskproof gate --baseline RUN [RUN]`: checks a run for regressions.

use super::compare::{StoredRun, print, wanted};
use super::judged::unreadable;
use super::show::{find, open_existing};
use crate::args::{Gate, Margin, Undecided};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use record::comparison::{Comparison, DifferenceOf, Passage};
use record::finding::Severity;
use record::plan::Plan;
use record::printable::Shown as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use verdict::{Margins, Rules, Usual};

pub(crate) fn gate(args: &Gate, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    let run = StoredRun::read(&store, &find(&store, &args.run)?)?;
    let baseline = store.find_before(&args.baseline, &run.view.run).map_err(unreadable)?;
    if baseline == run.view.run {
        return Err(Failure::input(format!("run {} can't be its own baseline", run.view.run)));
    }
    let baseline = StoredRun::read(&store, &baseline)?;
    let wanted = wanted(&args.choice, &[&baseline, &run], Usual::Gated)?;
    let rules = Rules {
        margins: margins(&args.margin, &[&baseline.plan, &run.plan])?,
        allows_missing: args.allow_missing,
    };
    let comparison = verdict::gate(&run.judged(), &baseline.judged(), &wanted, &rules);
    if verdict::other_machine(&comparison) && !args.across_machines {
        return Err(Failure::machine(refusal(&comparison)));
    }
    print(&comparison, args.json, settings)?;
    if let Some(path) = &args.junit {
        fs::write(path, report::junit(&comparison)).map_err(|error| unwritable(path, error))?;
    }
    if let Some(path) = &args.summary {
        append(path, &report::markdown(&report::comparison(&comparison)))
            .map_err(|error| unwritable(path, error))?;
    }
    if comparison.lines.is_empty() {
        return Err(Failure::machine(format!(
            "no figure of run {} can be compared with one of run {}",
            run.view.run, baseline.view.run
        )));
    }
    Ok(exit(comparison.gate.map_or(Passage::Undecided, |gate| gate.passage), args.undecided))
}

/// The default margins, with those of the command line.
fn margins(asked: &[Margin], plans: &[&Plan]) -> Result<Margins, Failure> {
    let mut margins = Margins::default();
    let derived: Vec<String> =
        plans.iter().flat_map(|plan| &plan.derived).map(|derived| derived.name.clone()).collect();
    // A margin of all figures is the base for those of some, wherever it stands.
    for margin in asked.iter().filter(|margin| margin.name.is_none()) {
        margins.set_all(margin.share);
    }
    for margin in asked {
        if let Some(name) = &margin.name {
            margins.set(name, margin.share, &derived).map_err(Failure::input)?;
        }
    }
    Ok(margins)
}

/// Appends a text to a file, and an empty line before it if the file has any text.
fn append(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::options().create(true).append(true).open(path)?;
    let gap = if file.metadata()?.len() > 0 { "\n" } else { "" };
    write!(file, "{gap}{text}")
}

fn unwritable(path: &Path, error: std::io::Error) -> Failure {
    Failure::machine(format!("can't write {}: {error}", path.shown()))
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
