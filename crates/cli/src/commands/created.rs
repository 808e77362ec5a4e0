//! Machines that drivers create for a session: asked about before it, created at its beginning, destroyed at its end.

mod budget;

use super::driver::places;
use super::experiment;
use crate::args::Destroy;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use driver::Places;
use driver::journal::{Entry, Held, Journal, JournalError, Stage};
use driver::protocol::Settings as DriverSettings;
use fleet::created::{
    Asked, Bill, CreatedError, Entered, Files, Group, Making, Needed, Tariff, are_there, ask, create, enter,
    is_created, needed, put_prices, put_rates, tariff,
};
use fleet::{Connected, FleetError, Options};
use record::bill::MachineBill;
use record::id::RunId;
use record::plan::Plan;
use record::printable::{Shown as _, indented};
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
    /// What they cost; `None`: the prices are in several currencies.
    bill: Option<Bill>,
    /// The prices of all; `None` likewise.
    tariff: Option<Tariff>,
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
    prompt(plan, settings)?;
    let Some(groups) = asked(plan, &file.shown().to_string(), settings)? else { return Ok(None) };
    put_rates(plan, &groups);
    let bill = budget::cost(plan, &groups);
    budget::within(plan, bill.as_ref())?;
    let tariff = tariff(plan, &groups);
    put_prices(plan, &groups);
    Ok(Some(Machines { groups, destroy, claims: Vec::new(), bill, tariff }))
}

/// On a terminal, asks for settings that a driver needs and nobody says, and puts the answers into the plan.
fn prompt(plan: &mut Plan, settings: &Settings) -> Result<(), Failure> {
    if !output::can_ask() || !is_created(plan) {
        return Ok(());
    }
    let needed = needed(plan, &places(settings)?, &files(settings)?)?;
    for Needed { target, key, about } in needed {
        let Some(value) =
            output::ask(&format!("{target}: {key} ({about}): ")).filter(|text| !text.is_empty())
        else {
            continue;
        };
        let target = plan.targets.iter_mut().find(|one| one.name == target);
        if let Some(TargetKind::Created { settings, .. }) = target.map(|one| &mut one.kind) {
            settings.insert(key, value.into());
        }
    }
    Ok(())
}

/// Returns the machines of a run that is resumed: those that the run left, else those that `create` made for the experiment, else new ones.
/// `earlier`: the seconds that the run's earlier sessions took.
///
/// # Errors
/// As of [`prepare`].
pub(crate) fn again(
    plan: &Plan,
    run: &RunId,
    earlier: f64,
    settings: &Settings,
) -> Result<Option<Machines>, Failure> {
    let Some(groups) = asked(plan, &format!("run {run}"), settings)? else { return Ok(None) };
    let all = entries(&Journal::of(&settings.state.value));
    let mut destroy = Destroy::Always;
    let mut left: Vec<&Entry> = all.iter().filter(|entry| entry.claim.run == run.0).collect();
    if left.is_empty() {
        left = all.iter().filter(|entry| entry.kept && entry.experiment == plan.experiment).collect();
        if fits(&groups, &left) {
            output::aside("the machines that `diskproof create` made are used, and stay");
            destroy = Destroy::Never;
        } else {
            left.clear();
        }
    }
    let bill = budget::cost_again(plan, &groups, earlier);
    if left.iter().any(|entry| entry.created.is_empty()) || left.is_empty() {
        budget::within(plan, bill.as_ref())?;
    }
    let claims = left.into_iter().map(|entry| entry.claim.id.clone()).collect();
    let tariff = tariff(plan, &groups);
    Ok(Some(Machines { groups, destroy, claims, bill, tariff }))
}

/// Returns all readable claims of the journal, and prints a warning for each unreadable one.
pub(crate) fn entries(journal: &Journal) -> Vec<Entry> {
    let (entries, unreadable) = journal.entries();
    for error in &unreadable {
        output::aside(&format!("warning: {}", record::printable::chain(error)));
    }
    entries
}

/// Whether claims have just the machines of these groups.
fn fits(groups: &[Group], entries: &[&Entry]) -> bool {
    let is_there = |group: &Group| {
        entries.iter().any(|entry| {
            entry.driver == group.program.name
                && entry.targets == group.targets
                && entry.machines == group.machines
        })
    };
    groups.len() == entries.len() && groups.iter().all(is_there)
}

/// What the drivers say of a plan; `None`: it has no created machines.
fn asked(plan: &Plan, name: &str, settings: &Settings) -> Result<Option<Vec<Group>>, Failure> {
    if !is_created(plan) {
        return Ok(None);
    }
    let Asked { groups, warnings, wrong, .. } = ask(plan, &places(settings)?, &files(settings)?)?;
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
pub(crate) fn in_words(machines: &Machines) -> Vec<String> {
    let each = machines.groups.iter().map(|group| {
        let volumes: usize = group.machines.iter().map(|machine| machine.volumes.len()).sum();
        let count = if volumes == 1 { "1 volume".to_owned() } else { format!("{volumes} volumes") };
        format!(
            "driver {} creates {} with {count} for the run, and destroys them after it",
            group.program.name,
            group.targets.join(", ")
        )
    });
    let cost = machines.bill.as_ref().filter(|bill| bill.amount > 0.0).map(|bill| {
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
    let several = machines.bill.is_none().then(|| {
        "the prices of the experiment and of the drivers are in several currencies, so they have no sum"
            .to_owned()
    });
    each.chain(cost).chain(several).collect()
}

/// The machines of a session while it lasts.
pub(crate) struct Site<'a> {
    entered: Option<Entered>,
    held: Vec<Held>,
    places: Places,
    destroy: Destroy,
    plan: &'a Plan,
    options: Options,
    /// The claims of the machines.
    claims: Vec<String>,
    /// When the first of them was asked for, in seconds since 1970 (UTC).
    begun: u64,
}

impl<'a> Site<'a> {
    /// Creates the machines, unless they exist, and connects to them.
    ///
    /// # Errors
    /// They can't be created or entered. What was created is destroyed again.
    pub(crate) fn open(
        (run, plan): (&RunId, &'a Plan),
        machines: &Machines,
        settings: &Settings,
        wish: &Wish,
    ) -> Result<Self, Failure> {
        let options = settings.fleet();
        let journal = Journal::of(&settings.state.value);
        let mut site = Site {
            entered: None,
            held: Vec::new(),
            places: places(settings)?,
            destroy: machines.destroy,
            plan,
            options: options.clone(),
            claims: Vec::new(),
            begun: now(),
        };
        site.held = existing(machines, plan, &journal, &site.places)?;
        if site.held.is_empty() {
            site.held =
                made(&run.0, plan, &machines.groups, (&journal, &site.places), machines.destroy, wish)?;
        }
        site.claims = site.held.iter().map(|held| held.entry().claim.id.clone()).collect();
        site.begun = site.held.iter().map(|held| held.entry().begun).min().unwrap_or(site.begun);
        let entered = enter(plan, &site.held, &journal, &options, &wish.cancel);
        site.entered = Some(entered.map_err(|error| failure(error, wish))?);
        Ok(site)
    }

    /// The plan with the machines' names and disks.
    pub(crate) fn plan(&self) -> &Plan {
        self.entered.as_ref().map_or(self.plan, |entered| &entered.plan)
    }

    /// Connects to the machines.
    ///
    /// # Errors
    /// One can't be reached.
    pub(crate) fn connect(&self) -> Result<Connected, FleetError> {
        match &self.entered {
            Some(entered) => entered.connect(),
            None => fleet::connect(self.plan, &self.options),
        }
    }

    /// Destroys the machines, or leaves them as the user wished. `is_measured`: the session reached its end.
    ///
    /// # Errors
    /// Something could not be destroyed; it stays in the journal.
    pub(crate) fn close(&mut self, passed: bool, is_measured: bool) -> Result<(), Failure> {
        if self.stays(passed) {
            for mut held in self.held.drain(..) {
                held.change(|entry| {
                    entry.kept = true;
                    if is_measured {
                        entry.stage = Stage::Verified;
                    }
                })?;
                output::aside(&remains(held.entry()));
            }
            return Ok(());
        }
        gone(self.held.drain(..), &self.places)
    }

    /// Whether the user wants the machines to stay.
    pub(crate) fn stays(&self, passed: bool) -> bool {
        match self.destroy {
            Destroy::Always => false,
            Destroy::Passing => !passed,
            Destroy::Never => true,
        }
    }

    /// What the machines cost until now; `None`: their prices have no sum. `stays`: they are still there.
    pub(crate) fn bill(&self, machines: &Machines, stays: bool) -> Option<MachineBill> {
        let Tariff { items, currency } = machines.tariff.clone()?;
        let mut bill = MachineBill {
            claims: self.claims.clone(),
            begun_unix: self.begun,
            ended_unix: now(),
            stays,
            amount: 0.0,
            currency,
            forecast: machines.bill.as_ref().map(|bill| bill.amount),
            items,
        };
        bill.amount = bill.items.iter().filter_map(|item| item.cost(bill.seconds())).sum();
        Some(bill)
    }
}

impl Drop for Site<'_> {
    /// After an error on the way in, or a panic.
    fn drop(&mut self) {
        if self.destroy == Destroy::Never {
            self.held.iter().for_each(|held| output::aside(&remains(held.entry())));
        } else if let Err(failure) = gone(self.held.drain(..), &self.places) {
            output::aside(&failure.to_string());
        }
    }
}

/// Tells that machines stay.
pub(crate) fn remains(entry: &Entry) -> String {
    format!(
        "the machines of {} stay, and cost: {}; diskproof undo {} destroys them",
        entry.claim.run,
        entry.targets.join(", "),
        entry.claim.run
    )
}

/// Takes claims whose machines exist; none if a `create` or `destroy` of them was interrupted, if they are past their deadline, or if one
/// is missing. What is left of those is destroyed.
///
/// # Errors
/// Another process holds them; they were created with other settings, or end too early for the plan; or what is left can't be destroyed.
pub(crate) fn existing(
    machines: &Machines,
    plan: &Plan,
    journal: &Journal,
    places: &Places,
) -> Result<Vec<Held>, Failure> {
    let mut held = Vec::new();
    for id in &machines.claims {
        held.extend(journal.take(id, Duration::ZERO)?);
    }
    if let Some(why) = held.iter().find_map(|held| unusable(held.entry(), places)) {
        output::aside(&format!("{why}; what exists of them is destroyed first"));
        gone(held.drain(..), places)?;
    }
    usable(&held.iter().map(Held::entry).collect::<Vec<_>>(), &machines.groups, now() + seconds(plan))?;
    Ok(held)
}

/// Why the machines of a claim can't be used any more.
fn unusable(entry: &Entry, places: &Places) -> Option<String> {
    let (names, run) = (entry.targets.join(", "), &entry.claim.run);
    if entry.created.is_empty() {
        return Some(format!("creating or destroying {names} of run {run} was interrupted"));
    }
    if entry.claim.deadline <= now() {
        return Some(format!("{names} of run {run} are past their deadline"));
    }
    match are_there(entry, places) {
        Ok(true) => None,
        Ok(false) => Some(format!("not all of {names} of run {run} exist any more")),
        Err(why) => {
            output::aside(&format!("warning: whether {names} exist is not known: {why}"));
            None
        }
    }
}

/// Refuses existing machines that aren't what the plan asks for, or that end before `until`, in seconds since 1970.
fn usable(entries: &[&Entry], groups: &[Group], until: u64) -> Result<(), Failure> {
    let Some(first) = entries.first() else { return Ok(()) };
    let way_out =
        format!("`diskproof undo {}` destroys them, and then they are created anew", first.claim.run);
    if !fits(groups, entries) {
        return Err(Failure::input(format!(
            "the machines that exist were created with other settings; {way_out}"
        )));
    }
    if let Some(early) = entries.iter().find(|entry| entry.claim.deadline < until) {
        return Err(Failure::input(format!(
            "{} end at {} (UTC), before the trials would; {way_out}",
            early.targets.join(", "),
            day(early.claim.deadline)
        )));
    }
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a forecast is a positive number of seconds"
)]
fn seconds(plan: &Plan) -> u64 {
    spec::forecast(plan).seconds as u64
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
    let deadline = now() + LIFE + seconds(plan);
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
    Err(failure(error, wish))
}

/// The failure of an error; where the user interrupted, it ends by that signal.
pub(crate) fn failure(error: CreatedError, wish: &Wish) -> Failure {
    let signal = wish.signal().and_then(|signal| u8::try_from(signal).ok());
    match signal.filter(|_| error.is_interrupt()) {
        Some(signal) => Failure { exit: Exit::Signal(signal), ..Failure::from(error) },
        None => Failure::from(error),
    }
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

/// A moment in UTC.
pub(crate) fn day(unix: u64) -> String {
    let at = i64::try_from(unix).ok().and_then(|unix| jiff::Timestamp::from_second(unix).ok());
    at.map_or_else(|| unix.to_string(), |at| at.strftime("%Y-%m-%d %H:%M").to_string())
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

#[cfg(test)]
mod tests;
