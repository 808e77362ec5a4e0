//! A user's own job file, which fio runs with only the places replaced: every file becomes one of our data files or, on a block
//! device, a span of the device. The file's own times hold, and the trial's where it sets none.

use super::forbidden;
use super::ini::{Ini, Section, escape};
use super::jobfile;
use super::output::Asked;
use crate::contract::Job;
use crate::regions::{DATA_PREFIX, writable};
use device::Place;
use record::effective::FLUSHING_ENDS;
use record::fio_option::{Access, find};
use record::job_file::{self, InForce, effective};
use std::collections::BTreeMap;
use std::path::Path;

mod block;
mod value;

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
    /// On a block device: the bytes needed from its beginning.
    pub(super) block_end_bytes: Option<u64>,
}

/// A job section with all options that hold for it.
struct UserJob {
    section: Section,
    effective: Section,
    clones: u64,
}

/// Rewrites a job file for a device or file system under test.
///
/// # Errors
/// The reason as text: what can't be parsed, or what would make fio leave the device or file system.
pub(super) fn rewrite(job: &Job<'_>, text: &str) -> Result<Rewritten, String> {
    let jobs = jobs(text)?;
    if jobs.is_empty() {
        return Err("the job file has no job section".to_owned());
    }
    let mut rewritten = match job.ground.place() {
        Place::Directory(directory) => in_directory(&jobs, directory)?,
        Place::Block(device) => block::on_device(&jobs, device, job.seed)?,
    };
    for (user, section) in jobs.iter().zip(rewritten.run.sections.iter_mut()) {
        time(job, user, section, &mut rewritten.asked, &mut rewritten.expected_seconds);
        seed(job, user, section);
    }
    rewritten.run.sections.insert(0, head(false));
    Ok(rewritten)
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
fn jobs(text: &str) -> Result<Vec<UserJob>, String> {
    let file = job_file::read(text);
    if let Some((at, wrong)) = file.wrong.first() {
        let line = text.get(..at.start).unwrap_or_default().matches('\n').count() + 1;
        return Err(format!("line {line}: {wrong}"));
    }
    file.sections.iter().try_for_each(check)?;
    let mut jobs = effective(&file.sections).map(user_job).collect::<Result<Vec<_>, _>>()?;
    distinct_names(&mut jobs);
    Ok(jobs)
}

/// Refuses options that would make fio leave the device or file system under test.
fn check(section: &job_file::Section) -> Result<(), String> {
    if let Some(c) = forbidden::unsafe_text(&section.name) {
        return Err(format!("the section name {:?} can't hold {c:?}", section.name));
    }
    for given in section.options.iter().filter(|given| !is_ours(&given.name)) {
        let value = given.value.as_deref().unwrap_or_default();
        if let Some(why) = forbidden::reason(&given.name, value) {
            return Err(format!("section [{}]: {why}", section.name));
        }
    }
    Ok(())
}

/// Whether we set an option for all jobs, whatever the file says.
fn is_ours(name: &str) -> bool {
    let set = find(name).is_some_and(|option| matches!(option.access, Access::Ours(_)));
    set || PLACES.contains(&name)
}

fn user_job((section, options): (&job_file::Section, InForce<'_>)) -> Result<UserJob, String> {
    let mut effective = Section::new(&section.name);
    effective.options =
        options.into_iter().map(|(name, given)| (name.to_owned(), given.value.clone())).collect();
    let clones = match effective.get("numjobs") {
        None => 1,
        Some(text) => text.parse::<u64>().ok().filter(|n| (1..=4096).contains(n)).ok_or_else(|| {
            format!("section [{}]: numjobs={text} isn't a number from 1 to 4096", section.name)
        })?,
    };
    let mut own = effective.clone();
    own.options.retain(|(name, _)| !is_ours(name));
    Ok(UserJob { section: own, effective, clones })
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

fn in_directory(jobs: &[UserJob], directory: &Path) -> Result<Rewritten, String> {
    writable(directory)?;
    let mut names = Names::default();
    let mut users: BTreeMap<String, u64> = BTreeMap::new();
    let mut run = Ini::default();
    for job in jobs {
        let mut section = job.section.clone();
        section.set("directory", escape(&directory.to_string_lossy()));
        if let Some(listed) = job.effective.get("filename") {
            let files: Vec<_> = files(listed).iter().map(|f| names.of(f)).collect();
            for file in &files {
                *users.entry(file.clone()).or_default() += job.clones;
            }
            section.set("filename", files.join(":"));
        } else {
            let format = format(job, &mut names)?;
            let by_clone = format.contains("$jobnum");
            *users.entry(format.clone()).or_default() += if by_clone { 1 } else { job.clones };
            section.set("filename_format", format);
        }
        run.sections.push(section);
    }
    let mut layout = run.clone();
    for section in &mut layout.sections {
        section.flag("overwrite", true);
        for waits in ["stonewall", "startdelay", "wait_for"] {
            section.remove(waits);
        }
    }
    layout.sections.insert(0, head(true));
    Ok(Rewritten {
        run,
        layout,
        shared_files: users.values().any(|n| *n > 1),
        expected_seconds: 0.0,
        asked: BTreeMap::new(),
        block_end_bytes: None,
    })
}

/// The names of files that fio generates: fio's own format, after our prefix.
fn format(job: &UserJob, names: &mut Names) -> Result<String, String> {
    let own = names.of(&job.section.name);
    let Some(format) = job.effective.get("filename_format") else {
        return Ok(format!("{own}.$jobnum.$filenum"));
    };
    let known = format.replace("$jobname", "J").replace("$jobnum", "N").replace("$filenum", "F");
    if known.contains('$') {
        return Err(format!("filename_format={format}: only $jobname, $jobnum and $filenum are known here"));
    }
    let tail: String = format.replace("$jobname", "").chars().map(plain_or_dollar).collect();
    let head = if format.contains("$jobname") { own } else { names.of("") };
    Ok(format!("{head}{tail}"))
}

fn plain_or_dollar(c: char) -> char {
    if c == '$' { c } else { plain(c) }
}

fn plain(c: char) -> char {
    if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' }
}

/// Our names for the user's files: one name for each file.
#[derive(Default)]
struct Names {
    given: BTreeMap<String, String>,
}

impl Names {
    fn of(&mut self, theirs: &str) -> String {
        if let Some(ours) = self.given.get(theirs) {
            return ours.clone();
        }
        let base: String = theirs.trim_start_matches('/').chars().map(plain).take(100).collect();
        let mut ours = format!("{DATA_PREFIX}{base}");
        let mut count = 1;
        while self.given.values().any(|taken| *taken == ours) {
            count += 1;
            ours = format!("{DATA_PREFIX}{base}-{count}");
        }
        self.given.insert(theirs.to_owned(), ours.clone());
        ours
    }
}

/// The files of `filename=`: separated by `:`, except `\:`.
fn files(listed: &str) -> Vec<String> {
    let mut files = vec![String::new()];
    let mut chars = listed.chars();
    while let Some(c) = chars.next() {
        match (c, files.last_mut()) {
            ('\\', Some(last)) => last.extend(chars.next()),
            (':', _) => files.push(String::new()),
            (c, Some(last)) => last.push(c),
            (_, None) => {}
        }
    }
    files.retain(|f| !f.is_empty());
    files
}

/// The file's own times; the trial's where it sets none.
fn time(
    job: &Job<'_>,
    user: &UserJob,
    section: &mut Section,
    asked: &mut BTreeMap<String, Asked>,
    expected_seconds: &mut f64,
) {
    let said = |name: &str| user.effective.get(name).and_then(value::seconds);
    let runtime = said("runtime").filter(|s| *s > 0.0);
    let seconds = runtime.unwrap_or(job.trial_seconds);
    // No ramp except its own: sections may run one after another, and then the devices' counters can't separate the ramps.
    let ramp = said("ramp_time").unwrap_or(0.0);
    if runtime.is_none() {
        // The file's own `time_based` counts; the plan notes when it is missing.
        if user.effective.get("time_based").is_none() {
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
fn seed(job: &Job<'_>, user: &UserJob, section: &mut Section) {
    if ["randrepeat", "randseed", "allrandrepeat"].iter().all(|name| user.effective.get(name).is_none()) {
        section.flag("randrepeat", false);
        section.set("randseed", jobfile::fio_seed(job.seed));
    }
}

#[cfg(test)]
mod tests;
