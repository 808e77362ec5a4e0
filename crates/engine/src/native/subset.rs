//! Which of fio's options native performs. What it doesn't is refused by name, never ignored.

use super::arrival::Rate;
use super::clock::monotonic_ns;
use super::distribution::Distribution;
use super::sizes::Sizes;
use super::task::{Issue, JobTask, Place, Task};
use crate::contract::Job;
use crate::regions::Region;
use record::workload::{CacheStart, Options};
use std::time::Duration;

/// Most kinds of I/O in one go are refused by the kernel beyond this.
const MOST_DEPTH: u32 = 32_768;

/// The task that performs a workload.
///
/// # Errors
/// In words: an option or a value that native doesn't know.
pub(crate) fn task(job: &Job<'_>, options: &Options, regions: &[Region]) -> Result<Task, String> {
    let issue = issue(&options.ioengine)?;
    let other = other(options)?;
    if options.rate_iops.is_some() && options.rw.reads() && options.rw.writes() {
        return Err(lacks("rate_iops with a mix: fio holds reads and writes each to it"));
    }
    if other.hipri && !options.direct {
        return Err("hipri polls the device; it needs direct: 1".to_owned());
    }
    if other.hipri && options.rw.writes() && (options.fsync > 0 || options.fdatasync > 0) {
        return Err(lacks("fsync and fdatasync with hipri: a polled ring can't flush"));
    }
    if (other.hipri || other.sqthread_poll) && issue == Issue::Threads {
        return Err("hipri and sqthread_poll belong to io_uring; leave ioengine out".to_owned());
    }
    if options.iodepth > MOST_DEPTH || u32::try_from(options.bs_bytes).is_err() {
        return Err(format!("native's limits are iodepth {MOST_DEPTH} and bs below 4g; use engine: fio"));
    }
    let random_distribution = match options.rw.is_random() {
        true => Distribution::parse(&options.random_distribution).map_err(|text| lacks(&text))?,
        false => Distribution::Random,
    };
    let bs_bytes = u32::try_from(options.bs_bytes).unwrap_or(u32::MAX);
    let jobs = regions.iter().enumerate().map(|(number, region)| JobTask {
        name: format!("job{number}"),
        places: vec![place(region)],
        rw: options.rw,
        rwmixread: options.rwmixread,
        sizes: Sizes::One(bs_bytes),
        iodepth: options.iodepth,
        direct: options.direct,
        fsync: options.fsync,
        fdatasync: options.fdatasync,
        end_fsync: options.end_fsync,
        buffer_compress_percentage: options.buffer_compress_percentage,
        dedupe_percentage: options.dedupe_percentage,
        rate: options.rate_iops.map(|iops| Rate { iops, poisson: other.poisson }),
        random_distribution,
        norandommap: options.norandommap,
    });
    Ok(Task {
        jobs: jobs.collect(),
        issue,
        continue_on_error: other.continue_on_error,
        hipri: other.hipri,
        sqthread_poll: other.sqthread_poll,
        invalidate: job.workload.cache == CacheStart::Cold,
        seed: job.seed,
        ramp_ns: nanoseconds(job.ramp_seconds),
        trial_ns: nanoseconds(job.trial_seconds),
        asked_ns: monotonic_ns(),
    })
}

fn place(region: &Region) -> Place {
    Place {
        path: region.path.clone(),
        offset_bytes: region.offset_bytes,
        size_bytes: region.size_bytes,
        block_device: region.block,
    }
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
    poisson: bool,
    continue_on_error: bool,
    hipri: bool,
    sqthread_poll: bool,
}

/// Options beside a workload's own.
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
            ("rate_process", "linear") => {}
            ("rate_process", "poisson") if options.rate_iops.is_some() => found.poisson = true,
            ("continue_on_error", "none") => {}
            ("continue_on_error", "all" | "io") => found.continue_on_error = true,
            ("hipri", _) => found.hipri = switch.ok_or_else(unknown)?,
            ("sqthread_poll", _) => found.sqthread_poll = switch.ok_or_else(unknown)?,
            // Native always does so.
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
mod tests {
    use super::{Other, issue, nanoseconds, other};
    use crate::native::task::Issue;
    use record::workload::{Options, Rw};

    fn options(other: &[(&str, &str)]) -> Options {
        Options {
            iodepth: 4,
            direct: true,
            rate_iops: Some(100),
            other: other.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..Options::new(Rw::Randread, 4096, 1 << 20)
        }
    }

    #[test]
    fn what_native_lacks_is_refused_by_name() {
        for (name, value) in [
            ("bssplit", "4k/50:64k/50"),
            ("thinktime", "10"),
            ("verify", "crc32c"),
            ("continue_on_error", "read"),
            ("rate_process", "bursty"),
            ("fixedbufs", "0"),
            ("hipri", "x"),
        ] {
            let refusal = other(&options(&[(name, value)])).unwrap_err();
            assert!(refusal.contains(name) && refusal.contains("engine: fio"), "{refusal}");
        }
        let mut no_rate = options(&[("rate_process", "poisson")]);
        no_rate.rate_iops = None;
        assert!(other(&no_rate).is_err(), "poisson arrivals of no rate");
        for ioengine in ["libaio", "mmap", "posixaio"] {
            assert!(issue(ioengine).unwrap_err().contains(ioengine));
        }
        assert_eq!(issue("psync"), Ok(Issue::Threads));
    }

    #[test]
    fn what_native_knows_is_taken() {
        let all = [
            ("rate_process", "poisson"),
            ("continue_on_error", "all"),
            ("hipri", "1"),
            ("sqthread_poll", "0"),
            ("fixedbufs", "1"),
        ];
        let expected = Other { poisson: true, continue_on_error: true, hipri: true, sqthread_poll: false };
        assert_eq!(other(&options(&all)), Ok(expected));
        assert_eq!(other(&options(&[])), Ok(Other::default()));
    }

    #[test]
    fn seconds_become_nanoseconds() {
        assert_eq!(nanoseconds(1.5), 1_500_000_000);
        assert_eq!(nanoseconds(-1.0), 0);
        assert_eq!(nanoseconds(f64::NAN), 0);
    }
}
