//! The corpus engine.

use super::generated::{Recipe, Unmade};
use super::task::{Failure, Report, Source, Task, WriterTask};
use super::verify::{self, CopyComparison, PreservedAttributes};
use super::{programs, space, worker};
use crate::contract::{Engine, Job};
use crate::data::{data_files, io_error};
use crate::error::EngineError;
use crate::process::{self, Ended, GRACE, Order, Why};
use crate::regions::DATA_PREFIX;
use device::Place;
use record::copy::{Copied, Copier, Copies, CopyAsk, Corpus};
use record::printable::Shown as _;
use record::trial::{EngineOutput, ErrorCount, GeneratorCost, Totals, Verified, Window};
use record::workload::Ask;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The name of the task's file in the scratch directory.
const TASK_FILE: &str = "corpus.json";

/// Copies a tree of files completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusEngine {
    /// The directory of generated corpora.
    corpora: PathBuf,
    /// The worker's program and arguments, without the task's file.
    worker: Vec<OsString>,
}

impl CorpusEngine {
    /// The hidden subcommand for the worker: it calls [`super::serve`].
    pub const VERB: &str = "engine-corpus";

    /// Uses this program as the worker, and keeps generated corpora in `corpora`.
    #[must_use]
    pub fn new(corpora: PathBuf) -> Self {
        Self::with_worker(corpora, vec!["/proc/self/exe".into(), Self::VERB.into()])
    }

    /// Uses another program as the worker, which calls [`super::serve`] with its last argument.
    #[must_use]
    pub fn with_worker(corpora: PathBuf, worker: Vec<OsString>) -> Self {
        Self { corpora, worker }
    }

    /// The source of the copy; a generated corpus is created if necessary.
    fn source(&self, job: &Job<'_>, ask: &CopyAsk) -> Result<Source, EngineError> {
        let (kind, files, seed) = match &ask.corpus {
            Corpus::Generated { kind, files, seed, .. } => (*kind, *files, *seed),
            Corpus::Directory { path } => return Ok(Source::Directory(path.clone())),
        };
        let recipe = Recipe { kind, files, seed };
        let unmade = |unmade| match unmade {
            Unmade::Cancelled => EngineError::Cancelled,
            Unmade::Io(path, source) => EngineError::Io { action: "make the corpus", path, source },
            Unmade::Copy(failure) => EngineError::Io {
                action: "make the corpus in",
                path: self.corpora.clone(),
                source: std::io::Error::other(format!("{}: {}", failure.place, failure.errno)),
            },
        };
        let path = recipe.pack(&self.corpora, job.cancel, job.progress).map_err(unmade)?;
        let tree = match ask.copier {
            Copier::Native => None,
            _ => Some(recipe.tree(&self.corpora, &path).map_err(unmade)?),
        };
        Ok(Source::Pack { path, tree })
    }
}

impl Engine for CorpusEngine {
    fn probe(&self) -> Result<String, EngineError> {
        Ok(format!("corpus-{}", env!("CARGO_PKG_VERSION")))
    }

    fn prepare(&self, job: &Job<'_>) -> Result<Vec<PathBuf>, EngineError> {
        let (ask, target) = asked(job)?;
        program(ask.copier)?;
        clear(target)?;
        self.source(job, ask)?;
        (job.progress)(1.0);
        Ok(Vec::new())
    }

    fn run(&self, job: &Job<'_>) -> Result<EngineOutput, EngineError> {
        let (ask, target) = asked(job)?;
        clear(target)?;
        let task = task(job, ask, target, self.source(job, ask)?)?;
        let input = serde_json::to_string_pretty(&task).unwrap_or_default();
        let path = job.scratch.join(TASK_FILE);
        std::fs::write(&path, &input).map_err(io_error("write", &path))?;
        let argv: Vec<OsString> = self.worker.iter().cloned().chain([path.into_os_string()]).collect();
        let jobs = RefCell::new(BTreeMap::new());
        let ended = process::run(&Order {
            argv: argv.clone(),
            scratch: job.scratch,
            cgroup_procs: job.cgroup_procs,
            cancel: job.cancel,
            // The duration of a copy is unknown; the caller ends one that makes no progress.
            expected: Duration::ZERO,
            patience: patience(ask),
            grace: GRACE,
            started: job.started,
            tick: &|pids| {
                hold(&mut jobs.borrow_mut(), pids);
                (job.running)(None);
            },
        })?;
        outlive(jobs.into_inner());
        let report = conclude(&argv, &ended)?;
        let mut output = output(self.probe()?, &argv, input, &ended, &report);
        let argv = process::quoted(&argv);
        let Some(copied) = output.copied.as_mut() else { return Ok(output) };
        if report.failures.is_empty() {
            copied.extents = space::extents(target, !job.ground.devices().is_empty(), copied.logical_bytes);
        }
        let errors: Vec<ErrorCount> = report.failures.iter().map(count).collect();
        if !errors.is_empty() {
            output.errors.clone_from(&errors);
            let (ended, messages) = ("could not copy all".to_owned(), output.messages.clone());
            return Err(EngineError::Failed {
                argv,
                ended,
                errors,
                messages,
                output: Some(Box::new(output)),
            });
        }
        if ask.verify { compare(job, ask, &task, output, argv) } else { Ok(output) }
    }
}

/// The copy to make, and its target directory.
fn asked<'a>(job: &Job<'a>) -> Result<(&'a CopyAsk, &'a Path), EngineError> {
    let refused = |reason: String| EngineError::Refused { workload: job.workload.name.clone(), reason };
    let Ask::Copy(ask) = &job.workload.ask else {
        return Err(refused("the corpus engine performs only copies of a corpus".to_owned()));
    };
    if let Some(lack) = spec::copier_lacks(ask) {
        return Err(refused(lack.to_string()));
    }
    match job.ground.place() {
        Place::Directory(path) => Ok((ask, path)),
        Place::Block(path) => Err(refused(format!(
            "{} is a bare block device: files are copied into a file system; put one on it",
            path.shown()
        ))),
    }
}

/// The program of a copier.
fn program(copier: Copier) -> Result<Option<PathBuf>, EngineError> {
    let missing = |source| EngineError::Missing { engine: copier.name(), source: Box::new(source) };
    programs::tool(copier).map(|tool| host::resolve(tool).map_err(missing)).transpose()
}

/// Removes the copies of earlier trials.
fn clear(target: &Path) -> Result<(), EngineError> {
    for path in data_files(target)? {
        let is_directory = std::fs::symlink_metadata(&path).map_err(io_error("examine", &path))?.is_dir();
        let removed = if is_directory { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.map_err(io_error("remove", &path))?;
    }
    Ok(())
}

fn task(job: &Job<'_>, ask: &CopyAsk, target: &Path, source: Source) -> Result<Task, EngineError> {
    let program = program(ask.copier)?;
    let files = match &source {
        Source::Pack { tree, .. } => tree.clone().unwrap_or_default(),
        Source::Directory(path) => path.clone(),
    };
    let writers = (0..ask.writers.max(1)).map(|number| {
        let (copy, part) = match ask.copies {
            Copies::Each => (number, (0, 1)),
            Copies::One => (0, (number, ask.writers.max(1))),
        };
        let into = format!("{DATA_PREFIX}{copy}");
        let list = job.scratch.join(format!("names.{number}"));
        let argv = program.as_ref().map_or_else(Vec::new, |program| {
            programs::argv(ask.copier, program, &files, &target.join(&into), &list, ask.preserve)
        });
        let list = (!matches!(ask.copier, Copier::Native | Copier::Cp)).then_some(list);
        let list_as_input = ask.copier == Copier::Cpio;
        WriterTask { into, order: ask.order_of(number), part, argv, list, list_as_input }
    });
    Ok(Task {
        source,
        target: target.to_owned(),
        copier: ask.copier,
        writers: writers.collect(),
        scratch: job.scratch.to_owned(),
        preserve: ask.preserve,
        sync: ask.sync,
        seed: job.seed,
    })
}

/// The timeout: an hour, plus the time for a slow disk at 20 files and 100 kB per second.
fn patience(ask: &CopyAsk) -> Duration {
    let files = match ask.corpus {
        Corpus::Generated { files, .. } => files,
        Corpus::Directory { .. } => 10_000_000,
    };
    Duration::from_secs(3600 + files.saturating_mul(ask.whole_copies()) / 20 + ask.data_bytes() / 100_000)
}

/// Opens a pidfd for each child of the worker.
fn hold(jobs: &mut BTreeMap<u32, OwnedFd>, pids: &[u32]) {
    for &number in pids {
        let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
        if let Some(fd) = pid
            .filter(|_| !jobs.contains_key(&number))
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
        {
            jobs.insert(number, fd);
        }
    }
}

/// Kills the copiers that are left and waits until none is: a running one would keep the file system busy.
fn outlive(jobs: BTreeMap<u32, OwnedFd>) {
    let begun = Instant::now();
    for fd in jobs.values() {
        // Most have ended already.
        while pidfd_send_signal(fd, Signal::KILL).is_ok() && begun.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The worker's report.
fn conclude(argv: &[OsString], ended: &Ended) -> Result<Report, EngineError> {
    let argv = process::quoted(argv);
    let messages: Vec<String> = ended.stderr.lines().map(str::to_owned).collect();
    match ended.why {
        Why::Itself => {}
        Why::Cancelled => return Err(EngineError::Cancelled),
        Why::Hung => {
            let waited_seconds = ended.waited.as_secs_f64();
            return Err(EngineError::Hung {
                argv,
                expected_seconds: waited_seconds,
                waited_seconds,
                messages,
            });
        }
    }
    if !ended.status.is_some_and(|status| status.success()) {
        let ended = process::describe(ended.status);
        return Err(EngineError::Failed { argv, ended, errors: Vec::new(), messages, output: None });
    }
    serde_json::from_str(&ended.stdout).map_err(|error| EngineError::Output {
        argv,
        reason: error.to_string(),
        messages,
    })
}

fn count(failure: &Failure) -> ErrorCount {
    ErrorCount { errno: failure.errno.clone(), count: 1, place: Some(failure.place.clone()) }
}

fn output(engine: String, argv: &[OsString], input: String, ended: &Ended, report: &Report) -> EngineOutput {
    let window = Window { start_ns: report.start_ns, end_ns: report.end_ns };
    let (files, bytes) =
        report.writers.iter().fold((0, 0), |(files, bytes), w| (files + w.files, bytes + w.bytes));
    let share = |seconds: f64| (window.seconds() > 0.0).then(|| seconds / window.seconds());
    let allocated = report.used_after.zip(report.used_before);
    EngineOutput {
        argv: argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        input,
        raw: ended.stdout.clone(),
        messages: report.messages.iter().cloned().chain(ended.stderr.lines().map(str::to_owned)).collect(),
        write: Some(totals(files, bytes, window)),
        generator: Some(GeneratorCost {
            user_seconds: report.user_seconds,
            system_seconds: report.system_seconds,
            busiest_thread_seconds: report.busiest_thread_seconds,
            cpu_ns_per_io: None,
            user_instructions_per_io: None,
            peak_memory_bytes: Some(report.peak_memory_bytes),
            buffer_bytes: None,
            startup_ns: Some(report.startup_ns),
        }),
        cpu_user_share: share(report.user_seconds),
        cpu_system_share: share(report.system_seconds),
        copied: Some(Copied {
            source: report.source.clone(),
            files,
            directories: report.directories,
            links: report.links,
            logical_bytes: bytes,
            allocated_bytes: allocated.map(|(after, before)| after.saturating_sub(before)),
            extents: None,
            writers: report.writers.clone(),
            sync_seconds: report.sync_seconds,
            verified_cold: None,
        }),
        ..EngineOutput::new(engine, window)
    }
}

/// A file counts as one write, however the copier divides it.
#[expect(clippy::cast_precision_loss, reason = "counts and bytes are far below 2^52")]
fn totals(files: u64, bytes: u64, window: Window) -> Totals {
    let seconds = window.seconds();
    let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    Totals {
        ios: files,
        bytes,
        seconds,
        iops: rate(files),
        bytes_per_second: rate(bytes),
        ..Totals::default()
    }
}

/// Reads every copy back from the device and compares it with the source. Not throttled, and outside the measured time.
fn compare(
    job: &Job<'_>,
    ask: &CopyAsk,
    task: &Task,
    mut output: EngineOutput,
    argv: String,
) -> Result<EngineOutput, EngineError> {
    let source = worker::open(&task.source, ask.preserve.xattrs);
    let tree = source.map_err(|error| {
        let (reason, messages) = (error.to_string(), Vec::new());
        EngineError::Output { argv: argv.clone(), reason, messages }
    })?;
    let cold = drop_caches(&task.target);
    let mut found = CopyComparison::default();
    // cpio and tar write into directories after setting their times, and so do several programs that share one copy.
    let divided = ask.copies == Copies::One && ask.writers > 1;
    let directory_times = match ask.copier {
        Copier::Native => true,
        Copier::Cp | Copier::Rsync => !divided,
        Copier::Cpio | Copier::Tar => false,
    };
    let kept = PreservedAttributes { preserve: ask.preserve, directory_times };
    for copy in 0..ask.whole_copies() {
        let root = task.target.join(format!("{DATA_PREFIX}{copy}"));
        let one = verify::compare(&tree, &root, kept, job.cancel);
        if job.cancel.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(EngineError::Cancelled);
        }
        found.bytes += one.bytes;
        found.wrong.extend(one.wrong);
    }
    let verified = verify::verified(&found);
    let errors = wrong(&verified);
    output.verified = Some(verified);
    output.errors.clone_from(&errors);
    if let Some(copied) = &mut output.copied {
        copied.verified_cold = Some(cold);
    }
    if errors.is_empty() {
        return Ok(output);
    }
    let messages = output.messages.clone();
    let ended = "made a copy that differs from its source".to_owned();
    Err(EngineError::Failed { argv, ended, errors, messages, output: Some(Box::new(output)) })
}

/// The first few faults, with path and offset.
fn wrong(verified: &Verified) -> Vec<ErrorCount> {
    let place = |fault: &record::trial::VerifyFault| {
        let offset =
            fault.offsets_bytes.first().map(|offset| format!(" at offset {offset}")).unwrap_or_default();
        format!("{}{offset}: {}", fault.path, fault.example)
    };
    let one = |fault| ErrorCount { errno: "EILSEQ".to_owned(), count: 1, place: Some(place(fault)) };
    verified.faults.iter().take(5).map(one).collect()
}

/// Flushes the copy and drops it and the file system's metadata from memory. False without root: then only the files' content can
/// be dropped.
fn drop_caches(target: &Path) -> bool {
    let flushed = File::open(target).is_ok_and(|directory| rustix::fs::syncfs(&directory).is_ok());
    let all = || File::options().write(true).open("/proc/sys/vm/drop_caches")?.write_all(b"3\n");
    flushed && all().is_ok()
}
