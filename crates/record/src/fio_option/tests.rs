use super::{Access, Field, KEYS, Native, all, find};
use crate::workload::{Options, Rw, SizeRange, SizeShare};
use std::collections::BTreeSet;

#[test]
fn every_option_has_one_row() {
    let names: BTreeSet<&str> = all().map(|option| option.name).collect();
    assert_eq!(names.len(), all().count());
    for option in all() {
        if let Access::Alias(alias) = option.access {
            let main = find(alias.of).unwrap();
            assert!(!matches!(main.access, Access::Alias(_)), "{}", option.name);
        }
        assert_eq!(option.key().is_some(), matches!(option.native, Native::Key), "{}", option.name);
    }
}

/// The table for people lists each option once, in the row of its kind.
#[test]
fn the_documents_tell_every_option() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/engine.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once("## Options of fio that diskproof knows").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let told: BTreeSet<&str> = section.split('`').skip(1).step_by(2).collect();
    let untold: Vec<&str> = all().map(|option| option.name).filter(|name| !told.contains(name)).collect();
    assert!(untold.is_empty(), "docs/engine.md does not tell {untold:?}");
    for line in section.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let names = cells.last().unwrap().split('`').skip(1).step_by(2);
        for option in names.filter_map(find) {
            let kind = match option.access {
                Access::Key(_) => "a key of a workload",
                Access::Passed => "in `fio_options` and in job files",
                Access::JobFile(_) => "in job files",
                Access::Ours(_) => "in job files, but without effect",
                Access::LeftOut(_) => "in job files, but left out",
                Access::Refused(_) => "nowhere",
                Access::Alias(_) => "in job files, for another option",
            };
            assert_eq!(cells[0], format!("| {kind}"), "{}", option.name);
            let native = match option.native {
                Native::No => "doesn't know it",
                Native::Ignores(_) | Native::IgnoresAlone => "ignores",
                Native::Key | Native::Performs(_) | Native::OfIoUring(_) | Native::Batch(_) => "performs it",
            };
            let told = matches!(option.access, Access::Key(_) | Access::Passed | Access::JobFile(_));
            assert!(!told || cells[1].starts_with(native), "{}: {native}", option.name);
        }
    }
}

#[test]
fn the_documents_tell_every_key() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiment-file.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).collect();
    for option in KEYS {
        let name = format!("`{}`", option.name);
        assert!(rows.iter().any(|row| row.contains(&name)), "docs/experiment-file.md has no row for {name}");
    }
}

/// Sets a field to a value that differs from the default.
fn set(field: Field, options: &mut Options) {
    match field {
        Field::Switch { set, .. } => [true, false].into_iter().for_each(|on| set(options, on)),
        Field::Percent(set) => set(options, 77),
        Field::Count { least, set, .. } => set(options, u32::try_from(least).unwrap() + 5),
        Field::Size { set, .. } => set(options, 8192),
        Field::Rate { set, .. } => set(options, Some(77)),
        Field::Time { set, .. } => set(options, 770),
        Field::Words { words, set } => set(options, words[words.len() - 1]),
        Field::Name(set) | Field::Distribution(set) => set(options, "zipf:1.1".to_owned()),
        Field::SizeRange(set) => set(options, SizeRange { low_bytes: 512, high_bytes: 1024 }),
        Field::SizeShares(set) => {
            set(options, [512, 1024].map(|bs_bytes| SizeShare { bs_bytes, percent: 50 }).into());
        }
    }
}

#[test]
fn every_key_sets_a_field_of_its_own_and_tells_fio() {
    // Everything that is told only for some patterns or beside other options is told here.
    let base = || Options { thinktime_us: 1, time_based: true, ..Options::new(Rw::Randrw, 4096, 1 << 20) };
    let mut told = Vec::new();
    for option in all() {
        let Some(key) = option.key() else { continue };
        let mut changed = base();
        if matches!(key.field, Field::Switch { .. }) {
            (changed.direct, changed.end_fsync, changed.norandommap) = (true, true, true);
        }
        let before = changed.clone();
        set(key.field, &mut changed);
        assert_ne!(changed, before, "{}", option.name);
        told.extend((key.told)(&changed).map(|text| format!("{}={text}", option.name)));
    }
    let expected = [
        "rw=randtrimwrite",
        "rwmixread=77",
        "bs=8192",
        "bsrange=512-1024",
        "bssplit=512/50:1024/50",
        "iodepth=6",
        "direct=0",
        "ioengine=splice",
        "fsync=5",
        "fdatasync=5",
        "sync=sync",
        "end_fsync=0",
        "buffer_compress_percentage=77",
        "dedupe_percentage=77",
        "rate_iops=77",
        "rate=77",
        "rate_process=poisson",
        "thinktime=770us",
        "thinktime_spin=770us",
        "thinktime_blocks=6",
        "time_based=0",
        "random_distribution=zipf:1.1",
        "norandommap=0",
    ];
    assert_eq!(told, expected);
}
