//! Raw counters, as the kernel reports them. Rates are computed later, by the judge.

use crate::nfs::NfsCounters;
use crate::volume::Limits;
use crate::zfs::ArcCounters;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All counters that are read at one instant. Counters only grow. A counter that the kernel doesn't offer is `None` or absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub monotonic_ns: u64,
    /// Block devices by kernel name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub block: BTreeMap<String, BlockCounters>,
    /// CPU time of the whole machine, in ticks of [`Evidence::ticks_per_second`].
    pub cpu: Option<CpuTicks>,
    /// CPU time of each core, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CpuTicks>,
    /// The sum over the engine's processes: living ones, and ended ones whose parent waited for them.
    pub engine: Option<ProcessCounters>,
    /// Processes of the engine that a signal or a debugger had stopped. They don't run until somebody continues them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped: Vec<u32>,
    /// Processes of the engine that the freezer of a cgroup held (wchan in /proc). They don't run until somebody thaws the cgroup.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen: Vec<u32>,
    /// Time that the machine was suspended since boot: CLOCK_BOOTTIME minus CLOCK_MONOTONIC. `None` in records that are older
    /// than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_ns: Option<u64>,
    /// Memory, from /proc/meminfo.
    pub memory: Option<Memory>,
    /// Counters of the virtual memory, from /proc/vmstat.
    pub vm: Option<VmCounters>,
    /// Pressure stall totals by resource (`cpu`, `io`, `memory`): some and full, in microseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pressure: BTreeMap<String, Pressure>,
    /// I/O charged to the trial's cgroup, by device number `major:minor`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cgroup_io: BTreeMap<String, CgroupIo>,
    /// Limits in force on the engine's I/O, by device number. cgroup v2: the lowest of its cgroup and all cgroups above. v1,
    /// which is flat: those of its own cgroup. Devices without limits are absent; `None` where the limits could not be read, and
    /// before the engine ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttles: Option<BTreeMap<String, Limits>>,
    /// How a CPU quota throttled the engine; `None` where there is no quota, or it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<CpuQuota>,
    /// Network interfaces except the loopback, by name; only for devices or file systems that are served over a network.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub network: BTreeMap<String, NetCounters>,
    /// Commits of file system journals, by device name: transactions of jbd2 (ext4), writes to the log of xfs. The file system of
    /// a backing file is included, under its own device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub journal_commits: BTreeMap<String, u64>,
    /// ZFS's cache in memory (ARC); only for file systems on ZFS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arc: Option<ArcCounters>,
    /// Bytes of the NFS mount under test; only where diskproof mounted it from its own export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfs: Option<NfsCounters>,
    /// Counters of the server machine that serves the file system under test. Such a sample is the server's: besides this field,
    /// it holds only the server's devices (named with a `server:` prefix) and journals, at the time that
    /// [`Evidence::server_clock`] gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerCounters>,
}

/// Counters of a server machine that serves the file system under test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCounters {
    /// CPU time of the whole machine, in ticks of [`Evidence::ticks_per_second`].
    pub cpu: Option<CpuTicks>,
    /// Memory, from /proc/meminfo.
    pub memory: Option<Memory>,
}

/// The offset between the server's CLOCK_MONOTONIC and the clock of [`Evidence::samples`]. The server's clock was read between
/// two readings of the local clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerClock {
    /// Server's clock minus local clock, at the midpoint of the two local readings.
    pub ahead_ns: i64,
    /// Half the time between the two local readings: the largest error of `ahead_ns`.
    pub uncertain_ns: u64,
}

/// cpu.stat of a cgroup with a quota (v1 or v2): the engine's cgroup or ancestor that throttled it most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuQuota {
    /// CPUs that the quota grants: quota over period.
    pub cpus: f64,
    /// Number of periods in which it was throttled.
    pub throttled_periods: u64,
    /// Number of all periods.
    pub periods: u64,
    /// Time that its tasks were throttled, summed over CPUs.
    pub throttled_ns: u64,
}

/// Counters of a network interface, from /proc/net/dev.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetCounters {
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Speed of the link as the kernel reports it, in megabits per second; `None` where it doesn't report one.
    pub speed_mbps: Option<u64>,
}

/// Counters of a block device, from /sys/block/*/stat (Documentation/block/stat.rst).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCounters {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read (512-byte sectors times 512).
    pub read_bytes: u64,
    /// Time that all reads waited, summed, in milliseconds.
    pub read_wait_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time that all writes waited, summed, in milliseconds.
    pub write_wait_ms: u64,
    /// I/Os in flight now (a gauge).
    pub in_flight: u64,
    /// Time with at least one I/O in flight, in milliseconds.
    pub busy_ms: u64,
    /// Time multiplied by the number of I/Os in flight, in milliseconds.
    pub weighted_ms: u64,
    /// Discards completed.
    pub discards: Option<u64>,
    /// Flushes completed.
    pub flushes: Option<u64>,
}

/// CPU time in ticks, from /proc/stat (proc(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// User mode, including nice.
    pub user: u64,
    /// Kernel mode.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while waiting for I/O.
    pub iowait: Option<u64>,
    /// Interrupts, hard and soft.
    pub irq: Option<u64>,
    /// Taken by the hypervisor (steal).
    pub steal: Option<u64>,
}

/// Counters of processes, from /proc/PID/stat and /proc/PID/io.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessCounters {
    /// Number of processes and threads.
    pub tasks: u32,
    /// CPU time in user mode, in ticks.
    pub user_ticks: u64,
    /// CPU time in kernel mode, in ticks.
    pub system_ticks: u64,
    /// CPU time of the busiest single thread, in ticks.
    pub busiest_thread_ticks: Option<u64>,
    /// Bytes that read-like calls returned; asynchronous I/O (libaio, io_uring) is not counted here.
    pub read_chars: Option<u64>,
    /// Bytes that write-like calls took.
    pub write_chars: Option<u64>,
    /// Bytes that the block layer was asked to read for these processes.
    pub read_bytes: Option<u64>,
    /// Bytes that were sent, or will be sent, to the block layer for these processes.
    pub write_bytes: Option<u64>,
}

/// Memory of the machine in bytes, from /proc/meminfo.
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

/// Counters of the virtual memory, from /proc/vmstat.
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
    /// Pages of files that the kernel reclaimed from the page cache, because memory was short.
    #[serde(default)]
    pub pgsteal_file: Option<u64>,
    /// Pages of files that were read again after the kernel had evicted them from the page cache, for any reason.
    #[serde(default)]
    pub workingset_refault_file: Option<u64>,
    /// Whether the kernel evicts cold pages without memory pressure (DAMON); `pgsteal_file` doesn't count these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_cold_pages: bool,
    /// How often the page cache was dropped on request (drop_caches).
    #[serde(default)]
    pub drop_pagecache: Option<u64>,
}

/// Stall times of one resource, from /proc/pressure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// Time with at least one task stalled, in microseconds.
    pub some_us: u64,
    /// Time with all tasks stalled, in microseconds.
    pub full_us: Option<u64>,
}

/// I/O of a cgroup, from blkio (v1) or io.stat (v2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupIo {
    /// Number of reads.
    pub reads: Option<u64>,
    /// Bytes that were read.
    pub read_bytes: Option<u64>,
    /// Number of writes.
    pub writes: Option<u64>,
    /// Bytes that were written.
    pub write_bytes: Option<u64>,
}

/// A process that is not diskproof's and that did I/O, used CPU or had files of the file system under test open during the trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherProcess {
    /// Process id.
    pub pid: u32,
    /// Command name (comm).
    pub comm: String,
    /// Bytes that it read from the block layer during the trial.
    pub read_bytes: u64,
    /// Bytes that it wrote to the block layer during the trial.
    pub write_bytes: u64,
    /// CPU that it used during the trial, user and system, in ticks of [`Evidence::ticks_per_second`], including its children
    /// that it waited for. `None` in records that are older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ticks: Option<u64>,
    /// Whether it, or a child that it waited for, had a file of the file system under test or one of the devices under test open.
    /// `None` where open files could not be read, or in an existing directory, where files of others are expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_ground: Option<bool>,
    /// Whether it is a kernel thread (PF_KTHREAD), which works on behalf of others. The bytes of kernel threads are not read, so
    /// they are 0. `None` in records that are older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<bool>,
}

/// A change of the limits of a guest's disk by its host, during the trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostChange {
    /// The disk's name in the guest.
    pub device: String,
    /// When the limits changed, in milliseconds since the host saw the load begin.
    pub after_ms: u64,
    /// All limits of the disk from then on.
    pub limits: Limits,
}

/// All observations around one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// USER_HZ of the kernel: the unit of all tick counters.
    pub ticks_per_second: u64,
    /// Samples in time order: at least one before the engine starts and one after it ends.
    pub samples: Vec<Sample>,
    /// Other processes between the first and the last sample: all that used the device or file system under test, the first
    /// twenty by I/O, the first twenty by CPU, and the first twenty kernel threads by CPU. Sorted by bytes, then by CPU, largest
    /// first.
    pub others: Vec<OtherProcess>,
    /// Whether `others` is complete (as root) or only partial.
    pub others_complete: bool,
    /// CPU of all user processes that are not diskproof's, listed in `others` or not, in ticks. It lacks processes that can't be
    /// seen, and ended ones whose parent did not wait for them. `None` when it wasn't counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cpu_ticks: Option<u64>,
    /// CPU of all kernel threads, in ticks. `None` when it wasn't counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_cpu_ticks: Option<u64>,
    /// Samples of the host that runs the guest, where diskproof reaches that host: one just before and one just after the guest
    /// measured. Its devices are named with a `host:` prefix. Its throttles are the limits of the guest's disks, by their
    /// names in the guest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<Sample>,
    /// Changes that the host made to the limits of the guest's disks during the trial, as the experiment says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_changes: Vec<HostChange>,
    /// The offset of the server's clock, where another machine serves the file system under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_clock: Option<ServerClock>,
    /// Times when the agent process itself did not run: a thread that wakes ten times a second did not wake for half a second or more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_gaps: Vec<Gap>,
}

/// A time in which a thread that should have run did not run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// When the thread last ran, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// When it ran again, CLOCK_MONOTONIC.
    pub end_ns: u64,
    /// The part of this time in which the thread was ready and waited for a CPU; `None` where the kernel doesn't report it. For
    /// the rest it was stopped.
    pub cpu_wait_ns: Option<u64>,
}
