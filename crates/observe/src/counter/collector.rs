//! Reads all counters at one instant.

use crate::counter::block::BlockReader;
use crate::counter::cgroup::CgroupReader;
use crate::counter::journal::JournalReader;
use crate::counter::network::NetworkReader;
use crate::counter::quota::QuotaReader;
use crate::counter::throttle::ThrottleReader;
use crate::counter::tree::ProcessTree;
use crate::counter::{arc, cpu, keyed, nfs, pressure};
use crate::error::ReadError;
use crate::kernel_file::{KernelFile, Shape};
use crate::open_files::Exclusive;
use crate::text::first_line;
use record::counter::{ProcessCounters, Sample};
use record::roots::Roots;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What is observed besides the machine as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subjects {
    /// Kernel names of block devices and partitions, e.g. all devices of a topology.
    pub devices: Vec<String>,
    /// Directory of the trial's cgroup, v1 blkio or v2.
    pub cgroup: Option<PathBuf>,
    /// Places that only the engine should use, to find other processes that use them; `None` for an existing directory.
    pub exclusive: Option<Exclusive>,
    /// Whether the file system under test is served over a network ([`crate::networked`]): only then are interfaces observed.
    pub network: bool,
    /// Whether the file system under test is on ZFS: only then is the ARC observed, which belongs to the whole machine.
    pub arc: bool,
    /// Mount point of the file system under test, if it is an NFS mount with byte counters to read.
    pub nfs: Option<PathBuf>,
}

/// Reads samples from files that it keeps open. Use one instance in one thread.
#[derive(Debug)]
pub struct Collector {
    roots: Roots,
    blocks: Vec<BlockReader>,
    stat: Option<KernelFile>,
    meminfo: Option<KernelFile>,
    vmstat: Option<KernelFile>,
    arcstats: Option<KernelFile>,
    /// The NFS mount, and the file with its counters.
    mountstats: Option<(PathBuf, KernelFile)>,
    pressure: Vec<(&'static str, KernelFile)>,
    cgroup: Option<CgroupReader>,
    journals: Vec<JournalReader>,
    network: Option<NetworkReader>,
    /// Numbers of the observed devices, in the form that limits use.
    devnos: BTreeSet<String>,
    throttles: Option<ThrottleReader>,
    quotas: Option<QuotaReader>,
    engine: Option<ProcessTree>,
    last_engine: Option<ProcessCounters>,
    buffer: Vec<u8>,
    problems: Vec<ReadError>,
}

/// Largest number of problems that are kept: the same file fails at every sample.
const PROBLEMS_KEPT: usize = 16;

impl Collector {
    /// Opens the files that exist. [`Collector::problems`] has those that can't be opened; their counters are absent from the samples.
    #[must_use]
    pub fn new(roots: &Roots, subjects: &Subjects) -> Self {
        let mut problems = Vec::new();
        let mut open = |name: &str, shape| {
            let opened = KernelFile::open(roots.proc.join(name), shape);
            noting(opened, &mut problems).flatten()
        };
        let stat = open("stat", Shape::OneRecord);
        let meminfo = open("meminfo", Shape::OneRecord);
        let vmstat = open("vmstat", Shape::Records);
        let arcstats = if subjects.arc { open("spl/kstat/zfs/arcstats", Shape::Records) } else { None };
        let mountstats =
            subjects.nfs.clone().and_then(|mount| Some((mount, open("self/mountstats", Shape::Records)?)));
        let pressure = ["cpu", "io", "memory"]
            .into_iter()
            .filter_map(|resource| Some((resource, open(&format!("pressure/{resource}"), Shape::OneRecord)?)))
            .collect();
        let mut blocks = Vec::new();
        let mut journals = Vec::new();
        for name in &subjects.devices {
            blocks.extend(noting(BlockReader::open(roots, name), &mut problems).flatten());
            journals.extend(JournalReader::find(roots, name));
        }
        let devnos = subjects.devices.iter().filter_map(|name| first_line(&roots.block(name).join("dev")));
        let network = subjects.network.then(|| noting(NetworkReader::open(roots), &mut problems).flatten());
        let cgroup = subjects.cgroup.as_deref();
        let cgroup = cgroup.and_then(|dir| noting(CgroupReader::open(dir), &mut problems).flatten());
        Self {
            roots: roots.clone(),
            blocks,
            stat,
            meminfo,
            vmstat,
            arcstats,
            mountstats,
            pressure,
            cgroup,
            journals,
            network: network.flatten(),
            devnos: devnos.collect(),
            throttles: None,
            quotas: None,
            engine: None,
            last_engine: None,
            buffer: Vec::new(),
            problems,
        }
    }

    /// Observes this process, its children and the limits on it, from the next sample on. It must be in its cgroup already.
    pub fn engine(&mut self, pid: u32) {
        let Self { roots, problems, .. } = self;
        self.engine = noting(ProcessTree::new(&roots.proc, pid), problems);
        self.throttles = noting(ThrottleReader::open(roots, pid), problems).flatten();
        self.quotas = noting(QuotaReader::open(roots, pid), problems).flatten();
    }

    /// Reads one sample. [`Collector::settle`] fills its `cpu_quota`.
    pub fn sample(&mut self) -> Sample {
        let mut sample =
            Sample { monotonic_ns: monotonic_ns(), suspended_ns: Some(suspended_ns()), ..Sample::default() };
        let Self { buffer, problems, .. } = self;
        // Devices and engine come first: rates are computed from them, so they should be closest to the time stamp.
        for block in &self.blocks {
            if let Some(counters) = noting(block.read(buffer), problems).flatten() {
                sample.block.insert(block.name.clone(), counters);
            }
        }
        if let Some(cgroup) = &self.cgroup {
            sample.cgroup_io = noting(cgroup.read(buffer), problems).unwrap_or_default();
        }
        if let Some(engine) = &mut self.engine {
            // A failed reading keeps the last known sum, since counters don't fall.
            self.last_engine = noting(engine.read(buffer), problems).or(self.last_engine);
            sample.engine = self.last_engine;
            sample.stopped = engine.stopped();
            sample.frozen = engine.frozen(buffer);
        }
        if let Some(throttles) = &self.throttles {
            sample.throttles = noting(throttles.read(&self.devnos, buffer), problems);
        }
        if let Some(quotas) = &mut self.quotas {
            noting(quotas.read(sample.monotonic_ns, buffer), problems);
        }
        for journal in &self.journals {
            let commits = noting(journal.read(), problems).flatten();
            sample.journal_commits.extend(commits.map(|commits| (journal.name.clone(), commits)));
        }
        if let Some(network) = &mut self.network {
            sample.network = noting(network.read(buffer), problems).unwrap_or_default();
        }
        if let Some((cpu, cores)) = text(&self.stat, buffer, problems, cpu::parse) {
            (sample.cpu, sample.cores) = (cpu, cores);
        }
        sample.memory = text(&self.meminfo, buffer, problems, keyed::memory);
        sample.vm = text(&self.vmstat, buffer, problems, keyed::vm);
        if let Some(vm) = &mut sample.vm {
            vm.takes_cold_pages = takes_cold_pages(&self.roots);
        }
        sample.arc = text(&self.arcstats, buffer, problems, arc::parse);
        if let Some((mount, file)) = &self.mountstats {
            let read = file
                .read(buffer)
                .and_then(|text| text.map_or(Ok(None), |text| nfs::parse(file.path(), text, mount)));
            sample.nfs = noting(read, problems).flatten();
        }
        for (resource, file) in &self.pressure {
            let read = file
                .read(buffer)
                .and_then(|text| text.map_or(Ok(None), |text| pressure::parse(file.path(), text)));
            if let Some(stalled) = noting(read, problems).flatten() {
                sample.pressure.insert((*resource).to_owned(), stalled);
            }
        }
        sample
    }

    /// Adds to these samples the CPU quota that mattered most, which is known only at the end.
    pub fn settle(&self, samples: &mut [Sample]) {
        if let Some(quotas) = &self.quotas {
            quotas.settle(samples);
        }
    }

    /// Returns what could not be read or parsed so far; only the first few problems.
    #[must_use]
    pub fn problems(&self) -> &[ReadError] {
        &self.problems
    }

    pub(crate) fn into_problems(self) -> Vec<ReadError> {
        self.problems
    }
}

fn text<T>(
    file: &Option<KernelFile>,
    buffer: &mut Vec<u8>,
    problems: &mut Vec<ReadError>,
    parse: fn(&std::path::Path, &[u8]) -> Result<T, ReadError>,
) -> Option<T> {
    let file = file.as_ref()?;
    let text = noting(file.read(buffer), problems).flatten()?;
    noting(parse(file.path(), text), problems)
}

/// Whether DAMON acts on memory that has not been used for long: one of its threads (sysfs interface) or its module
/// `damon_reclaim` is there (Documentation/admin-guide/mm/damon).
fn takes_cold_pages(roots: &Roots) -> bool {
    let threads = std::fs::read_dir(roots.sys.join("kernel/mm/damon/admin/kdamonds"));
    let on = |thread: std::fs::DirEntry| first_line(&thread.path().join("state")).as_deref() == Some("on");
    threads.into_iter().flatten().flatten().any(on)
        || first_line(&roots.sys.join("module/damon_reclaim/parameters/enabled")).as_deref() == Some("Y")
}

fn noting<T>(result: Result<T, ReadError>, problems: &mut Vec<ReadError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            if problems.len() < PROBLEMS_KEPT {
                problems.push(error);
            }
            None
        }
    }
}

/// Returns CLOCK_MONOTONIC in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// Returns how long the machine was suspended since boot. The two clocks are read one after the other, so a machine that was
/// never suspended shows microseconds.
fn suspended_ns() -> u64 {
    let monotonic = clock_ns(ClockId::Monotonic);
    clock_ns(ClockId::Boottime).saturating_sub(monotonic)
}

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    // Both parts of a monotonic time are nonnegative.
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec)
}
