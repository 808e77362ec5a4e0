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

/// Writes the host keys and the ssh configuration of a claim. Keys that ssh learned at an earlier connection stay. `users` is what the user's ssh reads instead of ~/.ssh/config.
///
/// # Errors
/// They can't be written.
pub(super) fn write(journal: &Journal, entry: &Entry, users: Option<&Path>) -> Result<(), CreatedError> {
    let id = &entry.claim.id;
    let (mut hosts, mut config) = (known(&journal.known_hosts(id))?, String::new());
    for machine in &entry.created {
        let alias = alias(entry, machine);
        for key in &machine.host_keys {
            let words: Vec<&str> = key.split(' ').take(2).collect();
            let line = format!("{alias} {}", words.join(" "));
            if !hosts.lines().any(|known| known == line) {
                let _ = writeln!(hosts, "{line}");
            }
        }
        // Without keys from the provider, the first connection is trusted, and all others must find the same key.
        let check = if machine.host_keys.is_empty() { "accept-new" } else { "yes" };
        let _ = writeln!(
            config,
            "Host {alias}\n  HostName {}\n  Port {}\n  User {}\n  HostKeyAlias {alias}\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
             UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking {check}\n  ForwardAgent no\n  \
             ControlMaster no\n  ControlPath none",
            machine.address,
            machine.port.unwrap_or(22),
            machine.user,
            quoted(&journal.key(id)),
            quoted(&journal.known_hosts(id)),
        );
        if let Some(host) = &machine.through {
            let _ = writeln!(config, "  ProxyCommand {}", proxy(host, users));
        }
    }
    put(&journal.known_hosts(id), &hosts)?;
    put(&journal.ssh_config(id), &config)
}

/// The lines that a claim's file of host keys has.
fn known(path: &Path) -> Result<String, CreatedError> {
    let (dir, name) = place(path)?;
    let mut text = dir.read(&name).map_err(driver::journal::JournalError::from)?.unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// The command that reaches a machine through another host, which the user's own configuration knows.
fn proxy(host: &str, users: Option<&Path>) -> String {
    let own = users.map(|path| ["-F".to_owned(), path.to_string_lossy().into_owned()]);
    let words: Vec<String> = ["ssh", "-o", "BatchMode=yes"]
        .map(str::to_owned)
        .into_iter()
        .chain(own.into_iter().flatten())
        .collect();
    // ssh replaces `%` in this line; a shell reads it.
    let plain = |words: &[String]| lab::quoted(words).replace('%', "%%");
    format!("{} -W '[%h]:%p' -- {}", plain(&words), plain(&[host.to_owned()]))
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

/// The folder and name of a file.
fn place(path: &Path) -> Result<(TrustedDir, String), CreatedError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok((TrustedDir::open(folder).map_err(driver::journal::JournalError::from)?, name))
}

fn put(path: &Path, text: &str) -> Result<(), CreatedError> {
    let (dir, name) = place(path)?;
    Ok(dir.replace(&name, text).map_err(driver::journal::JournalError::from)?)
}

#[cfg(test)]
mod tests {
    use super::{proxy, write};
    use driver::journal::{Entry, Journal};
    use driver::protocol::{Claim, Created};
    use std::path::Path;

    #[test]
    fn a_key_that_ssh_learned_stays_and_no_connection_is_shared() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::of(dir.path());
        let claim = Claim { id: "aa".to_owned(), run: "r".to_owned(), deadline: 9 };
        let mut entry = Entry::new(claim, "e", "d", Vec::new(), 5);
        let made = |keys: &str| -> Created {
            let text = format!(
                r#"{{"name":"m","id":"i","address":"h","user":"u","host_keys":[{keys}],"volumes":[]}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        entry.created = vec![made("")];
        let held = journal.begin(entry).unwrap();
        write(&journal, held.entry(), None).unwrap();
        let hosts = journal.known_hosts("aa");
        std::fs::write(&hosts, "m.aa.diskproof ssh-ed25519 LEARNED\n").unwrap();
        write(&journal, held.entry(), None).unwrap();
        assert_eq!(std::fs::read_to_string(&hosts).unwrap(), "m.aa.diskproof ssh-ed25519 LEARNED\n");
        let mut told = held.entry().clone();
        told.created = vec![made(r#""ssh-ed25519 TOLD comment""#)];
        write(&journal, &told, None).unwrap();
        write(&journal, &told, None).unwrap();
        let text = std::fs::read_to_string(&hosts).unwrap();
        assert_eq!(text.lines().nth(1), Some("m.aa.diskproof ssh-ed25519 TOLD"));
        assert_eq!(text.lines().count(), 2, "{text}");
        let config = std::fs::read_to_string(journal.ssh_config("aa")).unwrap();
        assert!(config.contains("ControlMaster no") && config.contains("ControlPath none"), "{config}");
    }

    #[test]
    fn a_machine_inside_of_a_host_s_network_is_reached_through_the_host() {
        assert_eq!(proxy("ham0", None), "ssh -o BatchMode=yes -W '[%h]:%p' -- ham0");
        let own = proxy("me@ham0", Some(Path::new("/home/me/my config%h")));
        assert_eq!(own, "ssh -o BatchMode=yes -F '/home/me/my config%%h' -W '[%h]:%p' -- me@ham0");
    }
}
