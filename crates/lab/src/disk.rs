//! Emulated disks: what is asked of them, as text and as types.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// virtio-blk keeps 20 bytes of a serial number.
const LONGEST_NAME: usize = 20;
/// The guest's own disk.
const TAKEN: &str = "root";

/// One disk to attach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSpec {
    /// Its serial number in the guest: `/dev/disk/by-id/virtio-<name>` or `scsi-0QEMU_QEMU_HARDDISK_<name>`.
    pub name: String,
    /// Its size.
    pub size_bytes: u64,
    /// How much it may do.
    #[serde(default)]
    pub limits: Limits,
    /// How the guest sees it.
    #[serde(default)]
    pub bus: Bus,
    /// Which caches lie between it and its file.
    #[serde(default)]
    pub cache: Cache,
    /// Whether its file is written before the guest sees it; else it is sparse, and reading what was never written reaches no disk.
    #[serde(default)]
    pub written: bool,
}

/// How much a disk may do. 0: as much as it can.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Requests per second.
    #[serde(default)]
    pub iops: Rates,
    /// Bytes per second. A limit of requests alone counts one of 1 MiB as one.
    #[serde(default)]
    pub bps: Rates,
    /// Credit for going beyond `iops` for some time.
    #[serde(default)]
    pub burst: Option<Burst>,
}

/// Rates in both directions together, or each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Reads and writes together.
    pub total: u64,
    /// Reads.
    pub read: u64,
    /// Writes.
    pub write: u64,
}

/// A burst credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// Requests per second while credit lasts; of the same kind as the limit (together, or each).
    pub iops: u64,
    /// How long a full credit lasts at that rate.
    pub seconds: u64,
}

/// How the guest sees a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bus {
    /// A PCI device of its own.
    #[default]
    VirtioBlk,
    /// A disk on a SCSI controller.
    VirtioScsi,
}

/// Which caches lie between a disk and its file, in QEMU's words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Past the host's page cache; the disk has a volatile write cache and honours flushes.
    #[default]
    None,
    /// Through the host's page cache, which is the disk's volatile write cache.
    Writeback,
    /// Through the host's page cache; every write is flushed.
    Writethrough,
    /// Past the host's page cache; every write is flushed.
    Directsync,
    /// Through the host's page cache; flushes are not honoured.
    Unsafe,
}

/// A disk or a limit that can't be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecError {
    /// No name before the colon, or one that can't be a serial number.
    #[error("`{0}` can't name a disk: 1 to 20 of a-z, 0-9, - and _, and not `root`; e.g. d1:size=1g,iops=80")]
    Name(String),
    /// There is no such key.
    #[error("`{key}` is no key of a disk; known are {}", KEYS.join(", "))]
    Key {
        /// As typed.
        key: String,
    },
    /// A value has the wrong form.
    #[error("{key}={value}: expected {expected}")]
    Value {
        /// The key.
        key: String,
        /// As typed.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A disk without a size.
    #[error("the disk {0} needs a size, e.g. {0}:size=1g")]
    NoSize(String),
    /// Limits that exclude each other.
    #[error("{0}")]
    Clash(&'static str),
    /// A change of something that is no limit.
    #[error("{0} can't be changed while the disk is attached; only limits can")]
    Fixed(String),
}

const KEYS: [&str; 14] = [
    "size",
    "iops",
    "read_iops",
    "write_iops",
    "total_iops",
    "bps",
    "read_bps",
    "write_bps",
    "total_bps",
    "burst_iops",
    "burst_seconds",
    "bus",
    "cache",
    "written",
];

impl DiskSpec {
    /// A disk without limits.
    #[must_use]
    pub fn new(name: impl Into<String>, size_bytes: u64) -> Self {
        Self {
            name: name.into(),
            size_bytes,
            limits: Limits::default(),
            bus: Bus::default(),
            cache: Cache::default(),
            written: false,
        }
    }

    /// Whether it can be.
    ///
    /// # Errors
    /// Its name, size or limits can't.
    pub fn check(&self) -> Result<(), SpecError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        let fits = (1..=LONGEST_NAME).contains(&self.name.len());
        if !fits || !self.name.chars().all(plain) || self.name == TAKEN {
            return Err(SpecError::Name(self.name.clone()));
        }
        if self.size_bytes == 0 || !self.size_bytes.is_multiple_of(4096) {
            return Err(SpecError::Value {
                key: "size".to_owned(),
                value: self.size_bytes.to_string(),
                expected: "a multiple of 4096 bytes",
            });
        }
        self.limits.check()
    }

    /// Its link in the guest.
    #[must_use]
    pub fn by_id(&self) -> String {
        match self.bus {
            Bus::VirtioBlk => format!("virtio-{}", self.name),
            Bus::VirtioScsi => format!("scsi-0QEMU_QEMU_HARDDISK_{}", self.name),
        }
    }
}

impl FromStr for DiskSpec {
    type Err = SpecError;

    /// `d1:size=1g,iops=80,burst_iops=400,burst_seconds=30,bus=virtio-scsi,cache=writeback`
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut spec = Self::new(name, 0);
        let mut burst = Burst { iops: 0, seconds: 0 };
        for (key, value) in pairs(rest)? {
            match key {
                "size" => spec.size_bytes = size(key, value)?,
                "bus" => spec.bus = bus(key, value)?,
                "cache" => spec.cache = cache(key, value)?,
                "written" => spec.written = yes_or_no(key, value)?,
                _ => limit(&mut spec.limits, &mut burst, key, value)?,
            }
        }
        spec.limits.burst = burst.given();
        if spec.size_bytes == 0 {
            return Err(SpecError::NoSize(name.to_owned()));
        }
        spec.check()?;
        Ok(spec)
    }
}

impl Limits {
    /// Whether QEMU can keep them.
    ///
    /// # Errors
    /// A total beside a direction; a burst without a limit, below it, or without a length.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.iops.clashes() || self.bps.clashes() {
            return Err(SpecError::Clash(
                "a limit of both directions together excludes one of either direction",
            ));
        }
        let Some(burst) = self.burst else { return Ok(()) };
        let base = self.iops.total.max(self.iops.read).max(self.iops.write);
        if base == 0 {
            return Err(SpecError::Clash(
                "a burst needs a limit to go beyond: iops, read_iops, write_iops or total_iops",
            ));
        }
        if burst.seconds == 0 || burst.iops <= base {
            return Err(SpecError::Clash(
                "a burst needs burst_iops above the limit, and burst_seconds of 1 or more",
            ));
        }
        Ok(())
    }
}

impl Limits {
    /// The most requests per second that they let through at any time; `None`: they don't limit requests, in one direction at least.
    #[must_use]
    pub fn most_iops(&self) -> Option<u64> {
        let Rates { total, read, write } = self.iops;
        let steady = match (total, read, write) {
            (1.., _, _) => total,
            (0, 1.., 1..) => read.saturating_add(write),
            _ => return None,
        };
        let directions = if total > 0 { 1 } else { 2 };
        Some(self.burst.map_or(steady, |burst| steady.max(burst.iops.saturating_mul(directions))))
    }
}

impl FromStr for Limits {
    type Err = SpecError;

    /// `iops=200,bps=10m`; an empty text takes all limits away.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut limits = Self::default();
        let mut burst = Burst { iops: 0, seconds: 0 };
        for (key, value) in pairs(text)? {
            if ["size", "bus", "cache", "written"].contains(&key) {
                return Err(SpecError::Fixed(key.to_owned()));
            }
            limit(&mut limits, &mut burst, key, value)?;
        }
        limits.burst = burst.given();
        limits.check()?;
        Ok(limits)
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates = [
            ("iops", self.iops.each()),
            ("read_iops", self.iops.one(self.iops.read)),
            ("write_iops", self.iops.one(self.iops.write)),
            ("total_iops", self.iops.total),
            ("bps", self.bps.each()),
            ("read_bps", self.bps.one(self.bps.read)),
            ("write_bps", self.bps.one(self.bps.write)),
            ("total_bps", self.bps.total),
            ("burst_iops", self.burst.map_or(0, |b| b.iops)),
            ("burst_seconds", self.burst.map_or(0, |b| b.seconds)),
        ];
        let set: Vec<String> = rates
            .into_iter()
            .filter(|(_, rate)| *rate > 0)
            .map(|(name, rate)| format!("{name}={rate}"))
            .collect();
        f.write_str(if set.is_empty() { "no limits" } else { "" })?;
        f.write_str(&set.join(","))
    }
}

impl Rates {
    /// The rate of both directions, each by itself, where they are alike.
    fn each(self) -> u64 {
        if self.read == self.write { self.read } else { 0 }
    }

    /// A direction's rate where they aren't.
    fn one(self, rate: u64) -> u64 {
        if self.read == self.write { 0 } else { rate }
    }

    fn clashes(self) -> bool {
        self.total > 0 && (self.read > 0 || self.write > 0)
    }
}

impl Burst {
    fn given(self) -> Option<Self> {
        (self.iops > 0 || self.seconds > 0).then_some(self)
    }
}

fn pairs(text: &str) -> Result<Vec<(&str, &str)>, SpecError> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| word.split_once('=').ok_or_else(|| SpecError::Key { key: word.to_owned() })).collect()
}

fn limit(limits: &mut Limits, burst: &mut Burst, key: &str, value: &str) -> Result<(), SpecError> {
    let value = if key.ends_with("bps") { size(key, value)? } else { number(key, value)? };
    let places: Vec<&mut u64> = match key {
        "iops" => vec![&mut limits.iops.read, &mut limits.iops.write],
        "read_iops" => vec![&mut limits.iops.read],
        "write_iops" => vec![&mut limits.iops.write],
        "total_iops" => vec![&mut limits.iops.total],
        "bps" => vec![&mut limits.bps.read, &mut limits.bps.write],
        "read_bps" => vec![&mut limits.bps.read],
        "write_bps" => vec![&mut limits.bps.write],
        "total_bps" => vec![&mut limits.bps.total],
        "burst_iops" => vec![&mut burst.iops],
        "burst_seconds" => vec![&mut burst.seconds],
        _ => return Err(SpecError::Key { key: key.to_owned() }),
    };
    for place in places {
        if std::mem::replace(place, value) > 0 {
            return Err(SpecError::Clash(
                "a limit is given twice; `iops` and `bps` are those of either direction",
            ));
        }
    }
    Ok(())
}

fn number(key: &str, value: &str) -> Result<u64, SpecError> {
    let expected = "a whole number";
    value.parse().map_err(|_| SpecError::Value { key: key.to_owned(), value: value.to_owned(), expected })
}

/// fio's sizes: powers of 1024.
fn size(key: &str, value: &str) -> Result<u64, SpecError> {
    let shift = match value.chars().last().map(|c| c.to_ascii_lowercase()) {
        Some('k') => 10,
        Some('m') => 20,
        Some('g') => 30,
        Some('t') => 40,
        _ => 0,
    };
    let digits = if shift > 0 { &value[..value.len() - 1] } else { value };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    let expected = "a whole number, or one with k, m, g or t behind it (powers of 1024)";
    bytes.ok_or_else(|| SpecError::Value { key: key.to_owned(), value: value.to_owned(), expected })
}

fn bus(key: &str, value: &str) -> Result<Bus, SpecError> {
    match value {
        "virtio-blk" => Ok(Bus::VirtioBlk),
        "virtio-scsi" => Ok(Bus::VirtioScsi),
        _ => Err(SpecError::Value {
            key: key.to_owned(),
            value: value.to_owned(),
            expected: "virtio-blk or virtio-scsi",
        }),
    }
}

fn cache(key: &str, value: &str) -> Result<Cache, SpecError> {
    serde_json::from_value(serde_json::Value::from(value)).map_err(|_| SpecError::Value {
        key: key.to_owned(),
        value: value.to_owned(),
        expected: "one of QEMU's cache modes, e.g. none, writeback or writethrough (docs/lab.md)",
    })
}

fn yes_or_no(key: &str, value: &str) -> Result<bool, SpecError> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(SpecError::Value { key: key.to_owned(), value: value.to_owned(), expected: "yes or no" }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Burst, Bus, Cache, DiskSpec, Limits, SpecError};

    #[test]
    fn a_disk_is_read_from_text() {
        let text = "ssd:size=2g,read_iops=100,write_bps=10m,burst_iops=400,burst_seconds=30,bus=virtio-scsi,cache=writeback,written=yes";
        let disk: DiskSpec = text.parse().unwrap();
        assert_eq!((disk.name.as_str(), disk.size_bytes, disk.written), ("ssd", 2 << 30, true));
        assert_eq!((disk.bus, disk.cache), (Bus::VirtioScsi, Cache::Writeback));
        assert_eq!((disk.limits.iops.read, disk.limits.bps.write), (100, 10 << 20));
        assert_eq!(disk.limits.burst, Some(Burst { iops: 400, seconds: 30 }));
        assert_eq!(disk.by_id(), "scsi-0QEMU_QEMU_HARDDISK_ssd");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| text.parse::<DiskSpec>().unwrap_err();
        assert_eq!(wrong("d1"), SpecError::NoSize("d1".to_owned()));
        assert_eq!(wrong("root:size=1g"), SpecError::Name("root".to_owned()));
        assert_eq!(wrong("a b:size=1g"), SpecError::Name("a b".to_owned()));
        assert!(matches!(wrong("d1:size=1g,iop=80"), SpecError::Key { .. }));
        assert!(matches!(wrong("d1:size=1g,iops"), SpecError::Key { .. }));
        assert!(matches!(wrong("d1:size=1gB"), SpecError::Value { .. }));
        assert!(matches!(wrong("d1:size=100"), SpecError::Value { .. }));
        assert!(matches!(wrong("d1:size=1g,bus=ide"), SpecError::Value { .. }));
        assert!(matches!(wrong("d1:size=99999999999t"), SpecError::Value { .. }));
    }

    #[test]
    fn limits_that_nobody_can_keep_are_refused() {
        let wrong = |text: &str| text.parse::<Limits>().unwrap_err();
        assert!(matches!(wrong("iops=80,read_iops=40"), SpecError::Clash(_)));
        assert!(matches!(wrong("iops=80,total_iops=80"), SpecError::Clash(_)));
        assert!(matches!(wrong("burst_iops=80"), SpecError::Clash(_)));
        assert!(matches!(wrong("iops=100,burst_iops=80,burst_seconds=3"), SpecError::Clash(_)));
        assert!(matches!(wrong("iops=100,burst_iops=400"), SpecError::Clash(_)));
        assert_eq!(wrong("size=1g"), SpecError::Fixed("size".to_owned()));
    }

    #[test]
    fn the_most_that_limits_let_through() {
        let most = |text: &str| text.parse::<Limits>().unwrap().most_iops();
        assert_eq!((most("total_iops=80"), most("iops=80")), (Some(80), Some(160)));
        assert_eq!(most("read_iops=80,write_iops=20"), Some(100));
        assert_eq!(most("total_iops=100,burst_iops=400,burst_seconds=30"), Some(400));
        assert_eq!((most("read_iops=80"), most("bps=1m"), most("")), (None, None, None));
    }

    #[test]
    fn limits_are_written_as_they_are_read() {
        for text in [
            "iops=80",
            "total_iops=80,bps=4096",
            "read_iops=80,write_bps=1048576",
            "iops=100,burst_iops=400,burst_seconds=30",
        ] {
            assert_eq!(text.parse::<Limits>().unwrap().to_string(), text);
        }
        assert_eq!("".parse::<Limits>().unwrap().to_string(), "no limits");
    }
}
