//! Targets: the machines trials run on.

use crate::volume::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name of the machine that the controller itself is on, where an experiment names none.
pub const LOCAL: &str = "local";

/// A machine trials run on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Its name in the experiment file.
    pub name: String,
    /// How it is reached.
    pub kind: TargetKind,
    /// Its address in the network, for other targets; `None`: that of its ssh destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// How a target is reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// The machine that the controller is on.
    Local,
    /// Another one, by OpenSSH's own `ssh`.
    Ssh {
        /// What `ssh` is given: `host`, `user@host`, or a name of its configuration.
        destination: String,
    },
    /// A guest of diskproof's own lab, with disks made for this experiment.
    Guest {
        /// Name of the lab.
        lab: String,
        /// Disks that it gets.
        disks: Vec<LabDisk>,
    },
}

/// A disk of a lab guest, emulated by QEMU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabDisk {
    /// Its name, and its serial number in the guest.
    pub name: String,
    /// Its size.
    pub size_bytes: u64,
    /// What limits it, at the beginning of each trial at least.
    pub limits: Limits,
    /// What it gives beyond these limits for a while.
    pub burst: Option<Burst>,
    /// Other limits in the course of each trial, the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LimitChange>,
    /// How the guest sees it.
    pub bus: Bus,
    /// How QEMU opens what backs it.
    pub cache: DiskCache,
}

impl LabDisk {
    /// Longest name: virtio-blk cuts serial numbers off after 20 characters.
    pub const MAX_NAME: usize = 20;

    /// Its name in the guest's `/dev/disk/by-id`.
    #[must_use]
    pub fn id(&self) -> String {
        self.bus.id(&self.name)
    }
}

impl Bus {
    /// The name in the guest's `/dev/disk/by-id` of a disk with this serial number.
    #[must_use]
    pub fn id(self, serial: &str) -> String {
        match self {
            Self::VirtioBlk => format!("virtio-{serial}"),
            Self::VirtioScsi => format!("scsi-0QEMU_QEMU_HARDDISK_{serial}"),
        }
    }
}

/// A burst: more than the limit, until its credit is used up. The credit fills up again at the rate of the limit
/// (a leaky bucket, as QEMU's throttle keeps it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Burst {
    /// I/Os per second while the credit lasts.
    pub iops: u64,
    /// How long it lasts at that rate, from full.
    pub seconds: u64,
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bursts to {} IOPS for {} s", self.iops, self.seconds)
    }
}

/// Other limits of a disk in the course of each trial; they end with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitChange {
    /// When, from the beginning of the load, its ramp included.
    pub after_ms: u64,
    /// All its limits from then on.
    pub limits: Limits,
}

/// How a guest sees a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bus {
    /// A virtio block device.
    #[default]
    VirtioBlk,
    /// A SCSI disk behind a virtio adapter.
    VirtioScsi,
}

/// How QEMU opens what backs a disk, in its own words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiskCache {
    /// Past the host's page cache.
    #[default]
    None,
    /// Through the host's page cache; a flush of the guest is one on the host.
    Writeback,
    /// Through the host's page cache, every write flushed.
    Writethrough,
    /// Past the host's page cache, every write flushed.
    Directsync,
    /// Through the host's page cache; flushes are not honoured. No experiment asks for it.
    Unsafe,
}
