//! `diskproof undo [RUN]`: puts back what a killed run left behind.

use crate::args::Undo;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::privilege;
use crate::settings::Settings;
use crate::settings::keys::Sudo;
use host::LocalRunner;
use record::id::RunId;
use run::controller;
use std::ffi::OsString;

pub(crate) fn undo(args: &Undo, settings: &Settings) -> Result<Exit, Failure> {
    let run = args.run.clone().map(RunId);
    let mut clean = undo_on(&privilege::node_argv(settings, &LocalRunner, None)?, run.clone())?;
    if !privilege::is_root() {
        if settings.sudo.value == Sudo::Auto && privilege::may_sudo(&LocalRunner) {
            clean &= undo_on(&privilege::node_argv(settings, &LocalRunner, Some("undo"))?, run)?;
        } else {
            output::aside("runs that were started as root are not looked at: for those, sudo diskproof undo");
        }
    }
    if clean {
        Ok(Exit::Fine)
    } else {
        output::aside("not everything could be put back; the lines above say what is left and why");
        Ok(Exit::Ours)
    }
}

/// Asks a node to undo; whether nothing is left there.
fn undo_on(node_argv: &[OsString], run: Option<RunId>) -> Result<bool, Failure> {
    let (lines, clean) = controller::undo(node_argv, run).map_err(|error| Failure {
        exit: Exit::from(error.blame()),
        error: Box::new(error),
        placed: false,
    })?;
    for line in &lines {
        output::answer(line)?;
    }
    if lines.is_empty() && clean {
        output::answer("nothing")?;
    }
    Ok(clean)
}
