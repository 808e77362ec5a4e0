//! Volumes: where data may live.

use crate::target::{Burst, LOCAL, LimitChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One volume, resolved: a volume of the experiment file with `count: 8` becomes eight of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Name of the volume in the file and its index from 0, e.g. `vol[2]`; `vol` alone when there is no count.
    pub name: String,
    /// What it is.
    pub kind: VolumeKind,
}

/// What a volume is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VolumeKind {
    /// A fully written backing file under a loop device with direct I/O, limited by a cgroup.
    Emulate {
        /// Size of the backing file.
        size_bytes: u64,
        /// Limits; all `None` means an unlimited loop volume.
        limits: Limits,
    },
    /// A real disk, named by its link in `/dev/disk/by-id`, claimed beforehand.
    Disk {
        /// The link's name, without the directory.
        id: String,
    },
    /// A disk of a lab guest: made for the experiment, limited by QEMU.
    Guest {
        /// Its name in the guest's `/dev/disk/by-id`.
        id: String,
        /// Its size.
        size_bytes: u64,
        /// What limits it, at the beginning of each trial at least.
        limits: Limits,
        /// More than that, for a while.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        burst: Option<Burst>,
        /// Other limits in the course of each trial.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<LimitChange>,
    },
    /// A lent directory.
    Directory {
        /// Absolute path; must exist.
        path: PathBuf,
    },
}

/// Limits on one volume, per direction; `None` is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Reads per second.
    pub read_iops: Option<u64>,
    /// Writes per second.
    pub write_iops: Option<u64>,
    /// Bytes read per second.
    pub read_bps: Option<u64>,
    /// Bytes written per second.
    pub write_bps: Option<u64>,
    /// Reads and writes per second, together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_iops: Option<u64>,
    /// Bytes read and written per second, together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bps: Option<u64>,
}

impl Limits {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// What a provided volume really is, as found on the node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeFacts {
    /// As in [`Volume::name`].
    pub name: String,
    /// The target it is on.
    #[serde(default = "local")]
    pub target: String,
    /// Block device, if it is one.
    pub device: Option<PathBuf>,
    /// Usable size; for a directory, the free space found.
    pub size_bytes: u64,
    /// Drive identity as text (model, serial, wwn), where there is one.
    pub identity: Option<String>,
    /// For limited emulated volumes: what the verification probe measured before the first trial.
    pub verified: Vec<VerifiedLimit>,
    /// More than its limit of I/Os, for a while. Such a limit is not probed: that would use up the credit that trials begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// File system type under the backing file or directory, e.g. `ext4`, `tmpfs`.
    pub backing_fs: Option<String>,
    /// Whether the loop device does direct I/O to its backing file; `None` when it is no loop device.
    pub loop_direct_io: Option<bool>,
}

fn local() -> String {
    LOCAL.to_owned()
}

/// One limit and the rate that a raw probe reached against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedLimit {
    /// `read_iops`, `write_iops`, `read_bps` or `write_bps`.
    pub limit: String,
    /// The rate asked for, in the limit's unit.
    pub asked: f64,
    /// The rate measured.
    pub measured: f64,
    /// How long the probe measured.
    pub seconds: f64,
}
