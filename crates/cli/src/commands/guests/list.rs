//! `diskproof guests list`.

use crate::args::{From, GuestsList};
use crate::commands::hosts::find;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use fleet::libvirt::Domain;
use record::printable::printable;
use record::quantity::Bytes;

pub(super) fn list(args: &GuestsList, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let found = find(&args.patterns, from, settings)?;
    if args.json {
        for guest in found.guests() {
            output::json(&serde_json::to_string(guest).map_err(Failure::ours)?)?;
        }
    } else if found.guests().next().is_none() {
        output::answer("no guests")?;
    } else {
        output::answer(&table(found.guests()))?;
    }
    Ok(found.exit())
}

fn table<'d>(guests: impl Iterator<Item = &'d Domain>) -> String {
    let title = ["guest", "state", "cpus", "memory"].map(str::to_owned);
    let rows = guests.map(|guest| {
        [
            printable(&guest.full_name()).into_owned(),
            guest.state.to_string(),
            guest.cpus.map_or_else(|| "?".to_owned(), |cpus| cpus.to_string()),
            guest.memory_bytes.map_or_else(|| "?".to_owned(), |bytes| Bytes(bytes).to_string()),
        ]
    });
    let rows: Vec<[String; 4]> = std::iter::once(title).chain(rows).collect();
    output::columns(&rows)
}
