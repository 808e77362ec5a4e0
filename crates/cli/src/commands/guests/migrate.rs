//! `diskproof guests migrate`.

use crate::args::{From, GuestsMigrate};
use crate::commands::hosts::{find, one, open};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::printable::{chain, printable};
use record::quantity::Seconds;

/// One after the other: each needs all of the network between the machines.
pub(super) fn migrate(args: &GuestsMigrate, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let found = find(std::slice::from_ref(&args.pattern), from, settings)?;
    let to = open(&one(&args.to, from, settings)?, settings)?;
    let mut exit = found.exit();
    for host in &found.hosts {
        for guest in &host.guests {
            let name = printable(&guest.full_name()).into_owned();
            match fleet::libvirt::migrate(&host.at, &guest.name, &to) {
                Ok(took) => {
                    let took = Seconds(took.as_secs_f64());
                    output::answer(&format!("{name}: moved to {}, without a stop ({took})", to.name()))?;
                }
                Err(error) => {
                    exit = Exit::Machine;
                    output::aside(&format!("diskproof: {}", chain(&error)));
                }
            }
        }
    }
    Ok(exit)
}
