//! fio as an [`Engine`].

use super::command::{argv, messages, options, seconds};
use super::exact::{self, Counted};
use super::gate::Gate;
use super::ini::Ini;
use super::output::{Asked, Span};
use super::read_back::check_content;
use super::times::Times;
use super::{durable, jobfile, layout, limits, mixed, output, phases, userfile, verify, version};
use crate::contract::{Engine, Job};
use crate::data;
use crate::error::EngineError;
use crate::process::{self, Ended, GRACE, Order, Why};
use crate::regions::distinct;
use host::{Invocation, LocalRunner, Runner, Tool};
use record::fio_json::{self as json, JobDirection, JobReport, Reading, Report};
use record::printable::chain;
use record::trial::{Departure, EngineOutput, ErrorCount, Phase, Totals, Window};
use record::workload::Ask;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// fio as installed on this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct FioEngine;

/// How the I/Os of a run are counted.
enum Counting {
    /// From fio's histogram logs.
    Exact(Times),
    /// From fio's totals, with the request of each section, and the sections of each phase.
    Totals(BTreeMap<String, Asked>, Vec<Vec<String>>),
}

/// A workload that is ready for fio.
struct Ready {
    ini: Ini,
    shared_files: bool,
    counting: Counting,
    expected_seconds: f64,
    patience_seconds: f64,
}

impl Engine for FioEngine {
    fn probe(&self) -> Result<String, EngineError> {
        let ask = Invocation::new(Tool::Fio).arg("--version");
        let missing = |source| EngineError::Missing { engine: "fio", source: Box::new(source) };
        let said = LocalRunner.run(&ask).map_err(missing)?;
        version::check(&said.argv.join(" "), &said.stdout)
    }

    fn prepare(&self, job: &Job<'_>) -> Result<Vec<PathBuf>, EngineError> {
        layout::prepare(job)
    }

    /// The measured time is known from logs then, without the time in which fio started and waited.
    fn waits_itself(&self, job: &Job<'_>) -> bool {
        matches!(&job.workload.ask, Ask::Options(options) if jobfile::times(job, options).is_some())
    }

    fn run(&self, job: &Job<'_>) -> Result<EngineOutput, EngineError> {
        let engine = self.probe()?;
        let mut ready = ready(job)?;
        let at_ns = job.begins_at_ns.filter(|_| self.waits_itself(job));
        let gate = at_ns.map(|at_ns| Gate::close(job.scratch, &mut ready.ini, at_ns)).transpose()?;
        let input = ready.ini.to_string();
        let argv = argv(job, "job.fio", &input, "json+")?;
        let order = Order {
            argv: argv.clone(),
            scratch: job.scratch,
            cgroup_procs: job.cgroup_procs,
            cancel: job.cancel,
            expected: seconds(ready.expected_seconds),
            patience: seconds(ready.patience_seconds),
            grace: GRACE,
            started: job.started,
            tick: &|_| (job.running)(None),
        };
        let is_over = AtomicBool::new(false);
        let ended = std::thread::scope(|scope| {
            if let Some(gate) = gate {
                scope.spawn(|| gate.open(job.cancel, &is_over));
            }
            let ended = process::run(&order);
            is_over.store(true, Ordering::Relaxed);
            ended
        })?;
        let mut reading = json::read(&ended.stdout);
        if let (Counting::Totals(_, phases), Some(report)) = (&ready.counting, &mut reading.report)
            && !phases.is_empty()
        {
            phases::as_groups(report, phases);
        }
        let mut messages = messages(&reading, &ended);
        check_end(&argv, &ready, &ended, &messages)?;
        let Some(report) = &reading.report else {
            return judge_end(&argv, &ended, &reading, messages, None, false);
        };
        let mut errors = output::errors(report);
        let verified = check_content(job, &reading, &ended, &mut errors, &mut messages)?;
        let mut departures = Vec::new();
        let counted = count(job, &ready.counting, report, &ended, &mut departures);
        let options = options(job);
        if let Some(options) = options {
            let totals = [&counted.read, &counted.write, &counted.trim].map(Option::as_ref);
            let offsets = mixed::offsets_note(options);
            departures.extend(offsets.map(|text| Departure { text, matters: false }));
            messages.extend(mixed::bytes_note(options, report, totals));
        }
        messages.extend(departures.iter().map(|departure| departure.text.clone()));
        let tolerated = options.is_some_and(|o| verify::is_tolerated(o, &errors));
        let ios = [&counted.read, &counted.write, &counted.trim].into_iter().flatten().map(|t| t.ios).sum();
        let durable = options.and_then(|o| durable::writes(report, o, counted.write.as_ref()));
        let output = EngineOutput {
            departures,
            series: counted.series,
            argv: argv.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
            input,
            raw: ended.stdout.clone(),
            messages: messages.clone(),
            read: counted.read,
            write: counted.write,
            trim: counted.trim,
            sync: durable::syncs(report),
            durable,
            phases: counted.phases,
            verified,
            generator: output::generator(report, counted.window, ios),
            errors,
            cpu_user_share: output::cpu_share(report, |j| j.user_cpu_percent),
            cpu_system_share: output::cpu_share(report, |j| j.system_cpu_percent),
            shared_files: ready.shared_files,
            ..EngineOutput::new(engine, counted.window)
        };
        judge_end(&argv, &ended, &reading, messages, Some(output), tolerated)
    }
}

/// Counts the totals and their time: exactly where the logs allow it, else from fio's own totals, and then the messages say so.
fn count(
    job: &Job<'_>,
    counting: &Counting,
    report: &Report,
    ended: &Ended,
    departures: &mut Vec<Departure>,
) -> Counted {
    let asked = |job: &JobReport| match counting {
        Counting::Totals(sections, _) => {
            job.name.as_ref().and_then(|n| sections.get(n)).copied().unwrap_or_default()
        }
        Counting::Exact(_) => Asked::default(),
    };
    if let Counting::Exact(times) = counting {
        match exact::count(report, job.scratch, *times) {
            Ok(counted) => return counted,
            Err(error) => departures.push(Departure {
                text: format!("counted over the whole run, the ramp included: {}", chain(&error)),
                matters: true,
            }),
        }
    }
    let mut span = output::span(report, &asked);
    if !report.jobs.iter().any(|job| asked(job).ramp) {
        // The whole run of fio counts, including the time before and between groups of jobs.
        let all = ended.waited.as_secs_f64();
        span = Span { begin_before_end_seconds: all, length_seconds: all };
    }
    let phases = phases::of(report, &asked);
    let total = |by: fn(&JobReport) -> Option<&JobDirection>, of: fn(&Phase) -> Option<&Totals>| match phases
        .as_slice()
    {
        [] => output::totals(report, &asked, by),
        phases => phases::together(phases, of),
    };
    Counted {
        read: total(|j| j.read.as_ref(), |phase| phase.read.as_ref()),
        write: total(|j| j.write.as_ref(), |phase| phase.write.as_ref()),
        trim: total(|j| j.trim.as_ref(), |phase| phase.trim.as_ref()),
        phases,
        series: None,
        window: window(ended.end_ns, span),
    }
}

/// Removes the logs of an earlier trial.
fn remove_logs(job: &Job<'_>, jobs: u32) -> Result<(), EngineError> {
    for index in 0..usize::try_from(jobs).unwrap_or(usize::MAX) {
        let path = exact::log_path(job.scratch, index);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(EngineError::Io { action: "remove", path, source });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Prepares the job file of a trial.
fn ready(job: &Job<'_>) -> Result<Ready, EngineError> {
    let refused = |why: &dyn Display| job.refused(why);
    match &job.workload.ask {
        Ask::Options(options) => {
            if let Some(reason) = limits::refusal(options, job.workload.layout, job.ground.place()) {
                return Err(refused(&reason));
            }
            let regions = jobfile::regions(job, options).map_err(|why| refused(&why))?;
            data::check_in_place(&distinct(&regions))?;
            remove_logs(job, options.numjobs)?;
            let (ramp, trial) = jobfile::spans(job, options);
            let expected = ramp.saturating_add(trial);
            let bytes = options.data_bytes();
            let counting = match jobfile::times(job, options) {
                Some(times) => Counting::Exact(times),
                None => Counting::Totals(BTreeMap::new(), Vec::new()),
            };
            Ok(Ready {
                ini: jobfile::render(job, options, &regions).map_err(|why| refused(&why))?,
                shared_files: options.filename.is_some() && options.numjobs > 1,
                counting,
                expected_seconds: expected.as_secs_f64(),
                patience_seconds: patience_seconds(expected.as_secs_f64(), bytes),
            })
        }
        Ask::Copy(_) | Ask::Bonnie(_) => Err(refused(&"fio performs I/O by options")),
        Ask::JobFile { text, size_bytes, .. } => {
            let file = userfile::rewrite(job, text, *size_bytes).map_err(|why| refused(&why))?;
            layout::check_user_files(job, &file)?;
            Ok(Ready {
                ini: file.run,
                shared_files: file.shared_files,
                counting: Counting::Totals(file.asked, file.phases),
                expected_seconds: file.expected_seconds,
                patience_seconds: file.expected_seconds
                    + patience_seconds(job.trial_seconds + job.ramp_seconds, *size_bytes),
            })
        }
    }
}

/// The additional time for fio: for start and end, for deep queues of slow devices, and for a flush of the page cache at 1 MB/s
/// or more.
#[expect(clippy::cast_precision_loss, reason = "a rough limit")]
fn patience_seconds(expected_seconds: f64, data_bytes: u64) -> f64 {
    60.0 + expected_seconds + data_bytes as f64 / 1e6
}

fn check_end(
    argv: &[OsString],
    ready: &Ready,
    ended: &Ended,
    messages: &[String],
) -> Result<(), EngineError> {
    match ended.why {
        Why::Itself => Ok(()),
        Why::Cancelled => Err(EngineError::Cancelled),
        Why::Hung => Err(EngineError::Hung {
            argv: process::quoted(argv),
            expected_seconds: ready.expected_seconds,
            waited_seconds: ended.waited.as_secs_f64(),
            messages: messages.to_vec(),
        }),
    }
}

/// Accepts as a measurement only a successful end with a document, I/O and no errors; or one with tolerated wrong content.
fn judge_end(
    argv: &[OsString],
    ended: &Ended,
    reading: &Reading,
    messages: Vec<String>,
    output: Option<EngineOutput>,
    tolerated: bool,
) -> Result<EngineOutput, EngineError> {
    let argv = process::quoted(argv);
    let errors: Vec<ErrorCount> = output.iter().flat_map(|o| o.errors.clone()).collect();
    let failed = !ended.status.is_some_and(|s| s.success()) || !errors.is_empty();
    let excused = tolerated && !errors.is_empty();
    if failed && !excused {
        let ended = process::describe(ended.status);
        return Err(EngineError::Failed { argv, ended, errors, messages, output: output.map(Box::new) });
    }
    let idle =
        |output: &EngineOutput| [&output.read, &output.write, &output.trim].into_iter().all(Option::is_none);
    let reason = match &output {
        None if reading.cut_off => "its document is cut off",
        None => "there is no document in it",
        Some(output) if idle(output) => "it reports no I/O at all",
        Some(_) => "",
    };
    match output {
        Some(output) if reason.is_empty() => Ok(output),
        _ => Err(EngineError::Output { argv, reason: reason.to_owned(), messages }),
    }
}

fn window(end_ns: u64, span: Span) -> Window {
    let ns = |value| u64::try_from(seconds(value).as_nanos()).unwrap_or(u64::MAX);
    let start_ns = end_ns.saturating_sub(ns(span.begin_before_end_seconds));
    Window { start_ns, end_ns: start_ns.saturating_add(ns(span.length_seconds)).min(end_ns) }
}
