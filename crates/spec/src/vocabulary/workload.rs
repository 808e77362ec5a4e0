//! The keys of a workload, and the words for some of them.

use super::find::FIND;
use super::shape::{Key, Shape, Table, key};
use record::fio_option::{Field, FioOption, KEYS, SYNC_WORDS, VERIFY_WORDS};

/// Keys about the engine, and keys of the engines that perform no I/O by options.
const BEFORE: &[Key] = &[
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
    key(
        "copier",
        Shape::Choice(COPIERS),
        "corpus: the program that copies (default: native, diskproof's own)",
    ),
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
];

/// Keys besides fio's options.
const AFTER: &[Key] = &[
    key("fio_options", Shape::MapOf(&Shape::Text), "Any other fio option, passed on as it is"),
    key(
        "find",
        Shape::Map(&FIND),
        "Search the most load within limits: { most: iops, while: { read_lat_p99: { at_most: 10ms } }, by: rate_iops }",
    ),
    key("fio", Shape::Text, "Your own fio job file instead of the options above, relative to this file"),
    key("layout", Shape::Choice(LAYOUTS), "How the data is laid out before the trial (default: written)"),
    key(
        "on",
        Shape::Either(&[Shape::Text, Shape::ListOf(&Shape::Text)]),
        "Targets that run it at the same time, e.g. [a, b, c], on a directory that they share or an `nfs` export that they mount",
    ),
    key("cache", Shape::Choice(CACHES), "What the page cache holds when the trial begins (default: cold)"),
];

/// All keys: fio's options are those of the table in `record`.
const ALL: [Key; BEFORE.len() + KEYS.len() + AFTER.len()] = {
    let mut all = [BEFORE[0]; BEFORE.len() + KEYS.len() + AFTER.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < BEFORE.len() {
            BEFORE[at]
        } else if at < BEFORE.len() + KEYS.len() {
            of_fio(&KEYS[at - BEFORE.len()])
        } else {
            AFTER[at - BEFORE.len() - KEYS.len()]
        };
        at += 1;
    }
    all
};

/// `engine: corpus` has its own words for `sync`.
const SYNC: &[Shape] = &[Shape::Choice(SYNC_WORDS), Shape::Choice(COPY_SYNC), Shape::Switch];
/// `engine: corpus` has a switch.
const VERIFY: &[Shape] = &[Shape::Choice(VERIFY_WORDS), Shape::Switch];

const fn of_fio(option: &FioOption) -> Key {
    let Some(of) = option.key() else { panic!("each option in KEYS is a key") };
    let shape = match (option.name.as_bytes(), &of.field) {
        (b"sync", _) => Shape::Either(SYNC),
        (b"verify", _) => Shape::Either(VERIFY),
        (_, Field::Switch { .. }) => Shape::Switch,
        (_, Field::Words { words, .. }) => Shape::Choice(words),
        (_, Field::Percent(_) | Field::Count { .. } | Field::Rate { .. } | Field::Time { .. }) => {
            Shape::Integer
        }
        (_, Field::Size { .. }) => Shape::Size,
        (_, Field::Name(_) | Field::Distribution(_) | Field::SizeRange(_) | Field::SizeShares(_)) => {
            Shape::Text
        }
    };
    key(option.name, shape, of.help)
}

/// A workload.
pub(crate) static WORKLOAD: Table = Table {
    what: "a workload",
    keys: &ALL,
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
        key("r", Shape::Size, "Memory that s must be twice of; 0: no check (default: the machine's)"),
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

/// Layouts.
pub(crate) const LAYOUTS: &[&str] = &["written", "unwritten", "hole"];
/// Engines; the first is the default.
pub(crate) const ENGINES: &[&str] = &["native", "fio", "corpus", "bonnie"];
/// Programs that copy a corpus; the first is the default.
pub(crate) const COPIERS: &[&str] = &["native", "cpio", "cp", "rsync", "tar"];
/// How several writers share the work; the first is the default.
pub(crate) const COPIES: &[&str] = &["each", "one"];
/// Orders of names.
pub(crate) const ORDERS: &[&str] = &["ascending", "descending", "interleaved", "random", "listed"];
/// When a copy is made durable; the first is the default.
pub(crate) const COPY_SYNC: &[&str] = &["end", "file", "none"];
/// Attributes that a copy keeps besides content.
pub(crate) const PRESERVE: &[&str] = &["mode", "owner", "mtime", "xattrs", "nothing"];
/// Cache states.
pub(crate) const CACHES: &[&str] = &["cold", "warm", "keep"];
