//! The native engine behind the engines' seam.

use super::layout::{self, regions};
use super::subset;
use super::task::{Report, Side, Task};
use crate::contract::{Engine, Job};
use crate::data::check_in_place;
use crate::error::EngineError;
use crate::process::{self, Ended, GRACE, Order, Why};
use record::trial::{EngineOutput, ErrorCount, Totals, Window};
use record::workload::{Ask, Options};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Where the task is written, in the scratch directory.
const TASK_FILE: &str = "native.json";

/// The native engine: this program, started again as a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeEngine {
    /// Program and arguments; the task's file is added.
    worker: Vec<OsString>,
}

impl Default for NativeEngine {
    /// This very program, even if its file was replaced meanwhile.
    fn default() -> Self {
        Self { worker: vec!["/proc/self/exe".into(), Self::VERB.into()] }
    }
}

impl NativeEngine {
    /// The hidden verb that the program answers with [`super::serve`].
    pub const VERB: &str = "engine-native";

    /// With another program that calls [`super::serve`] with its last argument.
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
        let options = options(job)?;
        // What can't be run isn't laid out.
        check(job, options)?;
        layout::prepare(job, options)
    }

    fn run(&self, job: &Job<'_>) -> Result<EngineOutput, EngineError> {
        let options = options(job)?;
        let task = check(job, options)?;
        check_in_place(&regions(job, options)?)?;
        let input = serde_json::to_string_pretty(&task).unwrap_or_default();
        let path = job.scratch.join(TASK_FILE);
        let io = |source| EngineError::Io { action: "write", path: path.clone(), source };
        std::fs::write(&path, &input).map_err(io)?;
        let argv: Vec<OsString> =
            self.worker.iter().cloned().chain([path.clone().into_os_string()]).collect();
        let ended = process::run(&Order {
            argv: argv.clone(),
            scratch: job.scratch,
            cgroup_procs: job.cgroup_procs,
            cancel: job.cancel,
            expected: seconds(job.trial_seconds + job.ramp_seconds),
            patience: patience(job, options),
            grace: GRACE,
            started: job.started,
            tick: &|_| {},
        })?;
        conclude(self.probe()?, job, &task, &argv, input, ended)
    }
}

fn options<'a>(job: &Job<'a>) -> Result<&'a Options, EngineError> {
    match &job.workload.ask {
        Ask::Options(options) => Ok(options),
        Ask::JobFile { path, .. } => Err(EngineError::Refused {
            workload: job.workload.name.clone(),
            reason: format!("the native engine doesn't read job files ({path}); use engine: fio"),
        }),
    }
}

fn check(job: &Job<'_>, options: &Options) -> Result<Task, EngineError> {
    let refused = |reason| EngineError::Refused { workload: job.workload.name.clone(), reason };
    subset::task(job, options, &regions(job, options)?).map_err(refused)
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value.max(0.0)).unwrap_or(Duration::MAX)
}

/// As fio is given: draining deep queues of slow devices, and flushing the page cache at 1 MB/s at least.
#[expect(clippy::cast_precision_loss, reason = "a rough limit")]
fn patience(job: &Job<'_>, options: &Options) -> Duration {
    let bytes = options.size_bytes.saturating_mul(options.numjobs.into());
    seconds(60.0 + job.trial_seconds + job.ramp_seconds + bytes as f64 / 1e6)
}

/// What became of the worker.
fn conclude(
    engine: String,
    job: &Job<'_>,
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
                expected_seconds: job.trial_seconds + job.ramp_seconds,
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
    if !report.errors.is_empty() && !task.continue_on_error {
        let (errors, messages) = (output.errors.clone(), output.messages.clone());
        let ended = "met I/O errors".to_owned();
        return Err(EngineError::Failed {
            argv: quoted,
            ended,
            errors,
            messages,
            output: Some(Box::new(output)),
        });
    }
    if report.read.ios + report.write.ios + report.trim.ios == 0 {
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
    let errors: Vec<ErrorCount> = report.errors.iter().map(super::task::ErrorSeen::count).collect();
    EngineOutput {
        engine,
        argv,
        input,
        raw,
        messages: report.messages.clone(),
        window,
        read: task.reads().then(|| totals(&report.read, window)),
        write: task.writes().then(|| totals(&report.write, window)),
        trim: None,
        verified: None,
        generator: None,
        errors,
        cpu_user_share: share(report.cost.user_seconds),
        cpu_system_share: share(report.cost.system_seconds),
        shared_files: false,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts, bytes and nanoseconds are far below 2^52 or only averaged"
)]
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
        latency_mean_ns: (side.ios > 0).then(|| side.latency_sum_ns as f64 / side.ios as f64),
    }
}
