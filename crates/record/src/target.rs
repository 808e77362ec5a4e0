//! Targets: the machines that trials run on.

use crate::volume::{Burst, LimitChange, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine that trials run on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Its name in the experiment file.
    pub name: String,
    /// How the controller connects to it.
    pub kind: TargetKind,
    /// Network address for other machines; `None`: the host of its ssh destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What the machine itself passes on, all its volumes together; `None`: the experiment doesn't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// Names of what it shares with other machines, e.g. a switch or a disk array. Machines that share something take turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<String>,
    /// The machine that runs it as a guest, if the experiment says so: its disks are followed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosted_by: Option<HostedBy>,
}

/// The machine that runs a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostedBy {
    /// The machine: a target of the experiment, `local`, or what `ssh` takes.
    pub machine: String,
    /// The guest's name or UUID in that machine's libvirt.
    pub guest: String,
}

/// The limits of a machine for all its volumes together, reads and writes together: those of a provider's kind of instance, of a
/// controller, or of a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ceiling {
    /// I/Os per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u64>,
    /// Bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
}

/// How the controller connects to a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// The machine that the controller runs on.
    Local,
    /// Another machine, through OpenSSH's `ssh`.
    Ssh {
        /// Destination for `ssh`: `host`, `user@host`, or a name from its configuration.
        destination: String,
    },
    /// A guest of diskproof's own lab, with disks created for this experiment.
    Guest {
        /// Name of the lab.
        lab: String,
        /// Disks of the guest.
        disks: Vec<LabDisk>,
    },
    /// A machine that a driver creates for the run.
    Created {
        /// The driver's name.
        driver: String,
        /// Settings in the driver's words, as the experiment has them.
        settings: serde_json::Map<String, serde_json::Value>,
        /// Volumes that are created with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        volumes: Vec<CreatedVolume>,
    },
}

/// Volumes that a driver creates with a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreatedVolume {
    /// Its name in the experiment file; several have an index too, as an emulated volume with `count`.
    pub name: String,
    /// How many there are; `None`: one, whose name has no index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Size of each in bytes; `None`: the machine brings it along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Settings in the driver's words.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// Whether each round draws anew which of them is which.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shuffled: bool,
}

impl CreatedVolume {
    /// Returns the names of the single volumes: that of [`crate::volume::Volume`], and the one that the driver gets.
    #[must_use]
    pub fn single(&self) -> Vec<(String, String)> {
        match self.count {
            None => vec![(self.name.clone(), self.name.clone())],
            Some(count) => {
                (0..count).map(|i| (format!("{}[{i}]", self.name), format!("{}-{i}", self.name))).collect()
            }
        }
    }
}

/// A disk of a lab guest, emulated by QEMU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabDisk {
    /// Name of the disk, and its serial number in the guest.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Limits at the beginning of each trial.
    pub limits: Limits,
    /// Burst beyond these limits.
    pub burst: Option<Burst>,
    /// Changes of the limits during each trial, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LimitChange>,
    /// How the guest sees the disk.
    pub bus: Bus,
    /// How QEMU opens the backing file.
    pub cache: DiskCache,
    /// How QEMU submits I/O to the backing file.
    #[serde(default, skip_serializing_if = "is_default")]
    pub aio: Aio,
    /// The format of the backing file.
    #[serde(default, skip_serializing_if = "is_default")]
    pub format: ImageFormat,
    /// Whether a thread of its own serves the disk, in place of QEMU's main loop.
    #[serde(default, skip_serializing_if = "is_default")]
    pub iothread: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl LabDisk {
    /// Longest name: virtio-blk truncates serial numbers after 20 characters.
    pub const MAX_NAME: usize = 20;

    /// Returns its name in the guest's `/dev/disk/by-id`.
    #[must_use]
    pub fn id(&self) -> String {
        self.bus.id(&self.name)
    }
}

impl Bus {
    /// All, by the names that files and commands use.
    pub const ALL: [(&str, Self); 3] =
        [("virtio-blk", Self::VirtioBlk), ("virtio-scsi", Self::VirtioScsi), ("nvme", Self::Nvme)];

    /// Returns the bus with this name in files and commands.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, bus)| *bus)
    }

    /// Returns the name of a disk with this serial number in the guest's `/dev/disk/by-id`.
    #[must_use]
    pub fn id(self, serial: &str) -> String {
        match self {
            Self::VirtioBlk => format!("virtio-{serial}"),
            Self::VirtioScsi => format!("scsi-0QEMU_QEMU_HARDDISK_{serial}"),
            Self::Nvme => format!("nvme-QEMU_NVMe_Ctrl_{serial}"),
        }
    }
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
    /// The only namespace of an NVMe controller.
    Nvme,
}

/// How QEMU opens the backing file of a disk, in QEMU's own terms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiskCache {
    /// Bypasses the host's page cache.
    #[default]
    None,
    /// Uses the host's page cache; a flush in the guest is a flush on the host.
    Writeback,
    /// Uses the host's page cache, and flushes after every write.
    Writethrough,
    /// Bypasses the host's page cache, and flushes after every write.
    Directsync,
    /// Uses the host's page cache, and ignores flushes. Experiments can't request it.
    Unsafe,
}

impl DiskCache {
    /// Whether the backing file is opened with `O_DIRECT`.
    #[must_use]
    pub fn is_direct(self) -> bool {
        matches!(self, Self::None | Self::Directsync)
    }
}

/// How QEMU submits I/O to the backing file of a disk, in QEMU's own terms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aio {
    /// A pool of threads, each with one blocking call.
    #[default]
    Threads,
    /// Linux AIO. Needs a cache mode that bypasses the host's page cache.
    Native,
    /// `io_uring`.
    IoUring,
}

impl Aio {
    /// All, by the names that files and commands use.
    pub const ALL: [(&str, Self); 3] =
        [("threads", Self::Threads), ("native", Self::Native), ("io_uring", Self::IoUring)];

    /// Returns the one with this name in files and commands.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, aio)| *aio)
    }

    /// Returns its name in files and commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Native => "native",
            Self::IoUring => "io_uring",
        }
    }
}

/// The format of the file that backs a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// The disk's blocks, one after another.
    #[default]
    Raw,
    /// QEMU's format with tables that map the disk's blocks to those of the file.
    Qcow2,
}

impl ImageFormat {
    /// All, by the names that files and commands use.
    pub const ALL: [(&str, Self); 2] = [("raw", Self::Raw), ("qcow2", Self::Qcow2)];

    /// Returns the one with this name in files and commands.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// Returns its name in files and commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Qcow2 => "qcow2",
        }
    }
}

/// Why these options of a disk exclude each other, or `None`. The rules are QEMU's.
#[must_use]
pub fn clash(bus: Bus, cache: DiskCache, aio: Aio, iothread: bool) -> Option<&'static str> {
    if aio == Aio::Native && !cache.is_direct() {
        return Some(
            "`aio: native` needs `cache: none` or `directsync`: Linux AIO would block on the page cache",
        );
    }
    if iothread && bus != Bus::VirtioBlk {
        return Some(
            "`iothread` needs `bus: virtio-blk`: disks on another bus share their controller's thread",
        );
    }
    None
}
