//! Machines: what an inventory says of them, and what they answer when they are asked for their state.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A machine of an inventory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name, by which commands select it.
    pub name: String,
    /// Destination for `ssh`: `host`, `user@host`, or a name from its configuration.
    pub ssh: String,
    /// The port of its sshd, where the inventory says one; `None`: as ssh's configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The file of the private key, where the inventory says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<PathBuf>,
    /// Hardware address of the network card that wakes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
    /// Network address for other machines; `None`: the host of its ssh destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Groups that it is in, directly or through other groups, in the order of the file.
    pub groups: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// What it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<MachinePrice>,
    /// Where it is defined: a file and a line.
    pub source: String,
}

impl Machine {
    /// Returns a machine that is only a destination of `ssh`.
    #[must_use]
    pub fn named(name: &str, source: &str) -> Self {
        Self {
            name: name.to_owned(),
            ssh: name.to_owned(),
            port: None,
            identity: None,
            mac: None,
            address: None,
            groups: Vec::new(),
            tags: Vec::new(),
            price: None,
            source: source.to_owned(),
        }
    }
}

/// The price of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachinePrice {
    /// As it is written, e.g. `120/month`.
    pub text: String,
    /// Money per hour.
    pub per_hour: f64,
    /// Currency of the inventory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

/// A hardware address of Ethernet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Parses six bytes in hexadecimal, with `:` or `-` between them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split([':', '-']).collect();
        let is_byte = |part: &str| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        let byte = |part: &&str| is_byte(part).then(|| u8::from_str_radix(part, 16).ok()).flatten();
        let bytes: Vec<u8> = parts.iter().map(byte).collect::<Option<_>>()?;
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl TryFrom<String> for Mac {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a hardware address"))
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> Self {
        mac.to_string()
    }
}

/// Whether a machine is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineState {
    /// It answered.
    On,
    /// The network says that nothing is at its address.
    Off,
    /// Nothing answered in time: it is off, or slow, or a firewall swallows the question.
    NoAnswer,
    /// Something answers there, but ssh doesn't get in.
    NoSsh,
    /// ssh can't tell: it has no address for the name, or fails on this side.
    Unknown,
}

impl fmt::Display for MachineState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::On => "on",
            Self::Off => "off",
            Self::NoAnswer => "no answer",
            Self::NoSsh => "no ssh",
            Self::Unknown => "unknown",
        })
    }
}

/// The state of a machine, as `machines status --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineStatus {
    /// Its name in the inventory.
    pub machine: String,
    /// Whether it is on.
    pub state: MachineState,
    /// Why there are no facts, or why some are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// From the start of ssh to its end, in milliseconds.
    pub took_ms: u64,
    /// What it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<MachineFacts>,
}

/// What a machine says of itself. What it doesn't say is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Release of its kernel.
    pub kernel: Option<String>,
    /// Identity of its boot; two names with the same one are one machine.
    pub boot_id: Option<String>,
    /// Time since its boot, in seconds.
    pub uptime_seconds: Option<f64>,
    /// Processors that are online.
    pub cpus: Option<u32>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Memory that programs can have without swapping (`MemAvailable`), in bytes.
    pub free_bytes: Option<u64>,
    /// Its disks, without loop devices, device-mapper, md and CD drives.
    pub disks: Option<Vec<DiskSeen>>,
    /// Guests of its libvirt; `None`: it has no `virsh`, or libvirt doesn't answer.
    pub guests: Option<Vec<GuestSeen>>,
    /// Journals of diskproof's runs: of runs that go on, and of those that were killed. `None`: they can't be seen without root.
    pub journals: Option<Vec<JournalSeen>>,
}

impl MachineFacts {
    /// Memory that is in use, in bytes.
    #[must_use]
    pub fn used_bytes(&self) -> Option<u64> {
        Some(self.memory_bytes?.saturating_sub(self.free_bytes?))
    }
}

/// A disk, as the kernel's tables show it without root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSeen {
    /// The kernel's name, e.g. `sda`.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Whether it has no partition, no holder, no mount and no swap. Its content isn't read: `devices` tells whether it is free.
    pub unused: bool,
}

/// The journal of a run. It changes with every stack that the run builds or takes down, and goes when all is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalSeen {
    /// The run.
    pub run: String,
    /// For how long it has not changed, in seconds.
    pub unchanged_seconds: Option<u64>,
    /// In how many seconds its time budget is spent; negative: it was spent so long ago. `None`: it has none, or says none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_in_seconds: Option<i64>,
}

/// A guest, as libvirt shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestSeen {
    /// Its name.
    pub name: String,
    /// Whether it runs (also paused, which keeps its memory).
    pub on: bool,
    /// Virtual processors.
    pub cpus: Option<u32>,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::Mac;

    #[test]
    fn hardware_addresses_are_read_in_both_forms() {
        let mac = Mac([0x52, 0x54, 0, 0x12, 0xab, 0xff]);
        assert_eq!(Mac::parse("52:54:00:12:ab:ff"), Some(mac));
        assert_eq!(Mac::parse("52-54-00-12-AB-FF"), Some(mac));
        assert_eq!(mac.to_string(), "52:54:00:12:ab:ff");
        for wrong in [
            "",
            "52:54:00:12:ab",
            "52:54:00:12:ab:f",
            "52:54:00:12:ab:fg",
            "52:54:00:12:ab:ff:00",
            "+2:54:00:12:ab:ff",
        ] {
            assert_eq!(Mac::parse(wrong), None, "{wrong}");
        }
    }
}
