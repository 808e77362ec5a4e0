//! The fio options that native supports. It refuses others by name and never ignores them.

use super::arrival::Rate;
use super::batching::Batches;
use super::clock::monotonic_ns;
use super::distribution::{Distribution, DistributionError};
use super::jobs::{Member, files, number};
use super::proof::asked::{self, UncheckableError};
use super::sizes::{Sizes, SizesError};
use super::task::{Issue, JobTask, Place, Task, Tolerance};
use super::think::Pause;
use super::zones::{ZoneError, Zones};
use crate::contract::Job;
use record::workload::{CacheStart, Layout, Options, RateProcess};
use spec::{Lack, native_lacks};
use std::time::Duration;
use thiserror::Error;

/// Why native can't perform a workload.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum TaskError {
    #[error("there is no job")]
    NoJob,
    /// What `spec` knows to be missing, as in the plan.
    #[error("{0}")]
    Lack(Lack),
    #[error("the native engine doesn't know {0}; use engine: fio")]
    Unknown(String),
    #[error("the native engine doesn't know {0}; use engine: fio")]
    Distribution(DistributionError),
    #[error("{0}; use engine: fio")]
    Sizes(SizesError),
    #[error("{0}")]
    Zones(ZoneError),
    #[error("{0}")]
    Verify(UncheckableError),
    /// One job of several.
    #[error("{name}: {why}")]
    Job { name: String, why: Box<Self> },
}

/// The task that performs a workload.
///
/// # Errors
/// An option or a value that native doesn't support.
pub(crate) fn task(job: &Job<'_>, members: &[Member<'_>]) -> Result<Task, TaskError> {
    let first = members.first().ok_or(TaskError::NoJob)?.options;
    for member in members {
        let same = (member.options.runtime_ms, member.options.ramp_time_ms, member.options.time_based)
            == (first.runtime_ms, first.ramp_time_ms, first.time_based);
        if !same {
            return Err(lacks("jobs that differ in runtime, ramp_time or time_based"));
        }
    }
    let jobs = places(members).into_iter().zip(members).map(|(places, member)| {
        of_options(&member.name, member.options, job.workload.layout, places).map_err(|why| {
            match members.len() {
                1 => why,
                _ => TaskError::Job { name: member.name.clone(), why: Box::new(why) },
            }
        })
    });
    let own = |ms: Option<u64>, seconds| ms.map_or(nanoseconds(seconds), |ms| ms.saturating_mul(1_000_000));
    let jobs = jobs.collect::<Result<Vec<_>, TaskError>>()?;
    let block = jobs.iter().flat_map(|job| &job.places).any(|place| place.block_device);
    asked::check(&jobs, block || job.workload.layout == Layout::Written).map_err(TaskError::Verify)?;
    Ok(Task {
        jobs,
        invalidate: job.workload.cache == CacheStart::Cold,
        seed: job.seed,
        proof: 0,
        ramp_ns: own(first.ramp_time_ms, job.ramp_seconds),
        trial_ns: own(first.runtime_ms, job.trial_seconds),
        asked_ns: monotonic_ns(),
        begins_at_ns: job.begins_at_ns,
        live: false,
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

/// Translates a job's options. What native lacks is refused here, as in the plan.
pub(crate) fn of_options(
    name: &str,
    options: &Options,
    layout: Layout,
    places: Vec<Place>,
) -> Result<JobTask, TaskError> {
    if let Some(lack) = native_lacks(options, layout).into_iter().next() {
        return Err(TaskError::Lack(lack));
    }
    let other = other(options)?;
    let job = JobTask {
        name: name.to_owned(),
        places,
        rw: options.rw,
        rwmixread: options.rwmixread,
        sizes: Sizes::new(options).map_err(TaskError::Sizes)?,
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
        rate: rate(options),
        random_distribution: distribution(options)?,
        norandommap: options.norandommap,
        verify: options.verify.is_some(),
        issue: issue(&options.ioengine)?,
        continue_on_error: other.continue_on_error,
        hipri: other.hipri,
        sqthread_poll: other.sqthread_poll,
    };
    check_zones(&job)?;
    Ok(job)
}

fn pause(options: &Options) -> Option<Pause> {
    (options.thinktime_us > 0).then(|| Pause {
        pause_ns: options.thinktime_us.saturating_mul(1000),
        spin_ns: options.thinktime_spin_us.saturating_mul(1000),
        blocks: options.thinktime_blocks,
    })
}

fn rate(options: &Options) -> Option<Rate> {
    let poisson = options.rate_process == RateProcess::Poisson;
    let bytes = options.rate_iops.is_none();
    let per_second = options.rate_iops.or(options.rate_bytes_per_second)?;
    Some(Rate { per_second, bytes, poisson })
}

fn distribution(options: &Options) -> Result<Distribution, TaskError> {
    if options.rw.is_random() {
        Distribution::parse(&options.random_distribution).map_err(TaskError::Distribution)
    } else {
        Ok(Distribution::Random)
    }
}

fn check_zones(job: &JobTask) -> Result<(), TaskError> {
    let Distribution::Zoned(zones) = &job.random_distribution else { return Ok(()) };
    job.places
        .iter()
        .try_for_each(|place| Zones::new(zones, job.blocks(place), job.sizes.smallest()).map(|_| ()))
        .map_err(TaskError::Zones)
}

fn lacks(what: &str) -> TaskError {
    TaskError::Unknown(what.to_owned())
}

fn issue(ioengine: &str) -> Result<Issue, TaskError> {
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

/// Translates options besides a workload's own fields.
fn other(options: &Options) -> Result<Other, TaskError> {
    let mut found = Other::default();
    for (name, value) in &options.other {
        let unknown = || lacks(&format!("{name}={value}"));
        match name.as_str() {
            "continue_on_error" => found.continue_on_error = Tolerance::parse(value).ok_or_else(unknown)?,
            "hipri" => found.hipri = value != "0",
            "sqthread_poll" => found.sqthread_poll = value != "0",
            // Native always does this.
            "fixedbufs" | "registerfiles" => {}
            name => {
                let count = spec::batch(name, value).ok_or_else(unknown)?;
                let batches = found.batches.get_or_insert(Batches::FIO);
                match name {
                    "iodepth_batch" | "iodepth_batch_submit" => batches.submit = count,
                    "iodepth_batch_complete" | "iodepth_batch_complete_min" => batches.complete_min = count,
                    "iodepth_batch_complete_max" => batches.complete_max = count,
                    "iodepth_low" => batches.low = count,
                    _ => return Err(unknown()),
                }
            }
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
