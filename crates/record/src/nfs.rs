//! NFS: the export, its mount on the same machine or on another one, and the counters of the client's kernel.

use serde::{Deserialize, Serialize};

/// An NFS export of the file system below, and its mount: over the loopback, or by another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nfs {
    /// Version of the protocol; `None`: client and server negotiate it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<NfsVersion>,
    /// Options of the export in the syntax of exports(5), in addition to those of every diskproof export.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub export: Vec<String>,
    /// Largest READ in bytes; `None`: client and server negotiate it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rsize_bytes: Option<u64>,
    /// Largest WRITE in bytes; `None`: client and server negotiate it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wsize_bytes: Option<u64>,
    /// Other mount options, in the syntax of nfs(5).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
    /// The machine that mounts it and generates the load; `None`: the machine that exports it.
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
    /// The highest minor version of NFSv4 that both sides support.
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
    /// All versions.
    pub const ALL: [Self; 5] = [Self::V3, Self::V4, Self::V4p0, Self::V4p1, Self::V4p2];

    /// Returns the value of the mount option `vers`.
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

/// Byte counters of one NFS mount, from /proc/self/mountstats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsCounters {
    /// Bytes that applications read through the page cache.
    pub buffered_read_bytes: u64,
    /// Bytes that applications wrote through the page cache.
    pub buffered_write_bytes: u64,
    /// Bytes that applications read with O_DIRECT.
    pub direct_read_bytes: u64,
    /// Bytes that applications wrote with O_DIRECT.
    pub direct_write_bytes: u64,
    /// Bytes that the client read from the server.
    pub server_read_bytes: u64,
    /// Bytes that the client wrote to the server.
    pub server_write_bytes: u64,
}
