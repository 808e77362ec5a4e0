//! `diskproof machines shell`.

use super::selection::single;
use crate::args::{From, MachinesShell};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(super) fn shell(args: &MachinesShell, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machine = single(&args.machine, from, settings)?;
    let ssh = fleet::by_hand(&machine, settings.ssh_config.value.as_deref());
    let ended =
        ssh.hand_over(&[], true).map_err(|error| Failure::machine(format!("can't run ssh: {error}")))?;
    Ok(match ended.code() {
        Some(0) => Exit::Fine,
        Some(code) => Exit::Theirs(u8::try_from(code).unwrap_or(u8::MAX)),
        None => Exit::Machine,
    })
}
