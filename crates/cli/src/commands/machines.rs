//! `diskproof machines`: many machines at once.

mod leftovers;
mod list;
mod run;
pub(super) mod selection;
mod shell;
mod status;
mod transfer;
mod tunnel;
mod wake;
mod watch;

use crate::args::{Machines, MachinesVerb};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// Runs one command of `machines`.
pub(crate) fn machines(args: &Machines, settings: &Settings) -> Result<Exit, Failure> {
    let from = &args.from;
    match &args.verb {
        MachinesVerb::List(args) => list::list(args, from, settings),
        MachinesVerb::Status(args) => status::status(args, from, settings),
        MachinesVerb::Run(args) => run::run(args, from, settings),
        MachinesVerb::Doctor(args) => run::verb("doctor", args, from, settings),
        MachinesVerb::Devices(args) => run::verb("devices", args, from, settings),
        MachinesVerb::Undo(args) => run::verb("undo", args, from, settings),
        MachinesVerb::Wake(args) => wake::wake(args, from, settings),
        MachinesVerb::Shell(args) => shell::shell(args, from, settings),
        MachinesVerb::Get(args) => transfer::get(args, from, settings),
        MachinesVerb::Put(args) => transfer::put(args, from, settings),
        MachinesVerb::Tunnel(args) => tunnel::tunnel(args, from, settings),
        MachinesVerb::Mount(args) => tunnel::mount(args, from, settings),
        MachinesVerb::Leftovers(args) => leftovers::leftovers(args, settings),
        MachinesVerb::Watch(args) => watch::watch(args, from, settings),
    }
}
