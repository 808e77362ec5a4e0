//! Copies onto file systems of emulated volumes: every copier, every order, full disks, killed copies. Needs root.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/faults.rs"]
mod faults;
mod support;

use diskproof_engine::corpus::CorpusEngine;
use diskproof_engine::{Engine, EngineError};
use faults::{Machine, Mounted, assert_gone, completed, tool, wait_until};
use record::copy::{Copier, Copies, CopyAsk, CopyOrder, CopySync, Corpus, CorpusKind, Preserve};
use record::trial::EngineOutput;
use record::workload::{Ask, EngineKind, Workload};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use support::{Bench, workload};
use testkit::LoopDevice;

const MIB: u64 = 1 << 20;
const FILES: u64 = 400;
const PROGRAMS: [Copier; 4] = [Copier::Cp, Copier::Cpio, Copier::Rsync, Copier::Tar];

fn ask(copier: Copier, writers: u32, order: &[CopyOrder]) -> CopyAsk {
    CopyAsk {
        corpus: Corpus::Generated { kind: CorpusKind::Mail, files: FILES, seed: 1, size_bytes: FILES * 7831 },
        copier,
        writers,
        copies: Copies::Each,
        order: order.to_vec(),
        sync: CopySync::End,
        preserve: Preserve::default(),
        verify: true,
    }
}

/// A copy in the only order that all copiers support, each by its own name.
fn plain(copier: Copier, writers: u32) -> CopyAsk {
    let order = if copier == Copier::Cp { CopyOrder::Listed } else { CopyOrder::Ascending };
    ask(copier, writers, &[order])
}

fn copy_of(ask: CopyAsk) -> Workload {
    Workload { engine: EngineKind::Corpus, ..workload(Ask::Copy(ask)) }
}

fn engine(bench: &Bench) -> CorpusEngine {
    let worker = vec![env!("CARGO_BIN_EXE_diskproof-native-worker").into(), CorpusEngine::VERB.into()];
    CorpusEngine::with_worker(bench.dir.path().join("corpora"), worker)
}

fn run(bench: &Bench, ask: CopyAsk) -> Result<EngineOutput, EngineError> {
    let workload = copy_of(ask);
    let job = bench.job(&workload, 7, 1.0);
    let engine = engine(bench);
    engine.prepare(&job)?;
    engine.run(&job)
}

/// Makes a copy, which must be right when it is read back from the device.
fn verified(bench: &Bench, ask: CopyAsk) {
    let told = format!("{ask:?}");
    let whole = ask.whole_copies();
    let out = run(bench, ask).unwrap_or_else(|error| panic!("{error}: {told}"));
    let copied = out.copied.unwrap();
    assert_eq!((copied.files, copied.verified_cold), (whole * FILES, Some(true)), "{told}");
    let verified = out.verified.unwrap();
    assert_eq!((verified.bytes, verified.faults), (copied.logical_bytes, Vec::new()), "{told}");
    let extents = copied.extents.unwrap();
    assert!(extents.uncompressed_bytes >= copied.logical_bytes, "{extents:?} {told}");
    assert!(copied.allocated_bytes.unwrap() > 0, "{told}");
}

/// The changes that rsync would still make to a copy.
fn changes(tree: &Path, copy: &Path) -> Vec<String> {
    let mut words = vec!["rsync", "-a", "--checksum", "--delete", "--dry-run", "--itemize-changes"];
    let (from, to) = (format!("{}/", tree.to_string_lossy()), format!("{}/", copy.to_string_lossy()));
    words.extend([from.as_str(), &to]);
    let out = std::process::Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let changes = String::from_utf8(out.stdout).unwrap();
    // The root of a copy is ours.
    changes.lines().filter(|line| !line.ends_with(" ./")).map(str::to_owned).collect()
}

/// Checks a native copy the same way, and the order in which its files were created: their change times rise in it.
fn held_against(tree: &Path, copy: &Path, order: CopyOrder) {
    assert_eq!(changes(tree, copy), Vec::<String>::new());
    let mut files = Vec::new();
    list(copy, &mut files);
    files.sort();
    assert_eq!(files.len() as u64, FILES);
    let places: Vec<usize> = match order {
        CopyOrder::Descending => (0..files.len()).rev().collect(),
        CopyOrder::Interleaved => {
            (0..files.len()).map(|n| if n % 2 == 0 { n / 2 } else { files.len() - 1 - n / 2 }).collect()
        }
        _ => (0..files.len()).collect(),
    };
    let changed = |place: &usize| {
        let meta = fs::metadata(&files[*place]).unwrap();
        (meta.ctime(), meta.ctime_nsec())
    };
    let times: Vec<_> = places.iter().map(changed).collect();
    assert!(times.iter().min() < times.iter().max(), "too few files to tell");
    assert_eq!(times.is_sorted(), order != CopyOrder::Random, "{order:?}");
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => list(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}

/// Copies with every program and with native. A comparison with cold caches takes longer than a copy, so not every combination
/// runs on every file system.
fn copies_on(kind: &str, size: u64) {
    let Some(machine) = Machine::take() else { return };
    let ground = Mounted::new(LoopDevice::new(size, "corpus"), kind);
    let bench = ground.bench();
    let copy = |number: u32| ground.point.join(format!("diskproof-data.{number}"));
    let tree = || {
        let kept =
            fs::read_dir(bench.dir.path().join("corpora")).unwrap().flatten().map(|entry| entry.path());
        kept.into_iter().find(|path| path.is_dir()).unwrap()
    };
    for copier in PROGRAMS {
        if kind == "ext4" {
            verified(&bench, plain(copier, 1));
            continue;
        }
        let copied = run(&bench, CopyAsk { verify: false, ..plain(copier, 2) }).unwrap().copied.unwrap();
        assert_eq!((copied.files, copied.verified_cold), (2 * FILES, None), "{copier:?}");
        for number in 0..2 {
            // cpio and tar write into directories after setting their times.
            let changes = changes(&tree(), &copy(number));
            assert!(changes.iter().all(|line| line.starts_with(".d..t......")), "{copier:?}: {changes:?}");
        }
    }
    let tree = tree();
    if kind == "ext4" {
        for order in [CopyOrder::Ascending, CopyOrder::Interleaved, CopyOrder::Random] {
            verified(&bench, ask(Copier::Native, 1, &[order]));
            held_against(&tree, &copy(0), order);
        }
    }
    verified(&bench, ask(Copier::Native, 2, &[CopyOrder::Ascending, CopyOrder::Descending]));
    held_against(&tree, &copy(0), CopyOrder::Ascending);
    held_against(&tree, &copy(1), CopyOrder::Descending);
    verified(&bench, CopyAsk { copies: Copies::One, ..ask(Copier::Native, 2, &[CopyOrder::Interleaved]) });
    drop(bench);
    ground.unmount();
    machine.assert_as_before();
}
#[test]
fn loop_every_copier_copies_onto_ext4() {
    copies_on("ext4", 64 * MIB);
}

#[test]
fn loop_every_copier_copies_onto_xfs() {
    copies_on("xfs", 320 * MIB);
}

#[test]
fn loop_every_copier_copies_onto_btrfs() {
    copies_on("btrfs", 256 * MIB);
}

/// Each copier reports the full disk, and the file system serves the next trial.
#[test]
fn loop_a_full_disk_is_told_by_every_copier() {
    let Some(machine) = Machine::take() else { return };
    let ground = Mounted::new(LoopDevice::new(12 * MIB, "corpus-full"), "ext4");
    let bench = ground.bench();
    let source = large_files(&bench, 8);
    for (copier, writers) in
        PROGRAMS.into_iter().map(|copier| (copier, 1)).chain([(Copier::Native, 1), (Copier::Native, 2)])
    {
        let ask = CopyAsk { corpus: Corpus::Directory { path: source.clone() }, ..plain(copier, writers) };
        match run(&bench, ask) {
            Err(EngineError::Failed { ended, errors, .. }) => {
                assert_eq!(ended, "could not copy all", "{copier:?}");
                assert!(errors.iter().any(|error| error.errno == "ENOSPC"), "{copier:?}: {errors:?}");
            }
            other => panic!("{copier:?} {:?}", other.map(|out| out.copied)),
        }
    }
    verified(&bench, plain(Copier::Native, 1));
    drop(bench);
    ground.unmount();
    machine.assert_as_before();
}

/// Creates a directory with files of 4 MiB.
fn large_files(bench: &Bench, files: u32) -> PathBuf {
    let source = bench.dir.path().join("large");
    fs::create_dir(&source).unwrap();
    let content = vec![7; 4 << 20];
    (0..files).for_each(|n| fs::write(source.join(format!("f{n:03}")), &content).unwrap());
    source
}

enum End {
    Kill,
    Cancel,
}

/// However a copy is ended: no process is left, and the file system can be unmounted and used again.
#[test]
fn loop_a_copy_that_is_ended_leaves_the_machine_as_it_was() {
    let Some(machine) = Machine::take() else { return };
    let ground = Mounted::new(LoopDevice::new(512 * MIB, "corpus-ended"), "ext4");
    let bench = ground.bench();
    let corpus = Corpus::Directory { path: large_files(&bench, 30) };
    for (copier, end) in [
        (Copier::Native, End::Kill),
        (Copier::Tar, End::Kill),
        (Copier::Native, End::Cancel),
        (Copier::Tar, End::Cancel),
    ] {
        let workload = copy_of(CopyAsk { corpus: corpus.clone(), ..plain(copier, 2) });
        let mut job = bench.job(&workload, 7, 1.0);
        let engine = engine(&bench);
        engine.prepare(&job).unwrap();
        let worker = AtomicU32::new(0);
        let started = |pid| worker.store(pid, Ordering::SeqCst);
        job.started = &started;
        let before = completed(&ground.device);
        let ended = std::thread::scope(|scope| {
            let ender = scope.spawn(|| {
                wait_until("the copy moves data", || completed(&ground.device) > before + 50);
                match end {
                    End::Kill => {
                        let pid = i32::try_from(worker.load(Ordering::SeqCst)).unwrap();
                        let pid = rustix::process::Pid::from_raw(pid).unwrap();
                        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
                    }
                    End::Cancel => bench.cancel.store(true, Ordering::SeqCst),
                }
            });
            let ended = engine.run(&job);
            ender.join().unwrap();
            ended
        });
        assert_gone(worker.load(Ordering::SeqCst));
        bench.cancel.store(false, Ordering::SeqCst);
        match (end, ended) {
            (End::Cancel, Err(EngineError::Cancelled)) => {}
            (End::Kill, Err(EngineError::Failed { ended, output: None, .. })) => {
                assert!(ended.contains("was ended by signal 9"), "{ended}");
            }
            (_, other) => panic!("{copier:?} {:?}", other.map(|out| out.copied)),
        }
        let point = ground.point.to_str().unwrap();
        let source = format!("/dev/{}", ground.device.name());
        // At once: a process with an open file there would keep it busy.
        tool(&["umount", point]).unwrap();
        tool(&["mount", &source, point]).unwrap();
    }
    verified(&bench, plain(Copier::Native, 2));
    drop(bench);
    ground.unmount();
    machine.assert_as_before();
}
