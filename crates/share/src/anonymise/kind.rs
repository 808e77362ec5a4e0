//! Kinds of names, and what is no name.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A kind of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameKind {
    /// Names of machines.
    Hosts,
    /// Serial numbers and WWNs of drives.
    Serials,
    /// Names of users.
    Users,
    /// Paths below home directories.
    Homes,
    /// Addresses of machines: IPv4, IPv6, MAC.
    Addresses,
}

impl NameKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Hosts, Self::Serials, Self::Users, Self::Homes, Self::Addresses];

    /// As a person types it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hosts => "hosts",
            Self::Serials => "serials",
            Self::Users => "users",
            Self::Homes => "homes",
            Self::Addresses => "addresses",
        }
    }

    /// The beginning of its pseudonyms.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Hosts => "host",
            Self::Serials => "serial",
            Self::Users => "user",
            Self::Homes => "path",
            Self::Addresses => "address",
        }
    }
}

impl fmt::Display for NameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Names by their kind; a name has one kind.
pub(super) type Names = BTreeMap<String, NameKind>;

/// Words that are in every record, or that name nobody. They are never replaced.
pub(super) const ORDINARY: [&str; 34] = [
    "admin",
    "backup",
    "bench",
    "btrfs",
    "data",
    "debian",
    "device",
    "direct",
    "disk",
    "ext4",
    "fio",
    "guest",
    "home",
    "host",
    "kernel",
    "local",
    "localdomain",
    "localhost",
    "loop",
    "main",
    "mnt",
    "native",
    "nobody",
    "none",
    "read",
    "root",
    "server",
    "storage",
    "test",
    "trial",
    "user",
    "write",
    "xfs",
    "zfs",
];
/// Shorter names are left: they occur in other words too often.
pub(super) const SHORTEST: usize = 3;
