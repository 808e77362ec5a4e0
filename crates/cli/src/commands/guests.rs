//! `diskproof guests`: guests of libvirt on this and other machines.

mod build;
mod create;
mod list;
mod migrate;
mod power;
mod screen;

use crate::args::{Guests, GuestsVerb};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// Runs one command of `guests`.
pub(crate) fn guests(args: &Guests, settings: &Settings) -> Result<Exit, Failure> {
    let from = &args.from;
    match &args.verb {
        GuestsVerb::List(args) => list::list(args, from, settings),
        GuestsVerb::Build(args) => build::build(args, from, settings),
        GuestsVerb::Create(args) => create::create(args, from, settings),
        GuestsVerb::Validate(args) => create::validate(args),
        GuestsVerb::Start(args) => power::start(args, from, settings),
        GuestsVerb::Stop(args) => power::stop(args, from, settings),
        GuestsVerb::Reboot(args) => power::reboot(args, from, settings),
        GuestsVerb::Destroy(args) => power::destroy(args, from, settings),
        GuestsVerb::Migrate(args) => migrate::migrate(args, from, settings),
        GuestsVerb::Console(args) => screen::console(args, from, settings),
        GuestsVerb::Viewer(args) => screen::viewer(args, from, settings),
        GuestsVerb::Shell(args) => screen::shell(args, from, settings),
        GuestsVerb::SshConfig(args) => screen::ssh_config(args, from, settings),
    }
}
