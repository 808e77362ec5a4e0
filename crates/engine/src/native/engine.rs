//! The native engine.

use super::jobs::{self, Member, files, members};
use super::layout;
use super::live;
use super::proof::trial;
use super::series::series;
use super::subset;
use super::task::{ErrorSeen, Report, Side, Task};
use crate::contract::{Engine, Job};
use crate::data::check_in_place;
use crate::error::EngineError;
use crate::process::{self, Ended, GRACE, Order, Why};
use crate::regions::Region;
use record::latency::Latencies;
use record::trial::{EngineOutput, ErrorCount, GeneratorCost, Totals, Window};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The name of the task's file in the scratch directory.
const TASK_FILE: &str = "native.json";

/// The native engine: this program, started again as a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeEngine {
    /// The worker's program and arguments, without the task's file.
    worker: Vec<OsString>,
}

impl Default for NativeEngine {
    /// Uses this very program, even if its file was replaced meanwhile.
    fn default() -> Self {
        Self { worker: vec!["/proc/self/exe".into(), Self::VERB.into()] }
    }
}

impl NativeEngine {
    /// The hidden subcommand for the worker: it calls [`super::serve`].
    pub const VERB: &str = "engine-native";

    /// The worker's program and arguments.
    pub(crate) fn worker(&self) -> &[OsString] {
        &self.worker
    }

    /// Uses another program as the worker, which calls [`super::serve`] with its last argument.
    #[must_use]
    pub fn with_worker(worker: Vec<OsString>) -> Self {
        Self { worker }
    }
}

impl Engine for NativeEngine {
    fn probe(&self) -> Result<String, EngineError> {
        Ok(format!("native-{}", env!("CARGO_PKG_VERSION")))
    }

    fn prepare(&self, job: &Job<'_>) -> Result<Vec<PathBuf>, EngineError> {
        let members = members(job)?;
        // A workload that can't run isn't laid out.
        let task = check(job, &members)?;
        trial::forget(job.scratch)?;
        let proof = task.verifies().then(|| trial::begin(job.scratch, job.seed)).transpose()?;
        layout::prepare(job, &members, proof)
    }

    /// Its worker is ready by then: what a process needs to start, and to drop the data from the cache, differs from machine to machine.
    fn waits_itself(&self, _job: &Job<'_>) -> bool {
        true
    }

    fn run(&self, job: &Job<'_>) -> Result<EngineOutput, EngineError> {
        let members = members(job)?;
        let mut task = check(job, &members)?;
        task.live = job.follows;
        if task.verifies() {
            task.proof = trial::recall(job.scratch, job.seed).ok_or_else(|| EngineError::Refused {
                workload: job.workload.name.clone(),
                reason:
                    "verify: the data was not laid out to be verified, so there is nothing to compare it with"
                        .to_owned(),
            })?;
        }
        let regions: Vec<Region> = files(&members).into_iter().map(|(region, _)| region).collect();
        check_in_place(&regions)?;
        let input = serde_json::to_string_pretty(&task).unwrap_or_default();
        let path = job.scratch.join(TASK_FILE);
        let io = |source| EngineError::Io { action: "write", path: path.clone(), source };
        std::fs::write(&path, &input).map_err(io)?;
        let argv: Vec<OsString> =
            self.worker.iter().cloned().chain([path.clone().into_os_string()]).collect();
        // Without this memory the caller isn't told anything, and the load is the same.
        let memory = if job.follows { live::memory().ok() } else { None };
        let order = Order {
            argv: argv.clone(),
            scratch: job.scratch,
            cgroup_procs: job.cgroup_procs,
            cancel: job.cancel,
            expected: expected(&task),
            patience: patience(&task, &regions),
            grace: GRACE,
            started: job.started,
            tick: &|_| (job.running)(memory.as_ref().and_then(live::latest)),
        };
        let ended = process::run_with(&order, memory.as_ref())?;
        let mut output = conclude(self.probe()?, &task, &argv, input, ended)?;
        output.shared_files = jobs::share(&members);
        Ok(output)
    }
}

fn check(job: &Job<'_>, members: &[Member<'_>]) -> Result<Task, EngineError> {
    subset::task(job, members).map_err(|why| job.refused(&why))
}

fn expected(task: &Task) -> Duration {
    Duration::from_nanos(task.ramp_ns.saturating_add(task.trial_ns))
}

/// The additional time, as for fio: deep queues of slow devices, and a flush of the page cache at 1 MB/s or more.
fn patience(task: &Task, regions: &[Region]) -> Duration {
    let bytes: u64 = regions.iter().map(|region| region.size_bytes).sum();
    // With `verify`, the data are also read back.
    let bytes = if task.verifies() { bytes.saturating_mul(2) } else { bytes };
    Duration::from_secs(60).saturating_add(expected(task)).saturating_add(Duration::from_micros(bytes))
}

/// Turns the worker's end into a result.
fn conclude(
    engine: String,
    task: &Task,
    argv: &[OsString],
    input: String,
    ended: Ended,
) -> Result<EngineOutput, EngineError> {
    let quoted = process::quoted(argv);
    let said: Vec<String> = ended.stderr.lines().map(str::to_owned).collect();
    match ended.why {
        Why::Itself => {}
        Why::Cancelled => return Err(EngineError::Cancelled),
        Why::Hung => {
            return Err(EngineError::Hung {
                argv: quoted,
                expected_seconds: expected(task).as_secs_f64(),
                waited_seconds: ended.waited.as_secs_f64(),
                messages: said,
            });
        }
    }
    let report: Option<Report> = serde_json::from_str(&ended.stdout).ok();
    let Some(report) = report.filter(|_| ended.status.is_some_and(|s| s.success())) else {
        let (ended, messages) = (process::describe(ended.status), said);
        return Err(EngineError::Failed { argv: quoted, ended, errors: Vec::new(), messages, output: None });
    };
    let argv: Vec<String> = argv.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    let output = output(engine, argv, input, ended.stdout, task, &report);
    let none = report.read.ios + report.write.ios + report.trim.ios == 0;
    let ends_it = report.errors.iter().any(|error| none || !task.tolerates(error));
    if ends_it {
        let (errors, messages) = (output.errors.clone(), output.messages.clone());
        let ended = match report.errors.iter().all(|error| error.content) {
            true => "read wrong content".to_owned(),
            false => "met I/O errors".to_owned(),
        };
        return Err(EngineError::Failed {
            argv: quoted,
            ended,
            errors,
            messages,
            output: Some(Box::new(output)),
        });
    }
    if none {
        let reason = "no I/O completed in the measured time".to_owned();
        return Err(EngineError::Output { argv: quoted, reason, messages: output.messages });
    }
    Ok(output)
}

fn output(
    engine: String,
    argv: Vec<String>,
    input: String,
    raw: String,
    task: &Task,
    report: &Report,
) -> EngineOutput {
    let window = Window { start_ns: report.start_ns, end_ns: report.end_ns };
    let share = |seconds: f64| (window.seconds() > 0.0).then(|| seconds / window.seconds());
    let errors: Vec<ErrorCount> = report.errors.iter().map(ErrorSeen::count).collect();
    EngineOutput {
        departures: report.departures.clone(),
        series: series(report, task),
        argv,
        input,
        raw,
        messages: report.messages.clone(),
        read: task.reads().then(|| totals(&report.read, window)),
        write: task.writes().then(|| totals(&report.write, window)),
        trim: task.trims().then(|| totals(&report.trim, window)),
        sync: latencies(&report.sync),
        durable: latencies(&report.durable),
        verified: report.verified.clone(),
        generator: Some(generator(report)),
        errors,
        cpu_user_share: share(report.cost.user_seconds),
        cpu_system_share: share(report.cost.system_seconds),
        ..EngineOutput::new(engine, window)
    }
}

/// The cost of the worker itself.
fn generator(report: &Report) -> GeneratorCost {
    let cost = &report.cost;
    GeneratorCost {
        user_seconds: cost.user_seconds,
        system_seconds: cost.system_seconds,
        busiest_thread_seconds: cost.busiest_thread_seconds,
        cpu_ns_per_io: cost.cpu_ns_per_io,
        user_instructions_per_io: cost.user_instructions_per_io,
        peak_memory_bytes: Some(cost.peak_memory_bytes),
        buffer_bytes: Some(cost.buffer_bytes),
        startup_ns: Some(report.startup_ns),
    }
}

/// The latencies of syncs, or of writes until they are durable; `None` if there were none.
fn latencies(side: &Side) -> Option<Latencies> {
    (side.ios > 0).then(|| Latencies {
        count: side.ios,
        mean_ns: mean_ns(side),
        max_ns: Some(side.latency_max_ns),
        histogram: side.latency.clone(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52, nanoseconds are only averaged")]
fn mean_ns(side: &Side) -> Option<f64> {
    (side.ios > 0).then(|| side.latency_sum_ns as f64 / side.ios as f64)
}

#[expect(clippy::cast_precision_loss, reason = "counts and bytes are far below 2^52")]
fn totals(side: &Side, window: Window) -> Totals {
    let seconds = window.seconds();
    let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    Totals {
        ios: side.ios,
        bytes: side.bytes,
        seconds,
        iops: rate(side.ios),
        bytes_per_second: rate(side.bytes),
        latency: side.latency.clone(),
        latency_mean_ns: mean_ns(side),
    }
}
