//! `diskproof completions SHELL`.

use crate::args::{Args, Completions};
use crate::exit::{Exit, Failure};
use crate::output;
use clap::CommandFactory as _;
use clap_complete::Shell;

pub(crate) fn completions(args: &Completions) -> Result<Exit, Failure> {
    output::own(&script(args.shell))?;
    Ok(Exit::Fine)
}

/// The completion script for a shell.
pub(crate) fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "diskproof", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
