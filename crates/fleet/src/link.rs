//! Connections to the machines of an inventory: the user's own `ssh`, with one shared connection (a master) per machine.

use crate::runtime_dir::RuntimeDir;
use host::{Invocation, Ssh};
use record::machine::Machine;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// What the master prints once it is connected. It ends when its standard input does, so also when this process is killed.
pub(crate) const READY: [&str; 3] = ["sh", "-c", "echo diskproof; exec cat >/dev/null"];

/// How to connect to machines.
#[derive(Debug, Clone)]
pub struct Reach {
    /// The file that ssh reads instead of `~/.ssh/config`.
    pub ssh_config: Option<PathBuf>,
    /// Time limit of a connection, in seconds.
    pub connect_seconds: u32,
}

/// The connections of a command.
#[derive(Debug)]
pub(crate) struct Links {
    reach: Reach,
    sockets: Option<RuntimeDir>,
}

impl Links {
    /// Connections of one command each.
    pub(crate) fn single(reach: &Reach) -> Self {
        Self { reach: reach.clone(), sockets: None }
    }

    /// Connections that several commands share.
    pub(crate) fn shared(reach: &Reach) -> io::Result<Self> {
        Ok(Self { reach: reach.clone(), sockets: Some(RuntimeDir::make()?) })
    }

    /// The connection to a machine, through its master if there is one.
    pub(crate) fn ssh(&self, machine: &Machine, at: usize) -> Ssh {
        self.with(
            machine,
            self.sockets.as_ref().map(|sockets| {
                [("ControlMaster", "no".into()), ("ControlPath", sockets.socket(at).into_os_string())]
            }),
        )
    }

    /// The invocation that starts a machine's master.
    pub(crate) fn master(&self, machine: &Machine, at: usize) -> Option<Invocation> {
        let socket = self.sockets.as_ref()?.socket(at).into_os_string();
        let options =
            [("ControlMaster", "yes".into()), ("ControlPersist", "no".into()), ("ControlPath", socket)];
        Some(self.with(machine, Some(options)).call(&READY))
    }

    fn with<const N: usize>(&self, machine: &Machine, control: Option<[(&str, OsString); N]>) -> Ssh {
        let mut options = Ssh::unattended(self.reach.ssh_config.as_deref(), self.reach.connect_seconds);
        options.extend(of(machine));
        for (name, value) in control.into_iter().flatten() {
            let mut word = OsString::from(format!("{name}="));
            word.push(value);
            options.extend(["-o".into(), word]);
        }
        Ssh::with(options, &machine.ssh)
    }
}

/// The options that an inventory says of a machine.
pub(crate) fn of(machine: &Machine) -> Vec<OsString> {
    let mut options: Vec<OsString> = Vec::new();
    if let Some(port) = machine.port {
        options.extend(["-p".into(), port.to_string().into()]);
    }
    if let Some(identity) = &machine.identity {
        options.extend(["-i".into(), identity.clone().into_os_string()]);
    }
    options
}

/// The connection to one machine, for a command that a person sees: passwords may be asked for, and there is no time limit.
#[must_use]
pub fn by_hand(machine: &Machine, ssh_config: Option<&std::path::Path>) -> Ssh {
    let own = ssh_config.map(|path| ["-F".into(), path.as_os_str().to_owned()]);
    Ssh::with(own.into_iter().flatten().chain(of(machine)).collect(), &machine.ssh)
}

#[cfg(test)]
mod tests {
    use super::{Links, Reach};
    use record::machine::Machine;

    #[test]
    fn what_the_inventory_says_reaches_ssh_and_keys_of_hosts_are_checked() {
        let reach = Reach { ssh_config: Some("/c".into()), connect_seconds: 3 };
        let machine =
            Machine { port: Some(2200), identity: Some("/k".into()), ..Machine::named("ham0", "x") };
        let words = |call: host::Invocation| call.argv().join(" ");
        let single = words(Links::single(&reach).ssh(&machine, 7).call(&["true"]));
        assert!(
            single.starts_with("ssh -T -F /c") && single.ends_with("-p 2200 -i /k -- ham0 true"),
            "{single}"
        );
        assert!(single.contains("ConnectTimeout=3") && single.contains("BatchMode=yes"), "{single}");
        let links = Links::shared(&reach).unwrap();
        let (master, command) =
            (words(links.master(&machine, 7).unwrap()), words(links.ssh(&machine, 7).call(&["true"])));
        assert!(master.contains("ControlMaster=yes -o ControlPersist=no -o ControlPath="), "{master}");
        let socket =
            |text: &str| text.split("ControlPath=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        assert_eq!(socket(&master), socket(&command));
        assert!(socket(&master).len() < 90);
        for words in [&single, &master, &command] {
            assert!(!words.contains("HostKeyChecking") && !words.contains("KnownHosts"), "{words}");
        }
    }
}
