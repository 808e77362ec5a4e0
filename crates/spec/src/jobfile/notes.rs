//! What the plan says about a job file: which options are left out and why, and where its files lie.

use crate::diagnostic::printable;
use record::fio_option::{Access, find};
use record::job_file::{Names, Placed, Section};

/// Options whose loss nobody would ask about.
const SILENT: &[&str] = &["name", "group_reporting"];

/// The most files that a note names.
const MOST_FILES: usize = 8;

/// Returns one sentence for each reason to leave options out, and one about its files.
pub(super) fn notes(path: &str, sections: &[Section], placed: &[Placed]) -> Vec<String> {
    let shown = super::shown(path);
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for given in sections.iter().flat_map(|section| &section.options) {
        let why = match find(&given.name).map(|option| option.access) {
            Some(Access::LeftOut(why) | Access::Ours(why)) => why,
            _ => continue,
        };
        if SILENT.contains(&given.name.as_str()) {
            continue;
        }
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) if names.contains(&given.name.as_str()) => {}
            Some((_, names)) => names.push(&given.name),
            None => reasons.push((why, vec![&given.name])),
        }
    }
    let quoted =
        |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let left_out =
        reasons.into_iter().map(|(why, names)| format!("`{shown}` runs without {}: {why}", quoted(names)));
    left_out.chain(map(&shown, placed)).collect()
}

/// Returns the sentence about the files that the jobs name; `None` if all keep their names.
fn map(shown: &str, placed: &[Placed]) -> Option<String> {
    let mut names = Names::default();
    let mut pairs: Vec<String> = Vec::new();
    let mut renamed = false;
    for file in placed.iter().flat_map(|job| &job.files) {
        let ours = names.of(file);
        renamed |= ours != *file;
        let pair = format!("{} -> {ours}", printable(file, 60));
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    if pairs.is_empty() || !renamed {
        return None;
    }
    let more = match pairs.len().saturating_sub(MOST_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    pairs.truncate(MOST_FILES);
    Some(format!(
        "files of `{shown}` in the volume: {}{more}; without a file system each is a part of the device",
        pairs.join(", ")
    ))
}
