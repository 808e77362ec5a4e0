//! The file that ssh reads for created machines: their addresses, keys and users. The user's own configuration stays in force for others.

use super::error::CreatedError;
use driver::journal::{Entry, Journal};
use driver::protocol::Created;
use host::TrustedDir;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The name by which ssh knows a claim's machine.
pub(super) fn alias(entry: &Entry, machine: &Created) -> String {
    format!("{}.{}.diskproof", machine.name, entry.claim.id)
}

/// Writes the host keys and the ssh configuration of a claim.
///
/// # Errors
/// They can't be written.
pub(super) fn write(journal: &Journal, entry: &Entry) -> Result<(), CreatedError> {
    let id = &entry.claim.id;
    let (mut hosts, mut config) = (String::new(), String::new());
    for machine in &entry.created {
        let alias = alias(entry, machine);
        for key in &machine.host_keys {
            let words: Vec<&str> = key.split(' ').take(2).collect();
            let _ = writeln!(hosts, "{alias} {}", words.join(" "));
        }
        // Without keys from the provider, the first connection is trusted, and all others must find the same key.
        let check = if machine.host_keys.is_empty() { "accept-new" } else { "yes" };
        let _ = writeln!(
            config,
            "Host {alias}\n  HostName {}\n  Port {}\n  User {}\n  HostKeyAlias {alias}\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
             UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking {check}\n  ForwardAgent no",
            machine.address,
            machine.port.unwrap_or(22),
            machine.user,
            quoted(&journal.key(id)),
            quoted(&journal.known_hosts(id)),
        );
    }
    put(&journal.known_hosts(id), &hosts)?;
    put(&journal.ssh_config(id), &config)
}

/// Writes the configuration of a run: all its claims, and what the user has, and returns its path.
///
/// # Errors
/// It can't be written.
pub(super) fn of_run(
    journal: &Journal,
    entries: &[&Entry],
    users: Option<&Path>,
) -> Result<PathBuf, CreatedError> {
    let Some(first) = entries.first() else {
        return Err(CreatedError::Answer {
            driver: String::new(),
            what: "no machine was created".to_owned(),
        });
    };
    let mut text = String::new();
    for entry in entries {
        let _ = writeln!(text, "Include {}", quoted(&journal.ssh_config(&entry.claim.id)));
    }
    // Inside of a block that fits every host: the last block of an included file doesn't hold for what follows.
    text.push_str("Host *\n");
    match users {
        Some(path) => drop(writeln!(text, "  Include {}", quoted(path))),
        None => text.push_str("  Include ~/.ssh/config\n  Include /etc/ssh/ssh_config\n"),
    }
    let path = journal.run_config(&first.claim.id);
    put(&path, &text)?;
    Ok(path)
}

/// A path as ssh reads it: `%` begins a token.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.to_string_lossy().replace('%', "%%"))
}

fn put(path: &Path, text: &str) -> Result<(), CreatedError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let dir = TrustedDir::open(folder).map_err(driver::journal::JournalError::from)?;
    Ok(dir.replace(&name, text).map_err(driver::journal::JournalError::from)?)
}
