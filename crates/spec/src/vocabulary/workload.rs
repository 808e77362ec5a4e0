//! The keys of a workload, and the words for some of them.

use super::shape::{Shape, Table, key};

/// A workload.
pub(crate) static WORKLOAD: Table = Table {
    what: "a workload",
    keys: &[
        key("with", Shape::MapOf(&Shape::Levels), "Factors and their levels"),
        key(
            "engine",
            Shape::Choice(ENGINES),
            "Which engine performs it: native: diskproof's own, on io_uring (the default); fio; corpus: copies a tree of files; bonnie: Bonnie++",
        ),
        key(
            "corpus",
            Shape::Text,
            "engine: corpus: what is copied: mail, source-tree, photos (generated), or the absolute path of a directory",
        ),
        key("bonnie", Shape::Map(&BONNIE), "engine: bonnie: options of Bonnie++, by its own letters"),
        key("files", Shape::Integer, "corpus: files of a generated corpus (default: mail has 273273)"),
        key("scale", Shape::Percent, "corpus: instead of files, a share of the full number"),
        key("seed", Shape::Integer, "corpus: seed of names, sizes and content (default: 1)"),
        key("copier", Shape::Choice(COPIERS), "corpus: who copies (default: native, diskproof's own,)"),
        key("writers", Shape::Integer, "corpus: copiers at work at the same time (default: 1)"),
        key(
            "copies",
            Shape::Choice(COPIES),
            "corpus: each: every writer makes a whole copy (the default); one: they divide one copy among them",
        ),
        key(
            "order",
            Shape::Either(&[Shape::Choice(ORDERS), Shape::ListOf(&Shape::Choice(ORDERS))]),
            "corpus: order of names; a list gives each writer its own (default: ascending)",
        ),
        key(
            "preserve",
            Shape::Either(&[Shape::Choice(PRESERVE), Shape::ListOf(&Shape::Choice(PRESERVE))]),
            "corpus: what is kept beside content (default: mode, owner and mtime)",
        ),
        key("rw", Shape::Choice(RW), "Access pattern"),
        key("rwmixread", Shape::Integer, "Percentage of reads in a mix (default: 50)"),
        key("bs", Shape::Size, "Block size (default: 4k)"),
        key("bsrange", Shape::Text, "Block sizes drawn evenly from a range instead of bs, e.g. 4k-64k"),
        key(
            "bssplit",
            Shape::Text,
            "Block sizes with their shares of the I/Os instead of bs, e.g. 4k/60:64k/40; shares left out divide the rest",
        ),
        key("size", Shape::Size, "Size of each job's file or region; with `fio`, of all its jobs together"),
        key(
            "offset",
            Shape::Integer,
            "What is left out at the begin of each job's file or region (default: 0)",
        ),
        key("nrfiles", Shape::Integer, "Number of files each job's data is divided into (default: 1)"),
        key("filename", Shape::Text, "All jobs share one file (or region) of this name: a-z 0-9 . _ -"),
        key("iodepth", Shape::Integer, "I/Os in flight per job (default: 1)"),
        key("numjobs", Shape::Integer, "Identical jobs, each with its own file or region (default: 1)"),
        key("direct", Shape::Switch, "1: O_DIRECT, past the page cache; default 0, as in fio"),
        key(
            "ioengine",
            Shape::Choice(IOENGINES),
            "How I/O is issued. native: io_uring (the default), or psync for threads; fio: libaio (the default), psync at iodepth 1",
        ),
        key("fsync", Shape::Integer, "fsync after this many writes; 0: never"),
        key("fdatasync", Shape::Integer, "fdatasync after this many writes; 0: never"),
        key(
            "sync",
            Shape::Either(&[Shape::Choice(SYNC), Shape::Choice(COPY_SYNC), Shape::Switch]),
            "dsync: every write's data is durable before it completes; sync or 1: its metadata too; corpus: end, file or none",
        ),
        key(
            "end_fsync",
            Shape::Switch,
            "fsync at the end, inside the measured time (default: 1 for buffered writes)",
        ),
        key(
            "buffer_compress_percentage",
            Shape::Integer,
            "How compressible the data is, percent (default: 0)",
        ),
        key("dedupe_percentage", Shape::Integer, "Duplicate blocks in the data, percent (default: 0)"),
        key("rate_iops", Shape::Integer, "I/Os per second each job is held to"),
        key("rate", Shape::Integer, "Bytes per second each job is held to, e.g. 10m"),
        key(
            "rate_process",
            Shape::Choice(RATE_PROCESSES),
            "When the I/Os of a rate are due (default: linear)",
        ),
        key(
            "thinktime",
            Shape::Integer,
            "Pause after every thinktime_blocks I/Os; microseconds without a unit",
        ),
        key("thinktime_blocks", Shape::Integer, "I/Os between two pauses (default: 1)"),
        key(
            "runtime",
            Shape::Integer,
            "Measured time of this workload's trials, instead of measure's; seconds without a unit",
        ),
        key(
            "ramp_time",
            Shape::Integer,
            "Load before measuring begins, instead of measure's; seconds without a unit",
        ),
        key(
            "time_based",
            Shape::Switch,
            "0: a trial ends when every job went over its data once, if that is sooner (default: 1)",
        ),
        key(
            "verify",
            Shape::Either(&[Shape::Choice(VERIFY), Shape::Switch]),
            "Checksum in every block, checked when it is read; default: none; corpus: 0: the copy isn't compared with its source",
        ),
        key("random_distribution", Shape::Text, "Distribution of random offsets, e.g. random, zipf:1.1"),
        key("norandommap", Shape::Switch, "1: blocks may be hit again before all have been hit"),
        key("fio_options", Shape::MapOf(&Shape::Text), "Any other fio option, handed over as it is"),
        key("fio", Shape::Text, "Your own fio job file instead of the options above, relative to this file"),
        key("layout", Shape::Choice(LAYOUTS), "How the data is laid out before the trial (default: written)"),
        key(
            "cache",
            Shape::Choice(CACHES),
            "What the page cache holds when the trial begins (default: cold)",
        ),
    ],
    instead: &[
        ("readwrite", "write `rw`"),
        ("blocksize", "write `bs`"),
        ("block_size", "write `bs`"),
        ("qd", "write `iodepth`"),
        ("queue_depth", "write `iodepth`"),
        ("io_depth", "write `iodepth`"),
        ("threads", "write `numjobs`"),
        ("rwmixwrite", "write `rwmixread`: 100 minus it"),
        ("blocksize_range", "write `bsrange`"),
        ("timeout", "write `runtime`"),
        ("directory", "diskproof places the data itself; use `directory:` in a volume"),
        ("buffered", "write `direct`: 1 minus it"),
        ("loops", "rounds repeat: `measure: { rounds: ... }`"),
        ("refill_buffers", "always on"),
        ("randrepeat", "always off: every trial has its own seed"),
    ],
};

/// Options of Bonnie++.
pub(crate) static BONNIE: Table = Table {
    what: "options of Bonnie++",
    keys: &[
        key(
            "s",
            Shape::Size,
            "Data of the tests of one large file, whole MiB; at least twice the memory; left out: none of these tests",
        ),
        key("chunk", Shape::Size, "Its blocks, a power of two from 256 to 1m (default: 8k)"),
        key(
            "r",
            Shape::Size,
            "Your own word on the memory that s is to be twice of; 0: no check (default: the machine's)",
        ),
        key("n", Shape::Integer, "Files of the tests of many files, in 1024s; left out: none of these tests"),
        key("n_max", Shape::Size, "The largest of them (default: 0)"),
        key("n_min", Shape::Size, "The smallest of them (default: 0)"),
        key("n_dirs", Shape::Integer, "Directories they are in (default: 1)"),
        key("f", Shape::Switch, "1: fast mode, no tests of single characters"),
        key("b", Shape::Switch, "1: every write is flushed (no write buffering)"),
        key(
            "D",
            Shape::Switch,
            "1: direct I/O for block output; what is read goes through the page cache all the same",
        ),
        key("c", Shape::Integer, "Processes at once (default: 1)"),
    ],
    instead: &[
        ("size", "write `s`"),
        ("ram", "write `r`"),
        ("files", "write `n`"),
        ("d", "diskproof places the data itself; use `directory:` in a volume"),
        ("u", "diskproof runs it as the user it is itself"),
        ("m", "diskproof names the machine itself"),
        ("x", "rounds repeat: `measure: { rounds: ... }`"),
        ("z", "every trial has its own seed"),
    ],
};

/// fio's `rw`.
pub(crate) static RW: &[&str] = &[
    "read",
    "write",
    "randread",
    "randwrite",
    "rw",
    "readwrite",
    "randrw",
    "trim",
    "randtrim",
    "trimwrite",
    "randtrimwrite",
];
/// fio's `sync`.
pub(crate) static SYNC: &[&str] = &["none", "0", "dsync", "sync", "1"];
/// fio's `rate_process`.
pub(crate) static RATE_PROCESSES: &[&str] = &["linear", "poisson"];
/// Kinds of fio's `verify`, except those with which fio 3.33 did not detect a changed byte.
pub(crate) static VERIFY: &[&str] = &[
    "none",
    "crc32c",
    "crc32c-intel",
    "crc16",
    "crc32",
    "crc64",
    "crc7",
    "md5",
    "xxhash",
    "sha1",
    "sha256",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "pattern_hdr",
];
/// fio's I/O engines that do storage I/O through files and block devices on this machine.
pub(crate) static IOENGINES: &[&str] =
    &["psync", "libaio", "io_uring", "sync", "vsync", "pvsync", "pvsync2", "posixaio", "mmap"];
/// Layouts.
pub(crate) static LAYOUTS: &[&str] = &["written", "unwritten", "hole"];
/// Engines; the first is the default.
pub(crate) static ENGINES: &[&str] = &["native", "fio", "corpus", "bonnie"];
/// Programs that copy a corpus; the first is the default.
pub(crate) static COPIERS: &[&str] = &["native", "cpio", "cp", "rsync", "tar"];
/// How several writers share the work; the first is the default.
pub(crate) static COPIES: &[&str] = &["each", "one"];
/// Orders of names.
pub(crate) static ORDERS: &[&str] = &["ascending", "descending", "interleaved", "random", "listed"];
/// When a copy is made durable; the first is the default.
pub(crate) static COPY_SYNC: &[&str] = &["end", "file", "none"];
/// Attributes that a copy keeps besides content.
pub(crate) static PRESERVE: &[&str] = &["mode", "owner", "mtime", "xattrs", "nothing"];
/// Cache states.
pub(crate) static CACHES: &[&str] = &["cold", "warm", "keep"];
