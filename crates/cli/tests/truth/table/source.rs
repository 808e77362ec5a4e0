//! Scenarios with a misleading source or destination of bytes.

use crate::truth::injection::Injection;
use crate::truth::scenario::{Scenario, Source, truth};
use record::finding::{Claim, Severity};
use record::judged::LimitKind;

pub(super) fn scenarios() -> Vec<Scenario> {
    [reads(), below(), writes(), compression(), memory(), content()].concat()
}

fn reads() -> Vec<Scenario> {
    vec![
        truth(
            "holes",
            "hole",
            "free-ext4",
            "rw: randread, bs: 4k, iodepth: 8, size: 16m, direct: 1, layout: hole, rate_iops: 2000",
        )
        .made("a sparse file")
        .claim(Claim::ServedFromHoles, Severity::Void)
        .served(Source::Hole, 1.0, 0.02),
        truth(
            "holes",
            "unwritten",
            "free-xfs",
            "rw: read, bs: 64k, iodepth: 4, size: 16m, direct: 1, layout: unwritten, rate: 32m",
        )
        .made("a file that fallocate reserved and nobody wrote")
        .claim(Claim::ServedFromHoles, Severity::Void)
        .served(Source::Hole, 1.0, 0.02),
        truth(
            "holes",
            "half-hole",
            "free-ext4",
            "rw: randread, bs: 4k, iodepth: 8, size: 64m, direct: 1, rate_iops: 1500",
        )
        .made("the first half of the written file is punched out before the trial")
        .injection(Injection::Punch { percent: 50 })
        .claim(Claim::ServedFromHoles, Severity::Caveat)
        .served(Source::Hole, 0.5, 0.06)
        .served(Source::Device, 0.5, 0.06),
        truth("holes", "hole-throttled", "ext4", "rw: randread, bs: 4k, iodepth: 16, size: 64m, direct: 1")
            .made("a fifth of the file is punched out; the volume is throttled")
            .injection(Injection::Punch { percent: 20 })
            .claim(Claim::ServedFromHoles, Severity::Caveat)
            .may(&[Claim::AboveModel])
            .served(Source::Hole, 0.2, 0.1)
            .limited_by(&[LimitKind::Throttle]),
        truth(
            "page cache",
            "cached",
            "free-ext4",
            "rw: randread, bs: 4k, size: 16m, direct: 0, cache: warm, rate_iops: 2000",
        )
        .made("the file was read into the page cache")
        .claim(Claim::ServedFromPageCache, Severity::Void)
        .claim(Claim::SmallerThanMemory, Severity::Caveat)
        .served(Source::PageCache, 1.0, 0.1)
        .in_memory(),
        truth(
            "page cache",
            "cached-90",
            "free-ext4",
            "rw: read, bs: 64k, size: 8m, direct: 0, rate: 80m, ramp_time: 0s",
        )
        .made("ten passes over a cold file: the first from the device, nine from memory")
        .claim(Claim::ServedFromPageCache, Severity::Void)
        .claim(Claim::SmallerThanMemory, Severity::Caveat)
        // one sample at each end of the window is 2 % of all
        .served(Source::PageCache, 0.9, 0.05)
        .served(Source::Device, 0.1, 0.05)
        .by_native(),
        truth(
            "page cache",
            "cached-half",
            "free-xfs",
            "rw: read, bs: 64k, size: 8m, direct: 0, rate: 16m, ramp_time: 0s",
        )
        .made("two passes over a cold file")
        .claim(Claim::ServedFromPageCache, Severity::Caveat)
        .claim(Claim::SmallerThanMemory, Severity::Caveat)
        .served(Source::PageCache, 0.5, 0.06)
        .by_native(),
    ]
}

/// Holes in the backing file of a loop device.
fn below() -> Vec<Scenario> {
    let scenario = |name, workload, percent, share| {
        truth("holes below", name, "free", workload)
            .made("a part of the backing file is punched out under the loop device before the trial")
            .injection(Injection::PunchBelow { volume: "free", mib: 64, percent })
            .claim(Claim::ServedFromHoles, if share > 0.6 { Severity::Void } else { Severity::Caveat })
            .served(Source::Hole, share, 0.06)
            .served(Source::Device, 1.0 - share, 0.06)
    };
    vec![
        scenario(
            "below-most",
            "rw: randread, bs: 4k, iodepth: 16, size: 64m, direct: 1, rate_iops: 1500",
            88,
            0.88,
        ),
        scenario(
            "below-half",
            "engine: fio, rw: randread, bs: 16k, iodepth: 4, size: 64m, direct: 1",
            50,
            0.5,
        ),
        scenario("below-all", "rw: read, bs: 64k, iodepth: 1, size: 64m, direct: 1", 100, 1.0),
    ]
}

fn writes() -> Vec<Scenario> {
    vec![
        truth(
            "not durable",
            "write-back",
            "free-ext4",
            "rw: write, bs: 64k, size: 64m, direct: 0, rate: 32m, end_fsync: 0",
        )
        .made("buffered writes, never flushed by the trial (somebody else's sync may do so)")
        .claim(Claim::NotDurable, Severity::Caveat)
        .may(&[Claim::SmallerThanMemory]),
        truth(
            "page cache",
            "overwritten",
            "free-ext4",
            "rw: write, bs: 64k, size: 4m, direct: 0, rate: 80m, end_fsync: 1, ramp_time: 0s",
        )
        .made("twenty passes over a small file in memory, then a flush (somebody else's sync adds some)")
        .claim(Claim::ServedFromPageCache, Severity::Caveat)
        .claim(Claim::SmallerThanMemory, Severity::Caveat)
        // an unoptimised build hardly generates content at this rate
        .may(&[Claim::EngineCpuBound]),
        truth(
            "not durable, holes",
            "hole-and-write-back",
            "free-ext4",
            "rw: randrw, bs: 4k, size: 256m, direct: 0, layout: hole, thinktime: 1ms, end_fsync: 0",
        )
        .made("reads from a sparse file, and buffered writes into it that are never flushed")
        .claim(Claim::ServedFromHoles, Severity::Void)
        .claim(Claim::NotDurable, Severity::Void)
        .may(&[Claim::SmallerThanMemory]),
    ]
}

fn compression() -> Vec<Scenario> {
    vec![
        truth("compressed", "compressed-read", "free-zstd", "rw: read, bs: 128k, iodepth: 4, size: 64m, direct: 1, rate: 24m, buffer_compress_percentage: 75")
            .made("three quarters of each block are zeros, under zstd")
            .claim(Claim::Compressed, Severity::Caveat)
            .served(Source::Other, 0.72, 0.08),
        truth("compressed", "compressed-write", "free-zstd", "rw: write, bs: 128k, size: 32m, direct: 0, time_based: 0, end_fsync: 1, ramp_time: 0s, buffer_compress_percentage: 50")
            .made("half of each block is zeros, under zstd, flushed")
            .claim(Claim::Compressed, Severity::Caveat)
            .served(Source::Other, 0.47, 0.08)
            .needs_disk(),
        truth("compressed", "repeated", "free-zstd", "rw: read, bs: 4k, iodepth: 8, size: 64m, direct: 1, rate: 16m, dedupe_percentage: 80")
            .made("four of five blocks are repeated within what zstd sees at once")
            .claim(Claim::Compressed, Severity::Caveat),
        truth("compressed, page cache", "compressed-cached", "free-zstd", "rw: randread, bs: 16k, size: 16m, direct: 0, cache: warm, rate_iops: 500, buffer_compress_percentage: 75")
            .made("compressed data that memory holds")
            .claim(Claim::Compressed, Severity::Note)
            .claim(Claim::ServedFromPageCache, Severity::Void)
            .claim(Claim::SmallerThanMemory, Severity::Caveat)
            .served(Source::PageCache, 1.0, 0.1)
            .in_memory(),
        truth("compressed, page cache", "compressed-filling", "free-zstd", "rw: randread, bs: 4k, size: 64m, direct: 0, cache: cold, rate_iops: 500, buffer_compress_percentage: 75")
            .made("a cold cache that comes to hold a whole extent for each 4 KiB that are missed")
            .claim(Claim::Compressed, Severity::Caveat)
            .claim(Claim::ServedFromPageCache, Severity::Caveat)
            .claim(Claim::SmallerThanMemory, Severity::Caveat)
            .served(Source::PageCache, 0.35, 0.25)
            .needs_cpu(),
    ]
}

fn memory() -> Vec<Scenario> {
    let on = |name, stack, made| {
        truth(
            "memory",
            name,
            stack,
            "rw: randread, bs: 4k, iodepth: 4, size: 16m, direct: 1, rate_iops: 1000",
        )
        .made(made)
        .claim(Claim::MemoryBacked, Severity::Void)
    };
    vec![
        on("tmpfs", "tmpfs", "tmpfs").served(Source::PageCache, 1.0, 0.02),
        on("zram", "zram", "ext4 on zram"),
        on("loop-on-tmpfs", "loop-on-tmpfs", "ext4 on a loop device over a file on tmpfs"),
        truth(
            "host cache",
            "host-cached",
            "buffered-loop",
            "rw: read, bs: 64k, iodepth: 2, size: 8m, direct: 1, rate: 80m, ramp_time: 0s",
        )
        .made("ten passes through a loop device without direct I/O: nine from the host's memory")
        .claim(Claim::ServedFromHostCache, Severity::Void)
        .host_cached(0.9),
        truth(
            "host cache, cold",
            "host-cold",
            "buffered-loop",
            "rw: read, bs: 64k, iodepth: 2, size: 32m, direct: 1, rate: 16m, ramp_time: 0s",
        )
        .made("half a pass through a loop device without direct I/O, cold: all from the disk")
        .claim(Claim::DoubleCaching, Severity::Caveat),
    ]
}

fn content() -> Vec<Scenario> {
    vec![
        truth(
            "corrupt",
            "corrupted",
            "step",
            "rw: randrw, bs: 4k, iodepth: 16, size: 16m, direct: 1, verify: crc32c",
        )
        .made("the backing file is overwritten behind the device's back")
        .injection(Injection::Corrupt { volume: "step", mib: 8 })
        .claim(Claim::WrongContent, Severity::Void)
        .may(&[Claim::TrialsFailed, Claim::IoErrors]),
        truth("failed", "full", "small", "rw: randwrite, bs: 4k, size: 64m, direct: 1")
            .made("the existing directory's file system is filled up before the data is laid out")
            .injection(Injection::Full)
            .claim(Claim::TrialsFailed, Severity::Void),
    ]
}
