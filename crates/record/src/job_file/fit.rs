//! What fio does on block devices only, or in files only.

use super::place::Placed;
use super::sections::{InForce, JobFile, effective, read, value};

/// Where a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// On files in a directory.
    Files,
    /// On a block device.
    Device,
}

/// Returns the option with which fio can't run a job there, and why, with the way out; `None` if it can.
#[must_use]
pub fn unfit(options: &InForce<'_>, placed: &Placed, on: On) -> Option<(&'static str, String)> {
    let rw = value(options, "rw").unwrap_or("read");
    match on {
        On::Files if rw.contains("trim") => {
            let why = "on files: fio trims block devices only, and ends at once without an error; use a stack without a file system";
            Some(("rw", format!("rw={rw} {why}")))
        }
        On::Files if value(options, "zonemode") == Some("zbd") => {
            let why = "is for zoned block devices; use a stack without a file system on one";
            Some(("zonemode", format!("zonemode=zbd {why}")))
        }
        On::Device if placed.files.len() > 1 => Some((
            "filename",
            "several files per job need a file system in the stack, or a section for each".to_owned(),
        )),
        On::Device if placed.nrfiles > 1 && placed.files.is_empty() => {
            Some(("nrfiles", "several files per job need a file system in the stack".to_owned()))
        }
        On::Device if options.contains_key("filesize") => Some((
            "filesize",
            "a device has no file sizes; write `size`, or use a stack with a file system".to_owned(),
        )),
        On::Files | On::Device => None,
    }
}

/// Returns the first section of a job file that fio can't run there, its option, and why.
#[must_use]
pub fn first_unfit(text: &str, on: On) -> Option<(String, &'static str, String)> {
    let JobFile { sections, .. } = read(text);
    effective(&sections).find_map(|(section, options)| {
        let placed = Placed::of(section, &options).ok()?;
        let (option, why) = unfit(&options, &placed, on)?;
        Some((section.name.clone(), option, why))
    })
}

#[cfg(test)]
mod tests {
    use super::{On, first_unfit};

    #[test]
    fn what_fits_depends_on_the_place() {
        let option =
            |text: &str, on: On| first_unfit(&format!("[a]\nsize=1m\n{text}\n"), on).map(|found| found.1);
        for (text, files, device) in [
            ("rw=randtrim", Some("rw"), None),
            ("zonemode=zbd\nrw=write", Some("zonemode"), None),
            ("zonemode=strided\nrw=write", None, None),
            ("filename=x:y", None, Some("filename")),
            ("nrfiles=4", None, Some("nrfiles")),
            ("filesize=1m", None, Some("filesize")),
            ("filename=x\nnrfiles=4", None, None),
            ("rw=randread", None, None),
        ] {
            assert_eq!((option(text, On::Files), option(text, On::Device)), (files, device), "{text}");
        }
    }
}
