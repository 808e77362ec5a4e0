//! Volumes: where data is stored.

use crate::id::LOCAL;
use crate::quantity::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// One volume, resolved: a volume of the experiment file with `count: 8` becomes eight of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Name of the volume in the file with its index from 0, e.g. `vol[2]`; `vol` alone if there is no `count`.
    pub name: String,
    /// Kind of the volume.
    pub kind: VolumeKind,
}

/// Kinds of volumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VolumeKind {
    /// A fully written backing file under a loop device with direct I/O; a cgroup limits it.
    Emulate {
        /// Size of the backing file in bytes.
        size_bytes: u64,
        /// Limits of the volume; if all are `None`, it is an unlimited loop volume.
        limits: Limits,
    },
    /// A real disk that was claimed beforehand, named by its link in `/dev/disk/by-id`.
    Disk {
        /// The link's name, without the directory.
        id: String,
    },
    /// A disk of a lab guest: created for the experiment, limited by QEMU.
    Guest {
        /// Its name in the guest's `/dev/disk/by-id`.
        id: String,
        /// Size in bytes.
        size_bytes: u64,
        /// Limits at the beginning of each trial.
        limits: Limits,
        /// Burst beyond the limits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        burst: Option<Burst>,
        /// Changes of the limits during each trial.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<LimitChange>,
    },
    /// A volume that a driver creates with its machine.
    Created {
        /// Its name among the machine's volumes, as the driver gets it.
        volume: String,
        /// Size in bytes; `None`: the machine brings it along.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size_bytes: Option<u64>,
        /// The rates that its provider declares; unlimited if it declares none, or if the driver wasn't asked yet.
        #[serde(default, skip_serializing_if = "Limits::is_unlimited")]
        limits: Limits,
    },
    /// An existing directory.
    Directory {
        /// Absolute path; the directory must exist.
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
    /// Reads and writes per second together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_iops: Option<u64>,
    /// Bytes read and written per second together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bps: Option<u64>,
}

impl Limits {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// Each limit with its name, e.g. `total_iops 80, read_bps 1 MiB`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let each = LimitName::ALL.iter().filter_map(|name| Some(name.in_words(name.of(self)?)));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// A limit of a volume. Its name is the same in experiment files, in records and in texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitName {
    /// Reads per second.
    ReadIops,
    /// Writes per second.
    WriteIops,
    /// Bytes read per second.
    ReadBps,
    /// Bytes written per second.
    WriteBps,
    /// Reads and writes per second together.
    TotalIops,
    /// Bytes read and written per second together.
    TotalBps,
}

impl LimitName {
    /// All limits of a volume.
    pub const ALL: [Self; 6] =
        [Self::ReadIops, Self::WriteIops, Self::ReadBps, Self::WriteBps, Self::TotalIops, Self::TotalBps];

    /// The name, e.g. `read_iops`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadIops => "read_iops",
            Self::WriteIops => "write_iops",
            Self::ReadBps => "read_bps",
            Self::WriteBps => "write_bps",
            Self::TotalIops => "total_iops",
            Self::TotalBps => "total_bps",
        }
    }

    fn in_words(self, rate: u64) -> String {
        match self.is_of_bytes() {
            true => format!("{self} {}", Bytes(rate)),
            false => format!("{self} {rate}"),
        }
    }

    /// Whether it limits bytes, not I/Os.
    #[must_use]
    pub fn is_of_bytes(self) -> bool {
        matches!(self, Self::ReadBps | Self::WriteBps | Self::TotalBps)
    }

    /// Sets the limit of this name, in I/Os or bytes per second; `None` is unlimited.
    pub fn set(self, limits: &mut Limits, to: Option<u64>) {
        *match self {
            Self::ReadIops => &mut limits.read_iops,
            Self::WriteIops => &mut limits.write_iops,
            Self::ReadBps => &mut limits.read_bps,
            Self::WriteBps => &mut limits.write_bps,
            Self::TotalIops => &mut limits.total_iops,
            Self::TotalBps => &mut limits.total_bps,
        } = to;
    }

    /// The limit of this name, in I/Os or bytes per second; `None` is unlimited.
    #[must_use]
    pub fn of(self, limits: &Limits) -> Option<u64> {
        match self {
            Self::ReadIops => limits.read_iops,
            Self::WriteIops => limits.write_iops,
            Self::ReadBps => limits.read_bps,
            Self::WriteBps => limits.write_bps,
            Self::TotalIops => limits.total_iops,
            Self::TotalBps => limits.total_bps,
        }
    }
}

impl fmt::Display for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A burst: a higher rate than the limit, until its credit is used up. The credit refills at the rate of the limit (a leaky
/// bucket, like QEMU's throttle).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Burst {
    /// I/Os per second while the credit lasts.
    pub iops: u64,
    /// Seconds that a full credit lasts at that rate.
    pub seconds: u64,
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bursts to {} IOPS for {} s", self.iops, self.seconds)
    }
}

/// A change of a disk's limits during each trial. It ends with the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitChange {
    /// Time of the change, in milliseconds since the beginning of the load, including the ramp.
    pub after_ms: u64,
    /// All limits from then on.
    pub limits: Limits,
}

/// A provided volume, as found on its machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeFacts {
    /// Name of the volume, as in [`Volume::name`].
    pub name: String,
    /// The machine that it is on.
    #[serde(default = "local")]
    pub target: String,
    /// Path of the block device, if it is one.
    pub device: Option<PathBuf>,
    /// Usable size in bytes; for a directory, the free space.
    pub size_bytes: u64,
    /// Identity of the drive as text (model, serial, wwn), where it has one.
    pub identity: Option<String>,
    /// Rates that the verification probe measured before the first trial, for limited emulated volumes.
    pub verified: Vec<VerifiedLimit>,
    /// Burst beyond its limit of I/Os. Such a limit is not probed, because the probe would use up the credit that trials begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// File system type under the backing file or directory, e.g. `ext4`, `tmpfs`.
    pub backing_fs: Option<String>,
    /// Whether the loop device uses direct I/O to its backing file; `None` when it is not a loop device.
    pub loop_direct_io: Option<bool>,
    /// The limits that the host of a guest set on it at the beginning of the run; `None`: no host was asked, or it didn't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_limits: Option<HostLimits>,
}

/// The limits that the host of a guest sets on a volume (`iotune` of libvirt).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostLimits {
    /// The limits that always hold.
    pub limits: Limits,
    /// Higher rates that hold for a short time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bursts: Vec<HostBurst>,
    /// The name of the group of disks that share these limits; `None`: they are this disk's alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// An I/O counts as several against the limits of I/Os if it is larger than this, in bytes; `None`: each I/O counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_bytes: Option<u64>,
    /// What the experiment asked the host for; unlimited where it didn't ask.
    #[serde(default, skip_serializing_if = "Limits::is_unlimited")]
    pub asked: Limits,
}

impl HostLimits {
    /// Whether the host limits nothing.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.limits.is_unlimited() && self.bursts.is_empty()
    }

    /// Whether the limit of this name holds for every I/O: no burst exceeds it, and each I/O counts once.
    #[must_use]
    pub fn is_firm(&self, name: LimitName) -> bool {
        self.bursts.iter().all(|burst| burst.limit != name) && (name.is_of_bytes() || self.io_bytes.is_none())
    }

    /// The limits with all that belongs to them, e.g. `total_iops 80, bursts to total_iops 400 for 10 s, shared by group web`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let limits = Some(self.limits.in_words()).filter(|words| !words.is_empty());
        let burst = |b: &HostBurst| format!("bursts to {} for {} s", b.limit.in_words(b.rate), b.seconds);
        let size =
            self.io_bytes.map(|bytes| format!("an I/O of more than {} counts as several", Bytes(bytes)));
        let group = self.group.as_ref().map(|group| format!("shared by group {group}"));
        let all = limits.into_iter().chain(self.bursts.iter().map(burst)).chain(size).chain(group);
        all.collect::<Vec<_>>().join(", ")
    }
}

/// A rate above a limit that a host grants for a short time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostBurst {
    /// The limit that it exceeds.
    pub limit: LimitName,
    /// I/Os or bytes per second.
    pub rate: u64,
    /// Seconds that a full credit lasts at that rate.
    pub seconds: u64,
}

fn local() -> String {
    LOCAL.to_owned()
}

/// One limit, and the rate that a probe measured on the raw device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedLimit {
    /// Which limit of the volume.
    pub limit: LimitName,
    /// The limit, in its own unit.
    pub asked: f64,
    /// The measured rate, in the limit's unit.
    pub measured: f64,
    /// Duration of the probe's measurement, in seconds.
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::{HostBurst, HostLimits, LimitName, Limits};

    #[test]
    fn limits_of_a_host_are_told_whole() {
        let limits = Limits { total_iops: Some(80), write_bps: Some(1 << 20), ..Limits::default() };
        let burst = HostBurst { limit: LimitName::TotalIops, rate: 400, seconds: 10 };
        let all = HostLimits {
            limits,
            bursts: vec![burst],
            group: Some("web".to_owned()),
            io_bytes: Some(4096),
            asked: Limits::default(),
        };
        assert_eq!(
            all.in_words(),
            "write_bps 1 MiB, total_iops 80, bursts to total_iops 400 for 10 s, an I/O of more than 4 KiB counts as several, shared by group web"
        );
        assert!(all.is_firm(LimitName::WriteBps) && !all.is_firm(LimitName::TotalIops));
        assert!(!all.is_firm(LimitName::ReadIops), "a large I/O counts as several");
        let plain = HostLimits { limits, ..HostLimits::default() };
        assert!(plain.is_firm(LimitName::TotalIops) && !plain.is_unlimited());
        assert!(HostLimits::default().is_unlimited());
    }

    #[test]
    fn limits_are_kept_by_the_names_that_stored_runs_have() {
        for limit in LimitName::ALL {
            let kept = serde_json::json!(limit.name());
            assert_eq!(serde_json::to_value(limit).unwrap(), kept);
            assert_eq!(serde_json::from_value::<LimitName>(kept).unwrap(), limit);
            let mut limits = Limits::default();
            limit.set(&mut limits, Some(7));
            assert!(LimitName::ALL.iter().all(|other| other.of(&limits) == (*other == limit).then_some(7)));
        }
        let names = ["read_iops", "write_iops", "read_bps", "write_bps", "total_iops", "total_bps"];
        assert_eq!(LimitName::ALL.map(LimitName::name), names);
    }
}
