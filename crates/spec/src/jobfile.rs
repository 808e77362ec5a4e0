//! A user's own fio job file: a plain ini, read beside the experiment, checked option by option.

use crate::diagnostic::printable;
use crate::fio_option::check_in_job_file;
use crate::limits::MAX_JOB_FILE_BYTES;
use crate::problems::Problems;
use crate::quantity::amount;
use crate::source::{Source, Span};
use crate::tree::Node;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// A job file that was checked.
pub(crate) struct JobFile {
    pub(crate) text: String,
    /// What its jobs lay out, where the file says it.
    pub(crate) size_bytes: Option<u64>,
    pub(crate) sets_time: bool,
}

struct Section {
    name: String,
    span: Span,
    options: BTreeMap<String, String>,
}

/// Reads and checks a job file.
pub(crate) fn read(node: &Node, path: &str, base_dir: &Path, problems: &mut Problems<'_>) -> Option<JobFile> {
    let text = match load(&base_dir.join(path)) {
        Ok(text) => text,
        Err(why) => {
            problems
                .add(node.span, format!("job file `{}`: {why}", printable(path, 80)))
                .expected("a fio job file, its path relative to the experiment file");
            return None;
        }
    };
    let source = Source::new(&base_dir.join(path).display().to_string(), &text);
    let sections = sections(&source, problems)?;
    let (globals, jobs): (Vec<&Section>, Vec<&Section>) =
        sections.iter().partition(|section| section.name == "global");
    if jobs.is_empty() {
        let span = Span { start: 0, end: 0 };
        problems
            .add_in(&source, span, "the job file has no job")
            .expected("at least one section beside [global]");
        return None;
    }
    let mut total = Some(0_u64);
    for job in &jobs {
        // fio: [global] sections count for the jobs below them.
        let inherited =
            globals.iter().filter(|global| global.span.start < job.span.start).map(|global| &global.options);
        let mut options = BTreeMap::new();
        for given in inherited.chain([&job.options]) {
            options.extend(given.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        }
        let bytes = laid_out(&options);
        total = total.zip(bytes).and_then(|(sum, bytes)| sum.checked_add(bytes));
    }
    let sets_time = sections.iter().any(|section| {
        ["runtime", "ramp_time", "time_based", "timeout"]
            .iter()
            .any(|name| section.options.contains_key(*name))
    });
    Some(JobFile { text, size_bytes: total, sets_time })
}

/// Bytes that one job with these options lays out.
fn laid_out(options: &BTreeMap<&str, &str>) -> Option<u64> {
    let size = options.get("filesize").or_else(|| options.get("size"))?;
    let bytes = amount(size)?.ok()?.whole()?;
    let jobs = match options.get("numjobs") {
        Some(jobs) => amount(jobs)?.ok()?.whole()?,
        None => 1,
    };
    u64::try_from(bytes.checked_mul(jobs)?).ok()
}

fn load(path: &Path) -> Result<String, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(MAX_JOB_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_JOB_FILE_BYTES {
        return Err(format!("larger than {} KiB", MAX_JOB_FILE_BYTES >> 10));
    }
    String::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())
}

fn sections(source: &Source, problems: &mut Problems<'_>) -> Option<Vec<Section>> {
    let mut sections: Vec<Section> = Vec::new();
    let mut sound = true;
    let mut start = 0;
    for line in source.text.split('\n') {
        let lead = line.len() - line.trim_start().len();
        let span = Span { start: start + lead, end: start + line.trim_end().len().max(lead) };
        start += line.len() + 1;
        if problems.full() {
            return None;
        }
        sound &= take(line.trim(), span, &mut sections, source, problems).is_some();
    }
    sound.then_some(sections)
}

fn take(
    line: &str,
    span: Span,
    sections: &mut Vec<Section>,
    source: &Source,
    problems: &mut Problems<'_>,
) -> Option<()> {
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Some(());
    }
    if let Some(rest) = line.strip_prefix('[') {
        let name = rest.strip_suffix(']').map(str::trim).unwrap_or_default();
        if name.is_empty() || name.contains(['/', '$', '`', '[', ']']) || name.chars().any(char::is_control) {
            problems.add_in(source, span, "this is no section").expected("[name], or [global]");
            return None;
        }
        sections.push(Section { name: name.to_owned(), span, options: BTreeMap::new() });
        return Some(());
    }
    if line == "include" || line.starts_with("include ") || line.starts_with("include\t") {
        problems
            .add_in(source, span, "`include` is refused")
            .help("copy the other file's content here, so that the record holds all that was run");
        return None;
    }
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), value.trim()),
        None => (line, "1"),
    };
    let Some(section) = sections.last_mut() else {
        problems
            .add_in(source, span, "an option before the first section")
            .expected("[global] or [name] first");
        return None;
    };
    if let Err(refused) = check_in_job_file(name, value) {
        let diagnostic = problems.add_in(source, span, refused.message);
        diagnostic.help = Some(refused.help);
        diagnostic.did_you_mean = refused.near;
        return None;
    }
    section.options.insert(name.to_owned(), value.to_owned());
    Some(())
}
