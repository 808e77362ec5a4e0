//! `diskproof create`, `converge`, `verify`, `destroy`, `login`, `test` and `list --live`: machines that stay between commands. Their state is
//! the journal.

use super::copying::Copying;
use super::created::{self, Machines, day, entries, existing, failure, gone, made, remains};
use super::driver::places;
use super::experiment;
use super::session::{Session, answer, converge as provision};
use crate::args::{Destroy, Experiment, List, Login, OfExperiment, Test, Trials};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use driver::journal::{Entry, Held, Journal, Stage};
use driver::protocol::MachineState;
use fleet::created::{Live, enter};
use record::plan::Plan;
use record::printable::Shown as _;
use std::time::Duration;

/// An experiment with its created machines.
struct Set {
    plan: Plan,
    machines: Machines,
    journal: Journal,
}

impl Set {
    /// Reads the experiment, asks its drivers, and finds the machines that exist.
    fn of(args: &Experiment, settings: &Settings) -> Result<Self, Failure> {
        let mut plan = experiment::load(args)?;
        let Some(mut machines) = created::prepare(&mut plan, &args.file, Destroy::Never, settings)? else {
            return Err(Failure::input(format!(
                "{}: no target has a `driver`, so there is nothing to create or destroy",
                args.file.shown()
            )));
        };
        let journal = Journal::of(&settings.state.value);
        machines.claims =
            claims(&journal, &plan.experiment).into_iter().map(|entry| entry.claim.id).collect();
        Ok(Self { plan, machines, journal })
    }

    /// Returns the machines of the experiment. If they don't exist, or one of them is gone, it creates all of them.
    fn held(&self, settings: &Settings, wish: &Wish) -> Result<Vec<Held>, Failure> {
        let places = places(settings)?;
        let held = existing(&self.machines, &self.plan, &self.journal, &places)?;
        if !held.is_empty() {
            return Ok(held);
        }
        let run = experiment::run_id();
        let at = (&self.journal, &places);
        made(&run.0, &self.plan, &self.machines.groups, at, Destroy::Never, wish)
    }
}

/// The kept claims of an experiment.
fn claims(journal: &Journal, experiment: &str) -> Vec<Entry> {
    let all = entries(journal).into_iter();
    all.filter(|entry| entry.kept && entry.experiment == experiment).collect()
}

/// After a failure, tells that the machines stay.
fn staying<T>(held: &[Held], done: Result<T, Failure>) -> Result<T, Failure> {
    if done.is_err() {
        held.iter().for_each(|held| output::aside(&remains(held.entry())));
    }
    done
}

fn listen() -> Result<Wish, Failure> {
    Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))
}

/// Creates the machines and enters them.
pub(crate) fn create(args: &OfExperiment, settings: &Settings) -> Result<Exit, Failure> {
    let set = Set::of(&args.experiment, settings)?;
    let wish = listen()?;
    let held = set.held(settings, &wish)?;
    let entered = enter(&set.plan, &held, &set.journal, &settings.fleet(), &wish.cancel);
    staying(&held, entered.map_err(|error| failure(error, &wish)))?;
    for one in &held {
        let entry = one.entry();
        for (target, machine) in entry.targets.iter().zip(&entry.created) {
            output::answer(&format!(
                "{target}: {}@{}, {} until {}",
                machine.user,
                machine.address,
                entry.stage.name(),
                day(entry.claim.deadline)
            ))?;
        }
    }
    Ok(Exit::Fine)
}

/// Creates the machines where they aren't there, and runs the provisioning steps.
pub(crate) fn converge(args: &OfExperiment, settings: &Settings) -> Result<Exit, Failure> {
    let set = Set::of(&args.experiment, settings)?;
    let wish = listen()?;
    let mut held = set.held(settings, &wish)?;
    let entered = enter(&set.plan, &held, &set.journal, &settings.fleet(), &wish.cancel);
    let done = entered.map_err(|error| failure(error, &wish));
    staying(&held, done.and_then(|entered| provision(&entered, settings, &wish)))?;
    for one in &mut held {
        one.change(|entry| entry.stage = entry.stage.max(Stage::Converged))?;
    }
    output::answer(&format!("{} is provisioned", set.plan.experiment))?;
    Ok(Exit::Fine)
}

/// Runs the trials on the machines, which stay.
pub(crate) fn verify(args: &Trials, settings: &Settings) -> Result<Exit, Failure> {
    let set = Set::of(&args.experiment, settings)?;
    session(set, Destroy::Never, settings)
}

fn session(mut set: Set, destroy: Destroy, settings: &Settings) -> Result<Exit, Failure> {
    set.machines.destroy = destroy;
    let run = experiment::run_id();
    let machines = Some(set.machines);
    let copying = Copying::of_new_run(&run, &mut set.plan, settings)?;
    answer(Session {
        run,
        plan: &set.plan,
        earlier: None,
        provision_anew: false,
        machines,
        copying,
        settings,
    })
}

/// Destroys the machines that earlier commands left.
pub(crate) fn destroy(args: &OfExperiment, settings: &Settings) -> Result<Exit, Failure> {
    // The drivers aren't asked about the settings: what exists must go, also if the file is wrong today.
    let plan = experiment::load(&args.experiment)?;
    let count = away(&plan.experiment, settings)?;
    if count == 0 {
        output::answer("nothing")?;
    }
    Ok(Exit::Fine)
}

/// Destroys the kept machines of an experiment; returns how many claims there were.
fn away(experiment: &str, settings: &Settings) -> Result<usize, Failure> {
    let journal = Journal::of(&settings.state.value);
    let mut held = Vec::new();
    for entry in claims(&journal, experiment) {
        held.extend(journal.take(&entry.claim.id, Duration::from_secs(60))?);
    }
    let count = held.len();
    gone(held.into_iter(), &places(settings)?)?;
    Ok(count)
}

/// Opens a shell, or runs a command, on a created machine.
pub(crate) fn login(args: &Login, settings: &Settings) -> Result<Exit, Failure> {
    let plan = experiment::load(&args.experiment)?;
    let journal = Journal::of(&settings.state.value);
    let all = claims(&journal, &plan.experiment);
    let made = all
        .iter()
        .flat_map(|entry| entry.targets.iter().zip(&entry.created).map(move |(t, m)| (entry, t, m)));
    let fitting: Vec<_> =
        made.filter(|(_, target, _)| args.target.as_ref().is_none_or(|only| only == *target)).collect();
    let [(entry, _, machine)] = fitting.as_slice() else {
        let names: Vec<&str> =
            all.iter().flat_map(|entry| entry.targets.iter().map(String::as_str)).collect();
        return Err(Failure::input(match names.as_slice() {
            [] => format!(
                "{} has no created machine; `diskproof create {}` makes them",
                plan.experiment,
                args.experiment.file.shown()
            ),
            names => format!("say which machine by --target: {}", names.join(", ")),
        }));
    };
    let ssh = fleet::created::way(&journal, entry, machine);
    let words: Vec<&str> = args.command.iter().map(String::as_str).collect();
    let status = ssh
        .hand_over(&words, words.is_empty())
        .map_err(|error| Failure::machine(format!("can't start ssh: {error}")))?;
    Ok(Exit::Theirs(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255)))
}

/// Does everything anew.
pub(crate) fn test(args: &Test, settings: &Settings) -> Result<Exit, Failure> {
    let mut plan = experiment::load(&args.experiment)?;
    away(&plan.experiment, settings)?;
    let Some(machines) = created::prepare(&mut plan, &args.experiment.file, args.destroy, settings)? else {
        return Err(Failure::input(format!("{}: no target has a `driver`", args.experiment.file.shown())));
    };
    let set = Set { plan, machines, journal: Journal::of(&settings.state.value) };
    session(set, args.destroy, settings)
}

/// Lists created machines, and asks their drivers whether they exist.
pub(crate) fn live(args: &List, settings: &Settings) -> Result<Exit, Failure> {
    let journal = Journal::of(&settings.state.value);
    let (mut all, unreadable) = fleet::created::live(&journal, &places(settings)?, true);
    for error in &unreadable {
        output::aside(&format!("warning: {}", record::printable::chain(error)));
    }
    if let Some(experiment) = &args.experiment {
        all.retain(|one| one.experiment == *experiment);
    }
    if args.json {
        let list: Vec<_> = all.iter().map(document).collect();
        output::json(&serde_json::to_string_pretty(&list).map_err(Failure::ours)?)?;
        return Ok(Exit::Fine);
    }
    if all.is_empty() {
        output::aside("no machine that a driver created is in the journal");
        return Ok(Exit::Fine);
    }
    let mut rows = vec![
        ["experiment", "target", "driver", "last done", "state", "run", "until (UTC)"].map(str::to_owned),
    ];
    rows.extend(all.iter().map(|one| {
        [
            one.experiment.shown().to_string(),
            one.target.clone(),
            one.driver.clone(),
            one.stage.to_owned(),
            state(one),
            format!("{}{}", one.run, if one.in_use { ", in use" } else { "" }),
            day(one.deadline),
        ]
    }));
    output::answer(&output::columns(&rows))?;
    Ok(Exit::Fine)
}

fn state(one: &Live) -> String {
    match &one.state {
        Ok(Some(MachineState::Starting)) => "starting".to_owned(),
        Ok(Some(MachineState::Running)) => "running".to_owned(),
        Ok(Some(MachineState::Stopped)) => "stopped".to_owned(),
        Ok(Some(MachineState::Ending)) => "ending".to_owned(),
        Ok(None) => "gone".to_owned(),
        Err(why) => format!("not known: {why}"),
    }
}

fn document(one: &Live) -> serde_json::Value {
    serde_json::json!({
        "claim": one.claim,
        "run": one.run,
        "experiment": one.experiment,
        "target": one.target,
        "driver": one.driver,
        "stage": one.stage,
        "state": state(one),
        "deadline": one.deadline,
        "in_use": one.in_use,
    })
}
