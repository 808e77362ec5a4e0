//! Lays data out before a trial. fio writes them, with the declared compressibility, in a separate run: on most file systems its
//! automatic layout only reserves space, and then reads return zeros without any device.

use super::command::{argv, messages, seconds};
use super::ini::{Ini, Section, escape};
use super::jobfile;
use super::json;
use super::userfile::{self, Rewritten};
use super::{limits, verify};
use crate::contract::Job;
use crate::data::{
    UNIT_BYTES, check_device, check_device_size, check_in_place, clear, create, data_files, free_bytes,
    io_error, size, whole_blocks,
};
use crate::error::EngineError;
use crate::process::{self, GRACE, Order, Why};
use crate::regions::{Region, distinct};
use device::Place;
use host::{Invocation, LocalRunner, Runner, Tool};
use record::printable::chain;
use record::quantity::Bytes;
use record::workload::{Ask, Layout, Options};
use rustix::fs::ftruncate;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files per section of the layout job: fio reads lines of 4096 bytes.
pub(super) const FILES_PER_SECTION: usize = 16;

/// The block size of the layout, unless the data need their own.
const LAYOUT_BLOCK_BYTES: u64 = 1 << 20;

/// The expected time of a small layout.
const EXPECTED: Duration = Duration::from_secs(30);

/// Lays the data out and checks them.
pub(super) fn prepare(job: &Job<'_>) -> Result<Vec<PathBuf>, EngineError> {
    if let Place::Directory(directory) = job.ground.place() {
        clear(directory)?;
    }
    let paths = match &job.workload.ask {
        Ask::Options(options) => lay_out(job, options)?,
        Ask::JobFile { text, size_bytes, .. } => lay_out_for(job, text, *size_bytes)?,
        Ask::Copy(_) | Ask::Bonnie(_) => Vec::new(),
    };
    (job.progress)(1.0);
    Ok(paths)
}

/// Lays out for a workload's options.
fn lay_out(job: &Job<'_>, options: &Options) -> Result<Vec<PathBuf>, EngineError> {
    if let Some(reason) = limits::refusal(options, job.workload.layout, job.ground.place()) {
        return Err(job.refused(&reason));
    }
    let regions = jobfile::regions(job, options).map_err(|why| job.refused(&why))?;
    let regions = distinct(&regions);
    let block = regions.first().is_some_and(|r| r.block);
    check_device(&regions)?;
    if !block {
        create(&regions, job.workload.layout)?;
    }
    // A block device has no holes: blocks that aren't written keep their earlier content.
    if block || job.workload.layout == Layout::Written {
        let total = regions.iter().map(|r| whole_blocks(r.laid_out_bytes(), UNIT_BYTES)).sum();
        write(job, &render(job, options, &regions), total)?;
    }
    check_in_place(&regions)?;
    let mut paths: Vec<_> = regions.into_iter().map(|r| r.path).collect();
    paths.dedup();
    Ok(paths)
}

/// Lays out for a user's own job file: fio itself knows the files and sizes of its jobs.
fn lay_out_for(job: &Job<'_>, text: &str, size_bytes: u64) -> Result<Vec<PathBuf>, EngineError> {
    let file = userfile::rewrite(job, text, size_bytes).map_err(|why| job.refused(&why))?;
    parsed(job, &file.run)?;
    let directory = match job.ground.place() {
        Place::Block(device) => {
            check_device_size(device, file.needed_bytes)?;
            write(job, &file.layout, file.needed_bytes)?;
            return Ok(vec![device.clone()]);
        }
        Place::Directory(directory) => directory,
    };
    let free = free_bytes(directory)?;
    if file.needed_bytes > free {
        let (needed, free) = (Bytes(file.needed_bytes), Bytes(free));
        let why = format!(
            "the files of the job file take {needed}, and {free} are free in the file system under test"
        );
        return Err(job.refused(&why));
    }
    write(job, &file.layout, file.needed_bytes)?;
    let paths = check_user_files(job, &file)?;
    for path in &paths {
        as_declared(path, job.workload.layout)?;
    }
    Ok(paths)
}

/// Lets fio read the job file before anything is written: what fio of this version refuses, it says now.
fn parsed(job: &Job<'_>, run: &Ini) -> Result<(), EngineError> {
    let path = job.scratch.join("parsed.fio");
    fs::write(&path, run.to_string()).map_err(io_error("write", &path))?;
    let ask = Invocation::new(Tool::Fio).arg("--parse-only").arg(&path);
    LocalRunner.run(&ask).map(drop).map_err(|failure| EngineError::Refused {
        workload: job.workload.name.clone(),
        reason: format!("this machine's fio doesn't take the job file: {}", chain(&failure)),
    })
}

/// Turns a written file into the reservation or hole of the workload.
fn as_declared(path: &Path, layout: Layout) -> Result<(), EngineError> {
    if layout == Layout::Written {
        return Ok(());
    }
    let length = fs::metadata(path).map_err(io_error("examine", path))?.len();
    let file = OpenOptions::new().write(true).open(path).map_err(io_error("open", path))?;
    ftruncate(&file, 0).map_err(|e| io_error("empty", path)(e.into()))?;
    size(&file, path, length, layout)
}

/// The files of a user's job file, which were laid out before.
pub(super) fn check_user_files(job: &Job<'_>, file: &Rewritten) -> Result<Vec<PathBuf>, EngineError> {
    let directory = match job.ground.place() {
        Place::Directory(directory) => directory,
        Place::Block(device) => {
            check_device_size(device, file.needed_bytes)?;
            return Ok(vec![device.clone()]);
        }
    };
    let paths = data_files(directory)?;
    for path in &paths {
        if fs::metadata(path).map_err(io_error("examine", path))?.len() == 0 {
            return Err(EngineError::LaidOutShort { path: path.clone(), found_bytes: 0, wanted_bytes: 1 });
        }
    }
    if paths.is_empty() {
        let (path, found_bytes, wanted_bytes) = (directory.clone(), 0, 1);
        return Err(EngineError::LaidOutShort { path, found_bytes, wanted_bytes });
    }
    Ok(paths)
}

/// Runs a layout job.
fn write(job: &Job<'_>, ini: &Ini, total_bytes: u64) -> Result<(), EngineError> {
    let argv = argv(job, "layout.fio", &ini.to_string(), "json+")?;
    let meter = Meter::default();
    let ended = process::run(&Order {
        argv: argv.clone(),
        scratch: job.scratch,
        cgroup_procs: None,
        cancel: job.cancel,
        expected: EXPECTED,
        patience: seconds(patience_seconds(total_bytes)),
        grace: GRACE,
        started: &|_| {},
        tick: &|pids| (job.progress)(meter.share(pids, total_bytes)),
    })?;
    let reading = json::read(&ended.stdout);
    let messages = messages(&reading, &ended);
    let argv = process::quoted(&argv);
    match ended.why {
        Why::Cancelled => return Err(EngineError::Cancelled),
        Why::Hung => {
            let waited_seconds = ended.waited.as_secs_f64();
            let expected_seconds = EXPECTED.as_secs_f64();
            return Err(EngineError::Hung { argv, expected_seconds, waited_seconds, messages });
        }
        Why::Itself => {}
    }
    let errors = reading.report.as_ref().map(super::output::errors).unwrap_or_default();
    if !ended.status.is_some_and(|s| s.success()) || !errors.is_empty() {
        let ended = process::describe(ended.status);
        return Err(EngineError::Failed { argv, ended, errors, messages, output: None });
    }
    Ok(())
}

/// The timeout in seconds: a minute, plus the time at 5 MB/s. Slow disks write at least 20 MB/s.
#[expect(clippy::cast_precision_loss, reason = "a rough limit")]
fn patience_seconds(bytes: u64) -> f64 {
    60.0 + bytes as f64 / 5e6
}

/// The layout job: one region after the other, in order, as a single writer would lay them out. Files are written through the
/// page cache and flushed, like those of most programs: direct writes would bypass btrfs's compression.
fn render(job: &Job<'_>, options: &Options, regions: &[Region]) -> Ini {
    let mut global = Section::new("global");
    let block = regions.first().is_some_and(|r| r.block);
    global.set("ioengine", if block { "libaio" } else { "psync" });
    global.set("iodepth", if block { 8 } else { 1 });
    global.flag("direct", block);
    global.set("rw", "write");
    global.set("bs", block_bytes(options, regions));
    jobfile::data(&mut global, options, job.seed ^ jobfile::LAYOUT_SEED);
    verify::set(&mut global, options);
    global.flag("end_fsync", true);
    global.flag("overwrite", true);
    global.set("file_service_type", "sequential");
    jobfile::nothing_laid_out_by_fio(&mut global);
    jobfile::reporting(&mut global);
    let mut ini = Ini { sections: vec![global] };
    for (index, chunk) in regions.chunks(if block { 1 } else { FILES_PER_SECTION }).enumerate() {
        let mut section = Section::new(format!("layout{index}"));
        section.flag("stonewall", true);
        section.set("filename", names(chunk));
        if block {
            section.set("offset", chunk.iter().map(Region::begin_bytes).min().unwrap_or(0));
        }
        let bytes = chunk.iter().map(|r| whole_blocks(r.laid_out_bytes(), UNIT_BYTES));
        section.set("size", bytes.sum::<u64>());
        ini.sections.push(section);
    }
    ini
}

/// A list of files for `filename`.
pub(super) fn names(regions: &[Region]) -> String {
    regions.iter().map(|r| escape(&r.path.to_string_lossy())).collect::<Vec<_>>().join(":")
}

/// The largest block up to 1 MiB that divides every region. With duplicates it is the workload's own, since fio repeats whole
/// blocks; with `verify` it is a multiple of the workload's, since each of those has a header.
fn block_bytes(options: &Options, regions: &[Region]) -> u64 {
    let fits = |block: u64| {
        regions.iter().all(|r| whole_blocks(r.laid_out_bytes(), UNIT_BYTES).is_multiple_of(block))
    };
    if options.dedupe_percentage > 0 && options.size_bytes.is_multiple_of(options.bs_bytes.max(1)) {
        return options.bs_bytes;
    }
    if options.verify.is_some() {
        let own = options.bs_bytes.max(1);
        let doubled = std::iter::successors(Some(own), |block| block.checked_mul(2));
        return doubled
            .take_while(|block| *block <= LAYOUT_BLOCK_BYTES && fits(*block))
            .last()
            .unwrap_or(own);
    }
    let mut block = LAYOUT_BLOCK_BYTES;
    while !fits(block) {
        block /= 2;
    }
    block.max(UNIT_BYTES)
}

/// The progress, from the kernel's counters of fio's processes.
#[derive(Default)]
struct Meter {
    seen: Cell<BTreeMap<u32, u64>>,
}

impl Meter {
    #[expect(clippy::cast_precision_loss, reason = "a share for a progress display")]
    fn share(&self, pids: &[u32], total: u64) -> f64 {
        let mut seen = self.seen.take();
        for &pid in pids {
            if let Some(bytes) = written_by(pid) {
                let slot = seen.entry(pid).or_default();
                *slot = bytes.max(*slot);
            }
        }
        let sum: u64 = seen.values().sum();
        self.seen.set(seen);
        (sum as f64 / total.max(1) as f64).min(0.999)
    }
}

/// The bytes that a process has written, by system calls or by direct I/O.
fn written_by(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let field = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.trim().parse::<u64>().ok());
    field("wchar:").max(field("write_bytes:"))
}
