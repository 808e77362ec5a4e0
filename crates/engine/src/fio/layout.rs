//! Laying data out before a trial. fio itself writes it, at the declared compressibility, but in a run of its own: fio's
//! automatic layout reserves space on most file systems and leaves it unwritten, so that reads give zeros from no device.

use super::ini::{Ini, Section, escape};
use super::jobfile::{self, whole_blocks};
use super::json;
use super::perform::{argv, messages, seconds};
use super::process::{self, Order, Why};
use super::regions::Region;
use crate::contract::Job;
use crate::error::EngineError;
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

/// Lengths are rounded up to this, so that direct I/O can reach the last block.
const UNIT_BYTES: u64 = 4096;

/// Lays the data out and verifies it.
pub(super) fn prepare(job: &Job<'_>) -> Result<Vec<PathBuf>, EngineError> {
    let refused = |reason| EngineError::Refused { workload: job.workload.name.clone(), reason };
    let options = match &job.workload.ask {
        Ask::Options(options) => options,
        Ask::JobFile { .. } => return Err(refused("job files are not yet run".to_owned())),
    };
    let regions = jobfile::regions(job, options).map_err(refused)?;
    let block = regions.first().is_some_and(|r| r.block);
    if block {
        check_device(&regions)?;
    } else {
        create(&regions, job.workload.layout)?;
    }
    // A block device has no holes to leave: what isn't written holds whatever was there before.
    if block || job.workload.layout == Layout::Written {
        write(job, options, &regions)?;
    }
    check_in_place(&regions)?;
    (job.progress)(1.0);
    let mut paths: Vec<_> = regions.into_iter().map(|r| r.path).collect();
    paths.dedup();
    Ok(paths)
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
    let Some(last) = regions.iter().filter(|r| r.block).max_by_key(|r| r.end_bytes()) else { return Ok(()) };
    let mut device = File::open(&last.path).map_err(io_error("open", &last.path))?;
    let found_bytes = device.seek(SeekFrom::End(0)).map_err(io_error("seek in", &last.path))?;
    let needed_bytes = last.end_bytes();
    if needed_bytes > found_bytes {
        return Err(EngineError::TooSmall { path: last.path.clone(), found_bytes, needed_bytes });
    }
    Ok(())
}

/// Fresh files: what an earlier trial left is removed, so that every trial allocates anew.
fn create(regions: &[Region], layout: Layout) -> Result<(), EngineError> {
    for region in regions {
        match fs::remove_file(&region.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("remove", &region.path)(error));
            }
            _ => {}
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&region.path);
        let file = file.map_err(io_error("create", &region.path))?;
        let length = whole_blocks(region.size_bytes, UNIT_BYTES);
        match layout {
            // fio writes from the start and would extend an empty file by a layout of its own.
            Layout::Written | Layout::Hole => {
                ftruncate(&file, length).map_err(|e| io_error("size", &region.path)(e.into()))?
            }
            Layout::Unwritten => fallocate(&file, FallocateFlags::empty(), 0, length)
                .map_err(|e| io_error("reserve space in", &region.path)(e.into()))?,
        }
        file.sync_all().map_err(io_error("flush", &region.path))?;
    }
    Ok(())
}

fn write(job: &Job<'_>, options: &Options, regions: &[Region]) -> Result<(), EngineError> {
    let refused = |reason| EngineError::Refused { workload: job.workload.name.clone(), reason };
    let total: u64 = regions.iter().map(|r| whole_blocks(r.size_bytes, UNIT_BYTES)).sum();
    let ini = render(job, options, regions).map_err(refused)?;
    let argv = argv(job, "layout.fio", &ini.to_string(), "json+")?;
    let meter = Meter::default();
    let ended = process::run(&Order {
        argv: argv.clone(),
        scratch: job.scratch,
        cgroup_procs: None,
        cancel: job.cancel,
        expected: Duration::from_secs(30),
        patience: seconds(patience_seconds(total)),
        started: &|_| {},
        tick: &|pids| (job.progress)(meter.share(pids, total)),
    })?;
    let reading = json::read(&ended.stdout);
    let messages = messages(&reading, &ended);
    let argv = process::quoted(&argv);
    match ended.why {
        Why::Cancelled => return Err(EngineError::Cancelled),
        Why::Hung => {
            let waited_seconds = ended.waited.as_secs_f64();
            return Err(EngineError::Hung { argv, expected_seconds: 30.0, waited_seconds, messages });
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
fn render(job: &Job<'_>, options: &Options, regions: &[Region]) -> Result<Ini, String> {
    let mut global = Section::new("global");
    let block = regions.first().is_some_and(|r| r.block);
    global.set("ioengine", if block { "libaio" } else { "psync" });
    global.set("iodepth", if block { 8 } else { 1 });
    global.flag("direct", block);
    global.set("rw", "write");
    global.set("bs", block_bytes(options, regions));
    jobfile::data(&mut global, options, job.seed ^ 0x6c61_796f_7574);
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
    Ok(ini)
}

/// The largest block up to 1 MiB that divides every region; the workload's own where duplicates are asked for, since
/// fio repeats whole blocks.
fn block_bytes(options: &Options, regions: &[Region]) -> u64 {
    if options.dedupe_percentage > 0 && options.size_bytes % options.bs_bytes.max(1) == 0 {
        return options.bs_bytes;
    }
    let mut block = LAYOUT_BLOCK_BYTES;
    while regions.iter().any(|r| whole_blocks(r.size_bytes, UNIT_BYTES) % block != 0) {
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
