//! Workloads of the engines that run to completion: what the reader accepts, and what it refuses by name with its line.
#![allow(clippy::unwrap_used, reason = "tests may")]

use record::bonnie::BonnieAsk;
use record::copy::{Copier, Copies, CopyAsk, CopyOrder, CopySync, Corpus, CorpusKind};
use record::workload::{Ask, EngineKind};
use std::collections::BTreeMap;
use std::path::Path;

fn parse(workload: &str) -> Result<diskproof_spec::Loaded, String> {
    let text = format!(
        "experiment: demo\nvolumes: {{ vol: {{ emulate: {{ size: 4g }} }} }}\nstacks: {{ e: {{ layers: [ ext4: {{ on: vol }} ] }} }}\n\
         workloads:\n  w: {{ {workload} }}\n"
    );
    diskproof_spec::parse(&text, "demo.yaml", Path::new("/"), &BTreeMap::new())
        .map_err(|error| error.to_string())
}

fn copy(workload: &str) -> CopyAsk {
    let plan = parse(workload).unwrap_or_else(|error| panic!("{error}")).plan;
    assert_eq!(plan.cells[0].workload.engine, EngineKind::Corpus);
    match &plan.cells[0].workload.ask {
        Ask::Copy(ask) => ask.clone(),
        other => panic!("{other:?}"),
    }
}

fn bonnie(workload: &str) -> BonnieAsk {
    let plan = parse(workload).unwrap_or_else(|error| panic!("{error}")).plan;
    match &plan.cells[0].workload.ask {
        Ask::Bonnie(ask) => ask.clone(),
        other => panic!("{other:?}"),
    }
}

fn refused(workload: &str) -> String {
    parse(workload).map(|_| ()).unwrap_err()
}

#[test]
fn a_copy_has_honest_defaults() {
    let ask = copy("engine: corpus, corpus: mail");
    let corpus =
        Corpus::Generated { kind: CorpusKind::Mail, files: 273_273, seed: 1, size_bytes: 273_273 * 7_831 };
    assert_eq!(ask.corpus, corpus);
    assert_eq!(
        (ask.copier, ask.writers, ask.copies, ask.sync, ask.verify),
        (Copier::Native, 1, Copies::Each, CopySync::End, true)
    );
    assert_eq!(
        (ask.order.as_slice(), ask.preserve.mode, ask.preserve.xattrs),
        (&[CopyOrder::Ascending][..], true, false)
    );
    assert_eq!(copy("engine: corpus, corpus: mail, copier: cp, files: 9").order, [CopyOrder::Listed]);
}

#[test]
fn every_key_is_read() {
    let ask = copy(
        "engine: corpus, corpus: source-tree, scale: 10%, seed: 7, writers: 2, copies: one, order: [descending, random], sync: file, \
         preserve: [mode, xattrs], verify: 0",
    );
    assert!(matches!(
        ask.corpus,
        Corpus::Generated { kind: CorpusKind::SourceTree, files: 6_000, seed: 7, .. }
    ));
    assert_eq!((ask.writers, ask.copies, ask.sync, ask.verify), (2, Copies::One, CopySync::File, false));
    assert_eq!(ask.order, [CopyOrder::Descending, CopyOrder::Random]);
    assert!(ask.preserve.mode && ask.preserve.xattrs && !ask.preserve.mtime);
    assert_eq!(
        copy("engine: corpus, corpus: /srv/mail").corpus,
        Corpus::Directory { path: "/srv/mail".into() }
    );
}

#[test]
fn options_of_io_are_refused_by_name_and_line() {
    for key in
        ["iodepth: 4", "bs: 4k", "runtime: 5s", "rw: read", "layout: hole", "cache: warm", "fio: job.fio"]
    {
        let text = refused(&format!("engine: corpus, corpus: mail, files: 5, {key}"));
        let name = key.split(':').next().unwrap();
        assert!(text.contains(&format!("the corpus engine does not know `{name}`")), "{text}");
        assert!(text.contains("demo.yaml:5:"), "{text}");
    }
    for (workload, name) in [
        ("rw: read, size: 1m, writers: 2", "`writers` belongs to `engine: corpus`"),
        ("engine: fio, rw: read, size: 1m, copier: cp", "`copier` belongs to `engine: corpus`"),
        ("rw: read, size: 1m, bonnie: { s: 1g }", "`bonnie` belongs to `engine: bonnie`"),
        ("engine: bonnie, bonnie: { n: 1 }, iodepth: 4", "Bonnie++ does not know `iodepth`"),
    ] {
        let text = refused(workload);
        assert!(text.contains(name) && text.contains("demo.yaml:5:"), "{text}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (rest, why) in [
        ("", "needs `corpus`"),
        ("corpus: mails", "is not a corpus"),
        ("corpus: relative/path", "is not a corpus"),
        ("corpus: /srv, files: 5", "`files` of a directory"),
        ("corpus: mail, files: 5, scale: 10%", "cannot both be given"),
        ("corpus: mail, files: 5, copier: rsync, order: descending", "`copier: rsync` sorts names by itself"),
        (
            "corpus: mail, files: 5, copier: cp, writers: 2, copies: one",
            "`copier: cp` always copies all of it",
        ),
        ("corpus: mail, files: 5, copier: tar, sync: file", "can't flush file by file"),
        (
            "corpus: mail, files: 5, copier: cpio, preserve: [mode, owner, mtime, xattrs]",
            "extended attributes",
        ),
        ("corpus: mail, files: 5, copier: tar, preserve: mode", "always keeps mode, owner and mtime"),
        ("corpus: mail, writers: 3", "needs"),
    ] {
        let text = refused(&format!("engine: corpus, {rest}"));
        assert!(text.contains(why), "{rest}: {text}");
    }
}

#[test]
fn a_bare_device_is_no_place_for_files() {
    let text = "experiment: demo\nvolumes: { vol: { emulate: { size: 4g } } }\nstacks: { raw: { on: vol } }\n\
                workloads: { w: { engine: corpus, corpus: mail, files: 10 } }\n";
    let error = diskproof_spec::parse(text, "demo.yaml", Path::new("/"), &BTreeMap::new())
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(error.contains("is a bare block device"), "{error}");
}

#[test]
fn bonnie_takes_its_own_letters() {
    let ask = bonnie(
        "engine: bonnie, bonnie: { s: 1g, chunk: 4k, n: 16, n_max: 8k, n_min: 1k, n_dirs: 4, r: 256m, f: 1, D: 1, c: 2 }",
    );
    assert_eq!((ask.size_bytes, ask.chunk_bytes, ask.files, ask.max_bytes), (1 << 30, 4096, 16_384, 8192));
    assert_eq!(
        (ask.min_bytes, ask.directories, ask.ram_bytes, ask.concurrency),
        (1024, 4, Some(256 << 20), 2)
    );
    assert_eq!((ask.per_character, ask.direct, ask.no_buffering), (false, true, false));
    let files = bonnie("engine: bonnie, bonnie: { n: 1 }");
    assert_eq!((files.size_bytes, files.files, files.per_character), (0, 1024, true));
    for (rest, why) in [
        ("", "needs `bonnie`"),
        ("bonnie: { f: 1 }", "nothing to test"),
        ("bonnie: { s: 1000k }", "whole MiB"),
        ("bonnie: { s: 1g, chunk: 5000 }", "powers of two"),
        ("bonnie: { s: 1g, r: 1g }", "twice the memory"),
        ("bonnie: { size: 1g }", "write `s`"),
        ("bonnie: { n: 1, n_min: 2k, n_max: 1k }", "more than"),
    ] {
        let text = refused(&format!("engine: bonnie, {rest}"));
        assert!(text.contains(why), "{rest}: {text}");
    }
}
