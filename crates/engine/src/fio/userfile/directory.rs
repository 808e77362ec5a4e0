//! A job file in a directory: each file that the user names, or that fio would generate, becomes one of our data files.

use super::draft::Draft;
use super::{Rewritten, Sized, UserFileError, UserJob, fits, head, laid_out};
use crate::fio::ini::{Section, escape};
use crate::regions::{DATA_PREFIX, writable};
use record::job_file::{Names, On};
use std::collections::BTreeMap;
use std::path::Path;

/// Sizes that depend on the files are written as numbers.
const SIZES: [&str; 4] = ["size", "filesize", "offset", "offset_increment"];

pub(super) fn in_directory(jobs: &[Sized<'_>], directory: &Path) -> Result<Rewritten, UserFileError> {
    writable(directory)?;
    let mut names = Names::default();
    let mut draft = Draft::new(head(true));
    for sized in jobs {
        fits(sized.job, On::Files)?;
        let mut section = sized.job.section.clone();
        section.set("directory", escape(&directory.to_string_lossy()));
        name_files(&mut section, sized.job, &mut names, &mut draft)?;
        in_numbers(&mut section, sized);
        let layout = laid_out::in_files(sized.job, &section);
        draft.add(section, layout);
    }
    Ok(draft.finish(total(jobs)))
}

/// The bytes of all files.
fn total(jobs: &[Sized<'_>]) -> u64 {
    let mut named: BTreeMap<&str, u64> = BTreeMap::new();
    let mut own = 0_u64;
    for Sized { job, room } in jobs {
        for file in &job.placed.files {
            let longest = named.entry(file).or_default();
            *longest = room.file_bytes.max(*longest);
        }
        if job.placed.files.is_empty() {
            let files = job.placed.clones.saturating_mul(job.placed.nrfiles);
            own = own.saturating_add(room.file_bytes.saturating_mul(files));
        }
    }
    named.values().fold(own, |sum, bytes| sum.saturating_add(*bytes))
}

/// Sets the names of a job's files.
fn name_files(
    section: &mut Section,
    job: &UserJob,
    names: &mut Names,
    draft: &mut Draft,
) -> Result<(), UserFileError> {
    let clones = job.placed.clones;
    if job.placed.files.is_empty() {
        let format = format(job, names)?;
        let by_clone = format.contains("$jobnum");
        draft.used(job.phase, &format, if by_clone { 1 } else { clones });
        section.set("filename_format", format);
        return Ok(());
    }
    let files: Vec<String> = job.placed.files.iter().map(|file| ours(names, file)).collect();
    for file in &files {
        draft.used(job.phase, file, clones);
    }
    section.set("filename", files.join(":"));
    Ok(())
}

/// Writes sizes that depend on the file or on its zones as numbers.
fn in_numbers(section: &mut Section, sized: &Sized<'_>) {
    let zones = |name: &&str| sized.job.effective.get(name).is_some_and(|text| text.ends_with('z'));
    if !sized.job.placed.is_relative() && !SIZES.iter().any(zones) {
        return;
    }
    for name in SIZES {
        section.remove(name);
    }
    section.set("size", sized.room.size_bytes);
    for (name, bytes) in
        [("offset", sized.room.offset_bytes), ("offset_increment", sized.room.increment_bytes)]
    {
        if bytes > 0 {
            section.set(name, bytes);
        }
    }
}

/// The names of files that fio generates: fio's own format, after our prefix.
fn format(job: &UserJob, names: &mut Names) -> Result<String, UserFileError> {
    let own = ours(names, &job.section.name);
    let Some(format) = job.effective.get("filename_format") else {
        return Ok(format!("{own}.$jobnum.$filenum"));
    };
    let known = format.replace("$jobname", "J").replace("$jobnum", "N").replace("$filenum", "F");
    if known.contains('$') {
        return Err(UserFileError::Format { format: format.to_owned() });
    }
    let tail: String = format.replace("$jobname", "").chars().map(plain_or_dollar).collect();
    let head = if format.contains("$jobname") { own } else { DATA_PREFIX.to_owned() };
    Ok(format!("{head}{tail}"))
}

fn ours(names: &mut Names, theirs: &str) -> String {
    format!("{DATA_PREFIX}{}", names.of(theirs))
}

fn plain_or_dollar(c: char) -> char {
    if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '$') { c } else { '_' }
}
