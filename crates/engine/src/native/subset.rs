//! The fio options that native supports. It refuses others by name and never ignores them.

use super::arrival::Rate;
use super::batching::Batches;
use super::clock::monotonic_ns;
use super::distribution::Distribution;
use super::jobs::{Member, files, number};
use super::proof::asked;
use super::sizes::Sizes;
use super::task::{Issue, JobTask, Place, Task, Tolerance};
use super::think::Pause;
use super::zones::Zones;
use crate::contract::Job;
use record::workload::{CacheStart, Layout, Options, RateProcess};
use spec::{BATCHES, native_lacks};
use std::time::Duration;

/// The largest queue depth: beyond this the kernel refuses most kinds of I/O.
const MOST_DEPTH: u32 = 32_768;

/// The task that performs a workload.
///
/// # Errors
/// The reason as text: an option or a value that native doesn't support.
pub(crate) fn task(job: &Job<'_>, members: &[Member<'_>]) -> Result<Task, String> {
    let first = members.first().ok_or("there is no job")?.options;
    for member in members {
        // The plan was made with the same check.
        if let Some(lack) = native_lacks(member.options, job.workload.layout).into_iter().next() {
            return Err(lack.to_string());
        }
        let same = (member.options.runtime_ms, member.options.ramp_time_ms, member.options.time_based)
            == (first.runtime_ms, first.ramp_time_ms, first.time_based);
        if !same {
            return Err(lacks("jobs that differ in runtime, ramp_time or time_based"));
        }
    }
    let jobs = places(members).into_iter().zip(members).map(|(places, member)| {
        of_options(&member.name, member.options, places).map_err(|why| match members.len() {
            1 => why,
            _ => format!("{}: {why}", member.name),
        })
    });
    let own = |ms: Option<u64>, seconds| ms.map_or(nanoseconds(seconds), |ms| ms.saturating_mul(1_000_000));
    let jobs = jobs.collect::<Result<Vec<_>, String>>()?;
    let block = jobs.iter().flat_map(|job| &job.places).any(|place| place.block_device);
    asked::check(&jobs, block || job.workload.layout == Layout::Written)?;
    Ok(Task {
        jobs,
        invalidate: job.workload.cache == CacheStart::Cold,
        seed: job.seed,
        proof: 0,
        ramp_ns: own(first.ramp_time_ms, job.ramp_seconds),
        trial_ns: own(first.runtime_ms, job.trial_seconds),
        asked_ns: monotonic_ns(),
    })
}

/// The places of each job.
fn places(members: &[Member<'_>]) -> Vec<Vec<Place>> {
    let files = files(members);
    let place = |region| Place {
        number: number(&files, region).unwrap_or(u32::MAX),
        path: region.path.clone(),
        offset_bytes: region.offset_bytes,
        size_bytes: region.size_bytes,
        block_device: region.block,
    };
    members.iter().map(|member| member.regions.iter().map(place).collect()).collect()
}

pub(crate) fn of_options(name: &str, options: &Options, places: Vec<Place>) -> Result<JobTask, String> {
    let other = other(options)?;
    if let Some(other) = options.verify.as_ref().filter(|verify| *verify != "crc32c") {
        return Err(lacks(&format!("verify: {other}, only crc32c")));
    }
    if options.iodepth > MOST_DEPTH {
        return Err(format!("native's limit is an iodepth of {MOST_DEPTH}; use engine: fio"));
    }
    let job = JobTask {
        name: name.to_owned(),
        places,
        rw: options.rw,
        rwmixread: options.rwmixread,
        sizes: Sizes::new(options).map_err(|why| format!("{why}; use engine: fio"))?,
        iodepth: options.iodepth,
        batches: other.batches,
        direct: options.direct,
        fsync: options.fsync,
        fdatasync: options.fdatasync,
        end_fsync: options.end_fsync,
        sync: options.sync,
        pause: pause(options),
        once: !options.time_based,
        buffer_compress_percentage: options.buffer_compress_percentage,
        dedupe_percentage: options.dedupe_percentage,
        rate: rate(options)?,
        random_distribution: distribution(options)?,
        norandommap: options.norandommap,
        verify: options.verify.is_some(),
        issue: issue(&options.ioengine)?,
        continue_on_error: other.continue_on_error,
        hipri: other.hipri,
        sqthread_poll: other.sqthread_poll,
    };
    check_polled(&job)?;
    check_zones(&job)?;
    Ok(job)
}

fn pause(options: &Options) -> Option<Pause> {
    (options.thinktime_us > 0).then(|| Pause {
        pause_ns: options.thinktime_us.saturating_mul(1000),
        blocks: options.thinktime_blocks,
    })
}

fn rate(options: &Options) -> Result<Option<Rate>, String> {
    let poisson = options.rate_process == RateProcess::Poisson;
    let (name, per_second, bytes) = match (options.rate_iops, options.rate_bytes_per_second) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(lacks("rate together with rate_iops")),
        (Some(iops), None) => ("rate_iops", iops, false),
        (None, Some(rate)) => ("rate", rate, true),
    };
    let directions = [options.rw.reads(), options.rw.writes(), options.rw.trims()];
    if directions.iter().filter(|does| **does).count() > 1 {
        return Err(lacks(&format!("{name} with a mix: fio holds each direction to it")));
    }
    Ok(Some(Rate { per_second, bytes, poisson }))
}

fn distribution(options: &Options) -> Result<Distribution, String> {
    if options.rw.is_random() {
        Distribution::parse(&options.random_distribution).map_err(|text| lacks(&text))
    } else {
        Ok(Distribution::Random)
    }
}

fn check_polled(job: &JobTask) -> Result<(), String> {
    if job.hipri && !job.direct {
        return Err("hipri polls the device; it needs direct: 1".to_owned());
    }
    if job.hipri && job.rw.writes() && (job.fsync > 0 || job.fdatasync > 0) {
        return Err(lacks("fsync and fdatasync with hipri: a polled ring can't flush"));
    }
    if job.hipri && job.rw.trims() {
        return Err(lacks("hipri with trims: a polled ring can't trim"));
    }
    if job.batches.is_some() && job.issue == Issue::Threads {
        return Err("iodepth_batch and iodepth_low belong to io_uring; leave ioengine out".to_owned());
    }
    if (job.hipri || job.sqthread_poll) && job.issue == Issue::Threads {
        return Err("hipri and sqthread_poll belong to io_uring; leave ioengine out".to_owned());
    }
    Ok(())
}

fn check_zones(job: &JobTask) -> Result<(), String> {
    let Distribution::Zoned(zones) = &job.random_distribution else { return Ok(()) };
    job.places
        .iter()
        .try_for_each(|place| Zones::new(zones, job.blocks(place), job.sizes.smallest()).map(|_| ()))
        .map_err(|error| error.to_string())
}

fn lacks(what: &str) -> String {
    format!("the native engine doesn't know {what}; use engine: fio")
}

fn issue(ioengine: &str) -> Result<Issue, String> {
    match ioengine {
        "io_uring" => Ok(Issue::IoUring),
        "psync" => Ok(Issue::Threads),
        other => Err(lacks(&format!("ioengine: {other} (only io_uring, and psync in threads)"))),
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Other {
    batches: Option<Batches>,
    continue_on_error: Tolerance,
    hipri: bool,
    sqthread_poll: bool,
}

/// Parses options besides a workload's own fields.
fn other(options: &Options) -> Result<Other, String> {
    let mut found = Other::default();
    for (name, value) in &options.other {
        let unknown = || lacks(&format!("{name}={value}"));
        let switch = match value.as_str() {
            "1" | "" => Some(true),
            "0" => Some(false),
            _ => None,
        };
        match (name.as_str(), value.as_str()) {
            ("continue_on_error", value) => {
                found.continue_on_error = Tolerance::parse(value).ok_or_else(unknown)?;
            }
            ("hipri", _) => found.hipri = switch.ok_or_else(unknown)?,
            ("sqthread_poll", _) => found.sqthread_poll = switch.ok_or_else(unknown)?,
            (name, value) if BATCHES.contains(&name) => {
                let count = spec::batch(name, value).ok_or_else(unknown)?;
                let batches = found.batches.get_or_insert(Batches::FIO);
                match name {
                    "iodepth_batch" | "iodepth_batch_submit" => batches.submit = count,
                    "iodepth_batch_complete" | "iodepth_batch_complete_min" => batches.complete_min = count,
                    "iodepth_batch_complete_max" => batches.complete_max = count,
                    _ => batches.low = count,
                }
            }
            // Native always does this.
            ("fixedbufs" | "registerfiles", "1" | "") => {}
            _ => return Err(unknown()),
        }
    }
    Ok(found)
}

fn nanoseconds(seconds: f64) -> u64 {
    let span = Duration::try_from_secs_f64(seconds.clamp(0.0, 1e9)).unwrap_or_default();
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod tests;
