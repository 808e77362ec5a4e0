//! NFS: what is exported, and mounted on the same machine or another node; and what the client's kernel counted.

use serde::{Deserialize, Serialize};

/// What lies below, exported by its machine's NFS server, and mounted from it: over the loopback, or by another node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nfs {
    /// `None`: what client and server agree upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<NfsVersion>,
    /// Options of the export, as exports(5) has them, beside those every export of ours has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub export: Vec<String>,
    /// Most bytes of one READ; `None`: what client and server agree upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rsize_bytes: Option<u64>,
    /// Most bytes of one WRITE; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wsize_bytes: Option<u64>,
    /// Other mount options, as nfs(5) has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
    /// The target whose node mounts it and loads it; `None`: the machine that exports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

impl Nfs {
    /// Whether the server acknowledges writes and flushes before they are durable.
    #[must_use]
    pub fn is_async(&self) -> bool {
        self.export.iter().any(|option| option == "async")
    }
}

/// Version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum NfsVersion {
    /// NFSv3
    #[serde(rename = "3")]
    V3,
    /// The highest minor of NFSv4 that both know.
    #[serde(rename = "4")]
    V4,
    /// NFSv4.0
    #[serde(rename = "4.0")]
    V4p0,
    /// NFSv4.1
    #[serde(rename = "4.1")]
    V4p1,
    /// NFSv4.2
    #[serde(rename = "4.2")]
    V4p2,
}

impl NfsVersion {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::V3, Self::V4, Self::V4p0, Self::V4p1, Self::V4p2];

    /// As the mount option `vers` has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::V3 => "3",
            Self::V4 => "4",
            Self::V4p0 => "4.0",
            Self::V4p1 => "4.1",
            Self::V4p2 => "4.2",
        }
    }
}

/// The bytes of one NFS mount, from /proc/self/mountstats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsCounters {
    /// Read by applications through the page cache.
    pub buffered_read_bytes: u64,
    /// Written by applications through the page cache.
    pub buffered_write_bytes: u64,
    /// Read by applications with O_DIRECT.
    pub direct_read_bytes: u64,
    /// Written by applications with O_DIRECT.
    pub direct_write_bytes: u64,
    /// Read from the server.
    pub server_read_bytes: u64,
    /// Written to the server.
    pub server_write_bytes: u64,
}
