//! `diskproof machines shell`.

use super::chosen;
use crate::args::{From, MachinesShell};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(super) fn shell(args: &MachinesShell, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machines = chosen(std::slice::from_ref(&args.machine), from, settings)?;
    let [machine] = machines.as_slice() else {
        return Err(Failure::input(format!("`{}` is {} machines; a shell runs on one", args.machine, machines.len())));
    };
    let ssh = fleet::by_hand(machine, settings.ssh_config.value.as_deref());
    let ended = ssh.hand_over(&[], true).map_err(|error| Failure::machine(format!("can't run ssh: {error}")))?;
    Ok(match ended.code() {
        Some(0) => Exit::Fine,
        Some(code) => Exit::Theirs(u8::try_from(code).unwrap_or(u8::MAX)),
        None => Exit::Machine,
    })
}
