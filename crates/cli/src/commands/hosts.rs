//! The machines that guests and images are on.

use super::machines::selection::{PATIENT_SECONDS, inventory, reach, select};
use crate::args::From;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::settings::keys::Sudo;
use fleet::libvirt::{Domain, GuestError, GuestPattern, NoGuest};
use fleet::{At, AtOptions, LOCAL};
use record::machine::Machine;

/// Returns the machines that patterns select: those of the inventory, and `local`; without patterns all of the inventory, or `local` if there
/// is none.
pub(super) fn machines(
    patterns: &[String],
    from: &From,
    settings: &Settings,
) -> Result<Vec<Machine>, Failure> {
    let inventory = inventory(from, settings)?;
    let mut candidates = inventory.candidates(patterns);
    let is_named = patterns.iter().flat_map(|pattern| pattern.split(',')).any(|word| word.trim() == LOCAL);
    if (is_named || candidates.is_empty()) && !candidates.iter().any(|machine| machine.name == LOCAL) {
        candidates.push(fleet::here());
    }
    select(&candidates, patterns)
}

/// Returns the one machine that a pattern selects.
pub(super) fn one(pattern: &str, from: &From, settings: &Settings) -> Result<Machine, Failure> {
    let mut found = machines(&[pattern.to_owned()], from, settings)?;
    match (found.len(), found.pop()) {
        (1, Some(machine)) => Ok(machine),
        (count, _) => Err(Failure::input(format!("`{pattern}` is {count} machines; a guest is made on one"))),
    }
}

/// How to work on machines.
pub(super) fn options(settings: &Settings) -> AtOptions {
    AtOptions {
        reach: reach(settings, PATIENT_SECONDS),
        state_dir: settings.state.value.clone(),
        sudo: settings.sudo.value == Sudo::Auto,
    }
}

/// Connects to a machine.
pub(super) fn open(machine: &Machine, settings: &Settings) -> Result<At, Failure> {
    At::open(machine, &options(settings)).map_err(Failure::machine)
}

/// A machine, and the guests on it that a command is for.
pub(super) struct Host {
    pub(super) at: At,
    pub(super) guests: Vec<Domain>,
}

/// The guests that patterns select, by machine.
pub(super) struct Found {
    pub(super) hosts: Vec<Host>,
    /// Whether all machines answered; the others are printed.
    pub(super) complete: bool,
}

impl Found {
    /// All guests.
    pub(super) fn guests(&self) -> impl Iterator<Item = &Domain> {
        self.hosts.iter().flat_map(|host| &host.guests)
    }

    /// How the command ends if nothing else fails.
    pub(super) fn exit(&self) -> Exit {
        if self.complete { Exit::Fine } else { Exit::Machine }
    }
}

/// Asks all machines for their guests at the same time, and returns the guests that the patterns select. Names on standard error each
/// machine that doesn't answer.
pub(super) fn find(patterns: &[String], from: &From, settings: &Settings) -> Result<Found, Failure> {
    let wanted: Result<Vec<GuestPattern>, NoGuest> =
        patterns.iter().map(|text| GuestPattern::parse(text)).collect();
    let wanted = wanted.map_err(Failure::input)?;
    let parts: Vec<String> = match wanted.iter().any(|pattern| pattern.machines.is_none()) {
        true => Vec::new(),
        false => wanted.iter().filter_map(|pattern| pattern.machines.clone()).collect(),
    };
    let mut machines = machines(&parts, from, settings)?;
    // A pattern without a machine means all; the others may name further ones.
    for part in wanted.iter().filter_map(|pattern| pattern.machines.clone()) {
        for machine in self::machines(&[part], from, settings)? {
            if !machines.iter().any(|known| known.name == machine.name) {
                machines.push(machine);
            }
        }
    }
    let options = options(settings);
    let all = machines.clone();
    let asked = fleet::on_each(machines, usize::from(from.fanout), &|machine| {
        let at = At::open(&machine, &options)?;
        let domains = fleet::libvirt::domains(&at)?;
        Ok((at, domains))
    });
    let mut complete = true;
    let (mut hosts, mut domains) = (Vec::new(), Vec::new());
    for answer in asked {
        let answer: Result<(At, Vec<Domain>), GuestError> = answer;
        match answer {
            Ok((at, there)) => {
                domains.extend(there);
                hosts.push(Host { at, guests: Vec::new() });
            }
            Err(error) => {
                complete = false;
                output::aside(&format!("diskproof: {}", record::printable::chain(&error)));
            }
        }
    }
    if hosts.is_empty() {
        return Err(Failure::machine("no machine answers for its guests"));
    }
    let on = |pattern: &str, machine: &str| {
        fleet::select(&all, &[pattern.to_owned()]).is_ok_and(|found| found.iter().any(|m| m.name == machine))
    };
    let chosen =
        fleet::libvirt::select(domains, &wanted, &on).map_err(|error: NoGuest| Failure::input(error))?;
    for domain in chosen {
        if let Some(host) = hosts.iter_mut().find(|host| host.at.name() == domain.machine) {
            host.guests.push(domain);
        }
    }
    Ok(Found { hosts, complete })
}

/// Returns the one guest that a pattern selects, and its machine.
pub(super) fn one_guest(pattern: &str, from: &From, settings: &Settings) -> Result<(At, String), Failure> {
    let found = find(&[pattern.to_owned()], from, settings)?;
    let guests: Vec<String> = found.guests().map(Domain::full_name).collect();
    if guests.len() != 1 {
        let names = record::printable::printable(&guests.join(", ")).into_owned();
        let count = guests.len();
        return Err(Failure::input(format!(
            "`{pattern}` is {count} guests ({names}); this command takes one"
        )));
    }
    let host = found.hosts.into_iter().find(|host| !host.guests.is_empty());
    let guest = host.and_then(|mut host| host.guests.pop().map(|guest| (host.at, guest.name)));
    guest.ok_or_else(|| Failure::ours("a guest is on no machine"))
}

/// A failed command on a guest.
pub(super) fn guest_failure(error: GuestError) -> Failure {
    Failure { exit: Exit::from(error.fault()), error: Box::new(error), placed: false }
}
