//! `diskproof guests create` and `validate`: descriptions in the shape of SmartOS's vmadm. Both read them by the same code.

use super::build::make;
use crate::args::{From, GuestsCreate, GuestsValidate};
use crate::commands::hosts::{one, open};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use fleet::libvirt::{Description, NewGuest};
use record::printable::Shown as _;
use std::path::Path;

pub(super) fn create(args: &GuestsCreate, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let description = read(&args.file)?;
    let machine = one(&args.start.on, from, settings)?;
    let wanted = NewGuest { emulated: args.start.emulate, ..description.guest };
    make(&open(&machine, settings)?, &wanted, args.start.wait, args.start.json)
}

pub(super) fn validate(args: &GuestsValidate) -> Result<Exit, Failure> {
    let Description { guest } = read(&args.file)?;
    let disks = guest.disks.len();
    output::answer(&format!(
        "{}: fine: {}, {} MiB, {} processors, {disks} disks, {} network cards",
        args.file.shown(),
        guest.name,
        guest.memory_mib,
        guest.vcpus,
        guest.nics.len()
    ))?;
    Ok(Exit::Fine)
}

fn read(file: &Path) -> Result<Description, Failure> {
    let name = file.shown();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::input(format!("can't read {name}: {error}")))?;
    Description::read(&text).map_err(|wrong| {
        let lines: Vec<String> = wrong.iter().map(|wrong| format!("{name}: {wrong}")).collect();
        Failure::diagnostics(lines.join("\n"))
    })
}
