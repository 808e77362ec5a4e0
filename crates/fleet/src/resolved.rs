//! What ssh's configuration makes of machines, by `ssh -G`: no connection.

use crate::drive::{Done, Drive, Errand, Fanout, Task};
use crate::link::Reach;
use host::{Ending, Input, Ssh, Stream};
use record::machine::Machine;
use record::printable::printable;
use serde::Serialize;
use std::io;
use std::sync::atomic::AtomicBool;

/// Where ssh connects to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// The user there.
    pub user: String,
    /// The network name or address.
    pub host: String,
    /// The port.
    pub port: String,
}

/// Returns where ssh would connect to, for each machine; `None` where ssh rejects its configuration.
///
/// # Errors
/// The kernel refuses to wait for programs.
pub fn resolved(
    machines: &[Machine],
    reach: &Reach,
    cancel: &AtomicBool,
) -> io::Result<Vec<Option<Resolved>>> {
    let mut asking = Asking { said: vec![Vec::new(); machines.len()], found: vec![None; machines.len()] };
    let fanout = Fanout { most: 16, skips_silent: false };
    Drive::single(machines, reach).errand(0..machines.len(), fanout, &mut asking, cancel)?;
    Ok(asking.found)
}

struct Asking {
    said: Vec<Vec<u8>>,
    found: Vec<Option<Resolved>>,
}

impl Errand for Asking {
    fn next(&mut self, machine: usize, ssh: &Ssh, before: Option<Done>) -> Option<Task> {
        match before {
            None => return Some(Task { call: ssh.configuration(), input: Input::None }),
            Some(Done::Ended { ending: Ending::Status(0), .. }) => {
                let said = self.said.get(machine).map(|said| String::from_utf8_lossy(said).into_owned());
                let said = said.unwrap_or_default();
                let value = |key: &str| {
                    let line = said.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
                    printable(line.unwrap_or_default()).into_owned()
                };
                if let Some(found) = self.found.get_mut(machine) {
                    *found =
                        Some(Resolved { user: value("user"), host: value("hostname"), port: value("port") });
                }
            }
            Some(_) => {}
        }
        None
    }

    fn hears(&mut self, machine: usize, stream: Stream, bytes: &[u8]) {
        if let (Stream::Out, Some(said)) = (stream, self.said.get_mut(machine)) {
            said.extend_from_slice(bytes);
        }
    }
}
