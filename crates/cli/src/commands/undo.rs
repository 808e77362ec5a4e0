//! `diskproof undo [RUN]`: puts back what a killed run left behind.

use crate::args::Undo;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::privilege;
use crate::reach;
use crate::settings::Settings;
use crate::settings::keys::Sudo;
use host::LocalRunner;
use record::id::RunId;
use record::plan::Plan;
use run::controller::{self, targets_of};
use std::ffi::OsString;

pub(crate) fn undo(args: &Undo, settings: &Settings) -> Result<Exit, Failure> {
    let run = args.run.clone().map(RunId);
    if let Some(run) = &run
        && let Some(plan) = plan_elsewhere(run, settings)
    {
        return undo_everywhere(run, &plan, settings);
    }
    let mut clean = undo_on(&privilege::node_argv(settings, &LocalRunner, None)?, run.clone())?;
    if !privilege::is_root() {
        if settings.sudo.value == Sudo::Auto && privilege::may_sudo(&LocalRunner) {
            clean &= undo_on(&privilege::node_argv(settings, &LocalRunner, Some("undo"))?, run)?;
        } else {
            output::aside("runs that were started as root are not looked at: for those, sudo diskproof undo");
        }
    }
    Ok(told(clean))
}

fn told(clean: bool) -> Exit {
    if clean {
        return Exit::Fine;
    }
    output::aside("not everything could be put back; the lines above say what is left and why");
    Exit::Ours
}

/// The plan of a kept run that has targets of its own.
fn plan_elsewhere(run: &RunId, settings: &Settings) -> Option<Plan> {
    let store = super::show::open_existing(settings).ok()?;
    store.head(run).ok().map(|head| head.plan).filter(|plan| !plan.targets.is_empty())
}

/// Undoes a run on all its targets; a machine that can't be reached is told, and the others are undone all the same.
fn undo_everywhere(run: &RunId, plan: &Plan, settings: &Settings) -> Result<Exit, Failure> {
    let mut clean = true;
    for target in targets_of(plan) {
        let there = reach::node_there(plan, target, settings).and_then(|node| match node {
            Some(node) => undo_on(&node.argv, Some(run.clone())),
            None => Ok(true),
        });
        match there {
            Ok(done) => clean &= done,
            Err(failure) => {
                clean = false;
                output::aside(&format!("target {target}: {failure}"));
            }
        }
    }
    Ok(told(clean))
}

/// Asks a node to undo; whether nothing is left there.
fn undo_on(node_argv: &[OsString], run: Option<RunId>) -> Result<bool, Failure> {
    let (lines, clean) = controller::undo(node_argv, run).map_err(|error| Failure {
        exit: Exit::from(error.blame()),
        error: Box::new(error),
        placed: false,
    })?;
    for line in &lines {
        output::answer(line)?;
    }
    if lines.is_empty() && clean {
        output::answer("nothing")?;
    }
    Ok(clean)
}
