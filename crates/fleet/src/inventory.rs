//! The inventory: the machines of the user's files, and the hosts of ssh's configuration.

use crate::ssh_hosts;
use host::{CommandFailure, Invocation, LocalRunner, Runner as _, Tool};
use record::machine::Machine;
use record::printable::Shown as _;
use spec::{LoadError, MachineList};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Time limit for a dynamic inventory.
const PATIENCE: Duration = Duration::from_secs(120);
/// What begins the name of a source that Ansible itself is to read.
const BY_ANSIBLE: &str = "ansible:";

/// Where the machines are looked up.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The files that the user names: lists of machines or Ansible inventories.
    pub files: Vec<PathBuf>,
    /// The list that is read when no file is named, if it exists.
    pub usual: Option<PathBuf>,
    /// The file that ssh reads instead of `~/.ssh/config`.
    pub ssh_config: Option<PathBuf>,
    /// The user's home.
    pub home: Option<PathBuf>,
}

/// All machines that are known.
#[derive(Debug, Default)]
pub struct Inventory {
    /// The machines of the files.
    pub machines: Vec<Machine>,
    /// The hosts of ssh's configuration that no file names.
    pub ssh_hosts: Vec<Machine>,
    /// Notes about what the files say and diskproof doesn't use.
    pub notes: Vec<String>,
}

/// The inventory can't be read.
#[derive(Debug, Error)]
pub enum InventoryError {
    /// A file is wrong.
    #[error(transparent)]
    File(#[from] LoadError),
    /// `ansible-inventory` fails.
    #[error("{}: asking ansible-inventory failed", .path.shown())]
    Ansible {
        /// The inventory.
        path: PathBuf,
        /// The failure.
        source: CommandFailure,
    },
    /// A source of this name isn't there.
    #[error("{}: there is no such list of machines", .path.shown())]
    Missing {
        /// The name.
        path: PathBuf,
    },
    /// Two files have a machine of the same name.
    #[error("machine {name} is in {first} and in {second}; rename one of them, or name only one file")]
    Twice {
        /// Name of the machine.
        name: String,
        /// File and line.
        first: String,
        /// File and line.
        second: String,
    },
}

impl Inventory {
    /// Reads all sources. An executable file and a directory are inventories that only `ansible-inventory` can read.
    ///
    /// # Errors
    /// A file is missing or wrong, or `ansible-inventory` fails.
    pub fn read(sources: &Sources) -> Result<Self, InventoryError> {
        let usual = sources.usual.iter().filter(|path| sources.files.is_empty() && path.exists());
        let mut inventory = Self::default();
        for path in sources.files.iter().chain(usual) {
            let MachineList { machines, notes } = list(path)?;
            inventory.notes.extend(notes);
            for machine in machines {
                if let Some(first) = inventory.machines.iter().find(|known| known.name == machine.name) {
                    let (name, first) = (machine.name, first.source.clone());
                    return Err(InventoryError::Twice { name, first, second: machine.source });
                }
                inventory.machines.push(machine);
            }
        }
        inventory.ssh_hosts = of_ssh(sources, &inventory.machines);
        Ok(inventory)
    }

    /// Returns the machines that patterns are looked up in. A host of ssh's configuration is among them only if a pattern is its name:
    /// such a configuration has hosts that are nobody's to measure, so no glob selects them.
    #[must_use]
    pub fn candidates(&self, patterns: &[String]) -> Vec<Machine> {
        let words: BTreeSet<&str> =
            patterns.iter().flat_map(|pattern| pattern.split(',')).map(str::trim).collect();
        let named = self.ssh_hosts.iter().filter(|host| words.contains(host.name.as_str()));
        self.machines.iter().chain(named).cloned().collect()
    }
}

fn of_ssh(sources: &Sources, machines: &[Machine]) -> Vec<Machine> {
    let home = sources.home.as_deref();
    let own = || home.map(|home| home.join(".ssh/config"));
    let Some(config) = sources.ssh_config.clone().or_else(own) else { return Vec::new() };
    let source = config.shown().to_string();
    let names = ssh_hosts::hosts(&config, home);
    let unknown = names.iter().filter(|name| !machines.iter().any(|machine| machine.name == **name));
    unknown.map(|name| Machine::named(name, &source)).collect()
}

fn list(path: &Path) -> Result<MachineList, InventoryError> {
    if let Some(named) = path.to_str().and_then(|text| text.strip_prefix(BY_ANSIBLE)) {
        return by_ansible(Path::new(named));
    }
    let about = std::fs::metadata(path).map_err(|_| InventoryError::Missing { path: path.to_owned() })?;
    if about.is_dir() || about.permissions().mode() & 0o111 != 0 {
        return by_ansible(path);
    }
    Ok(spec::machines(path)?)
}

fn by_ansible(path: &Path) -> Result<MachineList, InventoryError> {
    let failed = |source| InventoryError::Ansible { path: path.to_owned(), source };
    let absolute =
        std::path::absolute(path).map_err(|_| InventoryError::Missing { path: path.to_owned() })?;
    if !absolute.exists() {
        return Err(InventoryError::Missing { path: path.to_owned() });
    }
    let ask = Invocation::new(Tool::AnsibleInventory).arg("-i").arg(&absolute).arg("--list");
    let home = std::env::var_os("HOME").unwrap_or_default();
    let said = LocalRunner.run(&ask.env("HOME", home).timeout(PATIENCE)).map_err(failed)?;
    Ok(spec::ansible_list(&said.stdout, &path.shown().to_string())?)
}

#[cfg(test)]
mod tests {
    use super::{Inventory, InventoryError, Sources};

    #[test]
    fn hosts_of_ssh_are_selected_by_name_only_and_two_files_may_not_name_one_machine() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(dir.path().join(name), text).unwrap();
            dir.path().join(name)
        };
        let usual = file("machines.yaml", "machines: { ham0: {}, ham1: {} }");
        let config = file("config", "Host ham1 github\n");
        let sources = Sources { usual: Some(usual.clone()), ssh_config: Some(config), ..Sources::default() };
        let inventory = Inventory::read(&sources).unwrap();
        let names = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
            inventory.candidates(&patterns).into_iter().map(|machine| machine.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["ham0", "ham1"]);
        assert_eq!(names(&["*"]), ["ham0", "ham1"]);
        assert_eq!(names(&["ham0,github"]), ["ham0", "ham1", "github"]);
        let other = file("hosts", "ham1\n");
        let both = Sources { files: vec![usual, other], ..Sources::default() };
        let error = Inventory::read(&both).unwrap_err();
        assert!(matches!(&error, InventoryError::Twice { name, .. } if name == "ham1"), "{error}");
        assert!(
            error.to_string().contains("machines.yaml:1") && error.to_string().contains("hosts:1"),
            "{error}"
        );
        let gone = Sources { files: vec![dir.path().join("gone")], ..Sources::default() };
        assert!(Inventory::read(&gone).unwrap_err().to_string().contains("no such list"));
    }
}
