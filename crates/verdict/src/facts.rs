//! The sums of a trial's record within the measured window. This module draws no conclusions.

use crate::span::{Span, float, number};
use record::copy::CopySync;
use record::counter::{BlockCounters, Sample};
use record::effective::EffectiveJob;
use record::extents::{FileExtents, Residency};
use record::plan::Cell;
use record::stack::{BtrfsProfile, Layer};
use record::topology::{BlockNode, Topology};
use record::trial::{EngineOutput, Totals, TrialRecord};
use record::volume::{Volume, VolumeKind};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options};

/// One direction of a trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow {
    /// Bytes that the engine requested.
    pub(crate) asked: f64,
    /// I/Os that the engine requested.
    pub(crate) ios: f64,
    /// Bytes on the ground's direct devices, divided by the copies that the stack keeps; `None` if a counter is missing.
    pub(crate) device: Option<f64>,
    /// The part of these that the kernel charged to the engine itself; `None` if it doesn't report it.
    pub(crate) own: Option<f64>,
}

/// Sums over the data files.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Files {
    pub(crate) size: f64,
    pub(crate) hole: f64,
    pub(crate) unwritten: f64,
    pub(crate) encoded: f64,
    pub(crate) delalloc: f64,
    pub(crate) disk: Option<f64>,
}

impl Files {
    /// The share of the bytes that are read without a device: holes and unwritten extents.
    pub(crate) fn empty_share(&self) -> f64 {
        if self.size > 0.0 { ((self.hole + self.unwritten) / self.size).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Logical bytes per byte on the device: 1 without compression; `None` if something is compressed but the file system doesn't
    /// report the ratio.
    pub(crate) fn expansion(&self) -> Option<f64> {
        if self.encoded <= 0.0 {
            return Some(1.0);
        }
        let disk = self.disk.filter(|&d| d > 0.0)?;
        Some(((self.size - self.hole - self.unwritten) / disk).max(1.0))
    }
}

/// A trial's facts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) trial: &'a TrialRecord,
    pub(crate) cell: &'a Cell,
    pub(crate) engine: &'a EngineOutput,
    pub(crate) span: Span<'a>,
    pub(crate) read: Flow,
    pub(crate) write: Flow,
    /// The number of copies of each byte on the direct devices.
    pub(crate) copies: f64,
    /// The number of trims, which move no bytes.
    pub(crate) trim_ios: f64,
    /// Reads that the direct devices completed; `None` if a counter is missing.
    pub(crate) device_reads: Option<f64>,
    /// Bytes read from the direct devices between the first sample and the window, that is during the ramp.
    pub(crate) read_earlier: Option<f64>,
    /// The files before the trial; `None`: they could not be examined.
    pub(crate) before: Option<Files>,
    pub(crate) after: Option<Files>,
    /// Bytes of the files in the page cache; `None`: not all files were examined.
    pub(crate) cached_before: Option<f64>,
    pub(crate) cached_after: Option<f64>,
    /// Bytes of the files that were not on the device after the trial; `None`: the kernel doesn't report them per file.
    pub(crate) dirty_after: Option<f64>,
}

impl<'a> Facts<'a> {
    /// The facts of a trial; `None` if the engine never ran.
    pub(crate) fn of(trial: &'a TrialRecord, cell: &'a Cell) -> Option<Self> {
        let engine = trial.engine.as_ref()?;
        let span = Span::new(&trial.evidence.samples, engine.window);
        let copies = copies(cell);
        let topology = &trial.topology;
        let load = Load { span, ends: ends_with_the_window(cell) };
        let read = Flow {
            device: load.on_devices(topology, |b| b.read_bytes),
            own: load.own_bytes(topology, true),
            ..asked(engine.read.as_ref())
        };
        let write = Flow {
            device: load.on_devices(topology, |b| b.write_bytes).map(|b| b / copies),
            own: load.own_bytes(topology, false),
            ..asked(engine.write.as_ref())
        };
        let resident = |list: &[Residency], bytes: fn(&Residency) -> Option<u64>| -> Option<f64> {
            let all: Option<Vec<f64>> = list.iter().map(|r| bytes(r).map(float)).collect();
            all.filter(|v| !v.is_empty()).map(|v| v.iter().sum())
        };
        Some(Self {
            trial,
            cell,
            engine,
            span,
            read,
            write,
            copies,
            trim_ios: engine.trim.as_ref().map_or(0.0, |t| float(t.ios)),
            device_reads: load.on_devices(topology, |b| b.reads),
            read_earlier: read_earlier(&span, topology),
            before: files(&trial.files_before, topology),
            after: files(&trial.files_after, topology).or_else(|| copied(engine)),
            cached_before: resident(&trial.cache_before, |r| Some(r.cached_bytes)),
            cached_after: resident(&trial.cache_after, |r| Some(r.cached_bytes)),
            dirty_after: resident(&trial.cache_after, |r| r.dirty_bytes),
        })
    }

    /// The options of the workload's only job and its clones, from the experiment or from a job file; `None`: there are several jobs, or
    /// the options aren't known completely.
    pub(crate) fn options(&self) -> Option<&'a Options> {
        self.cell.workload.only_options()
    }

    /// The options of all jobs; empty if they aren't known completely.
    pub(crate) fn all_options(&self) -> Vec<&'a Options> {
        self.cell.workload.all_options()
    }

    /// Whether I/O bypassed the page cache: `None` for a job file that does both, and for Bonnie++, which writes its file and then opens it
    /// again without `O_DIRECT` (2.00a).
    pub(crate) fn direct(&self) -> Option<bool> {
        match &self.cell.workload.ask {
            Ask::Options(_) | Ask::JobFile { .. } => {
                let jobs = self.cell.workload.effective_jobs();
                let first = jobs.first()?.direct;
                jobs.iter().all(|job| job.direct == first).then_some(first)
            }
            Ask::Copy(_) => Some(false),
            Ask::Bonnie(bonnie) => (!bonnie.direct).then_some(false),
        }
    }

    /// Whether the workload flushes its writes before it ends.
    pub(crate) fn is_flushed(&self) -> bool {
        let jobs = self.cell.workload.effective_jobs();
        !jobs.is_empty() && jobs.iter().all(|job| job.durable || !job.writes)
    }

    pub(crate) fn layout(&self) -> Layout {
        self.cell.workload.layout
    }

    pub(crate) fn cache_start(&self) -> CacheStart {
        self.cell.workload.cache
    }

    /// Whether only this run uses all devices under the ground: emulated volumes or claimed disks, no existing directory.
    pub(crate) fn is_exclusive(&self) -> bool {
        let ours = |v: &Volume| !matches!(v.kind, VolumeKind::Directory { .. });
        let stack = &self.cell.stack;
        !stack.volumes.is_empty() && stack.all_volumes().all(ours)
    }

    /// The file system that decides where the bytes go: if several are stacked, the lowest one.
    pub(crate) fn fs(&self) -> Option<&'a str> {
        self.trial.topology.deciding_fs()
    }

    /// The size of the data set in bytes: that of the files, or the size that the workload lays out.
    pub(crate) fn data_bytes(&self) -> f64 {
        match (self.before, self.after) {
            (Some(f), _) | (None, Some(f)) if f.size > 0.0 => f.size,
            _ => float(self.cell.workload.data_bytes()) * self.machines(),
        }
    }

    /// The number of machines that generated this load.
    pub(crate) fn machines(&self) -> f64 {
        f64::from(number(self.trial.parts.len().max(1)))
    }

    /// The tolerated relative difference between the engine's and a device's count: 2 % for metadata and retries, a tenth of a
    /// second for the window's ends (10 Hz), two I/Os for the discrete count; at most 10 %.
    pub(crate) fn slack(&self, flow: &Flow) -> f64 {
        let ends = 0.1 / self.span.seconds().max(0.1);
        let discrete = 2.0 / flow.ios.max(20.0);
        // counters of another machine's devices have that machine's clock
        let clock = self.trial.evidence.server_clock.map_or(0.0, |clock| float(clock.uncertain_ns) / 1e9);
        (0.02 + ends + discrete).min(0.10) + clock / self.span.seconds().max(0.1)
    }

    /// The machine's memory in bytes, from the samples.
    pub(crate) fn memory_total(&self) -> Option<f64> {
        self.span.at_start(|s| s.memory?.total_bytes)
    }

    /// The memory of the machine that exports the ground by NFS, which may be the same one.
    pub(crate) fn server_memory_total(&self) -> Option<f64> {
        if self.cell.is_mounted_elsewhere() {
            self.span.at_start(|s| s.server?.memory?.total_bytes)
        } else {
            self.memory_total()
        }
    }

    /// The growth within the window of the dirty bytes of the whole machine that has the devices.
    pub(crate) fn dirty_growth(&self) -> Option<f64> {
        let apart = self.cell.is_mounted_elsewhere();
        let waiting = |s: &Sample| {
            let m = if apart { s.server?.memory? } else { s.memory? };
            Some(m.dirty_bytes? + m.writeback_bytes.unwrap_or(0))
        };
        Some(self.span.at_end(waiting)? - self.span.at_start(waiting)?)
    }
}

fn asked(totals: Option<&Totals>) -> Flow {
    let (asked, ios) = totals.map_or((0.0, 0.0), |t| (float(t.bytes), float(t.ios)));
    Flow { asked, ios, device: None, own: None }
}

/// The counters of the load within the window.
struct Load<'a> {
    span: Span<'a>,
    /// Whether nothing is moved for the load after the window.
    ends: bool,
}

impl Load<'_> {
    /// The sum over all direct devices; `None` if there are none, or if one of them has no counter.
    fn on_devices(&self, topology: &Topology, counter: fn(&BlockCounters) -> u64) -> Option<f64> {
        sum(topology, |node| self.span.moved(self.ends, |s| s.block.get(&node.name).map(counter)))
    }

    /// Bytes that the kernel charged to the engine: those of its cgroup on the direct devices, or those of its processes on any
    /// device, whichever is more (either may miss what kernel threads do for it).
    fn own_bytes(&self, topology: &Topology, read: bool) -> Option<f64> {
        let cgroup = sum(topology, |node| {
            if node.is_elsewhere() {
                return None;
            }
            let key = format!("{}:{}", node.devno.0, node.devno.1);
            self.span.moved(self.ends, |s| {
                let io = s.cgroup_io.get(&key)?;
                if read { io.read_bytes } else { io.write_bytes }
            })
        });
        let bytes = |s: &Sample| if read { s.engine?.read_bytes } else { s.engine?.write_bytes };
        let process = self.span.moved(self.ends, bytes);
        match (cgroup, process) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        }
    }
}

fn read_earlier(span: &Span<'_>, topology: &Topology) -> Option<f64> {
    sum(topology, |node| span.moved_earlier(|s| s.block.get(&node.name).map(|b| b.read_bytes)))
}

/// The sum over all direct devices; `None` if there are none, or if one of them wasn't counted.
fn sum(topology: &Topology, of: impl Fn(&BlockNode) -> Option<f64>) -> Option<f64> {
    let mut sum = None;
    for node in topology.direct() {
        sum = Some(sum.unwrap_or(0.0) + of(node)?);
    }
    sum
}

/// Whether the devices are idle after the window: nothing was written or every write was on them by then, and nothing is read
/// back.
fn ends_with_the_window(cell: &Cell) -> bool {
    match &cell.workload.ask {
        // With a job file for fio, a job that ends later may go on after the window.
        Ask::JobFile { .. } if cell.workload.engine == EngineKind::Fio => false,
        Ask::Options(_) | Ask::JobFile { .. } => {
            let done = |job: &EffectiveJob<'_>| {
                (job.durable || !job.writes) && job.options.is_some_and(|o| o.verify.is_none())
            };
            let jobs = cell.workload.effective_jobs();
            !jobs.is_empty() && jobs.iter().all(done)
        }
        Ask::Bonnie(_) => false,
        Ask::Copy(copy) => copy.sync != CopySync::None,
    }
}

/// The files that a copy made; their extents are counted together.
fn copied(engine: &EngineOutput) -> Option<Files> {
    let copied = engine.copied.as_ref()?;
    let extents = copied.extents?;
    let encoded =
        if extents.disk_bytes < extents.uncompressed_bytes { extents.uncompressed_bytes } else { 0 };
    Some(Files {
        size: float(extents.uncompressed_bytes),
        encoded: float(encoded),
        disk: Some(float(extents.disk_bytes)),
        ..Files::default()
    })
}

/// The files' sums. `None` if they could not be examined: there is a file system but no list. A raw block device has no holes.
fn files(list: &[FileExtents], topology: &Topology) -> Option<Files> {
    if list.is_empty() {
        return topology.fs_type.is_none().then(Files::default);
    }
    let sum = |bytes: fn(&FileExtents) -> u64| -> f64 { list.iter().map(|f| float(bytes(f))).sum() };
    let disk: Option<Vec<f64>> = list.iter().map(|f| f.disk_bytes.map(float)).collect();
    Some(Files {
        size: sum(|f| f.size_bytes),
        hole: sum(|f| f.hole_bytes),
        unwritten: sum(|f| f.unwritten_bytes),
        encoded: sum(|f| f.encoded_bytes),
        delalloc: sum(|f| f.delalloc_bytes),
        disk: disk.map(|v| v.iter().sum()),
    })
}

/// The number of copies on the direct devices: that of the topmost layer, since its members are the direct devices.
pub(crate) fn copies(cell: &Cell) -> f64 {
    // An NFS layer has the same devices as its export.
    let top = cell.stack.transforming().rfind(|layer| !matches!(layer, Layer::Nfs(_)));
    match top {
        Some(Layer::Btrfs(b)) => match b.data {
            BtrfsProfile::Single | BtrfsProfile::Raid0 => 1.0,
            BtrfsProfile::Dup | BtrfsProfile::Raid1 | BtrfsProfile::Raid10 => 2.0,
        },
        Some(Layer::Zfs(zfs)) => f64::from(number(zfs.copies(cell.stack.volumes.len()))),
        _ => 1.0,
    }
}
