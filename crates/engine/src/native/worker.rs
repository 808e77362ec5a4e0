//! The worker process: performs one task and reports the counts.

use super::board::Board;
use super::buffers::{BufferError, Buffers};
use super::clock::{Clock, monotonic_ns};
use super::content::Content;
use super::error::{LaneError, LoadError, NoRing, WorkerError};
use super::hang::Watch;
use super::kind::Kind;
use super::lane::{Finished, Shared, Start, open};
use super::live::Teller;
use super::meter::{self, Helpers, Meter, Used};
use super::proof::read_back;
use super::ring::{Ring, probe};
use super::series::latencies;
use super::sources::Sources;
use super::tally::{Span, Tally, sum};
use super::task::{Cost, Issue, JobTask, Report, Side, Task};
use super::threads::{self, Thread};
use super::usage::Usage;
use crate::data::is_ours;
use record::printable::chain;
use record::trial::{Departure, Verified};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

/// The stack size of a lane, which needs little.
const STACK_BYTES: usize = 256 << 10;

/// The least baseline for the calibration of the clock.
const BASELINE: Duration = Duration::from_millis(4);

/// How often it checks whether a thread hangs, in nanoseconds.
const LOOK_NS: u64 = 1_000_000_000;

/// The most threads: more would measure the scheduler.
const MOST_THREADS: u64 = 4096;

/// Performs the task in a file. Writes the report to `out`, and messages meanwhile to `err`, one per line.
///
/// # Errors
/// When the load could not be set up. I/Os that fail are in the report.
pub fn serve(task: &Path, out: &mut dyn Write, err: &mut dyn Write) -> Result<(), WorkerError> {
    let clock = Clock::new();
    let read = |source| WorkerError::Read { path: task.to_owned(), source };
    let text = std::fs::read_to_string(task).map_err(read)?;
    let no_task = |source| WorkerError::NoTask { path: task.to_owned(), source };
    let task: Task = serde_json::from_str(&text).map_err(no_task)?;
    let report = perform(&task, clock, err)?;
    let answer = serde_json::to_vec(&report).map_err(|e| WorkerError::Answer(e.into()))?;
    out.write_all(&answer).and_then(|()| out.flush()).map_err(WorkerError::Answer)
}

/// How a lane issues I/O, and the size of its buffers in bytes.
type Setup = (String, u64);

/// A lane's message before the start.
type Readiness = Result<Setup, LaneError>;

/// A lane's two channels to the worker.
struct Gate {
    ready: Sender<Readiness>,
    start: Receiver<Start>,
}

impl Gate {
    /// Waits for the start; `None` when another lane couldn't get ready.
    fn pass(self, readiness: Readiness) -> Option<Start> {
        self.ready.send(readiness).ok()?;
        self.start.recv().ok()
    }
}

type Lane<'scope> = ScopedJoinHandle<'scope, Result<Vec<Finished>, LaneError>>;

fn perform(task: &Task, clock: Clock, err: &mut dyn Write) -> Result<Report, LoadError> {
    check(task)?;
    let refusal = probe_all(task)?;
    let ring = refusal.is_none();
    let departures = departures(task, refusal.as_ref());
    let mut messages: Vec<String> = departures.iter().map(|departure| departure.text.clone()).collect();
    check_threads(task, ring).map_err(|error| match messages.first().filter(|_| !ring) {
        Some(departure) => LoadError::InsteadOfRing { departure: departure.clone(), error: Box::new(error) },
        None => error,
    })?;
    let stop = AtomicBool::new(false);
    let (say, said) = channel();
    let hung = Watch::default();
    let board = task.live.then(|| Arc::new(Board::new()));
    let shared = Shared { task, stop: &stop, say, watch: &hung, board: board.clone() };
    std::thread::scope(|scope| {
        let (ready, readiness) = channel();
        let mut starts = Vec::new();
        let mut handles = Vec::new();
        for (number, job) in (0_u32..).zip(&task.jobs) {
            let (start, gate) = channel();
            let gate = Gate { ready: ready.clone(), start: gate };
            handles.push(spawn(scope, shared.clone(), (number, job), issue(job, ring), gate)?);
            starts.push(start);
        }
        drop((ready, shared));
        let (issued_by, buffer_bytes) = match all_ready(&readiness, task.jobs.len()) {
            Ok(set_up) => set_up,
            Err(error) => {
                drop(starts);
                return Err(error);
            }
        };
        let waited_ns = await_begin(task);
        let start = begin(task, clock);
        starts.iter().for_each(|gate| drop(gate.send(start.clone())));
        // The agent process gave us the memory for it as standard input.
        let stdin = std::io::stdin();
        let mut teller = board.as_deref().map(|board| Teller::new(board, &stdin, start.span));
        watch((&said, &hung), &mut messages, err, &mut teller);
        let mut finished = join(handles)?;
        let verified = read_back(task, &mut finished, &mut |message| {
            let _ = writeln!(err, "{message}");
            messages.push(message);
        })?;
        let made = Made { issued_by, messages, departures, buffer_bytes, verified, waited_ns };
        Ok(report(task, &start, finished, stop.load(Ordering::Relaxed), made))
    })
}

/// The parts of the report besides the counts.
struct Made {
    issued_by: String,
    messages: Vec<String>,
    departures: Vec<Departure>,
    buffer_bytes: u64,
    verified: Option<Verified>,
    waited_ns: u64,
}

/// The differences from the request. `refusal`: why there is no io_uring.
fn departures(task: &Task, refusal: Option<&NoRing>) -> Vec<Departure> {
    let mut all = Vec::new();
    let mut say = |text: String, matters| all.push(Departure { text, matters });
    if let Some(why) = refusal {
        say(format!("pread and pwrite in threads instead of io_uring: {}", chain(why)), true);
    }
    let by_ring = |job: &JobTask| refusal.is_none() && job.issue == Issue::IoUring;
    if task.jobs.iter().any(|job| by_ring(job) && job.discards()) {
        say("discards of a block device are issued by threads (ioctl BLKDISCARD)".to_owned(), false);
    }
    if task.jobs.iter().any(JobTask::repeats) {
        let text =
            "sizes differ, so random offsets may come again before all blocks were touched (norandommap)";
        say(text.to_owned(), false);
    }
    all
}

/// Why there is no io_uring here; `None` when all requested rings can be created.
fn probe_all(task: &Task) -> Result<Option<NoRing>, NoRing> {
    for job in task.jobs.iter().filter(|job| job.issued_by() == Issue::IoUring) {
        match probe(job) {
            Ok(()) => {}
            Err(error @ NoRing::Failed(_)) => return Err(error),
            Err(refusal) => return Ok(Some(refusal)),
        }
    }
    Ok(None)
}

/// How a job's I/O is issued.
fn issue(job: &JobTask, ring: bool) -> Issue {
    if ring { job.issued_by() } else { Issue::Threads }
}

fn check_threads(task: &Task, ring: bool) -> Result<(), LoadError> {
    let by_threads = task.jobs.iter().filter(|job| issue(job, ring) == Issue::Threads);
    let threads: u64 = by_threads.map(|job| u64::from(job.iodepth)).sum();
    if threads > MOST_THREADS {
        return Err(LoadError::TooManyThreads { threads });
    }
    Ok(())
}

fn check(task: &Task) -> Result<(), LoadError> {
    if task.jobs.is_empty() || task.trial_ns == 0 {
        return Err(LoadError::Empty);
    }
    task.jobs.iter().try_for_each(check_job)
}

fn check_job(job: &JobTask) -> Result<(), LoadError> {
    let block_bytes = job.sizes.smallest();
    if job.places.is_empty() || job.iodepth == 0 || block_bytes == 0 {
        return Err(LoadError::EmptyJob { job: job.name.clone() });
    }
    for place in &job.places {
        if job.blocks(place) == 0 {
            return Err(LoadError::TooSmall { path: place.path.clone(), block_bytes });
        }
        if !place.block_device && !is_ours(&place.path) {
            return Err(LoadError::NotOurs(place.path.clone()));
        }
    }
    Ok(())
}

/// A job and its number.
type Numbered<'a> = (u32, &'a JobTask);

fn spawn<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    shared: Shared<'env>,
    job: Numbered<'env>,
    issue: Issue,
    gate: Gate,
) -> Result<Lane<'scope>, LaneError> {
    let number = job.0;
    Builder::new()
        .name(format!("job{number}"))
        .stack_size(STACK_BYTES)
        .spawn_scoped(scope, move || match issue {
            Issue::IoUring => on_ring(&shared, job, gate),
            Issue::Threads => on_threads(&shared, job, gate),
        })
        .map_err(|source| LaneError::Thread { job: number, source })
}

fn on_ring(shared: &Shared<'_>, job: Numbered<'_>, gate: Gate) -> Result<Vec<Finished>, LaneError> {
    let task = shared.task;
    let (number, asked) = job;
    let made = open(task, asked).and_then(|files| Ring::new(asked, &files).map(|ring| (files, ring)));
    let (files, mut ring) = match made {
        Ok(made) => made,
        Err(why) => {
            gate.pass(Err(why));
            return Ok(Vec::new());
        }
    };
    let readiness = Ok((ring.description.clone(), ring.buffer_bytes() as u64));
    let content = Content::new(task, asked, (u64::from(number) << 8) | 4, asked.iodepth as usize);
    let Some(start) = gate.pass(readiness) else { return Ok(Vec::new()) };
    let ended = Sources::new(task, number, asked, start.begin_ns).and_then(|mut sources| {
        let finished = ring.run(shared, job, (&mut sources, content), start)?;
        Ok((finished, sources))
    });
    if ended.is_err() {
        shared.stop.store(true, Ordering::Relaxed);
    }
    let (finished, sources) = ended?;
    Ok(vec![with_books(flush(shared, job, &files, finished), sources, files)])
}

fn on_threads(shared: &Shared<'_>, job: Numbered<'_>, gate: Gate) -> Result<Vec<Finished>, LaneError> {
    let task = shared.task;
    let (number, asked) = job;
    let made = open(task, asked).and_then(|files| {
        let buffers = (0..asked.iodepth).map(|_| Buffers::new(1, asked.buffer_bytes()));
        Ok((files, buffers.collect::<Result<Vec<_>, BufferError>>()?))
    });
    let (files, buffers) = match made {
        Ok(made) => made,
        Err(why) => {
            gate.pass(Err(why));
            return Ok(Vec::new());
        }
    };
    let bytes: usize = buffers.iter().map(Buffers::bytes).sum();
    let how = match asked.discards() {
        true => "ioctl and pwrite, one thread for each I/O in flight".to_owned(),
        false => "pread and pwrite, one thread for each I/O in flight".to_owned(),
    };
    let Some(start) = gate.pass(Ok((how, bytes as u64))) else { return Ok(Vec::new()) };
    let sources = Sources::new(task, number, asked, start.begin_ns);
    let sources = Mutex::new(sources.inspect_err(|_| shared.stop.store(true, Ordering::Relaxed))?);
    let mut finished = std::thread::scope(|scope| {
        let mut lanes = Vec::new();
        for (lane, buffers) in (0_u64..).zip(buffers) {
            let content = Content::new(task, asked, (u64::from(number) << 32) | (lane << 8) | 5, 1);
            let mut thread =
                Thread { shared, number, job: asked, files: &files, sources: &sources, content, buffers };
            let start = &start;
            let builder = Builder::new().name(format!("job{number}.{lane}")).stack_size(STACK_BYTES);
            let run = move || thread.run(start).inspect_err(|_| shared.stop.store(true, Ordering::Relaxed));
            let spawned = builder.spawn_scoped(scope, run);
            lanes.push(spawned.map_err(|source| {
                shared.stop.store(true, Ordering::Relaxed);
                LaneError::Thread { job: number, source }
            })?);
        }
        lanes
            .into_iter()
            .map(|lane| Ok(lane.join().map_err(|_| LaneError::Panicked)??))
            .collect::<Result<Vec<_>, LaneError>>()
    })?;
    if let Some(last) = finished.pop() {
        let last = flush(shared, job, &files, last);
        let sources = sources.into_inner().unwrap_or_else(PoisonError::into_inner);
        finished.push(with_books(last, sources, files));
    }
    Ok(finished)
}

/// Gives the ledgers and files for reading back to one of the job's lanes.
fn with_books(mut finished: Finished, sources: Sources, files: Vec<File>) -> Finished {
    if let Some(proof) = &mut finished.proof {
        proof.books = sources.into_books().into_iter().zip(files).collect();
    }
    finished
}

/// Flushes at the end, inside the measured time.
fn flush(shared: &Shared<'_>, job: Numbered<'_>, files: &[File], mut finished: Finished) -> Finished {
    let (number, asked) = job;
    if asked.end_fsync && asked.rw.writes() && !shared.stopped() {
        let waiting = shared.watch.thread(number);
        let helpers = if finished.used.process.is_some() { Helpers::OfTheProcess } else { Helpers::None };
        let meter = Meter::at_once(helpers);
        for file in files {
            waiting.begin(Kind::Sync, 0, monotonic_ns());
            let flushed = file.sync_all();
            waiting.end();
            if let Err(error) = flushed {
                finished.tally.error(number, Kind::Sync, threads::failure(&error), 0);
                shared.fail(asked, Kind::Sync);
            }
        }
        finished.end_ns = monotonic_ns();
        finished.used = finished.used.and_then(meter.close(finished.end_ns));
    }
    finished
}

/// How the jobs issue, and the size of all their buffers together.
fn all_ready(readiness: &Receiver<Readiness>, jobs: usize) -> Result<Setup, LoadError> {
    let mut how = Vec::new();
    let mut bytes = 0;
    for _ in 0..jobs {
        let (description, buffer_bytes) = readiness.recv().map_err(|_| LoadError::NeverReady)??;
        bytes += buffer_bytes;
        if !how.contains(&description) {
            how.push(description);
        }
    }
    Ok((how.join("; "), bytes))
}

/// Waits until the load is to begin, and returns for how long.
fn await_begin(task: &Task) -> u64 {
    let ready_ns = monotonic_ns();
    let mut now_ns = ready_ns;
    while let Some(left @ 1..) = task.begins_at_ns.and_then(|at_ns| at_ns.checked_sub(now_ns)) {
        std::thread::sleep(Duration::from_nanos(left));
        now_ns = monotonic_ns();
    }
    now_ns.saturating_sub(ready_ns)
}

fn begin(task: &Task, mut clock: Clock) -> Start {
    let baseline = Duration::from_nanos(clock.baseline_ns());
    std::thread::sleep(BASELINE.saturating_sub(baseline));
    clock.adjust();
    let begin_ns = clock.now_ns();
    let start_ns = begin_ns.saturating_add(task.ramp_ns);
    let span = Span {
        start_ns,
        end_ns: start_ns.saturating_add(task.trial_ns),
        interval_ns: task.interval_ns(),
        open_end: task.open_end(),
    };
    Start { begin_ns, span, clock }
}

/// Passes on messages of the lanes and of hanging I/Os, until all have ended.
fn watch<F: AsFd>(
    (said, hung): (&Receiver<String>, &Watch),
    messages: &mut Vec<String>,
    err: &mut dyn Write,
    teller: &mut Option<Teller<'_, F>>,
) {
    // The agent process reads this if it has to give up on us; losing it loses nothing else.
    let mut tell = |message: String| {
        let _ = writeln!(err, "{message}");
        messages.push(message);
    };
    loop {
        let now_ns = monotonic_ns();
        hung.hangs(now_ns).into_iter().for_each(&mut tell);
        let idle_ns = teller.as_mut().map_or(u64::MAX, |teller| {
            teller.tell(now_ns);
            teller.idle_ns(now_ns)
        });
        match said.recv_timeout(Duration::from_nanos(LOOK_NS.min(idle_ns))) {
            Ok(message) => tell(message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
}

fn join(handles: Vec<Lane<'_>>) -> Result<Vec<Finished>, LaneError> {
    let mut finished = Vec::new();
    for handle in handles {
        finished.extend(handle.join().map_err(|_| LaneError::Panicked)??);
    }
    Ok(finished)
}

/// The usage of the lanes, per I/O; reasons why something wasn't counted go to `messages`.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn cost(used: &meter::Sum, ios: u64, buffer_bytes: u64, messages: &mut Vec<String>) -> Cost {
    let per_io = |value: f64| (ios > 0).then(|| value / ios as f64);
    let instructions = match &used.instructions {
        Some(Ok(counted)) => Some(*counted),
        Some(Err(why)) => {
            messages.push(format!("the generator's instructions per I/O are not counted: {why}"));
            None
        }
        None => None,
    };
    Cost {
        user_seconds: used.user_seconds,
        system_seconds: used.system_seconds,
        busiest_thread_seconds: used.busiest_thread_seconds,
        cpu_ns_per_io: per_io((used.user_seconds + used.system_seconds) * 1e9),
        user_instructions_per_io: instructions.and_then(per_io),
        peak_memory_bytes: Usage::of_process().peak_memory_bytes,
        buffer_bytes,
    }
}

fn report(task: &Task, start: &Start, finished: Vec<Finished>, stopped: bool, made: Made) -> Report {
    let last_ns = finished.iter().map(|f| f.end_ns).max().unwrap_or(start.begin_ns);
    // If an error or the end of the data ended the load, it was measured only until then.
    let over = finished.iter().all(|f| f.over);
    let end_ns = if start.span.open_end {
        last_ns
    } else if stopped || over {
        last_ns.clamp(start.span.start_ns, start.span.end_ns)
    } else {
        start.span.end_ns
    };
    let (tallies, used): (Vec<Tally>, Vec<Used>) = finished.into_iter().map(|f| (f.tally, f.used)).unzip();
    let sum = sum(tallies);
    let [read, write, trim, sync, durable]: [Side; 5] = sum.sides;
    let [read_series, write_series, trim_series, _, _] = sum.series;
    let [read_latency, write_latency, ..] = sum.latencies.map(|all| latencies(all, start.span, end_ns));
    let Made { issued_by, mut messages, departures, buffer_bytes, verified, waited_ns } = made;
    let cost = cost(&meter::sum(&used), read.ios + write.ios + trim.ios, buffer_bytes, &mut messages);
    Report {
        issued_by,
        clock: start.clock.name().to_owned(),
        begin_ns: start.begin_ns,
        startup_ns: start.begin_ns.saturating_sub(task.asked_ns).saturating_sub(waited_ns),
        start_ns: start.span.start_ns,
        end_ns,
        read,
        write,
        trim,
        sync,
        durable,
        errors: sum.errors,
        verified,
        cost,
        interval_ms: task.interval_ns() / 1_000_000,
        read_series,
        write_series,
        trim_series,
        read_latency,
        write_latency,
        messages,
        departures,
    }
}
