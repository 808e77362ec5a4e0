//! Jobs of a job file as options, if the native engine knows all of their options.

use super::value::{count, parse, size, switch};
use crate::diagnostic::printable;
use crate::native::native_lacks;
use crate::{block_sizes, distribution, together};
use record::fio_option::{Access, Field, Native, find};
use record::job_file::{Given, InForce, Names, Placed, Section, effective, is_untimed};
use record::workload::{Layout, NamedJob, Options, Rw};
use std::collections::BTreeSet;

/// fio's I/O engines that do one I/O at a time, as the native engine does in a thread.
const ONE_AT_A_TIME: &[&str] = &["psync", "sync", "pvsync", "pvsync2"];

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
pub(crate) fn jobs<'s>(
    sections: &'s [Section],
    placed: &[Placed],
    layout: Layout,
) -> Result<Vec<NamedJob>, Outside<'s>> {
    let most = usize::try_from(MOST_JOBS).unwrap_or(usize::MAX);
    let sections: Vec<(&Section, InForce<'_>)> = effective(sections).take(most + 1).collect();
    let too_many = || format!("more than {MOST_JOBS} jobs");
    if let Some((section, _)) = sections.get(most) {
        return Err(Outside { section: &section.name, given: None, what: too_many() });
    }
    let mut clones = 0_u32;
    let how = How { alone: sections.len() == 1, by_fio: false, size_bytes: None };
    let mut jobs: Vec<NamedJob> = Vec::with_capacity(sections.len());
    let mut names = BTreeSet::new();
    let mut files = Names::default();
    for ((section, given), place) in sections.iter().zip(placed) {
        let mut options = job(section, given, &how)?;
        options.filename = match place.files.as_slice() {
            [] => None,
            [file] => Some(files.of(file)),
            _ => {
                let given = given.get("filename").copied();
                let what = format!("`{}`", given.map(shown).unwrap_or_default());
                return Err(Outside { section: &section.name, given, what });
            }
        };
        checked(&options, section, given, layout)?;
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
    given: &InForce<'s>,
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
fn shared<'s>(sections: &[(&'s Section, InForce<'s>)], jobs: &[NamedJob]) -> Result<(), Outside<'s>> {
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
            "a file name that begins with a number and a dot, as native's own do"
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
    filename
        .split_once('.')
        .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// How the options of a job are read.
pub(super) struct How {
    /// Whether it is the only job of its file.
    pub(super) alone: bool,
    /// Whether fio performs the options; else the native engine does.
    pub(super) by_fio: bool,
    /// The bytes of a job that leaves its size to the file or device.
    pub(super) size_bytes: Option<u64>,
}

/// Reads the options of a job.
pub(super) fn job<'s>(section: &'s Section, given: &InForce<'s>, how: &How) -> Result<Options, Outside<'s>> {
    let outside = |given: Option<&'s Given>, what: String| Outside { section: &section.name, given, what };
    // fio's defaults that differ from diskproof's: psync, no time beyond the data, no ramp except its own.
    let mut read = Options { time_based: false, ramp_time_ms: Some(0), ..Options::new(Rw::Read, 4096, 0) };
    "psync".clone_into(&mut read.ioengine);
    for (name, value) in given {
        if take(&mut read, name, value, how).is_none() {
            return Err(outside(Some(value), format!("`{}`", shown(value))));
        }
    }
    let sizes: Vec<&&Given> =
        ["bs", "bsrange", "bssplit"].iter().filter_map(|name| given.get(name)).collect();
    if let [_, second, ..] = sizes.as_slice() {
        return Err(outside(Some(second), format!("`{}` beside another block size", shown(second))));
    }
    read.size_bytes = how.size_bytes.unwrap_or(read.size_bytes);
    if read.size_bytes == 0 {
        return Err(outside(None, "a job without `size`".to_owned()));
    }
    if !how.by_fio {
        issue(&mut read, given).map_err(|(odd, what)| outside(Some(odd), what))?;
    }
    if is_untimed(given) {
        // The trial's time, as the engine passes it to fio.
        read.time_based = true;
    }
    if read.fio_flushes_each_pass() {
        let flush = given.get("end_fsync").copied();
        let shown = flush.map_or_else(String::new, shown);
        let what = format!(
            "`{shown}` after each pass over the data, as fio flushes here: once, when the time is up"
        );
        return Err(outside(flush, what));
    }
    Ok(read)
}

/// Checks what options mean together.
pub(super) fn checked<'s>(
    options: &Options,
    section: &'s Section,
    given: &InForce<'s>,
    layout: Layout,
) -> Result<(), Outside<'s>> {
    let outside = |given: Option<&'s Given>, what: String| Outside { section: &section.name, given, what };
    if let Err(clash) = together::clash(options, layout) {
        let at = clash.options.iter().find_map(|name| given.get(name).copied());
        return Err(outside(at, clash.message));
    }
    match native_lacks(options, layout).into_iter().next() {
        Some(lack) => Err(outside(given.get(lack.option.as_str()).copied(), lack.what)),
        None => Ok(()),
    }
}

/// Returns the option as messages quote it.
fn shown(given: &Given) -> String {
    printable(&given.written, 60)
}

/// Reads how fio's I/O engine issues I/O, if native can do the same; the error is the option that doesn't fit.
fn issue<'s>(read: &mut Options, given: &InForce<'s>) -> Result<(), (&'s Given, String)> {
    let ioengine = given.get("ioengine").copied();
    match (read.ioengine.as_str(), ioengine) {
        ("io_uring", _) => return Ok(()),
        ("libaio", Some(ioengine)) if !read.direct && read.iodepth > 1 => {
            let what = format!("`{}` with buffered I/O: libaio does it one at a time", shown(ioengine));
            return Err((ioengine, what));
        }
        ("libaio", _) => "io_uring".clone_into(&mut read.ioengine),
        (other, Some(ioengine)) if !ONE_AT_A_TIME.contains(&other) => {
            return Err((ioengine, format!("`{}`", shown(ioengine))));
        }
        // One I/O at a time, whatever iodepth says.
        _ => {
            "psync".clone_into(&mut read.ioengine);
            read.iodepth = 1;
            read.other.retain(|name, _| !matches!(native(name), Native::Batch(_)));
        }
    }
    match given.iter().find(|(name, _)| matches!(native(name), Native::OfIoUring(_))) {
        Some((_, odd)) => Err((*odd, format!("`{}` without `ioengine=io_uring`", shown(odd)))),
        None => Ok(()),
    }
}

fn native(name: &str) -> Native {
    find(name).map_or(Native::No, |option| option.native)
}

/// Takes one option. `None`: its name or value isn't in the subset.
fn take(read: &mut Options, name: &str, given: &Given, how: &How) -> Option<()> {
    let option = find(name)?;
    let kept = match option.native {
        Native::Key => return set(&option.key()?.field, read, given),
        Native::Ignores(values) if values.is_empty() || values.contains(&given.value_or_set()) => {
            return Some(());
        }
        // There are no earlier jobs to wait for.
        Native::IgnoresAlone => return how.alone.then_some(()),
        _ if how.by_fio && matches!(option.access, Access::Passed) => given.value_or_set().to_owned(),
        Native::No | Native::Ignores(_) => return None,
        Native::Performs(_) => given.value.clone()?,
        Native::OfIoUring(_) => given.value_or_set().to_owned(),
        Native::Batch(_) => count::<u32>(given.value.as_deref()?, 0..=65_536)?.to_string(),
    };
    read.other.insert(name.to_owned(), kept);
    Some(())
}

/// Reads the value of a key and puts it into its field.
fn set(field: &Field, read: &mut Options, given: &Given) -> Option<()> {
    let value = given.value.as_deref();
    match field {
        Field::Switch { bare: true, set } => set(read, switch(given.value_or_set())?),
        Field::Switch { bare: false, set } => set(read, switch(value?)?),
        Field::Percent(set) => set(read, count(value?, 0..=100)?),
        Field::Count { least, most, set } => set(read, count(value?, *least..=*most)?),
        Field::Size { least, set } => set(read, size(value?).filter(|bytes| bytes >= least)?),
        Field::Rate { set, .. } => set(read, Some(size(value?)?).filter(|rate| *rate > 0)),
        Field::Time { unit, per_second, set, .. } => set(read, parse(value?, unit, *per_second)?),
        Field::Words { words, set } => set(read, words.iter().find(|word| Some(**word) == value)?),
        // `jobs` sets it, with its folder.
        Field::Name(_) => {}
        Field::Distribution(set) => set(read, distribution::check(value?).ok()?),
        Field::SizeRange(set) => set(read, block_sizes::range(value?).ok()?),
        Field::SizeShares(set) => set(read, block_sizes::split(value?).ok()?),
    }
    Some(())
}
