//! Writes a job file from a workload's options, including every default that matters, so that the record shows it.

use super::exact::LOG_PREFIX;
use super::forbidden::{self, Forbidden};
use super::ini::{Ini, Section, escape};
use super::times::Times;
use super::{mixed, verify};
use crate::contract::Job;
use crate::native::random::SplitMix;
use crate::regions::{PlaceError, Region, of_options};
use record::effective::FLUSHING_ENDS;
use record::fio_option::KEYS;
use record::workload::Options;
use std::time::Duration;

/// Keeps seeds well below fio's limit of 2^63.
const SEED_MASK: u64 = (1 << 62) - 1;

/// CLOCK_MONOTONIC in linux/time.h.
const CLOCK_MONOTONIC: u8 = 1;

/// Makes the layout's data different from what the trial writes.
pub(super) const LAYOUT_SEED: u64 = 0x6c61_796f_7574;

/// fio's default size of the chunks that are part random, part zero.
const COMPRESS_CHUNK_BYTES: u32 = 512;

/// Options that decide the content of written blocks; the layout uses them too.
pub(super) const CONTENT: &[&str] = &[
    "buffer_compress_chunk",
    "buffer_compress_percentage",
    "buffer_pattern",
    "dedupe_mode",
    "dedupe_percentage",
    "dedupe_working_set_percentage",
    "zero_buffers",
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
    let flush = options.end_fsync || FLUSHING_ENDS.into_iter().any(on);
    let rw = options.rw;
    let directions = [rw.reads(), rw.writes(), rw.trims()].map(u64::from).iter().sum();
    let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let times = Times::new(ms(ramp), ms(trial), options.numjobs.into(), directions, flush && rw.writes());
    Some(match job.begins_at_ns {
        Some(at_ns) => times.agreed(at_ns / 1_000_000, options.numjobs.into(), directions),
        None => times,
    })
}

/// The regions of a workload's identical jobs, job by job.
pub(crate) fn regions(job: &Job<'_>, options: &Options) -> Result<Vec<Vec<Region>>, PlaceError> {
    of_options(job.ground.place(), options)
}

/// The job file that performs a workload.
///
/// # Errors
/// When an option would make fio leave the device or file system under test.
pub(crate) fn render(job: &Job<'_>, options: &Options, jobs: &[Vec<Region>]) -> Result<Ini, Forbidden> {
    if let Some(why) = forbidden::ioengine(&options.ioengine) {
        return Err(why);
    }
    if let Some(c) = forbidden::unsafe_text(&options.random_distribution) {
        return Err(Forbidden::Distribution { c });
    }
    let mut global = Section::new("global");
    tell(&mut global, options, |_| true);
    if mixed::needs_no_map(options) {
        global.flag("norandommap", true);
    }
    data(&mut global, options, job.seed);
    if options.rw.writes() {
        global.flag("overwrite", true);
    }
    timing(&mut global, job, options);
    verify::set(&mut global, options);
    verify::one_write_at_a_time(&mut global, options);
    // Caches are emptied before the engine starts; fio would do it again at every pass over a file.
    global.flag("invalidate", false);
    nothing_laid_out_by_fio(&mut global);
    reporting(&mut global);
    for (name, value) in &options.other {
        if let Some(why) = forbidden::among_others(name, value) {
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

/// Sets what the table of options tells fio of a workload's own options.
fn tell(section: &mut Section, options: &Options, which: impl Fn(&str) -> bool) {
    for option in KEYS.iter().filter(|option| which(option.name)) {
        if let Some(value) = option.key().and_then(|key| (key.told)(options)) {
            section.set(option.name, value);
        }
    }
}

/// Sets the content of written data, and the seed of offsets and data.
pub(super) fn data(section: &mut Section, options: &Options, seed: u64) {
    section.flag("randrepeat", false);
    section.set("randseed", fio_seed(seed));
    section.flag("refill_buffers", true);
    section.set("buffer_compress_chunk", COMPRESS_CHUNK_BYTES);
    tell(section, options, |name| CONTENT.contains(&name));
}

/// Runs ramp and trial in one go: the count leaves the ramp out, see [`super::exact`]. With `time_based`, fio repeats passes over
/// the data until the time is up.
fn timing(section: &mut Section, job: &Job<'_>, options: &Options) {
    let (ramp, trial) = spans(job, options);
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
