//! A user's own job file, which fio runs with only the places replaced: every file becomes one of our data files or, on a block
//! device, a span of the device. The file's own times hold, and the trial's where it sets none.

use super::forbidden;
use super::ini::{Ini, Section};
use super::jobfile;
use super::output::Asked;
use crate::contract::Job;
use crate::data::device_bytes;
use device::Place;
use record::effective::FLUSHING_ENDS;
use record::fio_option::{Access, find};
use record::job_file::{
    self, InForce, On, Placed, Room, effective, is_untimed, phases, resolve, seconds, unfit,
};
use std::collections::BTreeMap;

mod block;
mod directory;
mod draft;
mod error;
mod laid_out;

pub use error::UserFileError;

/// Options that name places; they are replaced.
const PLACES: &[&str] = &["directory", "filename", "filename_format", "unique_filename"];

/// A job file that is ready to run.
#[derive(Debug)]
pub(super) struct Rewritten {
    /// The job file of the trial.
    pub(super) run: Ini,
    /// The job file that lays the data out.
    pub(super) layout: Ini,
    /// Whether several jobs use the same file or span.
    pub(super) shared_files: bool,
    /// The time of the trial in seconds, if its jobs ran one after the other.
    pub(super) expected_seconds: f64,
    /// The request of each section.
    pub(super) asked: BTreeMap<String, Asked>,
    /// The sections of each phase; phases run one after the other.
    pub(super) phases: Vec<Vec<String>>,
    /// The bytes of all files; on a block device, the bytes needed from its beginning.
    pub(super) needed_bytes: u64,
}

/// A job section with all options that hold for it.
struct UserJob {
    section: Section,
    effective: Section,
    placed: Placed,
    phase: usize,
    /// Whether it says nothing about its duration.
    untimed: bool,
    /// What fio can't do of it on files, and on a device.
    unfit: [Option<String>; 2],
}

/// A job with the part of its files that it uses.
struct Sized<'a> {
    job: &'a UserJob,
    room: Room,
}

/// Rewrites a job file for a device or file system under test. `size_bytes` are for the files without a size in the job file.
///
/// # Errors
/// What can't be parsed, or what would make fio leave the device or file system.
pub(super) fn rewrite(job: &Job<'_>, text: &str, size_bytes: u64) -> Result<Rewritten, UserFileError> {
    let place = job.ground.place();
    let room = match place {
        Place::Directory(_) => size_bytes,
        Place::Block(device) => device_bytes(device).map_err(Box::new)?.min(size_bytes),
    };
    for_place(text, place, room, Trial { seconds: job.trial_seconds, seed: job.seed })
}

/// The job file as fio gets it in a trial of `trial_seconds`, for a place that need not exist. A trial has a seed of its own.
///
/// # Errors
/// What fio can't do there, or what would make fio leave the device or file system.
pub fn as_run(
    text: &str,
    place: &Place,
    size_bytes: u64,
    trial_seconds: f64,
) -> Result<String, UserFileError> {
    let trial = Trial { seconds: trial_seconds, seed: 0 };
    Ok(for_place(text, place, size_bytes, trial)?.run.to_string())
}

/// What a trial adds to a job file.
#[derive(Debug, Clone, Copy)]
struct Trial {
    seconds: f64,
    seed: u64,
}

fn for_place(text: &str, place: &Place, room: u64, trial: Trial) -> Result<Rewritten, UserFileError> {
    let jobs = jobs(text)?;
    if jobs.is_empty() {
        return Err(UserFileError::NoJob);
    }
    let sized = sized(&jobs, room)?;
    let mut rewritten = match place {
        Place::Directory(directory) => directory::in_directory(&sized, directory)?,
        Place::Block(device) => block::on_device(&sized, device, trial.seed)?,
    };
    for (user, section) in jobs.iter().zip(rewritten.run.sections.iter_mut()) {
        time(trial.seconds, user, section, &mut rewritten.asked, &mut rewritten.expected_seconds);
        seed(trial.seed, user, section);
    }
    for user in &jobs {
        rewritten.phases.resize_with(rewritten.phases.len().max(user.phase + 1), Vec::new);
        if let Some(phase) = rewritten.phases.get_mut(user.phase) {
            phase.push(user.section.name.clone());
        }
    }
    rewritten.run.sections.insert(0, head(false));
    Ok(rewritten)
}

/// Refuses what fio can't do of a job there.
fn fits(job: &UserJob, on: On) -> Result<(), UserFileError> {
    let [on_files, on_device] = &job.unfit;
    let why = if on == On::Files { on_files } else { on_device };
    let unfit = |why: &String| UserFileError::Unfit { section: job.section.name.clone(), why: why.clone() };
    why.as_ref().map_or(Ok(()), |why| Err(unfit(why)))
}

/// The jobs, each with the part of its files that it uses.
fn sized(jobs: &[UserJob], room: u64) -> Result<Vec<Sized<'_>>, UserFileError> {
    let placed: Vec<Placed> = jobs.iter().map(|job| job.placed.clone()).collect();
    let (rooms, _) = resolve(&placed, Some(room))?;
    Ok(jobs.iter().zip(rooms).map(|(job, room)| Sized { job, room }).collect())
}

/// Options for all jobs, before all others.
fn head(layout: bool) -> Section {
    let mut head = Section::new("global");
    jobfile::reporting(&mut head);
    if layout {
        head.set("fallocate", "none");
        head.flag("create_only", true);
        head.flag("create_fsync", true);
        head.flag("create_serialize", true);
    } else {
        jobfile::nothing_laid_out_by_fio(&mut head);
    }
    head
}

/// Every job section with the global sections before it merged in, without the options that we set.
fn jobs(text: &str) -> Result<Vec<UserJob>, UserFileError> {
    let file = job_file::read(text);
    if let Some((at, wrong)) = file.wrong.first() {
        let line = text.get(..at.start).unwrap_or_default().matches('\n').count() + 1;
        return Err(UserFileError::Line { line, wrong: *wrong });
    }
    file.sections.iter().try_for_each(check)?;
    let found: Vec<_> = effective(&file.sections).collect();
    let phases = phases(&found);
    let jobs = found.into_iter().zip(phases).map(|(job, phase)| user_job(job, phase));
    let mut jobs = jobs.collect::<Result<Vec<_>, _>>()?;
    distinct_names(&mut jobs);
    Ok(jobs)
}

/// Refuses options that would make fio leave the device or file system under test.
fn check(section: &job_file::Section) -> Result<(), UserFileError> {
    if let Some(c) = forbidden::unsafe_text(&section.name) {
        return Err(UserFileError::SectionName { name: section.name.clone(), c });
    }
    for given in section.options.iter().filter(|given| !is_ours(&given.name)) {
        let value = given.value.as_deref().unwrap_or_default();
        if let Some(why) = forbidden::reason(&given.name, value) {
            return Err(UserFileError::Forbidden { section: section.name.clone(), why });
        }
    }
    Ok(())
}

/// Whether we set an option for all jobs or leave it out, whatever the file says.
fn is_ours(name: &str) -> bool {
    let set = find(name).is_some_and(|o| matches!(o.access, Access::Ours(_) | Access::LeftOut(_)));
    set || PLACES.contains(&name)
}

fn user_job(
    (section, options): (&job_file::Section, InForce<'_>),
    phase: usize,
) -> Result<UserJob, UserFileError> {
    let placed = Placed::of(section, &options)
        .map_err(|why| UserFileError::Unfit { section: section.name.clone(), why: why.to_string() })?;
    let untimed = is_untimed(&options);
    let unfit = [On::Files, On::Device].map(|on| unfit(&options, &placed, on).map(|(_, why)| why));
    let mut effective = Section::new(&section.name);
    effective.options =
        options.into_iter().map(|(name, given)| (name.to_owned(), given.value.clone())).collect();
    let mut own = effective.clone();
    own.options.retain(|(name, _)| !is_ours(name));
    Ok(UserJob { section: own, effective, placed, phase, untimed, unfit })
}

/// Makes names distinct, since fio's report identifies jobs only by their section's name.
fn distinct_names(jobs: &mut [UserJob]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for job in jobs {
        let count = seen.entry(job.section.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            job.section.name = format!("{}-{count}", job.section.name);
        }
    }
}

/// The file's own times; the trial's where it sets none.
fn time(
    trial_seconds: f64,
    user: &UserJob,
    section: &mut Section,
    asked: &mut BTreeMap<String, Asked>,
    expected_seconds: &mut f64,
) {
    let said = |name: &str| user.effective.get(name).and_then(seconds);
    let runtime = said("runtime").filter(|s| *s > 0.0);
    let seconds = runtime.unwrap_or(trial_seconds);
    // No ramp except its own: sections may run one after another, and then the devices' counters can't separate the ramps.
    let ramp = said("ramp_time").unwrap_or(0.0);
    if runtime.is_none() {
        // The file's own `time_based` or amount of I/O counts; the plan notes when both are missing.
        if user.untimed {
            section.flag("time_based", true);
        }
        section.set("runtime", jobfile::milliseconds(seconds));
    }
    let on = |name: &str| user.effective.get(name).is_some_and(|v| v != "0");
    let final_flush = on("end_fsync") || FLUSHING_ENDS.into_iter().any(on);
    asked.insert(section.name.clone(), Asked { seconds: Some(seconds), ramp: ramp > 0.0, final_flush });
    *expected_seconds += seconds + ramp + said("startdelay").unwrap_or(0.0);
}

/// Sets a seed per trial, unless the file sets its own offsets.
fn seed(seed: u64, user: &UserJob, section: &mut Section) {
    if ["randrepeat", "randseed", "allrandrepeat"].iter().all(|name| user.effective.get(name).is_none()) {
        section.flag("randrepeat", false);
        section.set("randseed", jobfile::fio_seed(seed));
    }
}

#[cfg(test)]
mod tests;
