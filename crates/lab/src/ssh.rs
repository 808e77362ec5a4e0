//! Commands in a guest by OpenSSH's own client, with the lab's own keys and one shared connection.

use crate::places::{Base, GuestPlaces};
use host::{CommandFailure, Invocation, Output, Runner, Tool};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// How long a shared connection stays open without a command.
const PERSIST_SECONDS: u32 = 120;
/// The guest's name in known_hosts, which doesn't depend on its port.
const ALIAS: &str = "diskproof-lab";

/// A guest's ssh server.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) base: Base,
    pub(crate) guest: GuestPlaces,
    pub(crate) port: u16,
}

impl Door {
    /// The options that ssh and scp share.
    fn options(&self) -> Vec<String> {
        let mut words = vec![
            "-F".to_owned(),
            "none".to_owned(),
            "-i".to_owned(),
            self.base.key().to_string_lossy().into_owned(),
        ];
        let known = self.base.known_hosts().to_string_lossy().into_owned();
        let shared = self.guest.shared().to_string_lossy().into_owned();
        for option in [
            "IdentitiesOnly=yes".to_owned(),
            "BatchMode=yes".to_owned(),
            "StrictHostKeyChecking=yes".to_owned(),
            format!("HostKeyAlias={ALIAS}"),
            format!("UserKnownHostsFile={known}"),
            "GlobalKnownHostsFile=none".to_owned(),
            "ConnectTimeout=20".to_owned(),
            "ServerAliveInterval=15".to_owned(),
            "ServerAliveCountMax=8".to_owned(),
            "LogLevel=ERROR".to_owned(),
            "ControlMaster=auto".to_owned(),
            format!("ControlPath={shared}"),
            format!("ControlPersist={PERSIST_SECONDS}"),
        ] {
            words.extend(["-o".to_owned(), option]);
        }
        words
    }

    /// ssh's arguments before the command.
    fn arguments(&self) -> Vec<String> {
        let mut words = self.options();
        words.extend(["-p".to_owned(), self.port.to_string(), "root@127.0.0.1".to_owned()]);
        words
    }

    /// The command line before a command in the guest.
    pub(crate) fn argv(&self) -> Result<Vec<OsString>, CommandFailure> {
        let program = host::resolve(Tool::Ssh)?;
        Ok(std::iter::once(program.into_os_string())
            .chain(self.arguments().into_iter().map(Into::into))
            .collect())
    }

    /// Runs a program in the guest.
    pub(crate) fn run(
        &self,
        runner: &dyn Runner,
        argv: &[&str],
        limit: Duration,
    ) -> Result<Output, CommandFailure> {
        runner.run(
            &Invocation::new(Tool::Ssh).args(self.arguments()).arg("--").arg(quoted(argv)).timeout(limit),
        )
    }

    /// Copies a file, or a folder with its content, into the guest.
    pub(crate) fn copy(
        &self,
        runner: &dyn Runner,
        from: &Path,
        to: &str,
        limit: Duration,
    ) -> Result<(), CommandFailure> {
        let copy = Invocation::new(Tool::Scp)
            .args(["-q", "-p", "-r", "-P"])
            .arg(self.port.to_string())
            .args(self.options())
            .arg(from)
            .arg(format!("root@127.0.0.1:{to}"))
            .timeout(limit);
        runner.run(&copy).map(|_| ())
    }

    /// Ends the shared connection, if there is one.
    pub(crate) fn close(&self, runner: &dyn Runner) {
        if self.guest.shared().exists() {
            // An error is fine: there may be no connection, and it ends with the guest in any case.
            let _ = runner.run(
                &Invocation::new(Tool::Ssh)
                    .args(["-O", "exit"])
                    .args(self.arguments())
                    .timeout(Duration::from_secs(10)),
            );
        }
    }
}

/// Quotes an argument vector as the one text that ssh passes to the guest's shell.
#[must_use]
pub fn quoted<S: AsRef<str>>(argv: &[S]) -> String {
    let words: Vec<String> = argv.iter().map(|word| quote(word.as_ref())).collect();
    words.join(" ")
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Door, quoted};
    use crate::places::Places;
    use std::path::Path;

    #[test]
    fn arguments_survive_the_guest_s_shell() {
        assert_eq!(
            quoted(&["echo", "a b", "it's", "", "$HOME", "x=1"]),
            r"echo 'a b' 'it'\''s' '' '$HOME' x=1"
        );
    }

    #[test]
    fn nobody_s_ssh_settings_or_known_hosts_are_used() {
        let places = Places::below(Path::new("/s")).unwrap();
        let door = Door { base: places.base("abc"), guest: places.guest("one").unwrap(), port: 2222 };
        let text = door.arguments().join(" ");
        assert!(text.starts_with("-F none -i /s/lab/base/abc/keys/user "), "{text}");
        assert!(text.contains("UserKnownHostsFile=/s/lab/base/abc/keys/known_hosts"), "{text}");
        assert!(
            text.contains("StrictHostKeyChecking=yes") && text.ends_with("-p 2222 root@127.0.0.1"),
            "{text}"
        );
    }
}
