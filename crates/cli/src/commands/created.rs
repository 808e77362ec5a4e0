//! Machines that drivers create for a session: asked about before it, created at its beginning, destroyed at its end.

use super::driver::places;
use super::experiment;
use super::session::Session;
use crate::args::Destroy;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use driver::Places;
use driver::journal::{Entry, Held, Journal, JournalError, Stage};
use driver::protocol::Settings as DriverSettings;
use fleet::Options;
use fleet::created::{
    Asked, CreatedError, Entered, Files, Group, Making, ask, bill, create, enter, is_created, put_prices,
};
use record::id::RunId;
use record::plan::Plan;
use record::printable::{Shown as _, indented, printable};
use record::target::TargetKind;
use report::money;
use spec::AtKey;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long machines may live beyond the forecast of their run, in seconds.
const LIFE: u64 = 8 * 3600;
/// The time that creating and destroying takes, for the bill, in seconds.
const COMING_AND_GOING: f64 = 600.0;

/// The machines of a session.
#[derive(Debug)]
pub(crate) struct Machines {
    /// What the drivers are asked for.
    pub(crate) groups: Vec<Group>,
    /// When they are destroyed.
    pub(crate) destroy: Destroy,
    /// The claims of machines that exist already; empty: they are created.
    pub(crate) claims: Vec<String>,
}

/// Asks the drivers of a plan about its machines, and puts their prices into the plan. `None`: it has no such machines.
///
/// # Errors
/// A setting is wrong, shown at its line; a driver fails; or the machines would cost more than the budget.
pub(crate) fn prepare(
    plan: &mut Plan,
    file: &Path,
    destroy: Destroy,
    settings: &Settings,
) -> Result<Option<Machines>, Failure> {
    let Some(groups) = asked(plan, &file.shown().to_string(), settings)? else { return Ok(None) };
    put_prices(plan, &groups);
    within_budget(plan, &groups)?;
    Ok(Some(Machines { groups, destroy, claims: Vec::new() }))
}

/// Puts settings of drivers from the command line (`TARGET.KEY`) into a plan, over those of the experiment.
///
/// # Errors
/// There is no such target, or no driver creates it.
pub(crate) fn set(plan: &mut Plan, all: BTreeMap<String, String>) -> Result<(), Failure> {
    for (name, value) in all {
        let (target, key) = name.split_once('.').unwrap_or((&name, ""));
        let created = plan.targets.iter_mut().find(|one| one.name == target).map(|one| &mut one.kind);
        let Some(TargetKind::Created { settings, .. }) = created else {
            let name = printable(&name);
            return Err(Failure::input(format!(
                "--set {name}: no target `{}` has a driver",
                printable(target)
            )));
        };
        settings.insert(key.to_owned(), value.into());
    }
    Ok(())
}

/// The machines of a run that goes on: those that it left, or else new ones.
///
/// # Errors
/// As of [`prepare`].
pub(crate) fn again(plan: &Plan, run: &RunId, settings: &Settings) -> Result<Option<Machines>, Failure> {
    let Some(groups) = asked(plan, &format!("run {run}"), settings)? else { return Ok(None) };
    let entries = Journal::of(&settings.state.value).entries().map_err(Failure::machine)?;
    let claims = entries.into_iter().filter(|entry| entry.claim.run == run.0 && !entry.created.is_empty());
    let claims = claims.map(|entry| entry.claim.id).collect();
    Ok(Some(Machines { groups, destroy: Destroy::Always, claims }))
}

/// What the drivers say of a plan; `None`: it has no created machines.
fn asked(plan: &Plan, name: &str, settings: &Settings) -> Result<Option<Vec<Group>>, Failure> {
    if !is_created(plan) {
        return Ok(None);
    }
    let Asked { groups, warnings, wrong } = ask(plan, &places(settings)?, &files(settings)?)?;
    warnings.iter().for_each(|text| output::aside(&format!("warning: {text}")));
    if wrong.is_empty() {
        return Ok(Some(groups));
    }
    let at = |wrong: fleet::created::Wrong| {
        let volume = wrong.volume.into_iter().flat_map(|volume| ["volumes".to_owned(), volume]);
        let path = ["targets".to_owned(), wrong.target].into_iter().chain(volume).chain(wrong.key);
        AtKey { path: path.collect(), message: wrong.text, help: wrong.help }
    };
    let all: Vec<AtKey> = wrong.into_iter().map(at).collect();
    Err(experiment::failure(spec::at_keys(name, &plan.source, &all)))
}

/// The drivers' settings in drivers.yaml beside the last configuration file that there is: a map of drivers with their settings.
pub(crate) fn files(settings: &Settings) -> Result<Files, Failure> {
    let mut found = Files::default();
    for (config, _) in &settings.files {
        let Some(path) = config.parent().map(|folder| folder.join("drivers.yaml")) else { continue };
        let name = path.shown().to_string();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Failure::input(format!("can't read {name}: {error}"))),
        };
        let read: BTreeMap<String, DriverSettings> = serde_saphyr::from_str(&text)
            .map_err(|error| Failure::input(format!("{name}: {}", error.without_snippet())))?;
        found.name = name;
        for (driver, mut own) in read {
            found.settings.entry(driver).or_default().append(&mut own);
        }
    }
    Ok(found)
}

/// What a run creates, and what that costs.
pub(crate) fn in_words(plan: &Plan, machines: &Machines) -> Vec<String> {
    let each = machines.groups.iter().map(|group| {
        let volumes: usize = group.machines.iter().map(|machine| machine.volumes.len()).sum();
        let count = if volumes == 1 { "1 volume".to_owned() } else { format!("{volumes} volumes") };
        format!(
            "driver {} creates {} with {count} for the run, and destroys them after it",
            group.program.name,
            group.targets.join(", ")
        )
    });
    let cost = bill(&machines.groups, spec::forecast(plan).seconds + COMING_AND_GOING);
    let cost = cost.filter(|bill| bill.amount > 0.0).map(|bill| {
        let rest = if bill.unpriced > 0 {
            format!("; {} machines and volumes have no price", bill.unpriced)
        } else {
            String::new()
        };
        format!(
            "they cost about {} by started billing unit{rest}",
            money(bill.amount, bill.currency.as_deref())
        )
    });
    each.chain(cost).collect()
}

/// Refuses a run whose machines would cost more than its budget of money, by started billing unit.
fn within_budget(plan: &Plan, groups: &[Group]) -> Result<(), Failure> {
    let seconds = spec::forecast(plan).seconds + COMING_AND_GOING;
    let Some(most) = plan.measure.max_cost else { return Ok(()) };
    match bill(groups, seconds) {
        None => Err(Failure::input(
            "the machines' prices are in several currencies, so no budget of money can hold",
        )),
        Some(bill) if bill.unpriced > 0 && plan.prices.machines.is_empty() => Err(Failure::input(format!(
            "{} of the machines and volumes have no price, so no budget of money can hold; write `price:` in their targets, or leave the budget out",
            bill.unpriced
        ))),
        Some(bill) if bill.amount > most => {
            let shown = |amount| money(amount, bill.currency.as_deref());
            Err(Failure::input(format!(
                "the machines would cost {} by started billing unit, and the budget is {}: fewer rounds, fewer machines, or a larger budget",
                shown(bill.amount),
                shown(most)
            )))
        }
        Some(_) => Ok(()),
    }
}

/// The machines of a session while it lasts.
pub(crate) struct Site<'a> {
    entered: Option<Entered>,
    held: Vec<Held>,
    places: Places,
    destroy: Destroy,
    plan: &'a Plan,
    options: Options,
}

impl<'a> Site<'a> {
    /// Creates the machines, or takes those that exist, and enters them.
    ///
    /// # Errors
    /// They can't be created or entered. What was created is destroyed again.
    pub(crate) fn open(session: &Session<'a>, machines: &Machines, wish: &Wish) -> Result<Self, Failure> {
        let options = session.settings.fleet();
        let journal = Journal::of(&session.settings.state.value);
        let mut site = Site {
            entered: None,
            held: Vec::new(),
            places: places(session.settings)?,
            destroy: machines.destroy,
            plan: session.plan,
            options: options.clone(),
        };
        site.held = existing(&machines.claims, &journal, &site.places)?;
        if site.held.is_empty() {
            site.held = made(
                &session.run.0,
                session.plan,
                &machines.groups,
                (&journal, &site.places),
                machines.destroy,
                wish,
            )?;
        }
        site.entered = Some(enter(session.plan, &site.held, &journal, &options, &wish.cancel)?);
        Ok(site)
    }

    /// The plan with the machines' names and disks.
    pub(crate) fn plan(&self) -> &Plan {
        self.entered.as_ref().map_or(self.plan, |entered| &entered.plan)
    }

    /// The options that reach the machines.
    pub(crate) fn options(&self) -> &Options {
        self.entered.as_ref().map_or(&self.options, |entered| &entered.options)
    }

    /// Destroys the machines, or leaves them as the user wished.
    ///
    /// # Errors
    /// Something could not be destroyed; it stays in the journal.
    pub(crate) fn close(&mut self, passed: bool) -> Result<(), Failure> {
        let stays = match self.destroy {
            Destroy::Always => false,
            Destroy::Passing => !passed,
            Destroy::Never => true,
        };
        if stays {
            for mut held in self.held.drain(..) {
                held.change(|entry| {
                    entry.kept = true;
                    entry.stage = Stage::Verified;
                })?;
                output::aside(&remains(held.entry()));
            }
            return Ok(());
        }
        gone(self.held.drain(..), &self.places)
    }
}

impl Drop for Site<'_> {
    /// After an error on the way in, or a panic.
    fn drop(&mut self) {
        if self.destroy != Destroy::Never
            && let Err(failure) = gone(self.held.drain(..), &self.places)
        {
            output::aside(&failure.to_string());
        }
    }
}

fn remains(entry: &Entry) -> String {
    format!(
        "the machines of {} stay, and cost: {}; diskproof undo {} destroys them",
        entry.claim.run,
        entry.targets.join(", "),
        entry.claim.run
    )
}

/// Takes claims whose machines exist; none if a `create` of them was interrupted. What that left is destroyed.
///
/// # Errors
/// Another process holds them, or what is left can't be destroyed.
pub(crate) fn existing(claims: &[String], journal: &Journal, places: &Places) -> Result<Vec<Held>, Failure> {
    let mut held = Vec::new();
    for id in claims {
        held.extend(journal.take(id, Duration::ZERO)?);
    }
    if held.iter().any(|held| held.entry().created.is_empty()) {
        output::aside("an earlier `create` was interrupted; its machines are destroyed first");
        gone(held.drain(..), places)?;
    }
    Ok(held)
}

/// Creates the machines of a session or set. What was created before a failure is destroyed.
///
/// # Errors
/// A driver fails, or the user interrupted.
pub(crate) fn made(
    run: &str,
    plan: &Plan,
    groups: &[Group],
    (journal, places): (&Journal, &Places),
    destroy: Destroy,
    wish: &Wish,
) -> Result<Vec<Held>, Failure> {
    let names: Vec<&str> = groups.iter().flat_map(|group| group.targets.iter().map(String::as_str)).collect();
    output::aside(&format!("creating {}", names.join(", ")));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a forecast is a positive number of seconds"
    )]
    let deadline = now() + LIFE + spec::forecast(plan).seconds as u64;
    let making = Making {
        run,
        experiment: &plan.experiment,
        deadline,
        kept: destroy == Destroy::Never,
        cancel: &wish.cancel,
        tell: &output::aside,
    };
    let (held, made) = create(groups, journal, &making);
    let Err(error) = made else { return Ok(held) };
    output::aside("not all machines could be created; what was created is destroyed");
    if let Err(failure) = gone(held.into_iter(), places) {
        output::aside(&failure.to_string());
    }
    Err(Failure::from(error))
}

/// Destroys claims.
///
/// # Errors
/// Something could not be destroyed; it stays in the journal.
pub(crate) fn gone(all: impl Iterator<Item = Held>, places: &Places) -> Result<(), Failure> {
    let mut left = Vec::new();
    for held in all {
        let (run, names) = (held.entry().claim.run.clone(), held.entry().targets.join(", "));
        output::aside(&format!("destroying {names}"));
        match fleet::created::destroy(held, places, &output::aside) {
            Ok(more) => left.extend(more),
            Err(error) => {
                left.push(format!("machines of run {run}, {names}: {}", record::printable::chain(&error)))
            }
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    let all: String = left.iter().map(|left| format!("\n    | {}", indented(left))).collect();
    Err(Failure::ours(format!("not everything could be destroyed; `diskproof undo` tries again:{all}")))
}

/// Seconds since 1970 (UTC).
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl From<CreatedError> for Failure {
    fn from(error: CreatedError) -> Self {
        Self { exit: Exit::from(error.fault()), error: Box::new(error), placed: false }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Self::machine(error)
    }
}
