//! The worker process: makes one copy and reports its duration.

use super::flush::{self, Flusher};
use super::order;
use super::task::{Failure, Report, Source, Task, WriterTask};
use super::tree::Tree;
use super::writer::{Layout, Manner, Room, Writer, failure};
use super::{load, pack, programs};
use crate::native::clock::{monotonic_ns, seconds};
use crate::native::usage::Usage;
use record::copy::{CopiedBy, Copier, CopySync};
use record::printable::Shown as _;
use rustix::fs::{Mode, syncfs};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use thiserror::Error;

/// Why the worker could not do its task.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// The task can't be read.
    #[error("cannot read the task {}", .path.shown())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The task can't be parsed.
    #[error("{} is not a task for this version of the corpus engine", .path.shown())]
    NoTask {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// The source can't be read.
    #[error("cannot read the corpus {}", .path.shown())]
    Corpus {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The report can't be written.
    #[error("cannot write the report")]
    Answer(#[source] std::io::Error),
}

/// Performs the task in a file, and writes the report to `out`.
///
/// # Errors
/// When there is no report. Failures during the copy are in the report.
pub fn serve(task: &Path, out: &mut dyn Write) -> Result<(), WorkerError> {
    let begun_ns = monotonic_ns();
    let read = |source| WorkerError::Read { path: task.to_owned(), source };
    let text = std::fs::read_to_string(task).map_err(read)?;
    let no_task = |source| WorkerError::NoTask { path: task.to_owned(), source };
    let task: Task = serde_json::from_str(&text).map_err(no_task)?;
    let tree = open(&task.source, task.preserve.xattrs)?;
    let mut report = perform(&task, &tree);
    report.startup_ns = report.start_ns.saturating_sub(begun_ns);
    let answer = serde_json::to_vec(&report).map_err(|e| WorkerError::Answer(e.into()))?;
    out.write_all(&answer).and_then(|()| out.flush()).map_err(WorkerError::Answer)
}

/// The source in memory.
pub(crate) fn open(source: &Source, xattrs: bool) -> Result<Tree, WorkerError> {
    match source {
        Source::Pack { path, .. } => {
            pack::open(path).map_err(|source| WorkerError::Corpus { path: path.clone(), source })
        }
        Source::Directory(path) => load::directory(path, xattrs, load::room_bytes())
            .map_err(|unfit| WorkerError::Corpus { path: unfit.path, source: unfit.why }),
    }
}

fn perform(task: &Task, tree: &Tree) -> Report {
    // Permissions come from the source, whatever the caller's umask.
    rustix::process::umask(Mode::empty());
    let mut report = Report::default();
    match copy(task, tree, &mut report) {
        Ok(()) => {}
        Err(failure) => report.failures.push(failure),
    }
    report
}

fn copy(task: &Task, tree: &Tree, report: &mut Report) -> Result<(), Failure> {
    let target = File::open(&task.target).map_err(|error| Failure::of_io("open", &task.target, &error))?;
    for writer in &task.writers {
        make_root(&task.target.join(&writer.into))?;
    }
    sync(&target, &task.target)?;
    let (amount, copies) =
        (tree.amount(), task.writers.iter().filter(|writer| writer.part.0 == 0).count() as u64);
    (report.directories, report.links) = (amount.directories * copies, amount.links * copies);
    report.used_before = used(&target);
    if task.copier != Copier::Native {
        programs::prepare(task, tree)?;
    }
    let before = Usage::of_process().and(Usage::of_children());
    let done = if task.copier == Copier::Native {
        report.source = "in memory".to_owned();
        native(task, tree, &target, report)
    } else {
        report.source = "a tree of files in the page cache".to_owned();
        programs::copy(task, tree, report)
    };
    if report.end_ns == 0 {
        let begun = monotonic_ns();
        if task.sync != CopySync::None {
            sync(&target, &task.target)?;
        }
        report.end_ns = monotonic_ns();
        report.sync_seconds = seconds(begun, report.end_ns);
    }
    let cost = Usage::of_process().and(Usage::of_children()) - before;
    (report.user_seconds, report.system_seconds) = (cost.user_seconds, cost.system_seconds);
    report.peak_memory_bytes = cost.peak_memory_bytes;
    // Data that aren't durable take no space yet.
    report.used_after = used(&target).filter(|_| task.sync != CopySync::None);
    done
}

/// Creates the root directory of one copy before the clock starts; an existing one stays as it is.
fn make_root(path: &Path) -> Result<(), Failure> {
    match rustix::fs::mkdir(path, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(errno) => Err(failure("make the directory", path, errno, None)),
    }
}

fn sync(target: &File, path: &Path) -> Result<(), Failure> {
    syncfs(target).map_err(|errno| failure("flush", path, errno, None))
}

fn used(target: &File) -> Option<u64> {
    let space = rustix::fs::fstatvfs(target).ok()?;
    (space.f_blocks > 0).then(|| (space.f_blocks - space.f_bfree).saturating_mul(space.f_frsize))
}

/// The most files that the system lets us open.
fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let asked = Rlimit { current: limit.maximum, ..limit };
    let most = if setrlimit(Resource::Nofile, asked).is_ok() { limit.maximum } else { limit.current };
    most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

/// Runs all writers at once, each in its own thread, and the helper that flushes meanwhile.
fn native(task: &Task, tree: &Tree, target: &File, report: &mut Report) -> Result<(), Failure> {
    let layout = Layout::of(tree);
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let shared = task.writers.iter().any(|writer| writer.part.1 > 1);
    let room = Room::of(descriptors(), task.writers.len(), task.sync);
    room.reserve(target, task.writers.len());
    // Without a flush at the end, there is none before either.
    let begin_up_to = if task.sync == CopySync::End { flush::by_writer_bytes(target) } else { 0 };
    let (preserve, sync) = (task.preserve, task.sync);
    let manner = Manner { preserve, sync, stop: &stop, written: &written, shared, room, begin_up_to };
    let orders: Vec<Vec<usize>> =
        task.writers.iter().map(|w| order::places(tree, w.order, w.part, task.seed)).collect();
    let start = Barrier::new(task.writers.len() + 1);
    let flusher = Flusher::default();
    let mut failed = Vec::new();
    std::thread::scope(|scope| {
        let helper = (task.sync == CopySync::End).then(|| scope.spawn(|| flusher.run(target, &written)));
        let handles: Vec<_> = task
            .writers
            .iter()
            .zip(&orders)
            .map(|(writer, places)| {
                let (layout, manner, start) = (&layout, &manner, &start);
                scope.spawn(move || one(task, writer, places, layout, manner, start))
            })
            .collect();
        start.wait();
        report.start_ns = monotonic_ns();
        for handle in handles {
            match handle.join() {
                Ok((Ok(done), busy)) => {
                    report.writers.push(done);
                    let busiest = report.busiest_thread_seconds.unwrap_or(0.0).max(busy);
                    report.busiest_thread_seconds = Some(busiest);
                }
                Ok((Err(failure), _)) => failed.push(failure),
                Err(_) => failed.push(Failure { errno: "panic".into(), place: "a writer".into() }),
            }
        }
        flusher.end();
        helper.map(|helper| helper.join())
    });
    if shared && failed.is_empty() {
        let root = task.target.join(&task.writers[0].into);
        let done = Writer::new(root, &layout, &manner).and_then(|mut writer| writer.finish());
        failed.extend(done.err());
    }
    // All failures are reported; the first one is the reason.
    let first = (!failed.is_empty()).then(|| failed.remove(0));
    report.failures.extend(failed);
    first.map_or(Ok(()), Err)
}

type One = (Result<CopiedBy, Failure>, f64);

fn one(
    task: &Task,
    writer: &WriterTask,
    places: &[usize],
    layout: &Layout<'_>,
    manner: &Manner<'_>,
    start: &Barrier,
) -> One {
    let made = Writer::new(task.target.join(&writer.into), layout, manner);
    start.wait();
    let before = Usage::of_thread();
    let copied = made.and_then(|mut at_work| {
        let done = at_work.copy(places, writer.part.0 == 0)?;
        if !manner.shared && !manner.stop.load(Ordering::Relaxed) {
            at_work.finish()?;
        }
        Ok(done)
    });
    if copied.is_err() {
        manner.stop.store(true, Ordering::Relaxed);
    }
    (copied, (Usage::of_thread() - before).cpu_seconds())
}
