//! What a plan asks of drivers: settings merged and checked, machines grouped, prices known.

use super::error::CreatedError;
use driver::protocol::{
    Answer, Capabilities, MachineRequest, Offer, Problem, Settings, Task, Valid, VolumeRequest,
};
use driver::settings::{Merged, Source, merge};
use driver::{Heard, How, Places, Program, call, plain_name};
use record::plan::Plan;
use record::printable::printable;
use record::target::{CreatedVolume, Target, TargetKind};
use run::controller::targets_of;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a driver may take to check settings.
const VALIDATE: Duration = Duration::from_secs(120);

/// The settings of drivers in the user's file, by driver, and the file's name for messages.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// The file's name.
    pub name: String,
    /// Settings of machines by driver.
    pub settings: BTreeMap<String, Settings>,
}

/// Machines of one driver with the same settings: one claim creates them.
#[derive(Debug, Clone)]
pub struct Group {
    /// The driver's program.
    pub program: Program,
    /// What it takes.
    pub capabilities: Capabilities,
    /// The target of each machine.
    pub targets: Vec<String>,
    /// The machines.
    pub machines: Vec<MachineRequest>,
    /// What each would cost and promises.
    pub offers: Vec<Offer>,
}

/// Something wrong with a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The target.
    pub target: String,
    /// The volume, as the experiment names it.
    pub volume: Option<String>,
    /// The key.
    pub key: Option<String>,
    /// What is wrong.
    pub text: String,
    /// The way out.
    pub help: Option<String>,
}

/// A required setting of a machine that nobody says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed {
    /// The target.
    pub target: String,
    /// Its key.
    pub key: String,
    /// What it is.
    pub about: String,
}

/// What drivers say of a plan.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The machines to create; incomplete if something is wrong.
    pub groups: Vec<Group>,
    /// Old names of settings, and what drivers warn of.
    pub warnings: Vec<String>,
    /// What is wrong.
    pub wrong: Vec<Wrong>,
    /// Required settings of machines that nobody says; each is among `wrong` as well.
    pub needed: Vec<Needed>,
    /// What the metadata service told, by what it was asked for.
    told: BTreeMap<String, Result<String, String>>,
}

/// Whether a plan's cells need machines that drivers create.
#[must_use]
pub fn is_created(plan: &Plan) -> bool {
    created(plan).next().is_some()
}

fn created(plan: &Plan) -> impl Iterator<Item = &Target> {
    let used = targets_of(plan);
    let is = |target: &&Target| matches!(target.kind, TargetKind::Created { .. });
    plan.targets.iter().filter(is).filter(move |target| used.contains(&target.name.as_str()))
}

/// Asks the drivers of a plan's machines whether they take the settings, and what the machines cost. Changes nothing.
///
/// # Errors
/// There is no such driver, or it fails. Wrong settings are no error, but in the answer.
pub fn ask(plan: &Plan, places: &Places, files: &Files) -> Result<Asked, CreatedError> {
    let mut asked = merged(plan, places, files)?;
    if asked.wrong.is_empty() {
        let Asked { groups, warnings, wrong, .. } = &mut asked;
        for group in groups {
            validate(group, plan, warnings, wrong)?;
        }
    }
    Ok(asked)
}

/// Returns the required settings of a plan's machines that nobody says. No driver contacts its provider for that.
///
/// # Errors
/// There is no such driver, or it fails.
pub fn needed(plan: &Plan, places: &Places, files: &Files) -> Result<Vec<Needed>, CreatedError> {
    Ok(merged(plan, places, files)?.needed)
}

/// The settings of a plan's machines from all their sources.
fn merged(plan: &Plan, places: &Places, files: &Files) -> Result<Asked, CreatedError> {
    let mut asked = Asked::default();
    let mut known: BTreeMap<&str, (Program, Capabilities)> = BTreeMap::new();
    for target in created(plan) {
        let TargetKind::Created { driver, settings, volumes } = &target.kind else { continue };
        if !known.contains_key(driver.as_str()) {
            let program = places.find(driver)?;
            let capabilities = capabilities(&program)?;
            known.insert(driver, (program, capabilities));
        }
        let Some((program, capabilities)) = known.get(driver.as_str()) else { continue };
        let machine = machine(target, settings, volumes, capabilities, files.of(driver), &mut asked);
        let same = |group: &&mut Group| {
            group.program == *program
                && group.machines.first().is_some_and(|first| first.settings == machine.settings)
        };
        match asked.groups.iter_mut().find(same) {
            Some(group) => {
                group.targets.push(target.name.clone());
                group.machines.push(machine);
            }
            None => asked.groups.push(Group {
                program: program.clone(),
                capabilities: capabilities.clone(),
                targets: vec![target.name.clone()],
                machines: vec![machine],
                offers: Vec::new(),
            }),
        }
    }
    Ok(asked)
}

impl Files {
    fn of(&self, driver: &str) -> Option<Source<'_>> {
        Some(Source { name: &self.name, settings: self.settings.get(driver)? })
    }
}

/// What a driver is and takes.
///
/// # Errors
/// The driver fails, or one of its settings would keep a secret.
pub(crate) fn capabilities(program: &Program) -> Result<Capabilities, CreatedError> {
    let Answer::Capabilities(capabilities) = call(program, Task::Capabilities, &How::default(), &mut |_| {})?
    else {
        return Err(other(program));
    };
    if let Some((key, variable)) = capabilities.kept_secret() {
        let what = format!(
            "its setting `{}` takes its value from {}, which is a secret; settings are kept, and secrets must not be",
            printable(key),
            printable(variable)
        );
        return Err(CreatedError::Answer { driver: program.name.clone(), what });
    }
    Ok(capabilities)
}

/// The error of an answer to another task; `call` refuses it already.
pub(crate) fn other(program: &Program) -> CreatedError {
    CreatedError::Answer {
        driver: program.name.clone(),
        what: "its result belongs to another task".to_owned(),
    }
}

fn machine(
    target: &Target,
    settings: &Settings,
    volumes: &[CreatedVolume],
    capabilities: &Capabilities,
    file: Option<Source<'_>>,
    asked: &mut Asked,
) -> MachineRequest {
    let variable = |name: &str| std::env::var(name).ok();
    let own = Source { name: "the experiment", settings };
    let below: Vec<Source<'_>> = file.into_iter().collect();
    let mut merged = merge(&capabilities.settings, &below, &variable, &[own]);
    merged.resolve(&capabilities.settings, &mut |fact| {
        let told = asked.told.entry(fact.to_owned());
        told.or_insert_with(|| driver::metadata::ask(fact, &variable)).clone()
    });
    let needed = merged.missing.iter().map(|one| Needed {
        target: target.name.clone(),
        key: one.key.clone(),
        about: one.about.clone(),
    });
    asked.needed.extend(needed);
    let settings = asked.take(merged, &target.name, None);
    let mut requests = Vec::new();
    for volume in volumes {
        let own = Source { name: "the experiment", settings: &volume.settings };
        let merged = merge(&capabilities.volume_settings, &[], &variable, &[own]);
        let settings = asked.take(merged, &target.name, Some(&volume.name));
        requests.extend(volume.single().into_iter().map(|(_, name)| VolumeRequest {
            name,
            size_bytes: volume.size_bytes,
            settings: settings.clone(),
        }));
    }
    MachineRequest { name: plain_name(&target.name), settings, volumes: requests }
}

impl Asked {
    fn take(&mut self, merged: Merged, target: &str, volume: Option<&str>) -> Settings {
        let place = volume.map_or_else(String::new, |volume| format!(", volume {volume}"));
        let said = merged.warnings.into_iter().map(|text| format!("target {target}{place}: {text}"));
        for text in said {
            if !self.warnings.contains(&text) {
                self.warnings.push(text);
            }
        }
        self.wrong.extend(merged.wrong.into_iter().map(|wrong| {
            let elsewhere = wrong.origin.as_deref().filter(|origin| *origin != "the experiment");
            Wrong {
                target: target.to_owned(),
                volume: volume.map(str::to_owned),
                text: elsewhere
                    .map_or_else(|| wrong.text.clone(), |origin| format!("{origin}: {}", wrong.text)),
                key: (elsewhere.is_none() && wrong.origin.is_some()).then_some(wrong.key),
                help: wrong.help,
            }
        }));
        merged.settings
    }
}

fn validate(
    group: &mut Group,
    plan: &Plan,
    warnings: &mut Vec<String>,
    wrong: &mut Vec<Wrong>,
) -> Result<(), CreatedError> {
    let how = How { secrets: &group.capabilities.secrets, limit: VALIDATE, ..How::default() };
    let task = Task::Validate { machines: group.machines.clone() };
    let answer = call(&group.program, task, &how, &mut |heard| {
        if let Heard::Event(driver::protocol::Event::Warning { text }) = heard {
            warnings.push(format!("driver {}: {text}", group.program.name));
        }
    })?;
    let Answer::Valid(Valid { problems, offers }) = answer else { return Err(other(&group.program)) };
    let fits = offers.len() == group.machines.len()
        && offers
            .iter()
            .zip(&group.machines)
            .all(|(offer, machine)| offer.volumes.len() == machine.volumes.len());
    if problems.is_empty() && !fits {
        let what = "its offers don't fit the machines that it was asked about".to_owned();
        return Err(CreatedError::Answer { driver: group.program.name.clone(), what });
    }
    wrong.extend(problems.into_iter().map(|problem| of_driver(problem, group, plan)));
    group.offers = offers;
    Ok(())
}

/// A driver's problem, with the names that the experiment has.
fn of_driver(problem: Problem, group: &Group, plan: &Plan) -> Wrong {
    let at = group.machines.iter().position(|machine| machine.name == problem.machine);
    let target =
        at.and_then(|at| group.targets.get(at)).or(group.targets.first()).cloned().unwrap_or_default();
    let kind = plan.targets.iter().find(|one| one.name == target).map(|one| &one.kind);
    let volume = problem.volume.map(|name| match kind {
        Some(TargetKind::Created { volumes, .. }) => {
            let is = |volume: &&CreatedVolume| volume.single().iter().any(|(_, single)| *single == name);
            volumes.iter().find(is).map_or(name.clone(), |volume| volume.name.clone())
        }
        _ => name,
    });
    Wrong { target, volume, key: problem.key, text: problem.text, help: problem.help }
}
