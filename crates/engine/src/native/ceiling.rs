//! The engine's ceiling: the highest rate that it reaches on this machine, with reads of holes, which use no device. It is
//! stored, so that a trial near it isn't taken for slow storage.

use super::engine::NativeEngine;
use super::subset;
use super::task::{Place, Report, Task};
use crate::error::EngineError;
use crate::process::{self, GRACE, Order, Why};
use crate::regions::DATA_PREFIX;
use host::StateAccess;
use record::environment::{Ceiling, Environment};
use record::printable::Shown as _;
use record::version::FormatVersion;
use record::workload::{Layout, Options, Rw};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use thiserror::Error;

/// The version of the ceiling's file.
///
/// * 1.0: the first version.
const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The file's name in the state directory.
const FILE: &str = "native-ceiling.json";

/// The block size of the reads: small blocks of a hole, with a queue that is never empty.
const BLOCK_BYTES: u64 = 4096;
const DEPTH: u32 = 128;
/// The size of the hole: large enough that its page cache would be noticed, small enough for any file system.
const FILE_BYTES: u64 = 256 << 20;

/// The ramp before each repetition.
const RAMP: Duration = Duration::from_millis(200);

/// One measurement of the ceiling.
#[derive(Debug, Clone, PartialEq)]
pub struct Repetition {
    /// I/Os per second.
    pub iops: f64,
    /// The share of the time in which the job's thread ran.
    pub busiest_thread_share: Option<f64>,
    /// The CPU time per I/O, in nanoseconds.
    pub cpu_ns_per_io: Option<f64>,
    /// The instructions in user mode per I/O.
    pub user_instructions_per_io: Option<f64>,
}

/// All repetitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The repetitions in order.
    pub repetitions: Vec<Repetition>,
    /// How the I/Os were issued.
    pub issued_by: String,
    /// Whether O_DIRECT was used; it is where the file system supports it.
    pub direct: bool,
    /// The block size in bytes.
    pub bs_bytes: u64,
    /// The I/Os in flight.
    pub iodepth: u32,
}

/// The stored ceiling.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredCeiling {
    /// There is none, or it can't be read.
    Nothing,
    /// The ceiling of this machine as it is now.
    Current(Ceiling),
    /// The ceiling of another kernel, CPU model or version of diskproof; the text says which.
    Stale(String),
}

/// Why a ceiling can't be stored.
#[derive(Debug, Error)]
#[error("can't keep the ceiling in {}", .path.shown())]
pub struct KeepError {
    path: PathBuf,
    source: std::io::Error,
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Document {
    format: FormatVersion,
    /// These belong to it; if one of them changes, the ceiling is stale.
    kernel: Option<String>,
    cpu_model: Option<String>,
    diskproof: String,
    ceiling: Ceiling,
}

/// A file of holes in its own directory, removed at the end.
struct Hole {
    folder: PathBuf,
    file: PathBuf,
}

impl Hole {
    fn make(state: &Path) -> Result<Self, EngineError> {
        let folder = state.join("scratch").join(format!("ceiling-{}", std::process::id()));
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| EngineError::Io { action, path, source }
        };
        fs::create_dir_all(&folder).map_err(io("make", &folder))?;
        let file = folder.join(format!("{DATA_PREFIX}ceiling"));
        let hole = Self { folder, file };
        let made = File::create(&hole.file).map_err(io("make", &hole.file))?;
        made.set_len(FILE_BYTES).map_err(io("make", &hole.file))?;
        Ok(hole)
    }

    fn takes_direct(&self) -> bool {
        let flags = i32::try_from(OFlags::DIRECT.bits()).unwrap_or(0);
        OpenOptions::new().read(true).custom_flags(flags).open(&self.file).is_ok()
    }
}

impl Drop for Hole {
    fn drop(&mut self) {
        // Only our own text and holes: leftovers take no space.
        let _ = fs::remove_dir_all(&self.folder);
        let _ = self.folder.parent().map(fs::remove_dir);
    }
}

impl NativeEngine {
    /// Measures how many I/Os one job makes without storage: random reads of a hole in a file in the state directory, several
    /// times, each in its own process.
    ///
    /// # Errors
    /// When the directory can't be written, or the worker failed.
    pub fn measure_ceiling(
        &self,
        state: &Path,
        repetitions: u32,
        each: Duration,
        cancel: &AtomicBool,
    ) -> Result<Measured, EngineError> {
        let hole = Hole::make(state)?;
        let direct = hole.takes_direct();
        let mut measured = Measured {
            repetitions: Vec::new(),
            issued_by: String::new(),
            direct,
            bs_bytes: BLOCK_BYTES,
            iodepth: DEPTH,
        };
        for seed in 0..repetitions {
            let report = self.once(&hole, task(&hole, direct, each, seed)?, cancel)?;
            measured.repetitions.push(repetition(&report));
            measured.issued_by = report.issued_by;
        }
        Ok(measured)
    }

    fn once(&self, hole: &Hole, task: Task, cancel: &AtomicBool) -> Result<Report, EngineError> {
        let path = hole.folder.join("task.json");
        let text = serde_json::to_string(&task).unwrap_or_default();
        fs::write(&path, text).map_err(|source| EngineError::Io {
            action: "write",
            path: path.clone(),
            source,
        })?;
        let argv: Vec<OsString> = self.worker().iter().cloned().chain([path.into_os_string()]).collect();
        let expected = Duration::from_nanos(task.ramp_ns.saturating_add(task.trial_ns));
        let ended = process::run(&Order {
            argv: argv.clone(),
            scratch: &hole.folder,
            cgroup_procs: None,
            cancel,
            expected,
            patience: Duration::from_secs(30),
            grace: GRACE,
            started: &|_| {},
            tick: &|_| {},
        })?;
        if ended.why == Why::Cancelled {
            return Err(EngineError::Cancelled);
        }
        let report: Option<Report> = serde_json::from_str(&ended.stdout).ok();
        report.filter(|r| r.errors.is_empty() && r.read.ios > 0).ok_or_else(|| EngineError::Failed {
            argv: process::quoted(&argv),
            ended: process::describe(ended.status),
            errors: Vec::new(),
            messages: ended.stderr.lines().map(str::to_owned).collect(),
            output: None,
        })
    }
}

fn task(hole: &Hole, direct: bool, each: Duration, seed: u32) -> Result<Task, EngineError> {
    let options = Options {
        iodepth: DEPTH,
        direct,
        ioengine: "io_uring".to_owned(),
        ..Options::new(Rw::Randread, BLOCK_BYTES, FILE_BYTES)
    };
    let place = Place {
        number: 0,
        path: hole.file.clone(),
        offset_bytes: 0,
        size_bytes: FILE_BYTES,
        block_device: false,
    };
    let refused = |why: subset::TaskError| EngineError::Refused {
        workload: "ceiling".to_owned(),
        reason: why.to_string(),
    };
    Ok(Task {
        jobs: vec![subset::of_options("ceiling", &options, Layout::Hole, vec![place]).map_err(refused)?],
        invalidate: false,
        seed: seed.into(),
        proof: 0,
        ramp_ns: u64::try_from(RAMP.as_nanos()).unwrap_or(0),
        trial_ns: u64::try_from(each.as_nanos()).unwrap_or(u64::MAX),
        asked_ns: super::clock::monotonic_ns(),
        begins_at_ns: None,
        live: false,
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts and nanoseconds are far below 2^52")]
fn repetition(report: &Report) -> Repetition {
    let seconds = report.end_ns.saturating_sub(report.start_ns) as f64 / 1e9;
    let busiest = report.cost.busiest_thread_seconds;
    Repetition {
        iops: if seconds > 0.0 { report.read.ios as f64 / seconds } else { 0.0 },
        busiest_thread_share: busiest.filter(|_| seconds > 0.0).map(|busy| (busy / seconds).min(1.0)),
        cpu_ns_per_io: report.cost.cpu_ns_per_io,
        user_instructions_per_io: report.cost.user_instructions_per_io,
    }
}

/// The path of the ceiling's file.
#[must_use]
pub fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

/// Stores a ceiling for later runs on this machine, and replaces an earlier one.
///
/// # Errors
/// When the state directory can't be written.
pub fn keep(state: &Path, machine: &Environment, ceiling: &Ceiling) -> Result<(), KeepError> {
    let path = path(state);
    let document = Document {
        format: FORMAT,
        kernel: machine.kernel.clone(),
        cpu_model: machine.cpu_model.clone(),
        diskproof: env!("CARGO_PKG_VERSION").to_owned(),
        ceiling: ceiling.clone(),
    };
    write(state, &path, &document).map_err(|source| KeepError { path, source })
}

/// Writes the file atomically, so that a reader never sees a part of it.
fn write(state: &Path, path: &Path, document: &Document) -> std::io::Result<()> {
    fs::create_dir_all(state)?;
    let beside = path.with_extension(format!("json.{}", std::process::id()));
    let text = serde_json::to_vec_pretty(document)?;
    let written = host::open_trusted(&beside, StateAccess::ChangeOrMake).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// The stored ceiling, and whether it is still that of this machine.
#[must_use]
pub fn kept(state: &Path, machine: &Environment) -> StoredCeiling {
    let text = host::read_trusted(&path(state)).ok().flatten();
    let document = text.and_then(|text| serde_json::from_slice::<Document>(&text).ok());
    let Some(document) = document.filter(|d| FORMAT.reads(d.format)) else { return StoredCeiling::Nothing };
    let was = |what: &str, then: Option<&str>, now: Option<&str>| {
        (then != now).then(|| {
            format!(
                "it was measured with {what} {}, now it is {}",
                then.unwrap_or("unknown"),
                now.unwrap_or("unknown")
            )
        })
    };
    let own = env!("CARGO_PKG_VERSION");
    let differs = was("kernel", document.kernel.as_deref(), machine.kernel.as_deref())
        .or_else(|| was("CPU", document.cpu_model.as_deref(), machine.cpu_model.as_deref()))
        .or_else(|| was("diskproof", Some(&document.diskproof), Some(own)));
    match differs {
        Some(why) => StoredCeiling::Stale(why),
        None => StoredCeiling::Current(document.ceiling),
    }
}

/// The stored ceiling, if it is still that of this machine.
#[must_use]
pub fn current(state: &Path, machine: &Environment) -> Option<Ceiling> {
    match kept(state, machine) {
        StoredCeiling::Current(ceiling) => Some(ceiling),
        StoredCeiling::Nothing | StoredCeiling::Stale(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{StoredCeiling, current, keep, kept, path};
    use record::environment::{Ceiling, Environment};

    fn machine() -> Environment {
        let text = |s: &str| Some(s.to_owned());
        Environment { kernel: text("6.1.0"), cpu_model: text("Example CPU"), ..Environment::default() }
    }

    fn ceiling(iops: f64) -> Ceiling {
        Ceiling {
            measured_unix_ms: 1_795_000_000_000,
            rw: "randread".to_owned(),
            bs_bytes: 4096,
            iodepth: 128,
            direct: true,
            issued_by: "io_uring".to_owned(),
            fs_type: Some("ext4".to_owned()),
            iops,
            low: None,
            high: None,
            confidence: 0.95,
            repetitions: vec![iops],
            busiest_thread_share: Some(0.98),
            cpu_ns_per_io: Some(1000.0),
            user_instructions_per_io: None,
        }
    }

    #[test]
    fn the_latest_is_kept_and_read_back() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(kept(state.path(), &machine()), StoredCeiling::Nothing);
        keep(state.path(), &machine(), &ceiling(1e5)).unwrap();
        keep(state.path(), &machine(), &ceiling(2e5)).unwrap();
        assert_eq!(kept(state.path(), &machine()), StoredCeiling::Current(ceiling(2e5)));
        assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn another_kernel_cpu_or_version_makes_it_stale() {
        let state = tempfile::tempdir().unwrap();
        keep(state.path(), &machine(), &ceiling(1e5)).unwrap();
        let newer = Environment { kernel: Some("6.2.0".to_owned()), ..machine() };
        let why = "it was measured with kernel 6.1.0, now it is 6.2.0".to_owned();
        assert_eq!(kept(state.path(), &newer), StoredCeiling::Stale(why));
        let moved = Environment { cpu_model: None, ..machine() };
        assert!(
            matches!(kept(state.path(), &moved), StoredCeiling::Stale(why) if why.contains("now it is unknown"))
        );
        assert_eq!(current(state.path(), &moved), None);
        let text = std::fs::read_to_string(path(state.path())).unwrap();
        let version = format!("\"diskproof\": \"{}\"", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&version), "{text}");
        std::fs::write(path(state.path()), text.replace(&version, "\"diskproof\": \"0.0.1\"")).unwrap();
        assert!(
            matches!(kept(state.path(), &machine()), StoredCeiling::Stale(why) if why.contains("diskproof 0.0.1"))
        );
    }

    #[test]
    fn what_cannot_be_understood_is_nothing() {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(path(state.path()), "{").unwrap();
        assert_eq!(kept(state.path(), &machine()), StoredCeiling::Nothing);
        keep(state.path(), &machine(), &ceiling(1e5)).unwrap();
        let text = std::fs::read_to_string(path(state.path())).unwrap();
        std::fs::write(path(state.path()), text.replace("\"major\": 1", "\"major\": 2")).unwrap();
        assert_eq!(kept(state.path(), &machine()), StoredCeiling::Nothing, "of a newer format");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = keep(&file, &machine(), &ceiling(1e5)).unwrap_err();
        assert!(error.to_string().contains("file/native-ceiling.json"), "{error}");
    }
}
