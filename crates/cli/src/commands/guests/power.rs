//! `diskproof guests start`, `stop`, `reboot` and `destroy`.

use crate::args::{From, GuestPatterns, GuestsDestroy, GuestsStop};
use crate::commands::hosts::{Found, find};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use fleet::At;
use fleet::libvirt::{self, Domain, GuestError, Stop};
use record::printable::{chain, printable};
use record::quantity::Seconds;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(super) fn start(args: &GuestPatterns, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let found = find(&args.patterns, from, settings)?;
    on_all(&found, from, &|at, guest| libvirt::start(at, guest).map(|()| "running".to_owned()))
}

pub(super) fn stop(args: &GuestsStop, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let found = find(&args.patterns, from, settings)?;
    let how = match args.force {
        true => Stop::SwitchOff,
        false => Stop::Ask(Duration::try_from_secs_f64(args.timeout).unwrap_or(Duration::MAX)),
    };
    on_all(&found, from, &|at, guest| libvirt::stop(at, guest, how).map(|()| "off".to_owned()))
}

pub(super) fn reboot(args: &GuestPatterns, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let found = find(&args.patterns, from, settings)?;
    on_all(&found, from, &|at, guest| libvirt::reboot(at, guest).map(|()| "reboots".to_owned()))
}

pub(super) fn destroy(args: &GuestsDestroy, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let found = find(&args.patterns, from, settings)?;
    let names: Vec<String> = found.guests().map(|guest| printable(&guest.full_name()).into_owned()).collect();
    if names.is_empty() {
        output::answer("no guests")?;
        return Ok(found.exit());
    }
    if !args.yes && !is_wanted(&names)? {
        return Ok(Exit::Input);
    }
    on_all(&found, from, &|at, guest| {
        let destroyed = libvirt::destroy(at, guest)?;
        Ok(match destroyed.left {
            None => "removed, with its disks".to_owned(),
            Some((folder, names)) => format!(
                "removed, with its disks; {} in {folder} is not diskproof's and stays",
                printable(&names.join(", "))
            ),
        })
    })
}

fn is_wanted(names: &[String]) -> Result<bool, Failure> {
    let list = names.join(", ");
    if !output::can_ask() {
        return Err(Failure::input(format!("removing {list} with their disks needs a yes: add --yes")));
    }
    let said = output::ask(&format!("Remove {list} with their disks? What is on them is lost. [yes/no] "));
    let wanted = said.as_deref() == Some("yes");
    if !wanted {
        output::aside("nothing was removed");
    }
    Ok(wanted)
}

type Act<'a> = &'a (dyn Fn(&At, &str) -> Result<String, GuestError> + Sync);

/// Does something with all guests at the same time, and prints a line for each as it is done.
fn on_all(found: &Found, from: &From, act: Act<'_>) -> Result<Exit, Failure> {
    if found.guests().next().is_none() {
        output::answer("no guests")?;
    }
    let failed = AtomicBool::new(false);
    let guests: Vec<(&At, &Domain)> =
        found.hosts.iter().flat_map(|host| host.guests.iter().map(move |guest| (&host.at, guest))).collect();
    let told = fleet::on_each(guests, usize::from(from.fanout), &|(at, guest): (&At, &Domain)| {
        let began = Instant::now();
        let name = printable(&guest.full_name()).into_owned();
        match act(at, &guest.name) {
            Ok(said) => {
                output::answer(&format!("{name}: {said} ({})", Seconds(began.elapsed().as_secs_f64())))
            }
            Err(error) => {
                failed.store(true, Ordering::Relaxed);
                output::aside(&format!("diskproof: {}", chain(&error)));
                Ok(())
            }
        }
    });
    told.into_iter().collect::<Result<Vec<()>, Failure>>()?;
    Ok(if failed.load(Ordering::Relaxed) { Exit::Machine } else { found.exit() })
}
