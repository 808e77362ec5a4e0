//! The machines that a command is for, and how to connect to them.

use crate::args::From;
use crate::exit::Failure;
use crate::output;
use crate::settings::Settings;
use fleet::{Inventory, InventoryError, NoneSelected, Reach, Sources};
use record::machine::Machine;
use std::path::PathBuf;

/// Time limit of a connection, in seconds: a machine that is off is shown off after it.
pub(super) const CONNECT_SECONDS: u32 = 3;
/// Time limit of a connection for a command, in seconds: a machine under load may take long.
pub(in crate::commands) const PATIENT_SECONDS: u32 = 10;

/// Reads the inventory, and prints its notes.
pub(in crate::commands) fn inventory(from: &From, settings: &Settings) -> Result<Inventory, Failure> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = variable("HOME");
    let config = variable("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    let sources = Sources {
        files: from.files.clone(),
        usual: config.map(|config| config.join("diskproof/machines.yaml")),
        ssh_config: settings.ssh_config.value.clone(),
        home,
    };
    let inventory = Inventory::read(&sources).map_err(|error| match error {
        InventoryError::File(error) => Failure::diagnostics(error),
        error @ InventoryError::Ansible { .. } => Failure::machine(error),
        error => Failure::input(error),
    })?;
    inventory.notes.iter().for_each(|note| output::aside(&format!("note: {note}")));
    Ok(inventory)
}

/// Returns the machines that patterns select.
pub(super) fn chosen(patterns: &[String], from: &From, settings: &Settings) -> Result<Vec<Machine>, Failure> {
    let inventory = inventory(from, settings)?;
    let candidates = inventory.candidates(patterns);
    if candidates.is_empty() && patterns.is_empty() {
        return Err(Failure::input(
            "there is no inventory: write ~/.config/diskproof/machines.yaml, name one by --machines, or name a host of ~/.ssh/config",
        ));
    }
    select(&candidates, patterns)
}

/// Returns those of some machines that patterns select.
pub(in crate::commands) fn select(
    candidates: &[Machine],
    patterns: &[String],
) -> Result<Vec<Machine>, Failure> {
    let found = fleet::select(candidates, patterns).map_err(|error: NoneSelected| Failure::input(error))?;
    Ok(found.into_iter().cloned().collect())
}

/// Returns the one machine that a pattern selects.
pub(super) fn single(pattern: &str, from: &From, settings: &Settings) -> Result<Machine, Failure> {
    let mut machines = chosen(&[pattern.to_owned()], from, settings)?;
    match (machines.len(), machines.pop()) {
        (1, Some(machine)) => Ok(machine),
        (count, _) => Err(Failure::input(format!("`{pattern}` is {count} machines; this command takes one"))),
    }
}

/// How to connect.
pub(in crate::commands) fn reach(settings: &Settings, connect_seconds: u32) -> Reach {
    Reach { ssh_config: settings.ssh_config.value.clone(), connect_seconds }
}

/// The kernel refuses to wait for ssh.
pub(super) fn cant_wait(error: std::io::Error) -> Failure {
    Failure::machine(error)
}
