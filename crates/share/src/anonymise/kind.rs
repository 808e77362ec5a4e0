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

/// Words that are in every record, or that name nobody: also provisioners, drivers and tools. They are never replaced.
pub(super) const ORDINARY: [&str; 60] = [
    "address",
    "addresses",
    "admin",
    "ansible",
    "backup",
    "bench",
    "blkid",
    "btrfs",
    "cryptsetup",
    "curl",
    "data",
    "debian",
    "device",
    "direct",
    "disk",
    "driver",
    "ext4",
    "fio",
    "gearman",
    "guest",
    "home",
    "homes",
    "host",
    "hosts",
    "kernel",
    "lab",
    "libvirt",
    "local",
    "localdomain",
    "localhost",
    "loop",
    "lvm",
    "main",
    "mdadm",
    "mnt",
    "mount",
    "native",
    "nobody",
    "none",
    "path",
    "puppet",
    "read",
    "root",
    "rsync",
    "serial",
    "serials",
    "server",
    "shell",
    "slurm",
    "ssh",
    "storage",
    "sudo",
    "tar",
    "test",
    "trial",
    "user",
    "users",
    "write",
    "xfs",
    "zfs",
];
/// Shorter names are left: they occur in other words too often.
pub(super) const SHORTEST: usize = 3;
