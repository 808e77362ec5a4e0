//! Copies of generated corpora and of directories into an existing directory: by every copier, in every order, verified.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use device::{Ground, Place};
use diskproof_engine::corpus::CorpusEngine;
use diskproof_engine::{Engine, EngineError};
use record::copy::{Copier, Copies, CopyAsk, CopyOrder, CopySync, Corpus, CorpusKind, Preserve};
use record::trial::EngineOutput;
use record::workload::{Ask, EngineKind, Workload};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use support::{Bench, workload};

fn ask(files: u64) -> CopyAsk {
    CopyAsk {
        corpus: Corpus::Generated { kind: CorpusKind::Mail, files, seed: 1, size_bytes: files * 7831 },
        copier: Copier::Native,
        writers: 1,
        copies: Copies::Each,
        order: vec![CopyOrder::Ascending],
        sync: CopySync::End,
        preserve: Preserve::default(),
        verify: true,
    }
}

fn copy_of(ask: CopyAsk) -> Workload {
    Workload { engine: EngineKind::Corpus, ..workload(Ask::Copy(ask)) }
}

fn engine(bench: &Bench) -> CorpusEngine {
    let worker = vec![env!("CARGO_BIN_EXE_diskproof-native-worker").into(), CorpusEngine::VERB.into()];
    CorpusEngine::with_worker(bench.dir.path().join("corpora"), worker)
}

/// Makes a copy; a failure prints only the messages, because the whole output is too long to read.
fn made(bench: &Bench, ask: CopyAsk) -> EngineOutput {
    run(bench, ask).unwrap_or_else(|error| panic!("{error}"))
}

fn run(bench: &Bench, ask: CopyAsk) -> Result<EngineOutput, EngineError> {
    let workload = copy_of(ask);
    let job = bench.job(&workload, 7, 1.0);
    let engine = engine(bench);
    engine.prepare(&job)?;
    engine.run(&job)
}

fn place(ground: &Ground) -> &Path {
    match ground.place() {
        Place::Directory(path) => path,
        Place::Block(path) => path,
    }
}

fn copies(bench: &Bench) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(place(&bench.ground)).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

#[test]
fn every_copier_makes_a_faithful_copy() {
    for copier in [Copier::Native, Copier::Cp, Copier::Cpio, Copier::Rsync, Copier::Tar] {
        let bench = Bench::lent();
        let order = if copier == Copier::Cp { CopyOrder::Listed } else { CopyOrder::Ascending };
        let out = match run(&bench, CopyAsk { copier, order: vec![order], ..ask(60) }) {
            Err(EngineError::Missing { .. }) => {
                panic!("{} isn't installed (scripts/setup.sh test)", copier.name())
            }
            out => out.unwrap_or_else(|error| panic!("{copier:?}: {error}")),
        };
        let copied = out.copied.as_ref().unwrap();
        assert_eq!((copied.files, copied.writers.len(), copied.writers[0].files), (60, 1, 60), "{copier:?}");
        let verified = out.verified.as_ref().unwrap();
        assert_eq!(
            (verified.bytes, verified.faults.len()),
            (copied.logical_bytes, 0),
            "{copier:?}: {verified:?}"
        );
        let metrics = out.metrics();
        assert!(metrics["files_per_second"] > 0.0 && metrics["seconds"] >= metrics["sync_seconds"]);
        assert_eq!(metrics["logical_bytes"], copied.logical_bytes as f64);
        assert_eq!(copies(&bench).len(), 1);
    }
}

#[test]
fn two_writers_make_two_whole_copies_each_in_its_order() {
    let bench = Bench::lent();
    let order = vec![CopyOrder::Ascending, CopyOrder::Descending];
    let out = made(&bench, CopyAsk { writers: 2, order, ..ask(40) });
    let copied = out.copied.unwrap();
    assert_eq!((copied.files, copied.writers[0].files, copied.writers[1].files), (80, 40, 40));
    assert_eq!(out.verified.unwrap().bytes, copied.logical_bytes);
    assert_eq!(copies(&bench).len(), 2);
}

#[test]
fn several_writers_divide_one_copy() {
    for (copier, order) in [(Copier::Native, CopyOrder::Random), (Copier::Tar, CopyOrder::Interleaved)] {
        let bench = Bench::lent();
        let ask = CopyAsk { writers: 3, copies: Copies::One, copier, order: vec![order], ..ask(50) };
        let copied = made(&bench, ask).copied.unwrap();
        assert_eq!((copied.files, copied.writers.len()), (50, 3));
        assert_eq!(copied.writers.iter().map(|w| w.files).sum::<u64>(), 50);
        assert_eq!(copies(&bench).len(), 1);
    }
}

/// The open files of a group and the open directories are descriptors, for each writer.
#[test]
fn writers_share_the_files_that_may_be_open() {
    let bench = Bench::lent();
    let source = bench.dir.path().join("source");
    for number in 0..600 {
        let directory = source.join(number.to_string());
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("file"), number.to_string()).unwrap();
    }
    let corpus = Corpus::Directory { path: source };
    let workload = copy_of(CopyAsk { corpus, writers: 4, ..ask(0) });
    let job = bench.job(&workload, 7, 1.0);
    let few = "ulimit -Sn 100 && ulimit -Hn 600 && exec \"$0\" \"$@\"";
    let worker = env!("CARGO_BIN_EXE_diskproof-native-worker");
    let worker = ["/bin/sh", "-c", few, worker, CorpusEngine::VERB].map(Into::into).to_vec();
    let engine = CorpusEngine::with_worker(bench.dir.path().join("corpora"), worker);
    engine.prepare(&job).unwrap();
    let copied = engine.run(&job).unwrap_or_else(|error| panic!("{error}")).copied.unwrap();
    assert_eq!((copied.files, copied.writers.len()), (4 * 600, 4));
}

#[test]
fn a_directory_is_copied_with_links_modes_and_attributes() {
    let bench = Bench::lent();
    let source = bench.dir.path().join("source");
    fs::create_dir_all(source.join("empty")).unwrap();
    fs::create_dir_all(source.join("a/b")).unwrap();
    fs::write(source.join("a/b/tool"), "#!/bin/sh\n").unwrap();
    fs::write(source.join("a/nothing"), "").unwrap();
    fs::set_permissions(source.join("a/b/tool"), fs::Permissions::from_mode(0o4755)).unwrap();
    std::os::unix::fs::symlink("b/tool", source.join("a/link")).unwrap();
    let attribute =
        rustix::fs::setxattr(source.join("a/nothing"), "user.note", b"kept", rustix::fs::XattrFlags::empty());
    let preserve = Preserve { xattrs: attribute.is_ok(), ..Preserve::default() };
    let corpus = Corpus::Directory { path: source.clone() };
    let out = made(&bench, CopyAsk { corpus: corpus.clone(), preserve, ..ask(0) });
    let copied = out.copied.unwrap();
    assert_eq!((copied.files, copied.directories, copied.links), (2, 3, 1));
    let copy = &copies(&bench)[0];
    assert_eq!(fs::symlink_metadata(copy.join("a/b/tool")).unwrap().mode() & 0o7777, 0o4755);
    assert_eq!(fs::read_link(copy.join("a/link")).unwrap(), Path::new("b/tool"));
    assert!(copy.join("empty").is_dir());
    let gone = Corpus::Directory { path: source.join("gone") };
    let error = run(&bench, CopyAsk { corpus: gone, ..ask(0) }).unwrap_err().to_string();
    assert!(error.contains("source/gone"), "{error}");
}

#[test]
fn a_second_trial_begins_with_nothing_of_the_first() {
    let bench = Bench::lent();
    made(&bench, CopyAsk { writers: 2, ..ask(20) });
    made(&bench, ask(10));
    assert_eq!(copies(&bench).len(), 1);
}

#[test]
fn what_a_copier_cannot_do_is_refused_by_name() {
    let bench = Bench::lent();
    let refused = |ask: CopyAsk| run(&bench, ask).unwrap_err().to_string();
    let descending = vec![CopyOrder::Descending];
    let text = refused(CopyAsk { copier: Copier::Rsync, order: descending.clone(), ..ask(5) });
    assert!(text.contains("`copier: rsync` sorts names by itself"), "{text}");
    let text = refused(CopyAsk { copier: Copier::Cp, order: descending, ..ask(5) });
    assert!(text.contains("`copier: cp`") && text.contains("use copier: native"), "{text}");
    let text = refused(CopyAsk { copier: Copier::Tar, sync: CopySync::File, ..ask(5) });
    assert!(text.contains("sync: file"), "{text}");
    assert!(copies(&bench).is_empty());
}

#[test]
fn a_cancelled_copy_ends() {
    let bench = Bench::lent();
    bench.cancel.store(true, std::sync::atomic::Ordering::SeqCst);
    assert!(matches!(run(&bench, ask(2_000)), Err(EngineError::Cancelled)));
}
