//! Emulated disks: their description, as text and as types.

use record::target::{Aio, Bus, DiskCache, ImageFormat, clash};
use record::volume::{Burst, Limits};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The longest name, in bytes: virtio-blk keeps 20 bytes of a serial number.
const LONGEST_NAME: usize = 20;
/// The name of the guest's root disk.
const TAKEN: &str = "root";

/// An emulated disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSpec {
    /// Its serial number in the guest: `/dev/disk/by-id/virtio-<name>` or `scsi-0QEMU_QEMU_HARDDISK_<name>`.
    pub name: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its limits.
    pub throttle: Throttle,
    /// Its bus in the guest.
    #[serde(default)]
    pub bus: Bus,
    /// The host's cache between it and its file.
    #[serde(default)]
    pub cache: DiskCache,
    /// How QEMU submits I/O to its file.
    #[serde(default)]
    pub aio: Aio,
    /// The format of its file.
    #[serde(default)]
    pub format: ImageFormat,
    /// Whether it has a thread of its own in QEMU.
    #[serde(default)]
    pub iothread: bool,
    /// Whether its file is written completely before the guest gets it. Else it is sparse; a read of an unwritten block reaches no disk.
    #[serde(default)]
    pub written: bool,
}

/// The limits of a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttle {
    /// Requests and bytes per second. With a limit of requests only, a request of 1 MiB counts as one.
    pub limits: Limits,
    /// A burst above the limit of requests for some time; it applies to both directions together or to each, like that limit.
    pub burst: Option<Burst>,
}

/// A disk or a limit that isn't possible.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecError {
    /// There is no name before the colon, or it can't be a serial number.
    #[error("`{0}` can't name a disk: 1 to 20 of a-z, 0-9, - and _, and not `root`; e.g. d1:size=1g,iops=80")]
    Name(String),
    /// The key is unknown.
    #[error("`{key}` is not a key of a disk; known are {}", KEYS.join(", "))]
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
        /// What is expected.
        expected: &'static str,
    },
    /// The disk has no size.
    #[error("the disk {0} needs a size, e.g. {0}:size=1g")]
    NoSize(String),
    /// Two limits exclude each other.
    #[error("{0}")]
    Clash(&'static str),
    /// The key isn't a limit and can't be changed.
    #[error("{0} can't be changed while the disk is attached; only limits can")]
    Fixed(String),
}

const KEYS: [&str; 17] = [
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
    "aio",
    "format",
    "iothread",
    "written",
];

impl DiskSpec {
    /// A disk without limits.
    #[must_use]
    pub fn new(name: impl Into<String>, size_bytes: u64) -> Self {
        Self {
            name: name.into(),
            size_bytes,
            throttle: Throttle::default(),
            bus: Bus::default(),
            cache: DiskCache::default(),
            aio: Aio::default(),
            format: ImageFormat::default(),
            iothread: false,
            written: false,
        }
    }

    /// Checks the description.
    ///
    /// # Errors
    /// Its name, size or limits aren't possible.
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
        if let Some(why) = clash(self.bus, self.cache, self.aio, self.iothread) {
            return Err(SpecError::Clash(why));
        }
        self.throttle.check()
    }

    /// The name of its link in the guest's /dev/disk/by-id.
    #[must_use]
    pub fn by_id(&self) -> String {
        self.bus.id(&self.name)
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
                "bus" => spec.bus = one_of(&Bus::ALL, "virtio-blk, virtio-scsi or nvme", key, value)?,
                "cache" => spec.cache = cache(key, value)?,
                "aio" => spec.aio = one_of(&Aio::ALL, "threads, native or io_uring", key, value)?,
                "format" => spec.format = one_of(&ImageFormat::ALL, "raw or qcow2", key, value)?,
                "iothread" => spec.iothread = yes_or_no(key, value)?,
                "written" => spec.written = yes_or_no(key, value)?,
                _ => limit(&mut spec.throttle.limits, &mut burst, key, value)?,
            }
        }
        spec.throttle.burst = given(burst);
        if spec.size_bytes == 0 {
            return Err(SpecError::NoSize(name.to_owned()));
        }
        spec.check()?;
        Ok(spec)
    }
}

impl Throttle {
    /// Checks that QEMU can apply the limits.
    ///
    /// # Errors
    /// Both directions together have a limit and a single direction has one too; a burst has no limit or length, or isn't above its limit.
    pub fn check(&self) -> Result<(), SpecError> {
        let Limits { read_iops, write_iops, read_bps, write_bps, total_iops, total_bps } = self.limits;
        let clashes = |total: Option<u64>, read: Option<u64>, write: Option<u64>| {
            total.is_some() && (read.is_some() || write.is_some())
        };
        if clashes(total_iops, read_iops, write_iops) || clashes(total_bps, read_bps, write_bps) {
            return Err(SpecError::Clash(
                "a limit of both directions together excludes one of either direction",
            ));
        }
        let Some(burst) = self.burst else { return Ok(()) };
        let Some(base) = [total_iops, read_iops, write_iops].into_iter().flatten().max() else {
            return Err(SpecError::Clash(
                "a burst needs a limit to go beyond: iops, read_iops, write_iops or total_iops",
            ));
        };
        if burst.seconds == 0 || burst.iops <= base {
            return Err(SpecError::Clash(
                "a burst needs burst_iops above the limit, and burst_seconds of 1 or more",
            ));
        }
        Ok(())
    }

    /// The highest rate that the limits ever allow, bursts included, in requests per second; `None`: requests of at least one direction
    /// have no limit.
    #[must_use]
    pub fn most_iops(&self) -> Option<u64> {
        let Limits { total_iops, read_iops, write_iops, .. } = self.limits;
        let each = read_iops.zip(write_iops).map(|(read, write)| (read.saturating_add(write), 2));
        let (steady, directions) = total_iops.map(|total| (total, 1)).or(each)?;
        Some(self.burst.map_or(steady, |burst| steady.max(burst.iops.saturating_mul(directions))))
    }
}

impl FromStr for Throttle {
    type Err = SpecError;

    /// Parses e.g. `iops=200,bps=10m`; an empty text removes all limits.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut limits = Limits::default();
        let mut burst = Burst { iops: 0, seconds: 0 };
        for (key, value) in pairs(text)? {
            if ["size", "bus", "cache", "aio", "format", "iothread", "written"].contains(&key) {
                return Err(SpecError::Fixed(key.to_owned()));
            }
            limit(&mut limits, &mut burst, key, value)?;
        }
        let throttle = Self { limits, burst: given(burst) };
        throttle.check()?;
        Ok(throttle)
    }
}

impl fmt::Display for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limits { read_iops, write_iops, read_bps, write_bps, total_iops, total_bps } = self.limits;
        // one key for both directions if their limits are equal, else one for each
        let alike = |read: Option<u64>, write: Option<u64>| read.filter(|_| read == write);
        let apart = |of: Option<u64>, read: Option<u64>, write: Option<u64>| of.filter(|_| read != write);
        let rates = [
            ("iops", alike(read_iops, write_iops)),
            ("read_iops", apart(read_iops, read_iops, write_iops)),
            ("write_iops", apart(write_iops, read_iops, write_iops)),
            ("total_iops", total_iops),
            ("bps", alike(read_bps, write_bps)),
            ("read_bps", apart(read_bps, read_bps, write_bps)),
            ("write_bps", apart(write_bps, read_bps, write_bps)),
            ("total_bps", total_bps),
            ("burst_iops", self.burst.map(|burst| burst.iops)),
            ("burst_seconds", self.burst.map(|burst| burst.seconds)),
        ];
        let set: Vec<String> =
            rates.into_iter().filter_map(|(name, rate)| Some(format!("{name}={}", rate?))).collect();
        f.write_str(if set.is_empty() { "no limits" } else { "" })?;
        f.write_str(&set.join(","))
    }
}

fn given(burst: Burst) -> Option<Burst> {
    (burst.iops > 0 || burst.seconds > 0).then_some(burst)
}

fn pairs(text: &str) -> Result<Vec<(&str, &str)>, SpecError> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| word.split_once('=').ok_or_else(|| SpecError::Key { key: word.to_owned() })).collect()
}

fn limit(limits: &mut Limits, burst: &mut Burst, key: &str, value: &str) -> Result<(), SpecError> {
    let value = if key.ends_with("bps") { size(key, value)? } else { number(key, value)? };
    let burst_of = |place: &mut u64| std::mem::replace(place, value) > 0;
    // 0 means no limit
    let rate =
        |place: &mut Option<u64>| std::mem::replace(place, Some(value).filter(|rate| *rate > 0)).is_some();
    let is_double = match key {
        "iops" => [&mut limits.read_iops, &mut limits.write_iops].map(rate).contains(&true),
        "read_iops" => rate(&mut limits.read_iops),
        "write_iops" => rate(&mut limits.write_iops),
        "total_iops" => rate(&mut limits.total_iops),
        "bps" => [&mut limits.read_bps, &mut limits.write_bps].map(rate).contains(&true),
        "read_bps" => rate(&mut limits.read_bps),
        "write_bps" => rate(&mut limits.write_bps),
        "total_bps" => rate(&mut limits.total_bps),
        "burst_iops" => burst_of(&mut burst.iops),
        "burst_seconds" => burst_of(&mut burst.seconds),
        _ => return Err(SpecError::Key { key: key.to_owned() }),
    };
    if is_double {
        return Err(SpecError::Clash(
            "a limit is given twice; `iops` and `bps` are those of either direction",
        ));
    }
    Ok(())
}

fn number(key: &str, value: &str) -> Result<u64, SpecError> {
    let expected = "a whole number";
    value.parse().map_err(|_| SpecError::Value { key: key.to_owned(), value: value.to_owned(), expected })
}

/// Parses a size with fio's suffixes, which are powers of 1024.
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

fn one_of<T: Copy>(
    all: &[(&str, T)],
    expected: &'static str,
    key: &str,
    value: &str,
) -> Result<T, SpecError> {
    let found = all.iter().find(|(name, _)| *name == value).map(|(_, one)| *one);
    found.ok_or_else(|| SpecError::Value { key: key.to_owned(), value: value.to_owned(), expected })
}

fn cache(key: &str, value: &str) -> Result<DiskCache, SpecError> {
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
    use super::{Burst, Bus, DiskCache, DiskSpec, SpecError, Throttle};

    #[test]
    fn a_disk_is_read_from_text() {
        let text = "ssd:size=2g,read_iops=100,write_bps=10m,burst_iops=400,burst_seconds=30,bus=virtio-scsi,cache=writeback,written=yes";
        let disk: DiskSpec = text.parse().unwrap();
        assert_eq!((disk.name.as_str(), disk.size_bytes, disk.written), ("ssd", 2 << 30, true));
        assert_eq!((disk.bus, disk.cache), (Bus::VirtioScsi, DiskCache::Writeback));
        assert_eq!(
            (disk.throttle.limits.read_iops, disk.throttle.limits.write_bps),
            (Some(100), Some(10 << 20))
        );
        assert_eq!(disk.throttle.burst, Some(Burst { iops: 400, seconds: 30 }));
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
        assert!(matches!(wrong("d1:size=1g,format=vmdk"), SpecError::Value { .. }));
        assert!(matches!(wrong("d1:size=1g,aio=native,cache=writeback"), SpecError::Clash(_)));
        assert!(matches!(wrong("d1:size=1g,bus=virtio-scsi,iothread=yes"), SpecError::Clash(_)));
        assert!(matches!(wrong("d1:size=99999999999t"), SpecError::Value { .. }));
    }

    #[test]
    fn limits_that_nobody_can_keep_are_refused() {
        let wrong = |text: &str| text.parse::<Throttle>().unwrap_err();
        assert!(matches!(wrong("iops=80,read_iops=40"), SpecError::Clash(_)));
        assert!(matches!(wrong("iops=80,total_iops=80"), SpecError::Clash(_)));
        assert!(matches!(wrong("burst_iops=80"), SpecError::Clash(_)));
        assert!(matches!(wrong("iops=100,burst_iops=80,burst_seconds=3"), SpecError::Clash(_)));
        assert!(matches!(wrong("iops=100,burst_iops=400"), SpecError::Clash(_)));
        assert_eq!(wrong("size=1g"), SpecError::Fixed("size".to_owned()));
    }

    #[test]
    fn the_most_that_limits_let_through() {
        let most = |text: &str| text.parse::<Throttle>().unwrap().most_iops();
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
            assert_eq!(text.parse::<Throttle>().unwrap().to_string(), text);
        }
        assert_eq!("".parse::<Throttle>().unwrap().to_string(), "no limits");
    }
}
