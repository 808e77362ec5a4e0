//! `diskproof on HOST VERB...`: runs any command on another machine.

use crate::args::On;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use std::io::IsTerminal as _;

/// The exit code of `ssh` if it can't connect.
const UNREACHED: i32 = 255;

pub(crate) fn on(args: &On, settings: &Settings) -> Result<Exit, Failure> {
    let ssh = fleet::ssh(&args.host, &settings.fleet());
    let installed = fleet::install(&ssh)?;
    let sudo = args.root && installed.uid != 0;
    let mut program: Vec<&str> = if sudo { vec!["sudo", "--"] } else { Vec::new() };
    program.push(&installed.path);
    program.extend(args.verb.iter().map(String::as_str));
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let status = ssh
        .hand_over(&program, terminal)
        .map_err(|error| Failure::machine(format!("can't run ssh: {error}")))?;
    match status.code() {
        Some(0) => Ok(Exit::Fine),
        Some(UNREACHED) => Err(Failure::machine(format!("{} can't be reached any more", args.host))),
        Some(code) => Ok(Exit::Theirs(u8::try_from(code).unwrap_or(u8::MAX))),
        None => Err(Failure::machine("ssh was ended by a signal")),
    }
}
