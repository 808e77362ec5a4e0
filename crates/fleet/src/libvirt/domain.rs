//! The guests of a machine, as `virsh domstats` lists them.

use super::error::GuestError;
use crate::at::At;
use serde::Serialize;
use std::fmt;

/// A guest of a machine. Its name is whatever libvirt says: it is shown by `printable` only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Domain {
    /// Name of its machine in the inventory.
    pub machine: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub state: DomainState,
    /// Virtual processors.
    pub cpus: Option<u32>,
    /// Memory in bytes: what it has now if it runs, else the most it will have.
    pub memory_bytes: Option<u64>,
}

impl Domain {
    /// `MACHINE:GUEST`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}:{}", self.machine, self.name)
    }
}

/// The state of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DomainState {
    /// It runs.
    Running,
    /// It is paused, and keeps its memory.
    Paused,
    /// It is shutting down.
    Stopping,
    /// It is off.
    Off,
    /// It crashed, and its QEMU keeps its memory.
    Crashed,
    /// It sleeps: its own power management suspended it.
    Asleep,
    /// libvirt doesn't say, or says something that isn't known here.
    Unknown,
}

impl DomainState {
    /// Reads libvirt's number (`virDomainState`).
    fn of(number: &str) -> Self {
        match number {
            "1" | "2" => Self::Running,
            "3" => Self::Paused,
            "4" => Self::Stopping,
            "5" => Self::Off,
            "6" => Self::Crashed,
            "7" => Self::Asleep,
            _ => Self::Unknown,
        }
    }

    /// Whether it holds memory.
    #[must_use]
    pub fn is_on(self) -> bool {
        matches!(self, Self::Running | Self::Paused | Self::Stopping | Self::Crashed | Self::Asleep)
    }
}

impl fmt::Display for DomainState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopping => "stopping",
            Self::Off => "off",
            Self::Crashed => "crashed",
            Self::Asleep => "asleep",
            Self::Unknown => "unknown",
        })
    }
}

/// Returns the guests of a machine, by name.
///
/// # Errors
/// The machine has no `virsh`, or libvirt doesn't answer.
pub fn domains(at: &At) -> Result<Vec<Domain>, GuestError> {
    let said = at.virsh("list its guests", &["domstats", "--nowait", "--state", "--balloon", "--vcpu"])?;
    let mut found = read(at.name(), &said);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn read(machine: &str, said: &str) -> Vec<Domain> {
    let mut found: Vec<Domain> = Vec::new();
    for line in said.lines() {
        if let Some(name) = line.strip_prefix("Domain: '").and_then(|rest| rest.strip_suffix('\'')) {
            found.push(Domain {
                machine: machine.to_owned(),
                name: name.to_owned(),
                state: DomainState::Unknown,
                cpus: None,
                memory_bytes: None,
            });
            continue;
        }
        let (Some(domain), Some((key, value))) = (found.last_mut(), line.trim().split_once('=')) else {
            continue;
        };
        let bytes = || value.parse::<u64>().ok().and_then(|kib| kib.checked_mul(1024));
        match key {
            "state.state" => domain.state = DomainState::of(value),
            "balloon.current" => domain.memory_bytes = bytes(),
            "balloon.maximum" => domain.memory_bytes = domain.memory_bytes.or_else(bytes),
            "vcpu.current" => domain.cpus = value.parse().ok(),
            "vcpu.maximum" => domain.cpus = domain.cpus.or_else(|| value.parse().ok()),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{DomainState, read};

    const SAID: &str = "Domain: 'web'\n  state.state=1\n  state.reason=1\n  balloon.current=524288\n  balloon.maximum=1048576\n  \
        vcpu.current=2\n  vcpu.maximum=4\n\nDomain: 'it's: \u{1b}[2J'\n  state.state=5\n  balloon.maximum=1048576\n  vcpu.maximum=1\n\nDomain: 'x'\n";

    #[test]
    fn a_crashed_guest_still_has_its_disks_open() {
        assert!(DomainState::of("6").is_on() && !DomainState::of("5").is_on());
    }

    #[test]
    fn what_libvirt_says_is_read_and_what_it_does_not_say_is_none() {
        let found = read("ham0", SAID);
        assert_eq!(found[0].full_name(), "ham0:web");
        assert_eq!(
            (found[0].state, found[0].cpus, found[0].memory_bytes),
            (DomainState::Running, Some(2), Some(512 << 20))
        );
        assert_eq!((found[1].name.as_str(), found[1].state), ("it's: \u{1b}[2J", DomainState::Off));
        assert_eq!((found[1].cpus, found[1].memory_bytes), (Some(1), Some(1 << 30)));
        assert_eq!(
            (found[2].state, found[2].cpus, found[2].memory_bytes),
            (DomainState::Unknown, None, None)
        );
    }
}
