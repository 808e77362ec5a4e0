//! Synthetic trials with known truth.

use crate::attribute::Attribution;
use crate::facts::Facts;
use crate::scene::Scene;
use record::counter::{
    BlockCounters, CgroupIo, CpuTicks, Evidence, Gap, Memory, OtherProcess, ProcessCounters, Sample,
};
use record::emulated::Range;
use record::environment::Environment;
use record::extents::{FileExtents, Residency};
use record::id::{CellId, TrialId};
use record::latency::LatencyHistogram;
use record::plan::{Cell, Measure};
use record::stack::{Btrfs, BtrfsProfile, Filesystem, FsKind, Layer, Rebuild, Stack};
use record::topology::{BlockKind, BlockNode, Topology};
use record::trial::{EngineOutput, Outcome, Totals, TrialRecord, Window};
use record::volume::{Limits, Volume, VolumeFacts, VolumeKind};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use std::collections::BTreeMap;

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Every synthetic trial measures 20 s, with samples at 10 Hz from 2 s before to 2 s after.
pub(crate) const SECONDS: u64 = 20;

/// How the synthetic trials are measured.
pub(crate) fn measure(rounds: u32) -> Measure {
    Measure { interval: Some(0.05), ..Measure::new(20.0, 2.0, rounds) }
}

/// A counter's value.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "never negative; absurd ones saturate"
)]
pub(crate) fn whole(value: f64) -> u64 {
    value as u64
}

pub(crate) fn totals(ios: u64, bs: u64) -> Totals {
    Totals {
        ios,
        bytes: ios * bs,
        seconds: 20.0,
        iops: ios as f64 / 20.0,
        bytes_per_second: (ios * bs) as f64 / 20.0,
        latency: LatencyHistogram { bins_ns: BTreeMap::from([(1_000_000, ios)]) },
        latency_mean_ns: Some(1e6),
    }
}

pub(crate) fn engine() -> EngineOutput {
    EngineOutput {
        cpu_user_share: Some(0.05),
        cpu_system_share: Some(0.05),
        ..EngineOutput::new(
            "fio-3.33".to_owned(),
            Window { start_ns: 100 * SECOND, end_ns: (100 + SECONDS) * SECOND },
        )
    }
}

pub(crate) fn options(rw: Rw, bs: u64, direct: bool) -> Options {
    Options {
        iodepth: 64,
        direct,
        ioengine: "libaio".to_owned(),
        end_fsync: !direct,
        ..Options::new(rw, bs, 256 * MIB)
    }
}

pub(crate) fn btrfs(data: BtrfsProfile) -> Layer {
    Layer::Btrfs(Btrfs { data, metadata: None, compress: None, mkfs_options: vec![], mount_options: vec![] })
}

pub(crate) fn filesystem(kind: FsKind) -> Layer {
    Layer::Filesystem(Filesystem { kind, mkfs_options: vec![], mount_options: vec![], stripe: None })
}

/// A builder of a trial: the requested I/O, and what really happened below.
#[derive(Debug, Clone)]
pub(crate) struct Truth {
    pub(crate) cell: Cell,
    pub(crate) trial: TrialRecord,
    /// Bytes on all devices together within the window.
    pub(crate) device_read: u64,
    pub(crate) device_write: u64,
    /// Bytes that the kernel charges to the engine's processes; `None`: those that the devices moved.
    pub(crate) own_read: Option<u64>,
    pub(crate) own_write: Option<u64>,
    /// The share of a core that the engine's thread uses.
    pub(crate) thread_cores: f64,
    /// The busy share of two cores.
    pub(crate) machine_busy: f64,
    /// The shares of it of other user processes and (next field) of kernel threads; `None`: not counted.
    pub(crate) others_cpu: Option<f64>,
    pub(crate) kernel_cpu: Option<f64>,
    pub(crate) dirty_at_end: u64,
    /// The mean number of I/Os in flight on all devices together.
    pub(crate) device_queue: f64,
    /// I/Os per second on each device.
    pub(crate) device_iops: f64,
    /// Sets other values of each sample; the second argument grows from 0 to 1 during the window.
    pub(crate) each: fn(&mut Sample, f64),
    /// The times in which the agent process did not run.
    pub(crate) agent_gaps: Vec<Gap>,
    /// Bytes read and written on the disk under the loop devices, by all processes; `None`: not counted.
    pub(crate) leaf: Option<(u64, u64)>,
    /// The volumes that the run found; the next field is the machine.
    pub(crate) volumes: Vec<VolumeFacts>,
    pub(crate) machine: Environment,
    pub(crate) believed: Option<Range>,
}

impl Truth {
    /// A clean trial: `devices` loop devices with direct I/O under `layer`, a written file of 256 MiB, nothing cached.
    pub(crate) fn new(rw: Rw, bs: u64, direct: bool, layer: Layer, devices: u32) -> Self {
        let fs = match &layer {
            Layer::Btrfs(_) => "btrfs".to_owned(),
            Layer::Filesystem(f) => f.kind.name().to_owned(),
            Layer::Zfs(_) => "zfs".to_owned(),
            Layer::Bcache(_)
            | Layer::Command(_)
            | Layer::Knobs(_)
            | Layer::Luks(_)
            | Layer::Lvm(_)
            | Layer::Md(_) => "ext4".to_owned(),
            Layer::Nfs(_) => "nfs4".to_owned(),
        };
        let cell = Cell {
            id: CellId("0123456789abcdef".to_owned()),
            target: "local".to_owned(),
            stack: Stack {
                name: fs.clone(),
                volumes: vec![],
                beside: vec![],
                layers: vec![layer],
                rebuild: Rebuild::Trial,
            },
            workload: Workload {
                name: rw.name().to_owned(),
                engine: EngineKind::Fio,
                ask: Ask::Options(options(rw, bs, direct)),
                layout: Layout::Written,
                cache: CacheStart::Cold,
                on: Vec::new(),
            },
            levels: BTreeMap::new(),
        };
        let mut truth = Self {
            trial: record(&cell, &fs, devices),
            cell,
            device_read: 0,
            device_write: 0,
            own_read: None,
            own_write: None,
            thread_cores: 0.1,
            machine_busy: 0.2,
            others_cpu: Some(0.1),
            kernel_cpu: Some(0.02),
            dirty_at_end: 0,
            device_queue: 0.0,
            device_iops: 0.0,
            each: |_, _| {},
            agent_gaps: Vec::new(),
            leaf: None,
            volumes: vec![],
            machine: Environment::default(),
            believed: None,
        };
        truth.file(256 * MIB, |_| {});
        truth.cached(0, if direct { 0 } else { 256 * MIB });
        truth
    }

    pub(crate) fn options(&mut self) -> &mut Options {
        match &mut self.cell.workload.ask {
            Ask::Options(options) => options,
            _ => panic!("job file"),
        }
    }

    /// Sets the data file, before and after the trial.
    pub(crate) fn file(&mut self, size: u64, change: impl Fn(&mut FileExtents)) {
        let mut file = FileExtents {
            path: "/m/data".into(),
            size_bytes: size,
            written_bytes: size,
            ..FileExtents::default()
        };
        change(&mut file);
        self.trial.files_before = vec![file.clone()];
        self.trial.files_after = vec![file];
    }

    pub(crate) fn cached(&mut self, before: u64, after: u64) {
        let residency = |bytes| Residency {
            path: "/m/data".into(),
            size_bytes: self.trial.files_before[0].size_bytes,
            cached_bytes: bytes,
            dirty_bytes: Some(0),
        };
        self.trial.cache_before = vec![residency(before)];
        self.trial.cache_after = vec![residency(after)];
    }

    /// Makes loop devices that cache their backing file on `vda`; `cached`: the file's bytes in the page cache before and after.
    pub(crate) fn hosted(&mut self, leaf: (u64, u64), cached: (u64, u64)) {
        for node in &mut self.trial.topology.nodes {
            if let BlockKind::Loop { direct_io, .. } = &mut node.kind {
                *direct_io = Some(false);
            }
        }
        self.trial.topology.nodes.push(BlockNode {
            name: "vda".to_owned(),
            devno: (254, 0),
            depth: 1,
            kind: BlockKind::Disk,
            rotational: None,
            scheduler: None,
            size_bytes: None,
        });
        self.leaf = Some(leaf);
        let file = |cached_bytes| Residency {
            path: "/v/vol".into(),
            size_bytes: GIB,
            cached_bytes,
            dirty_bytes: Some(0),
        };
        (self.trial.backing_before, self.trial.backing_after) = (vec![file(cached.0)], vec![file(cached.1)]);
    }

    pub(crate) fn asked(&mut self, read_bytes: u64, write_bytes: u64) {
        let bs = self.options().bs_bytes;
        let some = |bytes: u64| (bytes > 0).then(|| totals(bytes / bs, bs));
        let engine = self.trial.engine.as_mut().unwrap();
        (engine.read, engine.write) = (some(read_bytes), some(write_bytes));
    }

    /// Adds emulated volumes under the cell, which only the run may use.
    pub(crate) fn emulated(&mut self, count: u32) {
        let limits = Limits { read_iops: Some(80), write_iops: Some(80), ..Limits::default() };
        let kind = VolumeKind::Emulate { size_bytes: GIB, limits };
        let volume = |i| Volume { name: format!("vol[{i}]"), kind: kind.clone() };
        self.cell.stack.volumes = (0..count).map(volume).collect();
    }

    /// Adds another user process, which isn't known to have files of the ground open.
    pub(crate) fn other(&mut self, comm: &str, read_bytes: u64, write_bytes: u64) -> &mut OtherProcess {
        let others = &mut self.trial.evidence.others;
        others.push(OtherProcess {
            pid: 4711,
            comm: comm.to_owned(),
            read_bytes,
            write_bytes,
            kernel: Some(false),
            ..OtherProcess::default()
        });
        others.last_mut().unwrap()
    }

    /// The detectors' input.
    pub(crate) fn scene<'a>(
        &'a self,
        facts: &'a Facts<'a>,
        shares: &'a Attribution,
        volumes: &'a [&'a VolumeFacts],
    ) -> Scene<'a> {
        Scene { facts, shares, volumes, machine: &self.machine, believed: self.believed }
    }

    /// The finished record, with samples of this truth.
    pub(crate) fn record(&self) -> TrialRecord {
        let mut trial = self.trial.clone();
        let names: Vec<String> = trial.topology.direct().map(|n| n.name.clone()).collect();
        let count = names.len().max(1) as u64;
        let share = |share: f64| whole(2.0 * share * SECONDS as f64 * 100.0);
        trial.evidence.others_cpu_ticks = self.others_cpu.map(share);
        trial.evidence.kernel_cpu_ticks = self.kernel_cpu.map(share);
        trial.evidence.agent_gaps.clone_from(&self.agent_gaps);
        trial.evidence.samples = (0..=240_u64)
            .map(|i| {
                let monotonic_ns = 98 * SECOND + i * SECOND / 10;
                // 0 before the window, 1 after it.
                let done = (i as f64 / 10.0 - 2.0).clamp(0.0, SECONDS as f64) / SECONDS as f64;
                let grow = |total: u64| 1_000_000 + whole(total as f64 * done);
                let ticks = |share: f64| whole(share * done * SECONDS as f64 * 100.0);
                let own_read = self.own_read.unwrap_or(self.device_read);
                let own_write = self.own_write.unwrap_or(self.device_write);
                let block = BlockCounters {
                    read_bytes: grow(self.device_read / count),
                    write_bytes: grow(self.device_write / count),
                    reads: whole(self.device_iops * done * SECONDS as f64),
                    weighted_ms: whole(self.device_queue / count as f64 * done * SECONDS as f64 * 1e3),
                    ..BlockCounters::default()
                };
                let leaf = self.leaf.map(|(read, write)| {
                    let counters =
                        BlockCounters { read_bytes: grow(read), write_bytes: grow(write), ..block };
                    ("vda".to_owned(), counters)
                });
                let mut sample = Sample {
                    monotonic_ns,
                    block: names.iter().map(|n| (n.clone(), block)).chain(leaf).collect(),
                    cpu: Some(CpuTicks {
                        user: ticks(2.0 * self.machine_busy),
                        idle: ticks(2.0 * (1.0 - self.machine_busy)),
                        ..CpuTicks::default()
                    }),
                    engine: Some(ProcessCounters {
                        tasks: 1,
                        user_ticks: ticks(self.thread_cores),
                        busiest_thread_ticks: Some(ticks(self.thread_cores)),
                        read_bytes: Some(grow(own_read)),
                        write_bytes: Some(grow(own_write)),
                        ..ProcessCounters::default()
                    }),
                    memory: Some(Memory {
                        total_bytes: Some(16 * GIB),
                        dirty_bytes: Some(whole(self.dirty_at_end as f64 * done)),
                        writeback_bytes: Some(0),
                        ..Memory::default()
                    }),
                    cgroup_io: cgroup(&trial.topology, grow(own_read / count), grow(own_write / count)),
                    ..Sample::default()
                };
                (self.each)(&mut sample, done);
                sample
            })
            .collect();
        trial
    }
}

fn cgroup(topology: &Topology, read: u64, write: u64) -> BTreeMap<String, CgroupIo> {
    let io = CgroupIo { read_bytes: Some(read), write_bytes: Some(write), ..CgroupIo::default() };
    topology.direct().map(|n| (format!("{}:{}", n.devno.0, n.devno.1), io)).collect()
}

fn record(cell: &Cell, fs: &str, devices: u32) -> TrialRecord {
    TrialRecord {
        topology: Topology {
            nodes: (0..devices).map(loop_node).collect(),
            fs_type: Some(fs.to_owned()),
            mount_options: Some("rw,relatime".to_owned()),
            exported: None,
            stacked: Vec::new(),
            unseen: Vec::new(),
            unknown: vec![],
        },
        engine: Some(engine()),
        evidence: Evidence { ticks_per_second: 100, others_complete: true, ..Evidence::default() },
        ..TrialRecord::new(TrialId { cell: cell.id.clone(), round: 0 }, 1, 0, Outcome::Measured)
    }
}

fn loop_node(i: u32) -> BlockNode {
    BlockNode {
        name: format!("loop{i}"),
        devno: (7, i),
        depth: 0,
        kind: BlockKind::Loop {
            backing_file: Some("/v/vol".into()),
            direct_io: Some(true),
            backing_fs: Some("ext4".to_owned()),
            members: vec!["vda".to_owned()],
            guest: false,
        },
        rotational: None,
        scheduler: None,
        size_bytes: Some(GIB),
    }
}
