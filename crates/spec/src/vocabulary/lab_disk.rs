//! Disks of lab guests.

use super::limits::{BPS, IOPS, READ_BPS, READ_IOPS, TOTAL_BPS, TOTAL_IOPS, WRITE_BPS, WRITE_IOPS};
use super::shape::{Shape, Table, key, needed};

/// A disk of a lab guest.
pub(crate) static LAB_DISK: Table = Table {
    what: "a lab's disk",
    keys: &[
        needed("size", Shape::Size, "Size of the disk"),
        IOPS,
        READ_IOPS,
        WRITE_IOPS,
        TOTAL_IOPS,
        BPS,
        READ_BPS,
        WRITE_BPS,
        TOTAL_BPS,
        key("burst", Shape::Map(&BURST), "More than `iops`, until its credit is used up"),
        key("changes", Shape::ListOf(&Shape::Map(&LIMIT_CHANGE)), "Other limits in the course of each trial"),
        key("bus", Shape::Choice(BUSES), "How the guest sees it; default: virtio-blk"),
        key("cache", Shape::Choice(DISK_CACHES), "How QEMU opens the file behind it; default: none"),
        key("aio", Shape::Choice(AIOS), "How QEMU submits I/O to that file; default: threads"),
        key("format", Shape::Choice(FORMATS), "Format of that file; default: raw"),
        key("iothread", Shape::Switch, "Whether the disk has a thread of its own in QEMU; default: 0"),
    ],
    instead: &[
        ("bw", "write `bps`"),
        ("bandwidth", "write `bps`"),
        ("throughput", "write `bps`"),
        ("driver", "write `bus`"),
        ("io", "write `aio`"),
        ("image", "write `format`"),
        ("emulate", "a lab's disk is emulated: write `size`, `iops`... directly"),
    ],
};

/// A change of a lab disk's limits at some time.
pub(crate) static LIMIT_CHANGE: Table = Table {
    what: "a change of limits",
    keys: &[
        needed("after", Shape::Duration, "When, from the beginning of the load, its ramp included"),
        IOPS,
        READ_IOPS,
        WRITE_IOPS,
        TOTAL_IOPS,
        BPS,
        READ_BPS,
        WRITE_BPS,
        TOTAL_BPS,
    ],
    instead: &[("at", "write `after`"), ("time", "write `after`")],
};

/// A burst.
pub(crate) static BURST: Table = Table {
    what: "a burst",
    keys: &[
        needed("iops", Shape::Integer, "I/Os per second while the credit lasts"),
        needed("seconds", Shape::Integer, "How long a full credit lasts at that rate"),
    ],
    instead: &[],
};

/// How a guest sees a disk.
pub(crate) static BUSES: &[&str] = &["virtio-blk", "virtio-scsi", "nvme"];
/// How QEMU opens the backing file of a disk.
pub(crate) static DISK_CACHES: &[&str] = &["none", "writeback", "writethrough", "directsync"];
/// How QEMU submits I/O to that file.
pub(crate) static AIOS: &[&str] = &["threads", "native", "io_uring"];
/// The formats of that file.
pub(crate) static FORMATS: &[&str] = &["raw", "qcow2"];
