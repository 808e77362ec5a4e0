//! `diskproof driver`: programs that create machines and volumes.

mod check;
mod list;

use crate::args::DriverVerb;
use crate::commands::hosts::options;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use driver::protocol::Blame;
use driver::serve::{Driver, serve};
use driver::{CallError, Places, ProgramError};
use record::printable::printable;
use std::ffi::{OsStr, OsString};
use std::io;

/// Makes a driver from the user's settings.
type Make = fn(&Settings) -> Box<dyn Driver>;

/// The built-in drivers by name.
const BUILT_IN: &[(&str, Make)] = &[
    ("ec2", |_| Box::new(driver::ec2::Ec2::default())),
    ("gce", |_| Box::new(driver::gce::Gce::default())),
    ("lab", |settings| Box::new(fleet::drivers::LabDriver::new(settings.state.value.clone()))),
    ("libvirt", |settings| Box::new(fleet::drivers::Libvirt::new(options(settings)))),
];

pub(crate) fn driver(verb: &DriverVerb, settings: &Settings) -> Result<Exit, Failure> {
    match verb {
        DriverVerb::List(args) => list::list(args.json, settings),
        DriverVerb::Check(args) => check::check(args, settings),
        DriverVerb::Serve(argv) => serve_built_in(argv, settings),
    }
}

/// Performs the request on standard input. A driver's result tells everything, so its failure prints nothing more.
fn serve_built_in(argv: &[OsString], settings: &Settings) -> Result<Exit, Failure> {
    let (name, rest) = argv.split_first().map_or((OsStr::new(""), &[][..]), |(name, rest)| (name, rest));
    let name = name.to_string_lossy();
    let Some((_, make)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
        let known = BUILT_IN.iter().map(|(known, _)| *known).chain(["list", "check"]);
        let known = known.collect::<Vec<_>>().join(", ");
        return Err(Failure::input(format!(
            "there is no built-in driver `{}`; known are {known}",
            printable(&name)
        )));
    };
    if let Some(more) = rest.first() {
        let more = more.to_string_lossy();
        return Err(Failure::input(format!("a driver takes no arguments, and got `{}`", printable(&more))));
    }
    let done = serve(&*make(settings), io::stdin().lock(), &mut io::stdout());
    Ok(if done { Exit::Fine } else { Exit::Machine })
}

/// Where drivers are looked for.
///
/// # Errors
/// This program's own file isn't found.
pub(crate) fn places(settings: &Settings) -> Result<Places, Failure> {
    let own = std::env::current_exe();
    let own =
        own.map_err(|error| Failure::machine(format!("can't find diskproof's own program file: {error}")))?;
    // A driver gets no environment variables with settings, so these come as flags.
    let mut before = vec![OsString::from("--state"), settings.state.value.clone().into_os_string()];
    if let Some(config) = &settings.ssh_config.value {
        before.extend([OsString::from("--ssh-config"), config.clone().into_os_string()]);
    }
    Ok(Places {
        built_in: BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect(),
        own: (own, before),
        path: std::env::var_os("PATH").unwrap_or_default(),
    })
}

impl From<ProgramError> for Failure {
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Name(_) | ProgramError::Unknown { .. } => Self::input(error),
            ProgramError::Untrusted(_) | ProgramError::File { .. } => Self::machine(error),
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error.blame() {
            Blame::User => Self::input(error),
            Blame::Provider | Blame::Driver => Self::machine(error),
        }
    }
}
