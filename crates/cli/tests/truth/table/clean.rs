//! Clean scenarios: there must be no caveat.

use crate::truth::scenario::{Scenario, clean};
use record::judged::LimitKind;

pub(super) fn scenarios() -> Vec<Scenario> {
    let throttled = [
        clean("clean-randread", "raw", "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1"),
        clean("clean-randwrite", "raw", "rw: randwrite, bs: 4k, iodepth: 16, size: 16m, direct: 1"),
        clean("clean-mix", "raw", "rw: randrw, rwmixread: 70, bs: 4k, iodepth: 16, size: 16m, direct: 1"),
        clean("clean-jobs", "ext4", "rw: randread, bs: 4k, iodepth: 8, numjobs: 2, size: 8m, direct: 1"),
        clean("clean-xfs-write", "xfs", "rw: randwrite, bs: 16k, iodepth: 16, size: 16m, direct: 1"),
        clean("clean-btrfs", "btrfs", "rw: randread, bs: 16k, iodepth: 16, size: 16m, direct: 1"),
        clean("clean-raid0", "raid0", "rw: randread, bs: 16k, iodepth: 32, size: 32m, direct: 1"),
        clean("clean-raid1-write", "raid1", "rw: randwrite, bs: 16k, iodepth: 16, size: 16m, direct: 1"),
        clean("clean-stream-read", "band", "rw: read, bs: 128k, iodepth: 8, size: 32m, direct: 1"),
        clean("clean-stream-write", "band", "rw: write, bs: 128k, iodepth: 8, size: 32m, direct: 1"),
        clean(
            "clean-verified",
            "raw",
            "rw: randrw, bs: 4k, iodepth: 16, size: 16m, direct: 1, verify: crc32c",
        ),
        clean(
            "clean-duplicates",
            "ext4",
            "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1, dedupe_percentage: 90",
        )
        .made("nine of ten blocks are the same, on a file system that doesn't care"),
        clean(
            "clean-incompressible",
            "btrfs-zstd",
            "rw: randread, bs: 16k, iodepth: 16, size: 16m, direct: 1",
        )
        .made("the file system compresses, but the data can't be"),
    ]
    .map(|scenario| scenario.limited_by(&[LimitKind::Throttle]));
    let mut all = throttled.to_vec();
    all.push(
        clean(
            "clean-buffered-write",
            "free-ext4",
            "rw: write, bs: 64k, size: 16m, direct: 0, time_based: 0, end_fsync: 1, rate: 16m, ramp_time: 0s",
        )
        .made("buffered, once over the file, and flushed within the measured time"),
    );
    all
}
