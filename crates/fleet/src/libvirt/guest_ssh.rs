//! ssh into a guest: through its machine, which is the only one that is in the guest's network. The key of its sshd is known from the note.

use super::error::GuestError;
use super::note::note;
use crate::at::{At, own_connection};
use crate::runtime_dir::RuntimeDir;
use host::{CommandFailure, LocalRunner, Runner as _, Ssh, last_words};
use std::ffi::OsString;
use std::time::Duration;

/// How long one try to connect may take, in seconds.
const CONNECT_SECONDS: u32 = 5;

/// A connection to a guest.
#[derive(Debug)]
pub(crate) struct GuestSsh {
    ssh: Ssh,
    /// The file of known keys is in it.
    _folder: RuntimeDir,
}

/// What came of a try to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Try {
    /// It worked.
    In,
    /// sshd answers, and has none of our keys.
    Refused,
    /// Nothing answers yet; ssh's last words.
    Silent(String),
}

impl GuestSsh {
    /// Prepares a connection.
    pub(crate) fn new(
        at: &At,
        guest: &str,
        address: &str,
        host_key: &str,
        unattended: bool,
    ) -> Result<Self, GuestError> {
        let here =
            |source| GuestError::Here { what: "can't write the guest's key for ssh".to_owned(), source };
        let folder = RuntimeDir::make().map_err(here)?;
        let known = folder.file("known_hosts");
        let alias = alias(at, guest);
        std::fs::write(&known, format!("{alias} {}\n", host_key.trim())).map_err(here)?;
        let config = at.options().reach.ssh_config.as_deref();
        let mut options = match unattended {
            true => Ssh::unattended(config, CONNECT_SECONDS),
            false => {
                config.map(|path| ["-F".into(), path.as_os_str().to_owned()]).into_iter().flatten().collect()
            }
        };
        let mut file = OsString::from("UserKnownHostsFile=");
        file.push(&known);
        let alias = format!("HostKeyAlias={alias}");
        let fixed = [
            "GlobalKnownHostsFile=none",
            "StrictHostKeyChecking=yes",
            "ControlPath=none",
            "ControlMaster=no",
        ];
        for option in fixed.into_iter().chain([alias.as_str()]) {
            options.extend(["-o".into(), option.into()]);
        }
        options.extend(["-o".into(), file, "-p".into(), "22".into(), "-l".into(), "root".into()]);
        options.extend(["-o".into(), format!("HostName={address}").into()]);
        if !at.is_here() {
            let words = proxy(at, address);
            options.extend(["-o".into(), format!("ProxyCommand={words}").into()]);
        }
        Ok(Self { ssh: Ssh::with(options, guest), _folder: folder })
    }

    /// Tries to log in.
    pub(crate) fn log_in(&self) -> Result<Try, GuestError> {
        let call = self.ssh.call(&["true"]).timeout(Duration::from_secs(30));
        match LocalRunner.run(&call) {
            Ok(_) => Ok(Try::In),
            Err(CommandFailure::Failed { stderr, .. }) if stderr.contains("Permission denied") => {
                Ok(Try::Refused)
            }
            Err(CommandFailure::Failed { stderr, .. }) => Ok(Try::Silent(last_words(&stderr))),
            Err(CommandFailure::TimedOut { .. }) => Ok(Try::Silent("no answer within 30 s".to_owned())),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs a command in the guest; its exit code may be another than 0.
    pub(crate) fn run(&self, words: &[&str], limit: Duration) -> Result<String, GuestError> {
        let call = self.ssh.call(words).timeout(limit).accept(0..=254);
        Ok(LocalRunner.run(&call)?.stdout)
    }
}

/// The name of a guest among the keys that ssh knows.
fn alias(at: &At, guest: &str) -> String {
    format!("diskproof-guest-{}-{guest}", at.name())
}

/// The command through which ssh reaches a guest.
fn proxy(at: &At, address: &str) -> String {
    let target = if address.contains(':') { format!("[{address}]:22") } else { format!("{address}:22") };
    let words = own_connection(at.machine(), &at.options().reach);
    let end: [OsString; 4] = ["-W".into(), target.into(), "--".into(), at.machine().ssh.clone().into()];
    let words = [vec!["ssh".into()], words, end.to_vec()];
    let words: Vec<String> = words.iter().flatten().map(|word| word.to_string_lossy().into_owned()).collect();
    // ssh replaces `%`.
    lab::quoted(&words).replace('%', "%%")
}

/// A guest's address: the one it was given, or the one that libvirt's network gave it, or the one that the machine has seen.
pub(crate) fn address(at: &At, guest: &str, given: Option<&str>) -> Result<Option<String>, GuestError> {
    if let Some(given) = given {
        return Ok(Some(given.to_owned()));
    }
    for source in ["lease", "arp"] {
        let said =
            match at.virsh("look for its address", &["domifaddr", "--domain", guest, "--source", source]) {
                Ok(said) => said,
                // Of a kind of network that has no leases.
                Err(crate::at::AtError::Failed { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
        if let Some(address) = first_address(&said) {
            return Ok(Some(address));
        }
    }
    Ok(None)
}

/// The first address of the table that `virsh domifaddr` prints.
fn first_address(said: &str) -> Option<String> {
    said.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(2);
        let (kind, address) = (words.next()?, words.next()?);
        let address = address.split('/').next()?;
        (kind == "ipv4" && address.parse::<std::net::IpAddr>().is_ok()).then(|| address.to_owned())
    })
}

/// Opens a shell in a guest, or runs a command there, on this process's terminal.
///
/// # Errors
/// diskproof didn't make the guest, it has no address, or ssh can't be started.
pub fn shell(at: &At, guest: &str, words: &[String]) -> Result<std::process::ExitStatus, GuestError> {
    let (address, host_key) = way(at, guest)?;
    let connection = GuestSsh::new(at, guest, &address, &host_key, false)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    connection
        .ssh
        .hand_over(&words, words.is_empty())
        .map_err(|source| GuestError::Here { what: "can't run ssh".to_owned(), source })
}

/// Returns the lines that make a guest a host of `~/.ssh/config`, and so a machine like any other.
///
/// # Errors
/// diskproof didn't make the guest, or it has no address.
pub fn config_entry(at: &At, guest: &str) -> Result<String, GuestError> {
    let (address, host_key) = way(at, guest)?;
    let (name, ssh) = (at.name(), &at.machine().ssh);
    if [name, ssh.as_str()].into_iter().any(has_second_meaning) {
        return Err(GuestError::NoEntry {
            machine: name.to_owned(),
            guest: guest.to_owned(),
            ssh: ssh.clone(),
        });
    }
    let alias = alias(at, guest);
    let jump = match at.is_here() {
        true => String::new(),
        false => format!("  ProxyJump {ssh}\n"),
    };
    Ok(format!(
        "Host {guest}\n  HostName {address}\n  Port 22\n  User root\n{jump}  HostKeyAlias {alias}\n  \
         KnownHostsCommand /usr/bin/echo \"{alias} {}\"\n",
        host_key.trim()
    ))
}

/// Whether a name can't stand in ssh's configuration as it is.
fn has_second_meaning(name: &str) -> bool {
    name.contains(|c: char| c.is_control() || c.is_whitespace() || "\"'\\%#,".contains(c))
}

fn way(at: &At, guest: &str) -> Result<(String, String), GuestError> {
    let not_ours = || GuestError::NotOurs { machine: at.name().to_owned(), guest: guest.to_owned() };
    let note = note(at, guest)?.ok_or_else(not_ours)?;
    let address = address(at, guest, note.address.as_deref())?.ok_or_else(|| GuestError::NoAddress {
        machine: at.name().to_owned(),
        guest: guest.to_owned(),
        seconds: 0,
    })?;
    Ok((address, note.host_key))
}

#[cfg(test)]
mod tests {
    use super::{first_address, has_second_meaning};

    #[test]
    fn the_address_is_one() {
        let said = " vnet0      52:54:00:aa:bb:cc    ipv6         fe80::1/64\n vnet0      52:54:00:aa:bb:cc    ipv4         192.168.122.57/24\n";
        assert_eq!(first_address(said).as_deref(), Some("192.168.122.57"));
        assert_eq!(first_address(" vnet0 52:54:00:aa:bb:cc ipv4 $(x)/24\n"), None);
        assert_eq!(first_address("\n"), None);
    }

    #[test]
    fn a_name_that_ssh_would_read_as_more_than_a_name_is_known() {
        assert!(["ham0", "root@10.0.0.1", "ssh://me@[::1]:22"].into_iter().all(|n| !has_second_meaning(n)));
        assert!(["a b", "a\nProxyCommand x", "a%h", "a\"", "a,b"].into_iter().all(has_second_meaning));
    }
}
