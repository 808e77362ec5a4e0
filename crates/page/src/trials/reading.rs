//! The counters of a sample that the course of a trial needs.

use record::counter::{BlockCounters, CgroupIo, CpuTicks, Sample};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// The counters of a sample that a course needs. A stored sample can be read as one, which skips all others.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Reading {
    pub(super) monotonic_ns: u64,
    #[serde(default)]
    block: BTreeMap<String, Counted>,
    /// The I/O that the kernel charged to the load, by device number.
    #[serde(default)]
    cgroup_io: BTreeMap<String, Charged>,
    #[serde(default)]
    pub(super) cpu: Option<CpuTicks>,
    /// Whether it is a sample of the machine that serves the file system.
    #[serde(default)]
    pub(super) server: Option<IgnoredAny>,
}

/// The I/O of a block device.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Counted {
    reads: u64,
    read_bytes: u64,
    read_wait_ms: u64,
    writes: u64,
    write_bytes: u64,
    write_wait_ms: u64,
}

impl Counted {
    pub(super) fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.write_bytes)
    }

    pub(super) fn ios(&self) -> u64 {
        self.reads.saturating_add(self.writes)
    }

    pub(super) fn wait_ms(&self) -> u64 {
        self.read_wait_ms.saturating_add(self.write_wait_ms)
    }
}

/// The bytes of a device that the kernel charged to the load.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Charged {
    read_bytes: Option<u64>,
    write_bytes: Option<u64>,
}

impl From<&Sample> for Reading {
    fn from(sample: &Sample) -> Self {
        let counted = |b: &BlockCounters| Counted {
            reads: b.reads,
            read_bytes: b.read_bytes,
            read_wait_ms: b.read_wait_ms,
            writes: b.writes,
            write_bytes: b.write_bytes,
            write_wait_ms: b.write_wait_ms,
        };
        let charged = |io: &CgroupIo| Charged { read_bytes: io.read_bytes, write_bytes: io.write_bytes };
        Self {
            monotonic_ns: sample.monotonic_ns,
            block: sample.block.iter().map(|(name, b)| (name.clone(), counted(b))).collect(),
            cgroup_io: sample.cgroup_io.iter().map(|(number, io)| (number.clone(), charged(io))).collect(),
            cpu: sample.cpu,
            server: sample.server.map(|_| IgnoredAny),
        }
    }
}

impl Reading {
    /// The bytes of devices, by their numbers, that the kernel has charged to the load; `None` if it has for none of them.
    pub(super) fn charged(&self, numbers: &[String]) -> Option<u64> {
        let mut known = numbers.iter().filter_map(|number| self.cgroup_io.get(number)).peekable();
        known.peek()?;
        known.map(|io| Some(io.read_bytes?.saturating_add(io.write_bytes?))).sum()
    }
}

/// The bytes that devices moved between two samples; `None` if a counter is missing or went backwards.
pub(super) fn grown_bytes(devices: &[&str], a: &Reading, b: &Reading) -> Option<u64> {
    grown(devices, a, b, Counted::bytes)
}

/// How much a counter of devices grew between two samples; `None` if one is missing or went backwards.
pub(super) fn grown(devices: &[&str], a: &Reading, b: &Reading, counter: fn(&Counted) -> u64) -> Option<u64> {
    let all = |sample: &Reading| -> Option<u64> {
        devices.iter().map(|name| sample.block.get(*name).map(counter)).sum()
    };
    all(b)?.checked_sub(all(a)?)
}
