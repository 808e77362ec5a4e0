//! `diskproof driver NAME`: a built-in driver, which creates machines and volumes.

use crate::args::Driver as Args;
use crate::commands::hosts::options;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use driver::serve::{Driver, serve};
use record::printable::printable;
use std::io;

/// Makes a driver from the user's settings.
type Make = fn(&Settings) -> Box<dyn Driver>;

/// The built-in drivers by name.
const BUILT_IN: &[(&str, Make)] = &[("libvirt", libvirt)];

fn libvirt(settings: &Settings) -> Box<dyn Driver> {
    Box::new(fleet::drivers::Libvirt::new(options(settings)))
}

/// Performs the request on standard input. A driver's result tells everything, so its failure prints nothing more.
pub(crate) fn driver(args: &Args, settings: &Settings) -> Result<Exit, Failure> {
    let Some((_, make)) = BUILT_IN.iter().find(|(known, _)| *known == args.name) else {
        let known = BUILT_IN.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
        let name = printable(&args.name);
        return Err(Failure::input(format!("there is no built-in driver `{name}`; known are {known}")));
    };
    let done = serve(&*make(settings), io::stdin().lock(), &mut io::stdout());
    Ok(if done { Exit::Fine } else { Exit::Machine })
}
