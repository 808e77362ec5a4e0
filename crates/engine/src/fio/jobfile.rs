//! Writes a job file from a workload's options, including every default that matters, so that the record shows it.

use super::exact::LOG_PREFIX;
use super::forbidden;
use super::ini::{Ini, Section, escape};
use super::limits::is_mixed;
use super::times::Times;
use super::{mixed, verify};
use crate::contract::Job;
use crate::native::random::SplitMix;
use crate::regions::{Region, of_options};
use record::workload::{Options, RateProcess, SyncMode};
use std::time::Duration;

/// Keeps seeds well below fio's limit of 2^63.
const SEED_MASK: u64 = (1 << 62) - 1;

/// CLOCK_MONOTONIC in linux/time.h.
const CLOCK_MONOTONIC: u8 = 1;

/// Makes the layout's data different from what the trial writes.
pub(super) const LAYOUT_SEED: u64 = 0x6c61_796f_7574;

/// fio's default size of the chunks that are part random, part zero.
const COMPRESS_CHUNK_BYTES: u32 = 512;

/// Options that are fields of a workload, or that follow from the trial; `other` may not repeat them.
const OWN: &[&str] = &[
    "allow_file_create",
    "blocksize",
    "blocksize_range",
    "bs",
    "bsrange",
    "bssplit",
    "buffer_compress_percentage",
    "create_on_open",
    "dedupe_percentage",
    "direct",
    "do_verify",
    "end_fsync",
    "fdatasync",
    "filesize",
    "fsync",
    "invalidate",
    "iodepth",
    "ioengine",
    "log_alternate_epoch",
    "log_alternate_epoch_clock_id",
    "log_hist_coarseness",
    "log_hist_msec",
    "log_unix_epoch",
    "loops",
    "name",
    "norandommap",
    "nrfiles",
    "numjobs",
    "offset",
    "offset_increment",
    "overwrite",
    "ramp_time",
    "random_distribution",
    "randrepeat",
    "randseed",
    "rate",
    "rate_iops",
    "rate_process",
    "readwrite",
    "runtime",
    "rw",
    "rwmixread",
    "rwmixwrite",
    "size",
    "sync",
    "thinktime",
    "thinktime_blocks",
    "time_based",
    "verify",
];

/// Ramp and measured time: the workload's own, else the experiment's.
pub(super) fn spans(job: &Job<'_>, options: &Options) -> (Duration, Duration) {
    let own = |ms: Option<u64>, seconds| ms.map_or_else(|| span(seconds), Duration::from_millis);
    (own(options.ramp_time_ms, job.ramp_seconds), own(options.runtime_ms, job.trial_seconds))
}

/// The parts of the trial's time; `None` when the jobs end by themselves, and all they did counts.
pub(super) fn times(job: &Job<'_>, options: &Options) -> Option<Times> {
    let (ramp, trial) = spans(job, options);
    if !options.time_based && ramp.is_zero() {
        return None;
    }
    let on = |name: &str| options.other.get(name).is_some_and(|v| v != "0");
    let flush = options.end_fsync || on("fsync_on_close") || on("end_syncfs");
    let rw = options.rw;
    let directions = [rw.reads(), rw.writes(), rw.trims()].map(u64::from).iter().sum();
    let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    Some(Times::new(ms(ramp), ms(trial), options.numjobs.into(), directions, flush && rw.writes()))
}

/// The regions of a workload's identical jobs, job by job.
pub(crate) fn regions(job: &Job<'_>, options: &Options) -> Result<Vec<Vec<Region>>, String> {
    of_options(job.ground.place(), options)
}

/// The job file that performs a workload.
///
/// # Errors
/// When an option would make fio leave the device or file system under test; the error is the reason as text.
pub(crate) fn render(job: &Job<'_>, options: &Options, jobs: &[Vec<Region>]) -> Result<Ini, String> {
    if let Some(why) = forbidden::ioengine(&options.ioengine) {
        return Err(why);
    }
    let mut global = Section::new("global");
    pattern(&mut global, options)?;
    data(&mut global, options, job.seed);
    durability(&mut global, options);
    timing(&mut global, job, options);
    pace(&mut global, options);
    verify::set(&mut global, options);
    verify::one_write_at_a_time(&mut global, options);
    // Caches are emptied before the engine starts; fio would do it again at every pass over a file.
    global.flag("invalidate", false);
    nothing_laid_out_by_fio(&mut global);
    reporting(&mut global);
    for (name, value) in &options.other {
        if OWN.contains(&name.as_str()) {
            return Err(format!("{name} belongs to the workload itself, not among its other options"));
        }
        if let Some(why) = forbidden::reason(name, value) {
            return Err(why);
        }
        global.set(name, value);
    }
    let mut ini = Ini { sections: vec![global] };
    for (index, files) in jobs.iter().enumerate() {
        let mut section = Section::new(format!("job{index}"));
        place(&mut section, files);
        ini.sections.push(section);
    }
    Ok(ini)
}

fn pattern(global: &mut Section, options: &Options) -> Result<(), String> {
    global.set("ioengine", &options.ioengine);
    global.flag("direct", options.direct);
    global.set("rw", options.rw.name());
    if options.rw.is_mixed() {
        global.set("rwmixread", options.rwmixread);
    }
    sizes(global, options);
    global.set("iodepth", options.iodepth);
    if options.rw.is_random() {
        if let Some(c) = forbidden::unsafe_text(&options.random_distribution) {
            return Err(format!("random_distribution can't hold {c:?}"));
        }
        global.set("random_distribution", &options.random_distribution);
        global.flag("norandommap", options.norandommap || mixed::needs_no_map(options));
    }
    Ok(())
}

fn sizes(global: &mut Section, options: &Options) {
    match options.bsrange {
        _ if !is_mixed(options) => global.set("bs", options.bs_bytes),
        Some(range) => global.set("bsrange", format!("{}-{}", range.low_bytes, range.high_bytes)),
        None => {
            let shares: Vec<_> =
                options.bssplit.iter().map(|s| format!("{}/{}", s.bs_bytes, s.percent)).collect();
            global.set("bssplit", shares.join(":"));
        }
    }
}

/// Sets the rates and pauses.
fn pace(global: &mut Section, options: &Options) {
    if let Some(rate) = options.rate_iops {
        global.set("rate_iops", rate);
    }
    if let Some(rate) = options.rate_bytes_per_second {
        global.set("rate", rate);
    }
    if options.rate_process == RateProcess::Poisson {
        global.set("rate_process", "poisson");
    }
    if options.thinktime_us > 0 {
        global.set("thinktime", format!("{}us", options.thinktime_us));
        global.set("thinktime_blocks", options.thinktime_blocks);
    }
}

/// Sets the content of written data, and the seed of offsets and data.
pub(super) fn data(section: &mut Section, options: &Options, seed: u64) {
    section.flag("randrepeat", false);
    section.set("randseed", fio_seed(seed));
    section.flag("refill_buffers", true);
    section.set("buffer_compress_percentage", options.buffer_compress_percentage);
    section.set("buffer_compress_chunk", COMPRESS_CHUNK_BYTES);
    if options.dedupe_percentage > 0 {
        section.set("dedupe_percentage", options.dedupe_percentage);
    }
}

fn durability(global: &mut Section, options: &Options) {
    if !options.rw.writes() {
        return;
    }
    global.flag("overwrite", true);
    global.set("fsync", options.fsync);
    global.set("fdatasync", options.fdatasync);
    global.flag("end_fsync", options.end_fsync);
    match options.sync {
        SyncMode::None => {}
        SyncMode::Dsync => global.set("sync", "dsync"),
        SyncMode::Sync => global.set("sync", "sync"),
    }
}

/// Runs ramp and trial in one go: the count leaves the ramp out, see [`super::exact`]. With `time_based`, fio repeats passes over
/// the data until the time is up.
fn timing(section: &mut Section, job: &Job<'_>, options: &Options) {
    let (ramp, trial) = spans(job, options);
    section.flag("time_based", options.time_based);
    section.set("runtime", format!("{}ms", ramp.saturating_add(trial).as_millis()));
    let Some(times) = times(job, options) else { return };
    section.set("write_hist_log", LOG_PREFIX);
    section.set("log_hist_msec", times.row_ms);
    section.set("log_hist_coarseness", 0);
    section.flag("log_alternate_epoch", true);
    section.set("log_alternate_epoch_clock_id", CLOCK_MONOTONIC);
}

/// `prepare` has laid the data out, so a missing or short file must be an error.
pub(super) fn nothing_laid_out_by_fio(section: &mut Section) {
    section.flag("allow_file_create", false);
    section.flag("create_on_open", false);
    section.set("fallocate", "none");
}

/// Sets the reports that our json+ reader relies on.
pub(super) fn reporting(section: &mut Section) {
    section.flag("group_reporting", false);
    section.set("unified_rw_reporting", "none");
    section.flag("clat_percentiles", true);
    // For comparison with an engine that includes the submission in its latency.
    section.flag("lat_percentiles", true);
    section.flag("exitall_on_error", true);
}

/// Sets one job's files. Several files get a format, since fio reads lines of at most 4096 bytes.
fn place(section: &mut Section, files: &[Region]) {
    let Some(first) = files.first() else { return };
    match (files.len(), first.path.parent(), first.path.file_name()) {
        (2.., Some(directory), Some(name)) => {
            let name = name.to_string_lossy();
            section.set("directory", escape(&directory.to_string_lossy()));
            section.set("filename_format", format!("{}.$filenum", name.strip_suffix(".0").unwrap_or(&name)));
            section.set("nrfiles", files.len());
        }
        _ => section.set("filename", escape(&first.path.to_string_lossy())),
    }
    if first.offset_bytes > 0 || first.block {
        section.set("offset", first.offset_bytes);
    }
    section.set("size", files.iter().map(|r| r.size_bytes).sum::<u64>());
}

/// A seed for fio: below 2^63, never 0 (or all of fio's generators would start alike), and with mixed bits (splitmix64's
/// finalizer), since fio multiplies seeds by job numbers.
pub(super) fn fio_seed(seed: u64) -> u64 {
    (SplitMix::new(seed).next() & SEED_MASK).max(1)
}

/// A time for fio, with its unit: fio's bare numbers are seconds here and microseconds elsewhere.
pub(super) fn milliseconds(seconds: f64) -> String {
    format!("{}ms", span(seconds).as_millis())
}

fn span(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.clamp(0.0, 1e9)).unwrap_or_default()
}
