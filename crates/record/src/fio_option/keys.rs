//! The options that are keys of a workload, in the order of the experiment's schema.

use super::row::{Access, Field, FioOption, Key, Native};
use crate::workload::{Options, RateProcess, Rw, SizeShare, SyncMode};

/// fio's words for `rw`.
pub const RW_WORDS: &[&str] = &[
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

/// fio's words for `sync`.
pub const SYNC_WORDS: &[&str] = &["none", "0", "dsync", "sync", "1"];

/// fio's words for `verify`: none, and the methods with which fio 3.33 detects a changed byte; each was tried.
pub const VERIFY_WORDS: &[&str] = &[
    "none",
    "0",
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
];

/// fio's I/O engines that do storage I/O on the files and devices of the job. All others use something else (network, object
/// stores, other programs) or nothing at all.
pub const IOENGINES: &[&str] =
    &["psync", "libaio", "io_uring", "sync", "vsync", "pvsync", "pvsync2", "posixaio", "mmap", "splice"];

/// The longest pause between two I/Os: an hour.
const MAX_THINKTIME_US: u64 = 3_600_000_000;
/// The longest trial: a day.
const MAX_TIME_MS: u64 = 86_400_000;
/// The shortest trial.
const MIN_RUNTIME_MS: u64 = 500;
/// The most writes between two flushes.
const MAX_WRITES: u64 = 1_000_000_000;

/// All keys.
pub const KEYS: &[FioOption] = &[
    key(
        "rw",
        Field::Words { words: RW_WORDS, set: |o, word| o.rw = pattern(word) },
        |o| Some(o.rw.name().to_owned()),
        "Access pattern",
    ),
    key(
        "rwmixread",
        Field::Percent(|o, percent| o.rwmixread = percent),
        |o| o.rw.is_mixed().then(|| o.rwmixread.to_string()),
        "Percentage of reads in a mix (default: 50)",
    ),
    key(
        "bs",
        Field::Size { least: 1, set: |o, bytes| o.bs_bytes = bytes },
        |o| (!o.has_several_sizes()).then(|| o.bs_bytes.to_string()),
        "Block size (default: 4k)",
    ),
    key(
        "bsrange",
        Field::SizeRange(|o, range| {
            o.bs_bytes = range.low_bytes;
            o.bsrange = Some(range);
        }),
        |o| {
            let range = o.bsrange.filter(|_| o.has_several_sizes())?;
            Some(format!("{}-{}", range.low_bytes, range.high_bytes))
        },
        "Block sizes drawn evenly from a range instead of bs, e.g. 4k-64k",
    ),
    key(
        "bssplit",
        Field::SizeShares(|o, shares| {
            o.bs_bytes = shares.iter().map(|share| share.bs_bytes).min().unwrap_or(o.bs_bytes);
            o.bssplit = shares;
        }),
        |o| (o.bsrange.is_none() && o.has_several_sizes()).then(|| shares(&o.bssplit)),
        "Block sizes with their shares of the I/Os instead of bs, e.g. 4k/60:64k/40; shares left out divide the rest",
    ),
    key(
        "size",
        Field::Size { least: 1, set: |o, bytes| o.size_bytes = bytes },
        by_trial,
        "Size of each job's file or region; with `fio`, room for the files of sections that name no size",
    ),
    key(
        "offset",
        Field::Size { least: 0, set: |o, bytes| o.offset_bytes = bytes },
        by_trial,
        "Bytes left out at the beginning of each job's file or region (default: 0)",
    ),
    key(
        "nrfiles",
        Field::Count { least: 1, most: 65_536, set: |o, count| o.nrfiles = count },
        by_trial,
        "Number of files each job's data is divided into (default: 1)",
    ),
    key(
        "filename",
        Field::Name(|o, name| o.filename = Some(name)),
        by_trial,
        "All jobs share one file (or region) of this name: a-z 0-9 . _ -",
    ),
    key(
        "iodepth",
        Field::Count { least: 1, most: 65_536, set: |o, count| o.iodepth = count },
        |o| Some(o.iodepth.to_string()),
        "I/Os in flight per job (default: 1)",
    ),
    key(
        "numjobs",
        Field::Count { least: 1, most: 1024, set: |o, count| o.numjobs = count },
        by_trial,
        "Identical jobs, each with its own file or region (default: 1)",
    ),
    key(
        "direct",
        Field::Switch { bare: false, set: |o, on| o.direct = on },
        |o| Some(switch(o.direct)),
        "1: O_DIRECT, past the page cache; default 0, as in fio",
    ),
    key(
        "ioengine",
        Field::Words { words: IOENGINES, set: |o, word| word.clone_into(&mut o.ioengine) },
        |o| Some(o.ioengine.clone()),
        "How I/O is issued. native: io_uring (the default), or psync for threads; fio: libaio (the default), psync at iodepth 1",
    ),
    key(
        "fsync",
        Field::Count { least: 0, most: MAX_WRITES, set: |o, count| o.fsync = count },
        |o| o.rw.writes().then(|| o.fsync.to_string()),
        "fsync after this many writes; 0: never",
    ),
    key(
        "fdatasync",
        Field::Count { least: 0, most: MAX_WRITES, set: |o, count| o.fdatasync = count },
        |o| o.rw.writes().then(|| o.fdatasync.to_string()),
        "fdatasync after this many writes; 0: never",
    ),
    key(
        "sync",
        Field::Words { words: SYNC_WORDS, set: |o, word| o.sync = sync_mode(word) },
        |o| match o.sync {
            SyncMode::Dsync if o.rw.writes() => Some("dsync".to_owned()),
            SyncMode::Sync if o.rw.writes() => Some("sync".to_owned()),
            _ => None,
        },
        "dsync: every write's data is durable before it completes; sync or 1: its metadata too; corpus: end, file or none",
    ),
    key(
        "end_fsync",
        Field::Switch { bare: false, set: |o, on| o.end_fsync = on },
        |o| o.rw.writes().then(|| switch(o.end_fsync)),
        "fsync at the end, inside the measured time (default: 1 for buffered writes)",
    ),
    key(
        "buffer_compress_percentage",
        Field::Percent(|o, percent| o.buffer_compress_percentage = percent),
        |o| Some(o.buffer_compress_percentage.to_string()),
        "How compressible the data is, percent (default: 0)",
    ),
    key(
        "dedupe_percentage",
        Field::Percent(|o, percent| o.dedupe_percentage = percent),
        |o| (o.dedupe_percentage > 0).then(|| o.dedupe_percentage.to_string()),
        "Duplicate blocks in the data, percent (default: 0)",
    ),
    key(
        "rate_iops",
        Field::Rate { bytes: false, set: |o, rate| o.rate_iops = rate },
        |o| o.rate_iops.map(|rate| rate.to_string()),
        "Most I/Os per second of each job",
    ),
    key(
        "rate",
        Field::Rate { bytes: true, set: |o, rate| o.rate_bytes_per_second = rate },
        |o| o.rate_bytes_per_second.map(|rate| rate.to_string()),
        "Most bytes per second of each job, e.g. 10m",
    ),
    key(
        "rate_process",
        Field::Words { words: &["linear", "poisson"], set: |o, word| o.rate_process = rate_process(word) },
        |o| (o.rate_process == RateProcess::Poisson).then(|| "poisson".to_owned()),
        "When the I/Os of a rate are due (default: linear)",
    ),
    key(
        "thinktime",
        microseconds(|o, us| o.thinktime_us = us),
        |o| (o.thinktime_us > 0).then(|| format!("{}us", o.thinktime_us)),
        "Pause after every thinktime_blocks I/Os; microseconds without a unit",
    ),
    key(
        "thinktime_spin",
        microseconds(|o, us| o.thinktime_spin_us = us),
        |o| (o.thinktime_us > 0 && o.thinktime_spin_us > 0).then(|| format!("{}us", o.thinktime_spin_us)),
        "The first part of each pause, in which the job keeps its processor busy (default: 0)",
    ),
    key(
        "thinktime_blocks",
        Field::Count { least: 1, most: u32::MAX as u64, set: |o, count| o.thinktime_blocks = count },
        |o| (o.thinktime_us > 0).then(|| o.thinktime_blocks.to_string()),
        "I/Os between two pauses (default: 1)",
    ),
    key(
        "runtime",
        // 0 means no runtime, as if the option were absent.
        milliseconds(MIN_RUNTIME_MS, |o, ms| o.runtime_ms = Some(ms).filter(|ms| *ms > 0)),
        by_trial,
        "Measured time of this workload's trials, instead of measure's; seconds without a unit",
    ),
    key(
        "ramp_time",
        milliseconds(0, |o, ms| o.ramp_time_ms = Some(ms)),
        by_trial,
        "Load before measuring begins, instead of measure's; seconds without a unit",
    ),
    key(
        "time_based",
        Field::Switch { bare: true, set: |o, on| o.time_based = on },
        |o| Some(switch(o.time_based)),
        "0: a trial ends when every job went over its data once, if that is sooner (default: 1)",
    ),
    key(
        "verify",
        Field::Words {
            words: VERIFY_WORDS,
            set: |o, word| o.verify = Some(word.to_owned()).filter(|word| word != "none" && word != "0"),
        },
        by_trial,
        "Checksum in every block, checked when it is read; default: none; corpus: 0: the copy isn't compared with its source",
    ),
    key(
        "random_distribution",
        Field::Distribution(|o, text| o.random_distribution = text),
        |o| o.rw.is_random().then(|| o.random_distribution.clone()),
        "Distribution of random offsets, e.g. random, zipf:1.1",
    ),
    key(
        "norandommap",
        Field::Switch { bare: true, set: |o, on| o.norandommap = on },
        |o| o.rw.is_random().then(|| switch(o.norandommap)),
        "1: blocks may be hit again before all have been hit",
    ),
];

const fn key(
    name: &'static str,
    field: Field,
    told: fn(&Options) -> Option<String>,
    help: &'static str,
) -> FioOption {
    FioOption { name, access: Access::Key(Key { field, told, help }), native: Native::Key }
}

/// A time of a trial.
const fn milliseconds(least: u64, set: fn(&mut Options, u64)) -> Field {
    Field::Time { unit: "s", per_second: 1000, least, most: MAX_TIME_MS, set }
}

/// A pause between two I/Os.
const fn microseconds(set: fn(&mut Options, u64)) -> Field {
    Field::Time { unit: "us", per_second: 1_000_000, least: 0, most: MAX_THINKTIME_US, set }
}

/// What the engine writes for each trial and place.
fn by_trial(_: &Options) -> Option<String> {
    None
}

fn switch(on: bool) -> String {
    u8::from(on).to_string()
}

fn shares(split: &[SizeShare]) -> String {
    split.iter().map(|share| format!("{}/{}", share.bs_bytes, share.percent)).collect::<Vec<_>>().join(":")
}

/// Returns the pattern for fio's word; `readwrite` is another word for `rw`.
fn pattern(word: &str) -> Rw {
    Rw::ALL.into_iter().find(|rw| rw.name() == word).unwrap_or(Rw::Rw)
}

fn sync_mode(word: &str) -> SyncMode {
    match word {
        "dsync" => SyncMode::Dsync,
        "sync" | "1" => SyncMode::Sync,
        _ => SyncMode::None,
    }
}

fn rate_process(word: &str) -> RateProcess {
    match word {
        "poisson" => RateProcess::Poisson,
        _ => RateProcess::Linear,
    }
}
