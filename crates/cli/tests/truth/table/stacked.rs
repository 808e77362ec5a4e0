//! Directories on stacked file systems: the lowest one decides, and if nothing below can be seen, the program says so.

use crate::truth::scenario::{Scenario, Source, truth};
use record::finding::{Claim, Severity};
use record::judged::LimitKind;

pub(super) fn scenarios() -> Vec<Scenario> {
    [memory(), disk(), fuse()].concat()
}

fn memory() -> Vec<Scenario> {
    let on = |name, stack, workload, made| {
        truth("memory below", name, stack, workload)
            .made(made)
            .claim(Claim::MemoryBacked, Severity::Void)
            .served(Source::PageCache, 1.0, 0.02)
    };
    vec![
        on(
            "overlay-on-tmpfs",
            "overlay-on-tmpfs",
            "rw: randread, bs: 4k, iodepth: 4, size: 16m, direct: 1, rate_iops: 1000",
            "an overlay whose upper layer is on tmpfs",
        ),
        on(
            "overlay-on-tmpfs-write",
            "overlay-on-tmpfs",
            "engine: fio, rw: write, bs: 64k, size: 16m, direct: 0, end_fsync: 1, rate: 16m",
            "an overlay whose upper layer is on tmpfs, by fio, buffered and flushed",
        ),
        on(
            "bound-tmpfs",
            "bound-tmpfs",
            "engine: fio, rw: randrw, bs: 16k, iodepth: 1, size: 16m, direct: 1, rate_iops: 400",
            "a directory of tmpfs, mounted elsewhere",
        ),
    ]
}

fn disk() -> Vec<Scenario> {
    let on = |name, workload| {
        truth("overlay on a disk", name, "overlay-on-ext4", workload)
            .made("an overlay whose upper layer is on ext4 on a loop device")
            .limited_by(&[LimitKind::AskedRate])
            .served(Source::Device, 1.0, 0.03)
    };
    vec![
        on("overlay-on-ext4", "rw: randread, bs: 4k, iodepth: 8, size: 32m, direct: 1, rate_iops: 300"),
        on("overlay-on-ext4-write", "rw: randwrite, bs: 64k, iodepth: 2, size: 32m, direct: 1, rate: 16m"),
    ]
}

fn fuse() -> Vec<Scenario> {
    let on = |name, workload| {
        truth("FUSE", name, "fuse", workload)
            .made("a directory that bindfs serves: nothing below can be seen")
            .claim(Claim::SourceUnknown, Severity::Caveat)
            .served(Source::Device, 0.0, 0.01)
    };
    vec![
        on("fuse-read", "rw: randread, bs: 4k, iodepth: 4, size: 16m, direct: 1, rate_iops: 300"),
        on("fuse-write", "engine: fio, rw: write, bs: 64k, iodepth: 1, size: 16m, direct: 1, rate: 8m"),
    ]
}
