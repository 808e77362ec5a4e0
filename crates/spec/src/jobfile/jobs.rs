//! Jobs of a job file as options, if the native engine knows all of their options.

use super::section::{Given, Section, effective};
use super::value::{count, parse, size, switch};
use crate::native::{BATCHES, native_lacks};
use crate::vocabulary::RW;
use crate::{block_sizes, distribution, options, together};
use record::workload::{Layout, NamedJob, Options, RateProcess, Rw};
use std::collections::{BTreeMap, BTreeSet};

/// Options that change how fio reports, lays out or generates data, but not the load, with the values for which this is true. No
/// values: any value.
const HARMLESS: &[(&str, &[&str])] = &[
    ("allrandrepeat", &["0"]),
    ("buffer_compress_chunk", &["512"]),
    ("clat_percentiles", &[]),
    ("create_fsync", &[]),
    ("create_serialize", &[]),
    ("description", &[]),
    ("disk_util", &[]),
    ("exitall_on_error", &["1"]),
    ("fallocate", &[]),
    ("file_service_type", &["roundrobin"]),
    ("group_reporting", &[]),
    ("invalidate", &["1"]),
    ("lat_percentiles", &[]),
    ("loops", &["1"]),
    ("name", &[]),
    ("new_group", &[]),
    ("overwrite", &[]),
    ("percentile_list", &[]),
    ("randrepeat", &["0"]),
    ("refill_buffers", &[]),
    ("scramble_buffers", &["1"]),
    ("significant_figures", &[]),
    ("slat_percentiles", &[]),
    ("startdelay", &["0"]),
    ("stats", &[]),
    ("thread", &[]),
    ("unified_rw_reporting", &["0", "none"]),
];

/// Options of fio's `io_uring` engine that the native engine knows.
const OF_IO_URING: &[&str] = &["fixedbufs", "hipri", "registerfiles", "sqthread_poll"];

/// The most jobs, including clones: as many as a workload may have.
const MOST_JOBS: u32 = 1024;

/// The option that the native engine does not know in a job file.
#[derive(Debug)]
pub(crate) struct Outside<'s> {
    /// The section in which it applies.
    pub(crate) section: &'s str,
    /// Place of the option; `None`: the section lacks it.
    pub(crate) given: Option<&'s Given>,
    /// Description of it, for a sentence that begins with "the native engine does not know".
    pub(crate) what: String,
}

/// Returns all jobs; the error is the first thing that the native engine doesn't know.
pub(crate) fn jobs(sections: &[Section], layout: Layout) -> Result<Vec<NamedJob>, Outside<'_>> {
    let most = usize::try_from(MOST_JOBS).unwrap_or(usize::MAX);
    let sections: Vec<(&Section, BTreeMap<&str, &Given>)> = effective(sections).take(most + 1).collect();
    let too_many = || format!("more than {MOST_JOBS} jobs");
    if let Some((section, _)) = sections.get(most) {
        return Err(Outside { section: &section.name, given: None, what: too_many() });
    }
    let mut clones = 0_u32;
    let alone = sections.len() == 1;
    let mut jobs: Vec<NamedJob> = Vec::with_capacity(sections.len());
    let mut names = BTreeSet::new();
    for (section, given) in &sections {
        let options = job(section, given, alone, layout)?;
        clones = clones.saturating_add(options.numjobs);
        if clones > MOST_JOBS {
            let given = given.get("numjobs").copied();
            return Err(Outside { section: &section.name, given, what: too_many() });
        }
        let mut name = section.name.clone();
        for count in 2.. {
            if names.insert(name.clone()) {
                break;
            }
            name = format!("{}-{count}", section.name);
        }
        if let Some(first) = jobs.first() {
            same_times(&first.options, &options, section, given)?;
        }
        jobs.push(NamedJob { name, options });
    }
    shared(&sections, &jobs)?;
    Ok(jobs)
}

/// Checks times: the native engine ends all jobs of a trial together.
fn same_times<'s>(
    first: &Options,
    options: &Options,
    section: &'s Section,
    given: &BTreeMap<&str, &'s Given>,
) -> Result<(), Outside<'s>> {
    let times = |o: &Options| (o.runtime_ms, o.ramp_time_ms, o.time_based);
    if times(first) == times(options) {
        return Ok(());
    }
    let name = ["runtime", "ramp_time", "time_based"].into_iter().find(|name| given.contains_key(name));
    let what = "jobs with different times".to_owned();
    Err(Outside { section: &section.name, given: name.and_then(|name| given.get(name).copied()), what })
}

/// Checks that jobs that share a file agree where they must.
fn shared<'s>(
    sections: &[(&'s Section, BTreeMap<&str, &'s Given>)],
    jobs: &[NamedJob],
) -> Result<(), Outside<'s>> {
    for ((section, given), job) in sections.iter().zip(jobs) {
        let Some(filename) = &job.options.filename else { continue };
        let sharers: Vec<&Options> = jobs
            .iter()
            .map(|other| &other.options)
            .filter(|other| other.filename.as_ref() == Some(filename))
            .collect();
        let writers = sharers.iter().filter(|other| other.rw.writes() || other.rw.trims()).count();
        let verified = sharers.iter().filter(|other| other.verify.is_some()).count();
        let extent = |options: &Options| (options.offset_bytes, options.size_bytes);
        let what = if sharers.iter().any(|other| extent(other) != extent(&job.options)) {
            "jobs that share a file but have different sizes or offsets"
        } else if verified > 0 && writers > 0 && sharers.len() > 1 {
            "`verify` of a file that several jobs use and one of them writes"
        } else if verified > 1 && sharers.iter().any(|other| other.bs_bytes != job.options.bs_bytes) {
            "`verify` of one file in blocks of different sizes"
        } else if numbered(filename) && jobs.iter().any(|other| other.options.filename.is_none()) {
            "a file whose name begins with a number and a dot, as native's own do"
        } else {
            continue;
        };
        let given = given.get("filename").copied();
        return Err(Outside { section: &section.name, given, what: what.to_owned() });
    }
    Ok(())
}

/// Whether a file of this name could belong to a job without a name for its file: such files are called `NUMBER.SECTION`.
fn numbered(filename: &str) -> bool {
    filename.split_once('.').is_some_and(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()))
}

fn job<'s>(
    section: &'s Section,
    given: &BTreeMap<&str, &'s Given>,
    alone: bool,
    layout: Layout,
) -> Result<Options, Outside<'s>> {
    let outside = |given: Option<&'s Given>, what: String| Outside { section: &section.name, given, what };
    // fio's defaults that differ from diskproof's: psync, no time beyond the data, no ramp except its own.
    let mut read = Options { time_based: false, ramp_time_ms: Some(0), ..Options::new(Rw::Read, 4096, 0) };
    "psync".clone_into(&mut read.ioengine);
    for (name, value) in given {
        if !take(&mut read, name, value, alone) {
            return Err(outside(Some(value), format!("`{}`", value.shown())));
        }
    }
    let sizes: Vec<&&Given> =
        ["bs", "bsrange", "bssplit"].iter().filter_map(|name| given.get(name)).collect();
    if let [_, second, ..] = sizes.as_slice() {
        return Err(outside(Some(second), format!("`{}` beside another block size", second.shown())));
    }
    if read.size_bytes == 0 {
        return Err(outside(None, "a job without `size`".to_owned()));
    }
    issue(&mut read, given).map_err(|(odd, what)| outside(Some(odd), what))?;
    if is_untimed(given) {
        // The trial's time, as the engine passes it to fio.
        read.time_based = true;
    }
    if read.fio_flushes_each_pass() {
        let flush = given.get("end_fsync").copied();
        let shown = flush.map_or_else(String::new, Given::shown);
        let what = format!(
            "`{shown}` after each pass over the data, as fio flushes here: once, when the time is up"
        );
        return Err(outside(flush, what));
    }
    if let Err(clash) = together::clash(&read, layout) {
        let at = clash.options.iter().find_map(|name| given.get(name).copied());
        return Err(outside(at, clash.message));
    }
    if let Some(lack) = native_lacks(&read, layout).into_iter().next() {
        return Err(outside(given.get(lack.option.as_str()).copied(), lack.what));
    }
    Ok(read)
}

/// Whether a job has no option about its duration.
pub(super) fn is_untimed(given: &BTreeMap<&str, &Given>) -> bool {
    let none = |runtime: &&Given| runtime.value.as_deref().and_then(|text| parse(text, "s", 1000)) == Some(0);
    given.get("runtime").is_none_or(none) && !given.contains_key("time_based")
}

/// Reads how fio's I/O engine issues I/O, if native can do the same; the error is the option that doesn't fit.
fn issue<'s>(read: &mut Options, given: &BTreeMap<&str, &'s Given>) -> Result<(), (&'s Given, String)> {
    let ioengine = given.get("ioengine").copied();
    match (read.ioengine.as_str(), ioengine) {
        ("io_uring", _) => return Ok(()),
        ("libaio", Some(ioengine)) if !read.direct && read.iodepth > 1 => {
            let what = format!("`{}` with buffered I/O: libaio does it one at a time", ioengine.shown());
            return Err((ioengine, what));
        }
        ("libaio", _) => "io_uring".clone_into(&mut read.ioengine),
        // One I/O at a time, whatever iodepth says.
        _ => {
            "psync".clone_into(&mut read.ioengine);
            read.iodepth = 1;
            read.other.retain(|name, _| !BATCHES.contains(&name.as_str()));
        }
    }
    match OF_IO_URING.iter().find_map(|name| given.get(name).copied()) {
        Some(odd) => Err((odd, format!("`{}` without `ioengine=io_uring`", odd.shown()))),
        None => Ok(()),
    }
}

/// Takes one option. Returns false if its name or value isn't in the subset.
fn take(read: &mut Options, name: &str, given: &Given, alone: bool) -> bool {
    if let Some((_, values)) = HARMLESS.iter().find(|(harmless, _)| *harmless == name) {
        return values.is_empty() || values.contains(&given.value_or_set());
    }
    if name == "stonewall" {
        // There are no earlier jobs to wait for.
        return alone;
    }
    data(read, name, given)
        .or_else(|| pace(read, name, given))
        .or_else(|| issued(read, name, given))
        .is_some()
}

/// Takes options about what is read and written, and where.
fn data(read: &mut Options, name: &str, given: &Given) -> Option<()> {
    let value = given.value.as_deref();
    match name {
        "rw" => read.rw = options::pattern(RW.iter().find(|word| Some(**word) == value)?),
        "rwmixread" => read.rwmixread = count(value?, 0..=100)?,
        "bs" => read.bs_bytes = size(value?).filter(|bytes| *bytes > 0)?,
        "bsrange" => {
            let range = block_sizes::range(value?).ok()?;
            read.bs_bytes = range.low_bytes;
            read.bsrange = Some(range);
        }
        "bssplit" => {
            read.bssplit = block_sizes::split(value?).ok()?;
            read.bs_bytes = read.bssplit.iter().map(|share| share.bs_bytes).min()?;
        }
        "size" => read.size_bytes = size(value?)?,
        "offset" => read.offset_bytes = size(value?)?,
        "nrfiles" => read.nrfiles = count(value?, 1..=65_536)?,
        "filename" => read.filename = Some(options::plain_name(value?).ok()?),
        "random_distribution" => read.random_distribution = distribution::check(value?).ok()?,
        "norandommap" => read.norandommap = given.is_set()?,
        "buffer_compress_percentage" => read.buffer_compress_percentage = count(value?, 0..=100)?,
        "dedupe_percentage" => read.dedupe_percentage = count(value?, 0..=100)?,
        "verify" => read.verify = Some(value?.to_owned()).filter(|word| word != "none" && word != "0"),
        _ => return None,
    }
    Some(())
}

/// Takes options about when I/O is issued, and for how long.
fn pace(read: &mut Options, name: &str, given: &Given) -> Option<()> {
    let value = given.value.as_deref();
    match name {
        "rate_iops" => read.rate_iops = Some(size(value?)?).filter(|rate| *rate > 0),
        "rate" => read.rate_bytes_per_second = Some(size(value?)?).filter(|rate| *rate > 0),
        "rate_process" => {
            read.rate_process = match value? {
                "linear" => RateProcess::Linear,
                "poisson" => RateProcess::Poisson,
                _ => return None,
            }
        }
        "thinktime" => read.thinktime_us = parse(value?, "us", 1_000_000)?,
        "thinktime_blocks" => read.thinktime_blocks = count(value?, 1..=u64::from(u32::MAX))?,
        // 0 means no runtime, as if the option were absent.
        "runtime" => read.runtime_ms = Some(parse(value?, "s", 1000)?).filter(|ms| *ms > 0),
        "ramp_time" => read.ramp_time_ms = Some(parse(value?, "s", 1000)?),
        "time_based" => read.time_based = given.is_set()?,
        _ => return None,
    }
    Some(())
}

/// Takes options about how I/O is issued and made durable.
fn issued(read: &mut Options, name: &str, given: &Given) -> Option<()> {
    let value = given.value.as_deref();
    match name {
        "iodepth" => read.iodepth = count(value?, 1..=65_536)?,
        "numjobs" => read.numjobs = count(value?, 1..=1024)?,
        "direct" => read.direct = switch(value?)?,
        "ioengine" => {
            const KNOWN: &[&str] = &["io_uring", "libaio", "psync", "sync", "pvsync", "pvsync2"];
            read.ioengine = KNOWN.iter().find(|word| Some(**word) == value).map(|word| (*word).to_owned())?;
        }
        "fsync" => read.fsync = count(value?, 0..=1_000_000_000)?,
        "fdatasync" => read.fdatasync = count(value?, 0..=1_000_000_000)?,
        "end_fsync" => read.end_fsync = switch(value?)?,
        "sync" if ["none", "0", "dsync", "sync", "1"].contains(&value?) => {
            read.sync = options::sync_mode(value?)
        }
        "continue_on_error" => {
            read.other.insert(name.to_owned(), value?.to_owned());
        }
        _ if BATCHES.contains(&name) => {
            let number: u32 = count(value?, 0..=65_536)?;
            read.other.insert(name.to_owned(), number.to_string());
        }
        _ if OF_IO_URING.contains(&name) => {
            read.other.insert(name.to_owned(), given.value_or_set().to_owned());
        }
        _ => return None,
    }
    Some(())
}
