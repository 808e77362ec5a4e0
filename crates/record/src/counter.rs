//! Raw counters, as the kernel gives them. Rates are derived later, by whoever judges.

use crate::nfs::NfsCounters;
use crate::volume::Limits;
use crate::zfs::ArcCounters;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything read at one instant. Counters only grow; what the kernel doesn't offer is `None` or absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// CLOCK_MONOTONIC.
    pub monotonic_ns: u64,
    /// Block devices by kernel name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub block: BTreeMap<String, BlockCounters>,
    /// CPU time of the whole machine, in ticks of [`Evidence::ticks_per_second`].
    pub cpu: Option<CpuTicks>,
    /// The same per core, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CpuTicks>,
    /// The engine's processes, summed (living ones and those already waited for).
    pub engine: Option<ProcessCounters>,
    /// Processes of the engine that were stopped, by a signal or a debugger: they don't run until somebody lets them go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped: Vec<u32>,
    /// Processes of the engine that the freezer of a cgroup held (wchan in /proc): they don't run until somebody thaws the cgroup.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen: Vec<u32>,
    /// How long the machine was suspended since it booted: CLOCK_BOOTTIME less CLOCK_MONOTONIC. `None` in records of before
    /// this was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_ns: Option<u64>,
    /// Memory, from /proc/meminfo.
    pub memory: Option<Memory>,
    /// From /proc/vmstat.
    pub vm: Option<VmCounters>,
    /// Pressure stall totals by resource (`cpu`, `io`, `memory`): some and full, in microseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pressure: BTreeMap<String, Pressure>,
    /// I/O charged to the trial's cgroup, by device number `major:minor`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cgroup_io: BTreeMap<String, CgroupIo>,
    /// Limits in force on the engine's I/O, by device number: in v2 the lowest of its cgroup and those above it, in v1, which is
    /// flat, those of its own. Devices without limits are absent; `None` where nobody could look, and before the engine ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttles: Option<BTreeMap<String, Limits>>,
    /// How a quota held the engine's CPU back; `None` where there is no quota, or nobody could look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<CpuQuota>,
    /// Network interfaces but the loopback, by name; of grounds that are served over a network.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub network: BTreeMap<String, NetCounters>,
    /// Commits of file systems' journals, by device name: transactions of jbd2 (ext4), writes to the log of xfs. A backing file's
    /// file system is there too, under its own device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub journal_commits: BTreeMap<String, u64>,
    /// ZFS's cache in memory; of grounds that are on ZFS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arc: Option<ArcCounters>,
    /// The bytes of the ground's mount; of grounds that are mounted by NFS from an export of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfs: Option<NfsCounters>,
    /// Of the node that serves the ground: such a sample is that node's and holds nothing else but its devices (`server:` before their
    /// names) and journals, at the time of [`Evidence::server_clock`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerCounters>,
}

/// What a node counted that serves another one's ground.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCounters {
    /// CPU time of the whole machine, in ticks of [`Evidence::ticks_per_second`].
    pub cpu: Option<CpuTicks>,
    /// Memory, from /proc/meminfo.
    pub memory: Option<Memory>,
}

/// How another node's CLOCK_MONOTONIC was put beside the one of [`Evidence::samples`]: it was asked for between two looks at ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerClock {
    /// Theirs less ours, at the middle between the two looks.
    pub ahead_ns: i64,
    /// Half the time between them: by so much it may be off.
    pub uncertain_ns: u64,
}

/// cpu.stat of a cgroup with a quota (v1 or v2): the one of the engine's ancestors that held it back most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuQuota {
    /// CPUs it grants: quota over period.
    pub cpus: f64,
    /// Periods in which it was held back.
    pub throttled_periods: u64,
    /// Periods in all.
    pub periods: u64,
    /// Time its tasks were held back, summed over CPUs.
    pub throttled_ns: u64,
}

/// /proc/net/dev.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetCounters {
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Speed as the kernel tells it, megabits per second; `None` where it doesn't.
    pub speed_mbps: Option<u64>,
}

/// /sys/block/*/stat (Documentation/block/stat.rst).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCounters {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read (512-byte sectors times 512).
    pub read_bytes: u64,
    /// Milliseconds reads waited, summed.
    pub read_wait_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Milliseconds writes waited, summed.
    pub write_wait_ms: u64,
    /// I/Os in flight now (a gauge).
    pub in_flight: u64,
    /// Milliseconds with at least one I/O in flight.
    pub busy_ms: u64,
    /// Milliseconds times I/Os in flight.
    pub weighted_ms: u64,
    /// Discards completed.
    pub discards: Option<u64>,
    /// Flushes completed.
    pub flushes: Option<u64>,
}

/// /proc/stat (proc(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// User and nice.
    pub user: u64,
    /// System.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Waiting for I/O.
    pub iowait: Option<u64>,
    /// Interrupts, hard and soft.
    pub irq: Option<u64>,
    /// Taken by the hypervisor.
    pub steal: Option<u64>,
}

/// /proc/PID/stat and /proc/PID/io.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessCounters {
    /// Processes and threads counted.
    pub tasks: u32,
    /// User CPU, ticks.
    pub user_ticks: u64,
    /// System CPU, ticks.
    pub system_ticks: u64,
    /// CPU ticks of the busiest single thread.
    pub busiest_thread_ticks: Option<u64>,
    /// Bytes passed through read-like calls; asynchronous I/O (libaio, io_uring) is not counted here.
    pub read_chars: Option<u64>,
    /// Bytes passed through write-like calls.
    pub write_chars: Option<u64>,
    /// Bytes the block layer was asked to read for them.
    pub read_bytes: Option<u64>,
    /// Bytes sent, or to be sent, to the block layer for them.
    pub write_bytes: Option<u64>,
}

/// /proc/meminfo, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// MemTotal.
    pub total_bytes: Option<u64>,
    /// MemAvailable.
    pub available_bytes: Option<u64>,
    /// Cached.
    pub cached_bytes: Option<u64>,
    /// Dirty.
    pub dirty_bytes: Option<u64>,
    /// Writeback.
    pub writeback_bytes: Option<u64>,
}

/// /proc/vmstat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmCounters {
    /// KiB paged in.
    pub pgpgin_kib: Option<u64>,
    /// KiB paged out.
    pub pgpgout_kib: Option<u64>,
    /// Pages dirtied.
    pub nr_dirtied: Option<u64>,
    /// Pages written back.
    pub nr_written: Option<u64>,
    /// Major faults.
    pub pgmajfault: Option<u64>,
    /// Pages swapped in.
    pub pswpin: Option<u64>,
    /// Pages swapped out.
    pub pswpout: Option<u64>,
    /// Pages of files that the kernel took out of the page cache for want of memory.
    #[serde(default)]
    pub pgsteal_file: Option<u64>,
    /// Pages of files that were read again after the kernel had taken them out of the page cache, for whatever reason.
    #[serde(default)]
    pub workingset_refault_file: Option<u64>,
    /// Whether the kernel takes pages out without want of memory (DAMON); `pgsteal_file` doesn't tell these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_cold_pages: bool,
    /// How often somebody had the page cache dropped.
    #[serde(default)]
    pub drop_pagecache: Option<u64>,
}

/// /proc/pressure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// At least one task stalled.
    pub some_us: u64,
    /// All tasks stalled.
    pub full_us: Option<u64>,
}

/// blkio (v1) or io.stat (v2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupIo {
    /// Reads.
    pub reads: Option<u64>,
    /// Bytes read.
    pub read_bytes: Option<u64>,
    /// Writes.
    pub writes: Option<u64>,
    /// Bytes written.
    pub write_bytes: Option<u64>,
}

/// A process that wasn't ours and did I/O, used CPU or was on our ground during the trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherProcess {
    /// Process id.
    pub pid: u32,
    /// Command name (comm).
    pub comm: String,
    /// Bytes it read from the block layer during the trial.
    pub read_bytes: u64,
    /// Bytes it wrote to the block layer during the trial.
    pub write_bytes: u64,
    /// CPU it used during the trial, user and system, in ticks of [`Evidence::ticks_per_second`]; with the children it
    /// waited for. `None` in records of before this was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ticks: Option<u64>,
    /// Whether it, or a child it waited for, was seen with a file of the ground open, or one of the ground's devices.
    /// `None` when nobody could look, or when the ground is a lent directory: others are at home there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_ground: Option<bool>,
    /// Whether it is a thread of the kernel (PF_KTHREAD), which works on behalf of others; its bytes are not read, so 0.
    /// `None` in records of before kernel threads were listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<bool>,
}

/// Other limits of a guest's disk, set by its host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostChange {
    /// The disk's name in the guest.
    pub device: String,
    /// When they were set, from the beginning of the load as its host heard of it.
    pub after_ms: u64,
    /// All its limits from then on.
    pub limits: Limits,
}

/// All that was observed around one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Kernel's USER_HZ, for all tick counters.
    pub ticks_per_second: u64,
    /// Samples in time order: at least one before the engine starts and one after it has ended.
    pub samples: Vec<Sample>,
    /// Processes that were not ours, between the first and the last sample: those that were on the ground, and the
    /// first twenty by I/O, by CPU, and of the kernel's threads by CPU; the most bytes first, then the most CPU.
    pub others: Vec<OtherProcess>,
    /// Whether `others` could be seen in full (root) or only in part.
    pub others_complete: bool,
    /// CPU of all user processes that were not ours, listed in `others` or not; ticks. Those that can't be seen, and those
    /// that nobody waited for, are missing in it. `None` when it wasn't counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cpu_ticks: Option<u64>,
    /// CPU of all the kernel's threads; ticks. `None` when it wasn't counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_cpu_ticks: Option<u64>,
    /// Of the machine that runs the guest, where that is the one that controls: just before the guest measured and just after. Names of its
    /// devices have `host:` before them; its throttles are what it limits the guest's disks to, by their names in the guest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<Sample>,
    /// What the host changed of the limits of the guest's disks while it measured, as the experiment says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_changes: Vec<HostChange>,
    /// Of a ground that another node serves: how its samples came among these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_clock: Option<ServerClock>,
    /// When the agent process itself did not run: a thread of it that wakes ten times a second did not wake for half a second or more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_gaps: Vec<Gap>,
}

/// A time in which a thread that should have run did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// When it ran last, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// When it ran again.
    pub end_ns: u64,
    /// How much of that it was ready and waited for a CPU; `None` where the kernel doesn't tell. Of the rest it was stopped.
    pub cpu_wait_ns: Option<u64>,
}
