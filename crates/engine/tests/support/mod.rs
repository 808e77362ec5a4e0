//! Directories to load and jobs, for tests with a real engine.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test binary uses a part of it; tests may unwrap"
)]

pub mod accesses;
pub mod loops;

use device::{Ground, LentDir};
use diskproof_engine::Job;
use diskproof_engine::native::NativeEngine;
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// Allows one fio at a time in this process, because tests measure times.
static ALONE: Mutex<()> = Mutex::new(());

/// A scratch directory and a directory to load, both removed on drop.
pub struct Bench {
    pub scratch: PathBuf,
    pub ground: Ground,
    pub cancel: AtomicBool,
    _lent: Option<LentDir>,
    pub dir: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Bench {
    /// Uses an existing directory.
    pub fn lent() -> Self {
        let dir = tempfile::Builder::new().prefix("diskproof-fio-test-").tempdir().unwrap();
        let lent = device::lend(dir.path(), 0, "diskproof-test-lent").unwrap();
        let mut bench = Self::on(dir, Ground::lent(&lent));
        bench._lent = Some(lent);
        bench
    }

    /// Uses any device or directory.
    pub fn on(dir: TempDir, ground: Ground) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = dir.path().join("scratch");
        std::fs::create_dir_all(&scratch).unwrap();
        Self { scratch, ground, cancel: AtomicBool::new(false), _lent: None, dir, _alone: alone }
    }

    pub fn job<'a>(&'a self, workload: &'a Workload, seed: u64, seconds: f64) -> Job<'a> {
        Job {
            ground: &self.ground,
            workload,
            seed,
            trial_seconds: seconds,
            ramp_seconds: 0.0,
            cgroup_procs: None,
            cancel: &self.cancel,
            started: &|_| {},
            progress: &|_| {},
            running: &|_| {},
            begins_at_ns: None,
            follows: false,
            scratch: &self.scratch,
        }
    }
}

pub fn options(rw: Rw) -> Options {
    Options { iodepth: 4, direct: true, ioengine: "libaio".into(), ..Options::new(rw, 4096, 8 << 20) }
}

/// The native engine with the worker of this build.
pub fn native_engine() -> NativeEngine {
    NativeEngine::with_worker(vec![env!("CARGO_BIN_EXE_diskproof-native-worker").into()])
}

/// Options that native performs unchanged.
pub fn native(rw: Rw) -> Options {
    Options { ioengine: "io_uring".into(), ..options(rw) }
}

pub fn workload(ask: Ask) -> Workload {
    Workload {
        name: "w".into(),
        engine: EngineKind::Fio,
        ask,
        layout: Layout::Written,
        cache: CacheStart::Cold,
        on: Vec::new(),
    }
}

pub fn asked(options: Options) -> Workload {
    workload(Ask::Options(options))
}

/// A user's own job file.
pub fn job_file(text: &str, size_bytes: u64) -> Workload {
    workload(Ask::JobFile { path: "jobs/mine.fio".into(), text: text.into(), size_bytes, jobs: Vec::new() })
}

/// The size after gzip as a share of `bytes`.
pub fn gzip_share(path: &std::path::Path) -> f64 {
    let out = std::process::Command::new("gzip").arg("-1c").arg(path).output().unwrap();
    assert!(out.status.success());
    out.stdout.len() as f64 / std::fs::metadata(path).unwrap().len() as f64
}
