//! What `spec` accepts for native, native translates; what native refuses, `spec` refuses before it. One list serves both.

use super::of_options;
use crate::native::proof::asked;
use crate::native::task::Place;
use record::workload::{Layout, Options, RateProcess, Rw, SizeRange, SizeShare, SyncMode};
use spec::native_lacks;

type Edit = (&'static str, fn(&mut Options));

/// Options that native supports.
const ACCEPTED: &[Edit] = &[
    ("nothing said", |_| {}),
    ("write", |o| o.rw = Rw::Write),
    ("randrw", |o| o.rw = Rw::Randrw),
    ("trim", |o| o.rw = Rw::Trim),
    ("randtrimwrite", |o| o.rw = Rw::Randtrimwrite),
    ("bsrange", |o| o.bsrange = Some(SizeRange { low_bytes: 4096, high_bytes: 65_536 })),
    ("bssplit", |o| o.bssplit = shares(&[(4096, 60), (65_536, 40)])),
    ("offset", |o| o.offset_bytes = 8192),
    ("nrfiles", |o| o.nrfiles = 4),
    ("filename", |o| o.filename = Some("one".to_owned())),
    ("buffered", |o| o.direct = false),
    ("psync", |o| "psync".clone_into(&mut o.ioengine)),
    ("deep", |o| o.iodepth = 32_768),
    ("sync", |o| o.sync = SyncMode::Sync),
    ("fsync", |o| o.fsync = 8),
    ("thinktime", |o| {
        o.thinktime_us = 100;
        o.thinktime_spin_us = 50;
    }),
    ("once", |o| o.time_based = false),
    ("rate_iops", |o| o.rate_iops = Some(100)),
    ("rate of a mix", |o| {
        o.rw = Rw::Randrw;
        o.rate_iops = Some(100);
        o.rate_of_all = true;
    }),
    ("poisson", |o| {
        o.rate_bytes_per_second = Some(1 << 20);
        o.rate_process = RateProcess::Poisson;
    }),
    ("zipf", |o| "zipf:1.1".clone_into(&mut o.random_distribution)),
    ("pareto", |o| "pareto".clone_into(&mut o.random_distribution)),
    ("normal", |o| "normal:20".clone_into(&mut o.random_distribution)),
    ("zoned", |o| "zoned:60/10:40/90".clone_into(&mut o.random_distribution)),
    ("zoned_abs", |o| "zoned_abs:60/256k:40/512k".clone_into(&mut o.random_distribution)),
    ("norandommap", |o| o.norandommap = true),
    ("compressible", |o| o.buffer_compress_percentage = 50),
    ("duplicates", |o| o.dedupe_percentage = 30),
    ("verify", |o| o.verify = Some("crc32c".to_owned())),
    ("hipri", |o| other(o, "hipri", "1")),
    ("hipri off", |o| other(o, "hipri", "0")),
    ("sqthread_poll", |o| other(o, "sqthread_poll", "1")),
    ("fixedbufs", |o| other(o, "fixedbufs", "1")),
    ("continue_on_error", |o| other(o, "continue_on_error", "io")),
    ("iodepth_batch", |o| other(o, "iodepth_batch", "0")),
    ("iodepth_batch_complete_min", |o| other(o, "iodepth_batch_complete_min", "8")),
    ("iodepth_low", |o| other(o, "iodepth_low", "2")),
];

/// Options that native lacks, with a word that is in both refusals.
const REFUSED: &[(&str, Edit)] = &[
    ("libaio", ("libaio", |o| "libaio".clone_into(&mut o.ioengine))),
    ("iodepth", ("too deep", |o| o.iodepth = 32_769)),
    ("zipf:1.1:0.5", ("a centre", |o| "zipf:1.1:0.5".clone_into(&mut o.random_distribution))),
    ("pareto:2", ("out of range", |o| "pareto:2".clone_into(&mut o.random_distribution))),
    ("normal", ("no deviation", |o| "normal".clone_into(&mut o.random_distribution))),
    ("zone", ("too far", |o| "zoned_abs:60/1m:40/1m".clone_into(&mut o.random_distribution))),
    (
        "rate_iops",
        ("a mix", |o| {
            o.rw = Rw::Randrw;
            o.rate_iops = Some(100);
        }),
    ),
    (
        "rate",
        ("trims and writes", |o| {
            o.rw = Rw::Trimwrite;
            o.rate_bytes_per_second = Some(100);
        }),
    ),
    ("iodepth_batch", ("batches of words", |o| other(o, "iodepth_batch", "many"))),
    (
        "iodepth_low",
        ("batches of one", |o| {
            "psync".clone_into(&mut o.ioengine);
            other(o, "iodepth_low", "2");
        }),
    ),
    ("md5", ("verify", |o| o.verify = Some("md5".to_owned()))),
    (
        "multiple",
        ("verify of odd sizes", |o| {
            o.direct = false;
            o.verify = Some("crc32c".to_owned());
            o.bssplit = shares(&[(4096, 50), (6144, 50)]);
        }),
    ),
    (
        "hipri",
        ("hipri, buffered", |o| {
            o.direct = false;
            other(o, "hipri", "1");
        }),
    ),
    ("continue_on_error", ("continue", |o| other(o, "continue_on_error", "never"))),
    ("fixedbufs", ("fixedbufs off", |o| other(o, "fixedbufs", "0"))),
    ("nonvectored", ("unknown", |o| other(o, "nonvectored", "1"))),
];

fn shares(list: &[(u64, u8)]) -> Vec<SizeShare> {
    list.iter().map(|(bs_bytes, percent)| SizeShare { bs_bytes: *bs_bytes, percent: *percent }).collect()
}

fn other(options: &mut Options, name: &str, value: &str) {
    options.other.insert(name.to_owned(), value.to_owned());
}

fn plain() -> Options {
    Options { direct: true, ..Options::new(Rw::Randread, 4096, 1 << 20) }
}

fn spec_says(options: &Options) -> Result<(), String> {
    match native_lacks(options, Layout::Written).into_iter().next() {
        Some(lack) => Err(format!("{}: {}", lack.option, lack.what)),
        None => Ok(()),
    }
}

fn native_says(options: &Options) -> Result<(), String> {
    let size_bytes = options.size_bytes / u64::from(options.nrfiles);
    let place = |number| Place {
        number,
        path: "x".into(),
        offset_bytes: options.offset_bytes,
        size_bytes,
        block_device: false,
    };
    let job = of_options("job0", options, Layout::Written, (0..options.nrfiles).map(place).collect());
    asked::check(&[job.map_err(|why| why.to_string())?], true).map_err(|why| why.to_string())
}

#[test]
fn the_list_of_what_is_performed_holds_for_both() {
    for (name, edit) in ACCEPTED {
        let mut options = plain();
        edit(&mut options);
        assert_eq!((spec_says(&options), native_says(&options)), (Ok(()), Ok(())), "{name}");
    }
    for (word, (name, edit)) in REFUSED {
        let mut options = plain();
        edit(&mut options);
        let (spec, native) = (spec_says(&options).unwrap_err(), native_says(&options).unwrap_err());
        assert!(spec.contains(word) && native.contains(word), "{name}: {spec} | {native}");
    }
}

#[test]
fn whatever_two_options_spec_lets_through_native_translates() {
    let edits: Vec<&Edit> = ACCEPTED.iter().chain(REFUSED.iter().map(|(_, edit)| edit)).collect();
    let mut through = 0;
    for one in &edits {
        for two in &edits {
            let mut options = plain();
            (one.1)(&mut options);
            (two.1)(&mut options);
            if spec_says(&options).is_ok() {
                assert_eq!(native_says(&options), Ok(()), "{} and {}", one.0, two.0);
                through += 1;
            }
        }
    }
    assert!(through > 500, "only {through} pairs are let through");
}
