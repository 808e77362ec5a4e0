//! Scenarios with a known limit, or with other activity beside them.

use crate::truth::injection::Injection;
use crate::truth::scenario::{Scenario, Source, truth};
use record::finding::{Claim, Severity};
use record::judged::LimitKind;
use std::time::Duration;

pub(super) fn scenarios() -> Vec<Scenario> {
    [depth(), asked(), cpu(), network(), files(), changes(), others(), neighbours(), amplified()].concat()
}

fn depth() -> Vec<Scenario> {
    vec![
        truth("queue depth", "depth-1", "free", "rw: randread, bs: 4k, iodepth: 1, size: 64m, direct: 1")
            .made("one I/O at a time on a volume without limits")
            .limited_by(&[LimitKind::QueueDepth])
            .served(Source::Device, 1.0, 0.02)
            .needs_cpu()
            .needs_disk(),
    ]
}

fn asked() -> Vec<Scenario> {
    vec![
        truth(
            "asked rate",
            "rate",
            "raw",
            "rw: randread, bs: 4k, iodepth: 8, size: 16m, direct: 1, rate_iops: 100",
        )
        .made("100 IOPS are asked of a volume of 300")
        .limited_by(&[LimitKind::AskedRate])
        .served(Source::Device, 1.0, 0.02),
        truth(
            "asked rate",
            "thinktime",
            "raw",
            "rw: randread, bs: 4k, iodepth: 1, size: 16m, direct: 1, thinktime: 20ms",
        )
        .made("a pause of 20 ms after each I/O")
        .limited_by(&[LimitKind::AskedRate])
        .served(Source::Device, 1.0, 0.02),
    ]
}

fn cpu() -> Vec<Scenario> {
    vec![
        truth("compression", "compressing", "free-zlib", "engine: corpus, corpus: LETTERS")
            .made("zlib:9 finds matches everywhere in a random order of two letters: 0.4 MB/s, of one core at a time")
            .claim(Claim::Compressed, Severity::Caveat)
            .limited_by(&[LimitKind::Cpu])
            .needs_cpu(),
        truth(
            "generator",
            "generator",
            "free-ext4",
            "rw: randread, bs: 4k, iodepth: 128, size: 64m, direct: 1, layout: hole",
        )
        .made("a sparse file at depth 128: no storage is asked, so the generator runs all the time")
        .claim(Claim::ServedFromHoles, Severity::Void)
        .claim(Claim::EngineCpuBound, Severity::Caveat)
        .limited_by(&[LimitKind::Generator, LimitKind::Memory])
        .needs_cpu(),
        truth("CPU quota", "quota", "free", "rw: randread, bs: 4k, iodepth: 32, size: 64m, direct: 1")
            .made("a cgroup leaves the engine 1 ms of CPU in each 50 ms")
            .injection(Injection::Quota { micros: 1000 })
            .claim(Claim::CpuQuota, Severity::Caveat)
            .limited_by(&[LimitKind::CpuQuota])
            .served(Source::Device, 1.0, 0.02),
    ]
}

fn network() -> Vec<Scenario> {
    vec![
        truth("network", "network", "link", "rw: randread, bs: 32k, iodepth: 4, size: 4m, direct: 1")
            .made("a directory served over a link of 10 Mbit/s")
            .claim(Claim::NetworkBound, Severity::Caveat)
            .claim(Claim::SourceUnknown, Severity::Caveat)
            .limited_by(&[LimitKind::Network]),
    ]
}

fn files() -> Vec<Scenario> {
    vec![
        truth(
            "shared file",
            "shared-direct",
            "ext4",
            "rw: randread, bs: 4k, iodepth: 4, numjobs: 4, filename: one, size: 16m, direct: 1",
        )
        .made("four jobs read one file, directly")
        .claim(Claim::SharedFile, Severity::Note)
        .limited_by(&[LimitKind::Throttle])
        .served(Source::Device, 1.0, 0.02),
        truth(
            "shared file",
            "shared-buffered",
            "free-ext4",
            "rw: read, bs: 64k, numjobs: 2, filename: one, size: 16m, direct: 0, rate: 16m, ramp_time: 0s",
        )
        .made("two jobs read one file one after the other, buffered: the second finds it in memory")
        .claim(Claim::SharedFile, Severity::Caveat)
        .claim(Claim::ServedFromPageCache, Severity::Caveat)
        .claim(Claim::SmallerThanMemory, Severity::Caveat),
        truth("journal", "journal", "free-ext4", "rw: randwrite, bs: 4k, size: 16m, direct: 1, fsync: 1")
            .made("each write is followed by fsync")
            .claim(Claim::JournalBound, Severity::Note)
            .limited_by(&[LimitKind::Journal])
            .needs_disk(),
        truth(
            "lock",
            "lock",
            "free-ext4",
            // so many blocks that a fast disk can't write most of them within the trial: writes into written ones go side by side
            "rw: randwrite, bs: 512, iodepth: 16, size: 256m, direct: 1, layout: unwritten, norandommap: 1",
        )
        .made("writes of less than a block into unwritten extents: ext4 makes one at a time")
        .claim(Claim::Serialized, Severity::Caveat)
        .limited_by(&[LimitKind::Lock])
        .needs_disk(),
    ]
}

fn changes() -> Vec<Scenario> {
    let mid = Duration::from_millis(1400);
    vec![
        truth(
            "throttle changed",
            "throttle-falls",
            "step",
            "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 2s",
        )
        .made("the limit falls from 500 to 200 IOPS in mid-trial")
        .injection(Injection::Limit { volume: "step", to: 200, after: mid })
        .claim(Claim::ThrottleChanged, Severity::Caveat)
        .may(&[Claim::NotSteady, Claim::BurstExhausted, Claim::BelowModel])
        .served(Source::Device, 1.0, 0.02),
        truth(
            "throttle changed",
            "throttle-rises",
            "step",
            "rw: randwrite, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 2s",
        )
        .made("the limit rises from 500 to 1000 IOPS in mid-trial")
        .injection(Injection::Limit { volume: "step", to: 1000, after: mid })
        .claim(Claim::ThrottleChanged, Severity::Caveat)
        .may(&[Claim::NotSteady, Claim::RampUp, Claim::AboveModel])
        .served(Source::Device, 1.0, 0.02),
    ]
}

fn others() -> Vec<Scenario> {
    vec![
        truth("second writer", "writer", "step", "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1")
            .made("somebody else writes to the volume's device")
            .injection(Injection::Writer { volume: "step", from_mib: 20 })
            .claim(Claim::Interference, Severity::Caveat),
        truth(
            "second writer, asked rate",
            "writer-rate",
            "free",
            "rw: randwrite, bs: 4k, iodepth: 4, size: 64m, direct: 1, rate_iops: 200",
        )
        .made("somebody else writes to the volume's device, which is hardly asked")
        .injection(Injection::Writer { volume: "free", from_mib: 200 })
        .claim(Claim::Interference, Severity::Caveat)
        .limited_by(&[LimitKind::AskedRate])
        .needs_cpu(),
        truth("CPU hog", "hog", "raw", "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1")
            .made("somebody else computes on all cores")
            .injection(Injection::Hog)
            .claim(Claim::OthersUsedCpu, Severity::Note)
            .limited_by(&[LimitKind::Throttle])
            .served(Source::Device, 1.0, 0.02),
    ]
}

/// I/O on another file on the disk of the backing file.
fn neighbours() -> Vec<Scenario> {
    let beside = |writes| Injection::Neighbour { volume: "free", threads: 8, writes };
    let scenario = |name, stack, workload, writes, made| {
        truth("neighbour below", name, stack, workload)
            .made(made)
            .injection(beside(writes))
            .claim(Claim::Interference, Severity::Caveat)
            .may(&[Claim::NotSteady])
    };
    let reads = "eight threads read another file of the disk that holds the backing file, 256 KiB at a time";
    let writes =
        "eight threads write to another file of the disk that holds the backing file, 256 KiB at a time";
    vec![
        scenario(
            "neighbour-reads",
            "free",
            "rw: randread, bs: 4k, iodepth: 4, size: 64m, direct: 1",
            false,
            reads,
        )
        .limited_by(&[LimitKind::Others])
        .served(Source::Device, 1.0, 0.02),
        scenario(
            "neighbour-reads-ext4",
            "free-ext4",
            "engine: fio, rw: randread, bs: 4k, iodepth: 1, size: 64m, direct: 1",
            false,
            reads,
        )
        .limited_by(&[LimitKind::Others])
        .served(Source::Device, 1.0, 0.02),
        scenario(
            "neighbour-writes-xfs",
            "free-xfs",
            "rw: randwrite, bs: 4k, iodepth: 16, size: 64m, direct: 1",
            true,
            writes,
        )
        .limited_by(&[LimitKind::Others]),
        scenario(
            "neighbour-of-a-limit",
            "step",
            "rw: randread, bs: 4k, iodepth: 1, size: 16m, direct: 1",
            false,
            "32 threads read another file of the disk that holds a volume of 500 IOPS, which it can't reach beside them",
        )
        .injection(Injection::Neighbour { volume: "step", threads: 32, writes: false })
        .short_of_limit()
        .limited_by(&[LimitKind::Others])
        .served(Source::Device, 1.0, 0.02),
        truth(
            "neighbour below, harmless",
            "neighbour-harmless",
            "step",
            "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1",
        )
        .made("one thread reads another file of the disk that holds the backing file, which leaves the volume its 500 IOPS")
        .injection(Injection::Neighbour { volume: "step", threads: 1, writes: false })
        .limited_by(&[LimitKind::Throttle])
        .served(Source::Device, 1.0, 0.02),
    ]
}

/// Write amplification with a known cause.
fn amplified() -> Vec<Scenario> {
    let scenario = |name, stack, workload, made| {
        truth("write amplification", name, stack, workload)
            .made(made)
            .claim(Claim::WriteAmplified, Severity::Note)
            .served(Source::Device, 1.0, 0.05)
    };
    vec![
        scenario(
            "amplified-data-journal",
            "free-data-journal",
            "rw: randwrite, bs: 4k, iodepth: 4, size: 16m, direct: 1, fsync: 8, rate_iops: 300",
            "ext4 writes the data to its journal first, then in place",
        )
        .may(&[Claim::JournalBound]),
        scenario(
            "amplified-fsync",
            "free-ext4",
            "engine: fio, rw: randwrite, bs: 4k, size: 16m, direct: 1, fsync: 1, rate_iops: 300",
            "each write is followed by a commit of ext4's journal",
        ),
        scenario(
            "amplified-limit",
            "journal-limit",
            "rw: randwrite, bs: 4k, iodepth: 4, size: 16m, direct: 1, fsync: 4",
            "a limit of 300 writes per second is met with the journal's writes among them",
        ),
        scenario(
            "amplified-btrfs",
            "btrfs",
            "rw: randwrite, bs: 4k, iodepth: 4, size: 16m, direct: 1, fsync: 4, rate_iops: 300",
            "btrfs copies its trees for each commit",
        ),
    ]
}
