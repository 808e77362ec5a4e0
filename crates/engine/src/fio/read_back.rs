//! Reads everything back after a trial with `verify`, in a separate run of fio: outside the measured time, and not throttled.

use super::command::{MAX_MESSAGES, argv, options, seconds};
use super::ini::{Ini, Section};
use super::jobfile;
use super::json::{self, Reading};
use super::layout::{FILES_PER_SECTION, names};
use super::output;
use super::verify::{self, WrongBlocks};
use crate::contract::Job;
use crate::data::io_error;
use crate::error::EngineError;
use crate::process::{self, Ended, GRACE, Order, Why};
use crate::regions::{Region, distinct};
use record::trial::{ErrorCount, Verified};
use record::workload::Options;
use std::fs::File;
use std::time::Duration;

/// The I/Os in flight.
const DEPTH: u32 = 32;

/// The expected time for a small amount of data.
const EXPECTED: Duration = Duration::from_secs(30);

/// Checks a workload's content: blocks that the run found wrong, and those that reading everything back finds. fio may find one
/// and still end successfully, so its messages count, also for a user's own job file.
///
/// # Errors
/// See [`read_back`].
pub(super) fn check_content(
    job: &Job<'_>,
    reading: &Reading,
    ended: &Ended,
    errors: &mut Vec<ErrorCount>,
    messages: &mut Vec<String>,
) -> Result<Option<Verified>, EngineError> {
    let mut found = WrongBlocks::default();
    let lines = reading.messages.iter().map(String::as_str).chain(ended.stderr.lines());
    lines.for_each(|line| found.note(line));
    let Some(options) = options(job).filter(|o| o.verify.is_some()) else {
        found.add_to(errors);
        return Ok(None);
    };
    // fio checks no reads in a mix, and all in a workload that only reads.
    let jobs = reading.report.iter().flat_map(|report| &report.jobs).filter(|_| !options.rw.writes());
    let mut bytes = jobs.filter_map(|j| j.read.as_ref()?.bytes).sum::<u64>();
    if errors.iter().all(verify::is_content) {
        let regions = distinct(&jobfile::regions(job, options).map_err(|why| job.refused(&why))?);
        let back = read_back(job, options, &regions, &mut found)?;
        bytes = bytes.saturating_add(back.bytes);
        errors.extend(back.errors);
        messages.extend(back.messages.into_iter().take(MAX_MESSAGES.saturating_sub(messages.len())));
    }
    found.add_to(errors);
    Ok(Some(Verified { bytes, faults: found.faults() }))
}

/// The result of reading back.
struct ReadBack {
    /// Bytes read and checked.
    bytes: u64,
    /// Errors that aren't wrong content.
    errors: Vec<ErrorCount>,
    /// fio's messages.
    messages: Vec<String>,
}

/// Flushes and drops the page cache, reads every block, and collects wrong ones.
///
/// # Errors
/// When it can't start, hangs, or the caller cancels.
fn read_back(
    job: &Job<'_>,
    options: &Options,
    regions: &[Region],
    found: &mut WrongBlocks,
) -> Result<ReadBack, EngineError> {
    for region in regions {
        let file = File::open(&region.path).map_err(io_error("open", &region.path))?;
        file.sync_all().map_err(io_error("flush", &region.path))?;
    }
    let argv = argv(job, "verify.fio", &render(options, regions).to_string(), "json+")?;
    let bytes: u64 = regions.iter().map(|r| r.size_bytes).sum();
    let ended = process::run(&Order {
        argv: argv.clone(),
        scratch: job.scratch,
        cgroup_procs: None,
        cancel: job.cancel,
        expected: EXPECTED,
        patience: patience(bytes),
        grace: GRACE,
        started: &|_| {},
        tick: &|_| {},
    })?;
    let reading = json::read(&ended.stdout);
    let lines = reading.messages.iter().map(String::as_str).chain(ended.stderr.lines());
    let messages: Vec<String> = lines.map(str::to_owned).collect();
    messages.iter().for_each(|line| found.note(line));
    let argv = process::quoted(&argv);
    match ended.why {
        Why::Cancelled => return Err(EngineError::Cancelled),
        Why::Hung => {
            let (expected_seconds, waited_seconds) = (EXPECTED.as_secs_f64(), ended.waited.as_secs_f64());
            return Err(EngineError::Hung { argv, expected_seconds, waited_seconds, messages });
        }
        Why::Itself => {}
    }
    let Some(report) = &reading.report else {
        let ended = process::describe(ended.status);
        return Err(EngineError::Failed { argv, ended, errors: Vec::new(), messages, output: None });
    };
    let bytes = report.jobs.iter().filter_map(|j| j.read.as_ref()?.bytes).sum();
    let mut errors = output::errors(report);
    errors.retain(|error| !verify::is_content(error));
    Ok(ReadBack { bytes, errors, messages })
}

/// Uses blocks with one header each: fio reports only the first wrong header of an I/O.
fn render(options: &Options, regions: &[Region]) -> Ini {
    let mut global = Section::new("global");
    global.set("ioengine", if options.direct { "libaio" } else { "psync" });
    global.set("iodepth", if options.direct { DEPTH } else { 1 });
    global.flag("direct", options.direct);
    global.set("rw", "read");
    global.set("bs", options.bs_bytes);
    verify::set(&mut global, options);
    global.set("continue_on_error", "verify");
    global.flag("invalidate", true);
    global.set("file_service_type", "sequential");
    jobfile::nothing_laid_out_by_fio(&mut global);
    global.flag("group_reporting", false);
    let mut ini = Ini { sections: vec![global] };
    let block = regions.first().is_some_and(|r| r.block);
    for (index, chunk) in regions.chunks(if block { 1 } else { FILES_PER_SECTION }).enumerate() {
        let mut section = Section::new(format!("verify{index}"));
        section.flag("stonewall", true);
        section.set("filename", names(chunk));
        section.set("offset", chunk.first().map_or(0, |r| r.offset_bytes));
        section.set("size", chunk.iter().map(|r| r.size_bytes).sum::<u64>());
        ini.sections.push(section);
    }
    ini
}

/// The additional time: 1 MB/s at worst.
#[expect(clippy::cast_precision_loss, reason = "a rough limit")]
fn patience(bytes: u64) -> Duration {
    seconds(60.0 + bytes as f64 / 1e6)
}
