//! Job files, variants further down a stack, and clean counterparts, which look like a fault and have none.

use crate::truth::injection::Injection;
use crate::truth::scenario::{Scenario, Source, clean, truth};
use record::finding::{Claim, Severity};
use record::judged::LimitKind;

pub(super) fn scenarios() -> Vec<Scenario> {
    [job_files(), amplified(), below(), neighbours(), honest()].concat()
}

fn job_files() -> Vec<Scenario> {
    vec![
        clean("jobfile-flushed", "free-ext4", "fio: flushed.fio")
            .made("buffered, once over the file; the job file's own `end_fsync=1` flushes it")
            .never(&[Claim::NotDurable]),
        truth("not durable", "jobfile-unflushed", "free-ext4", "fio: unflushed.fio")
            .made("a job file with buffered writes and without a flush")
            .claim(Claim::NotDurable, Severity::Caveat)
            .may(&[Claim::SmallerThanMemory]),
        truth("not as asked", "jobfile-no-runtime", "ext4", "fio: no-runtime.fio")
            .made("a job file that doesn't say how long it runs")
            .claim(Claim::NotAsAsked, Severity::Note)
            .limited_by(&[LimitKind::Throttle])
            .served(Source::Device, 1.0, 0.02),
        truth("not as asked", "jobfile-libaio", "xfs", "fio: libaio.fio")
            .made("a job file that asks for libaio, which native replaces by io_uring")
            .claim(Claim::NotAsAsked, Severity::Note)
            .limited_by(&[LimitKind::Throttle])
            .served(Source::Device, 1.0, 0.02)
            .by_native(),
        clean("jobfile-plain", "ext4", "fio: plain.fio")
            .made("a job file of which everything is done as asked")
            .limited_by(&[LimitKind::Throttle])
            .never(&[Claim::NotAsAsked]),
    ]
}

fn amplified() -> Vec<Scenario> {
    vec![
        truth(
            "write amplification",
            "amplified-data-journal-fio",
            "free-data-journal",
            "engine: fio, rw: randwrite, bs: 16k, size: 16m, direct: 1, fsync: 4, rate_iops: 150",
        )
        .made("ext4 writes the data to its journal first, then in place; larger blocks, one at a time")
        .claim(Claim::WriteAmplified, Severity::Note)
        .may(&[Claim::JournalBound])
        .served(Source::Device, 1.0, 0.05),
        clean(
            "written-in-place",
            "free-ext4",
            "rw: randwrite, bs: 4k, iodepth: 4, size: 16m, direct: 1, rate_iops: 300",
        )
        .made("ext4 with an ordered journal overwrites in place, without a flush of each write")
        .never(&[Claim::WriteAmplified]),
    ]
}

/// A file's blocks are holes of the image below, as in a thin or sparse image.
fn below() -> Vec<Scenario> {
    let scenario = |name, stack, workload, percent, share| {
        truth("holes below", name, stack, workload)
            .made("the blocks of a part of the file are punched out of the image that holds the file system")
            .injection(Injection::PunchUnder { volume: "free", percent })
            .claim(Claim::ServedFromHoles, if share > 0.6 { Severity::Void } else { Severity::Caveat })
            .served(Source::Hole, share, 0.06)
            .served(Source::Device, 1.0 - share, 0.06)
    };
    vec![
        scenario(
            "below-ext4",
            "free-ext4",
            "rw: randread, bs: 4k, iodepth: 8, size: 64m, direct: 1, rate_iops: 1500",
            50,
            0.5,
        ),
        scenario(
            "below-xfs",
            "free-xfs",
            "engine: fio, rw: randread, bs: 16k, iodepth: 4, size: 64m, direct: 1, rate_iops: 1000",
            88,
            0.88,
        ),
        clean(
            "below-whole",
            "free",
            "rw: randread, bs: 4k, iodepth: 16, size: 64m, direct: 1, rate_iops: 1500",
        )
        .made("an image without holes")
        .limited_by(&[LimitKind::AskedRate])
        .never(&[Claim::ServedFromHoles])
        .needs_disk(),
    ]
}

fn neighbours() -> Vec<Scenario> {
    let scenario = |name, stack, workload, writes, made| {
        truth("neighbour below", name, stack, workload)
            .made(made)
            .injection(Injection::Neighbour { volume: "free", threads: 8, writes })
            .claim(Claim::Interference, Severity::Caveat)
            .may(&[Claim::NotSteady])
            .limited_by(&[LimitKind::Others])
    };
    vec![
        scenario(
            "neighbour-reads-btrfs",
            "free-btrfs",
            "rw: randread, bs: 4k, iodepth: 8, size: 64m, direct: 1",
            false,
            "eight threads read another file of the disk below a btrfs, 256 KiB at a time",
        ),
        scenario(
            "neighbour-writes-fio",
            "free",
            "engine: fio, rw: randread, bs: 16k, iodepth: 2, size: 64m, direct: 1",
            true,
            "eight threads write to another file of the disk below while fio reads",
        ),
    ]
}

fn honest() -> Vec<Scenario> {
    vec![
        clean(
            "steady-limit",
            "step",
            "engine: fio, rw: randread, bs: 4k, iodepth: 8, size: 16m, direct: 1, runtime: 2s",
        )
        .made("a limit of 500 IOPS that doesn't change, no outage, nobody beside it")
        .limited_by(&[LimitKind::Throttle])
        .never(&[Claim::ThrottleChanged, Claim::NotSteady]),
    ]
}
