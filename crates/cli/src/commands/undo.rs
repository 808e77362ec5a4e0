//! `diskproof undo [RUN]`: puts back what a killed run left behind.

use super::show::{find, open_existing};
use crate::args::Undo;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::settings::keys::Sudo;
use fleet::created::Which;
use host::LocalRunner;
use record::id::RunId;
use record::plan::Plan;
use record::target::TargetKind;
use run::controller::{self, targets_of};
use std::ffi::OsString;

pub(crate) fn undo(args: &Undo, settings: &Settings) -> Result<Exit, Failure> {
    let run = args.run.as_deref().map(|name| named(name, settings)).transpose()?;
    let give_up = args.give_up.as_deref();
    if let Some(run) = &run
        && let Some(plan) = plan_elsewhere(run, settings)
    {
        return undo_everywhere(run, &plan, give_up, settings);
    }
    let mut done = guests(settings)?;
    done.add(created(run.as_ref(), args.all, give_up, settings)?);
    done.add(undo_on(&fleet::agent_here(&settings.fleet(), &LocalRunner, None)?, run.clone(), give_up)?);
    if !fleet::is_root() {
        if settings.sudo.value == Sudo::Auto && fleet::may_sudo(&LocalRunner) {
            done.add(undo_on(
                &fleet::agent_here(&settings.fleet(), &LocalRunner, Some("undo"))?,
                run,
                give_up,
            )?);
        } else {
            output::aside(
                "diskproof does not look at runs that were started as root; use sudo diskproof undo for those",
            );
        }
    }
    done.told()
}

/// The run of this name. A journal may belong to a run that the store doesn't know, so only names that can't be a run's own are looked up.
fn named(name: &str, settings: &Settings) -> Result<RunId, Failure> {
    if name.contains('@') { find(&open_existing(settings)?, name) } else { Ok(RunId(name.to_owned())) }
}

/// The result of an undo.
struct Done {
    lines: usize,
    clean: bool,
    /// Whether a run is still going on, which was left alone.
    going_on: bool,
}

impl Done {
    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.clean &= other.clean;
        self.going_on |= other.going_on;
    }

    fn told(&self) -> Result<Exit, Failure> {
        if !self.clean {
            output::aside("not everything could be put back; the lines above say what is left and why");
            return Ok(Exit::Ours);
        }
        if self.lines == 0 {
            output::answer("nothing")?;
        }
        Ok(if self.going_on { Exit::Machine } else { Exit::Fine })
    }
}

/// Stops lab guests that killed runs started, and removes disks that they attached.
fn guests(settings: &Settings) -> Result<Done, Failure> {
    match fleet::leave_abandoned(&settings.fleet(), None) {
        Ok(lines) => said(&lines),
        Err(error) => {
            output::aside(&Failure::from(error).to_string());
            Ok(Done { lines: 0, clean: false, going_on: false })
        }
    }
}

fn said(lines: &[String]) -> Result<Done, Failure> {
    lines.iter().try_for_each(|line| output::answer(line))?;
    Ok(Done { lines: lines.len(), clean: true, going_on: false })
}

/// The plan of a stored run, if it names machines.
fn plan_elsewhere(run: &RunId, settings: &Settings) -> Option<Plan> {
    let store = open_existing(settings).ok()?;
    store.head(run).ok().map(|head| head.plan).filter(|plan| !plan.targets.is_empty())
}

/// Undoes a run on all its machines. A machine that can't be reached is reported, and the others are undone nevertheless.
fn undo_everywhere(
    run: &RunId,
    plan: &Plan,
    give_up: Option<&str>,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let mut done = Done { lines: 0, clean: true, going_on: false };
    for target in targets_of(plan) {
        if plan.targets.iter().any(|one| one.name == target && matches!(one.kind, TargetKind::Created { .. }))
        {
            // What was built there goes with the machine.
            continue;
        }
        let there = fleet::connect_as_it_is(plan, target, &settings.fleet())
            .map_err(Failure::from)
            .and_then(|node| node.map(|node| undo_on(&node.argv, Some(run.clone()), give_up)).transpose());
        match there {
            Ok(undone) => undone.into_iter().for_each(|undone| done.add(undone)),
            Err(failure) => {
                done.clean = false;
                output::aside(&format!("target {target}: {failure}"));
            }
        }
    }
    done.add(guests(settings)?);
    done.add(created(Some(run), false, give_up, settings)?);
    done.told()
}

/// Destroys machines that drivers created for runs which have no living owner.
fn created(
    run: Option<&RunId>,
    also_kept: bool,
    give_up: Option<&str>,
    settings: &Settings,
) -> Result<Done, Failure> {
    let journal = driver::journal::Journal::of(&settings.state.value);
    let which = Which { run: run.map(|run| run.0.as_str()), also_kept, give_up };
    let undone = fleet::created::undo(&journal, &super::driver::places(settings)?, which, &output::aside);
    undone.left.iter().for_each(|left| output::aside(&format!("not destroyed: {left}")));
    let done = said(&undone.lines)?;
    Ok(Done { clean: undone.left.is_empty(), going_on: undone.going_on, ..done })
}

/// Asks an agent process to undo.
fn undo_on(node_argv: &[OsString], run: Option<RunId>, give_up: Option<&str>) -> Result<Done, Failure> {
    let undone = controller::undo(node_argv, run, give_up).map_err(|error| Failure {
        exit: Exit::from(error.fault()),
        error: Box::new(error),
        placed: false,
    })?;
    let done = said(&undone.lines)?;
    Ok(Done { clean: undone.clean, going_on: undone.going_on, ..done })
}
