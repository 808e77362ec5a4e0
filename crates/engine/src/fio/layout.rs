//! Laying data out before a trial. fio itself writes it, at the declared compressibility, but in a run of its own: fio's
//! automatic layout reserves space on most file systems and leaves it unwritten, so that reads give zeros from no device.

use super::ini::{Ini, Section, escape};
use super::jobfile::{self, whole_blocks};
use super::json;
use super::perform::{argv, messages, seconds};
use super::process::{self, GRACE, Order, Why};
use super::regions::{DATA_PREFIX, Region};
use super::userfile::{self, Rewritten};
use crate::contract::Job;
use crate::error::EngineError;
use device::Place;
use record::workload::{Ask, Layout, Options};
use rustix::fs::{FallocateFlags, fallocate, ftruncate};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files per section of the layout job: fio reads lines of 4096 bytes.
const FILES_PER_SECTION: usize = 16;

/// Block size of the layout, where the data's own block size doesn't matter.
const LAYOUT_BLOCK_BYTES: u64 = 1 << 20;

/// When a layout of little data should have ended.
const EXPECTED: Duration = Duration::from_secs(30);

/// Lengths are rounded up to this, so that direct I/O can reach the last block.
const UNIT_BYTES: u64 = 4096;

/// Lays the data out and verifies it.
pub(super) fn prepare(job: &Job<'_>) -> Result<Vec<PathBuf>, EngineError> {
    if let Place::Directory(directory) = job.ground.place() {
        clear(directory)?;
    }
    let paths = match &job.workload.ask {
        Ask::Options(options) => lay_out(job, options)?,
        Ask::JobFile { text, .. } => lay_out_for(job, text)?,
    };
    (job.progress)(1.0);
    Ok(paths)
}

/// For a workload's options.
fn lay_out(job: &Job<'_>, options: &Options) -> Result<Vec<PathBuf>, EngineError> {
    let refused = |reason| EngineError::Refused { workload: job.workload.name.clone(), reason };
    let regions = jobfile::regions(job, options).map_err(refused)?;
    let block = regions.first().is_some_and(|r| r.block);
    check_device(&regions)?;
    if !block {
        create(&regions, job.workload.layout)?;
    }
    // A block device has no holes to leave: what isn't written holds whatever was there before.
    if block || job.workload.layout == Layout::Written {
        let total = regions.iter().map(|r| whole_blocks(r.size_bytes, UNIT_BYTES)).sum();
        write(job, &render(job, options, &regions), total)?;
    }
    check_in_place(&regions)?;
    let mut paths: Vec<_> = regions.into_iter().map(|r| r.path).collect();
    paths.dedup();
    Ok(paths)
}

/// For a user's own job file: fio itself knows best which files of which sizes its jobs want.
fn lay_out_for(job: &Job<'_>, text: &str) -> Result<Vec<PathBuf>, EngineError> {
    let refused = |reason| EngineError::Refused { workload: job.workload.name.clone(), reason };
    let file = userfile::rewrite(job, text).map_err(refused)?;
    if let Place::Block(device) = job.ground.place() {
        let needed = file.block_end_bytes.unwrap_or(0);
        check_device_size(device, needed)?;
        write(job, &file.layout, needed)?;
        return Ok(vec![device.clone()]);
    }
    let size_bytes = match &job.workload.ask {
        Ask::JobFile { size_bytes, .. } => *size_bytes,
        Ask::Options(_) => 0,
    };
    write(job, &file.layout, size_bytes)?;
    let paths = check_user_files(job, &file)?;
    for path in &paths {
        as_declared(path, job.workload.layout)?;
    }
    Ok(paths)
}

/// Turns a written file into the reservation or hole that the workload asks for.
fn as_declared(path: &Path, layout: Layout) -> Result<(), EngineError> {
    if layout == Layout::Written {
        return Ok(());
    }
    let length = fs::metadata(path).map_err(io_error("examine", path))?.len();
    let file = OpenOptions::new().write(true).open(path).map_err(io_error("open", path))?;
    ftruncate(&file, 0).map_err(|e| io_error("empty", path)(e.into()))?;
    size(&file, path, length, layout)
}

/// The files of a user's job file, laid out before.
pub(super) fn check_user_files(job: &Job<'_>, file: &Rewritten) -> Result<Vec<PathBuf>, EngineError> {
    let directory = match job.ground.place() {
        Place::Directory(directory) => directory,
        Place::Block(device) => {
            check_device_size(device, file.block_end_bytes.unwrap_or(0))?;
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

/// Our data files in a directory.
fn data_files(directory: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(io_error("list", directory))? {
        let entry = entry.map_err(io_error("list", directory))?;
        if entry.file_name().to_string_lossy().starts_with(DATA_PREFIX) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Removes what an earlier trial left, so that every trial allocates anew.
fn clear(directory: &Path) -> Result<(), EngineError> {
    data_files(directory)?.iter().try_for_each(|path| fs::remove_file(path).map_err(io_error("remove", path)))
}

/// Whether all data is there: no trial may begin on less, since fio would then lay the rest out itself.
pub(super) fn check_in_place(regions: &[Region]) -> Result<(), EngineError> {
    for region in regions.iter().filter(|r| !r.block) {
        let found_bytes = fs::metadata(&region.path).map_err(io_error("examine", &region.path))?.len();
        if found_bytes < region.end_bytes() {
            let wanted_bytes = region.end_bytes();
            return Err(EngineError::LaidOutShort { path: region.path.clone(), found_bytes, wanted_bytes });
        }
    }
    check_device(regions)
}

fn check_device(regions: &[Region]) -> Result<(), EngineError> {
    let last = regions.iter().filter(|r| r.block).max_by_key(|r| r.end_bytes());
    last.map_or(Ok(()), |region| check_device_size(&region.path, region.end_bytes()))
}

fn check_device_size(path: &Path, needed_bytes: u64) -> Result<(), EngineError> {
    let mut device = File::open(path).map_err(io_error("open", path))?;
    let found_bytes = device.seek(SeekFrom::End(0)).map_err(io_error("seek in", path))?;
    if needed_bytes > found_bytes {
        return Err(EngineError::TooSmall { path: path.to_owned(), found_bytes, needed_bytes });
    }
    Ok(())
}

fn create(regions: &[Region], layout: Layout) -> Result<(), EngineError> {
    for region in regions {
        let file = OpenOptions::new().write(true).create_new(true).open(&region.path);
        let file = file.map_err(io_error("create", &region.path))?;
        size(&file, &region.path, whole_blocks(region.size_bytes, UNIT_BYTES), layout)?;
    }
    Ok(())
}

/// Gives an empty file its length. A file that is to be written has it from the start: fio would extend it in its own way.
fn size(file: &File, path: &Path, length: u64, layout: Layout) -> Result<(), EngineError> {
    let sized = match layout {
        Layout::Written | Layout::Hole => ftruncate(file, length),
        Layout::Unwritten => fallocate(file, FallocateFlags::empty(), 0, length),
    };
    sized.map_err(|e| io_error("give its length to", path)(e.into()))?;
    file.sync_all().map_err(io_error("flush", path))
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

/// Slow disks write 20 MB/s at worst; this waits for a quarter of that.
#[expect(clippy::cast_precision_loss, reason = "a rough limit")]
fn patience_seconds(bytes: u64) -> f64 {
    60.0 + bytes as f64 / 5e6
}

/// The layout job: one region after the other, in order, so that files lie as one writer would leave them. Files are
/// written through the page cache and flushed, as programs write: direct writes would go around btrfs's compression.
fn render(job: &Job<'_>, options: &Options, regions: &[Region]) -> Ini {
    let mut global = Section::new("global");
    let block = regions.first().is_some_and(|r| r.block);
    global.set("ioengine", if block { "libaio" } else { "psync" });
    global.set("iodepth", if block { 8 } else { 1 });
    global.flag("direct", block);
    global.set("rw", "write");
    global.set("bs", block_bytes(options, regions));
    jobfile::data(&mut global, options, job.seed ^ jobfile::LAYOUT_SEED);
    global.flag("end_fsync", true);
    global.flag("overwrite", true);
    global.set("file_service_type", "sequential");
    jobfile::nothing_laid_out_by_fio(&mut global);
    jobfile::reporting(&mut global);
    let mut ini = Ini { sections: vec![global] };
    for (index, chunk) in regions.chunks(if block { 1 } else { FILES_PER_SECTION }).enumerate() {
        let mut section = Section::new(format!("layout{index}"));
        section.flag("stonewall", true);
        let names: Vec<_> = chunk.iter().map(|r| escape(&r.path.to_string_lossy())).collect();
        section.set("filename", names.join(":"));
        if block {
            section.set("offset", chunk.iter().map(|r| r.offset_bytes).min().unwrap_or(0));
        }
        section.set("size", chunk.iter().map(|r| whole_blocks(r.size_bytes, UNIT_BYTES)).sum::<u64>());
        ini.sections.push(section);
    }
    ini
}

/// The largest block up to 1 MiB that divides every region; the workload's own where duplicates are asked for, since
/// fio repeats whole blocks.
fn block_bytes(options: &Options, regions: &[Region]) -> u64 {
    if options.dedupe_percentage > 0 && options.size_bytes.is_multiple_of(options.bs_bytes.max(1)) {
        return options.bs_bytes;
    }
    let mut block = LAYOUT_BLOCK_BYTES;
    while regions.iter().any(|r| !whole_blocks(r.size_bytes, UNIT_BYTES).is_multiple_of(block)) {
        block /= 2;
    }
    block.max(UNIT_BYTES)
}

/// Progress from what the kernel counts for fio's processes.
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

/// Bytes a process has written: by system calls, or by direct I/O.
fn written_by(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let field = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.trim().parse::<u64>().ok());
    field("wchar:").max(field("write_bytes:"))
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EngineError + use<> {
    let path = path.to_owned();
    move |source| EngineError::Io { action, path, source }
}
