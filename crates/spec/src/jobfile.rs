//! A user's own fio job file: a plain ini file, read from the experiment's directory and checked option by option.

use self::jobs::Outside;
use self::section::{Given, Section, effective};
use crate::beside;
use crate::diagnostic::printable;
use crate::fio_option::check_in_job_file;
use crate::limits::MAX_JOB_FILE_BYTES;
use crate::problems::Problems;
use crate::quantity::amount;
use crate::source::{Source, Span};
use crate::tree::Node;
use record::printable::Shown as _;
use record::workload::{EngineKind, Layout, NamedJob};
use std::collections::BTreeMap;
use std::path::Path;

mod jobs;
mod section;
mod value;

/// A checked job file.
pub(crate) struct JobFile {
    pub(crate) text: String,
    /// Bytes that its jobs lay out, where the file says so.
    pub(crate) size_bytes: Option<u64>,
    pub(crate) sets_time: bool,
    /// The engine that runs it.
    pub(crate) engine: EngineKind,
    /// Its jobs, if the native engine knows all their options.
    pub(crate) jobs: Vec<NamedJob>,
}

/// Reads and checks a job file. `engine` is the experiment's choice; `None`: native where it can.
pub(crate) fn read(
    node: &Node,
    path: &str,
    base_dir: &Path,
    engine: Option<EngineKind>,
    layout: Layout,
    problems: &mut Problems<'_>,
) -> Option<JobFile> {
    let text = match beside::text(&base_dir.join(path), MAX_JOB_FILE_BYTES) {
        Ok(text) => text,
        Err(why) => {
            problems
                .add(node.span, format!("job file `{}`: {why}", printable(path, 80)))
                .expected("a fio job file, its path relative to the experiment file");
            return None;
        }
    };
    let source = Source::new(&base_dir.join(path).shown().to_string(), &text);
    let sections = sections(&source, problems)?;
    if sections.iter().all(|section| section.name == "global") {
        let span = Span { start: 0, end: 0 };
        problems
            .add_in(&source, span, "the job file has no job")
            .expected("at least one section beside [global]");
        return None;
    }
    let (engine, jobs) = match jobs::jobs(&sections, layout) {
        Ok(jobs) => (engine.unwrap_or(EngineKind::Native), jobs),
        Err(outside) if engine == Some(EngineKind::Native) => {
            refuse(&source, &sections, &outside, problems);
            return None;
        }
        Err(outside) => {
            if engine.is_none() {
                problems.note(node.span, why_fio(path, &source, &outside));
            }
            (EngineKind::Fio, Vec::new())
        }
    };
    if engine == EngineKind::Native && sections.iter().any(by_libaio) {
        let shown = printable(path, 80);
        let note = format!("`{shown}` asks for libaio: the native engine issues its I/O by io_uring");
        problems.note(node.span, note);
    }
    if let Some((section, _)) = effective(&sections).find(|(_, given)| jobs::is_untimed(given)) {
        let note = format!(
            "[{}] of `{}` says no `runtime`: it repeats until the trial's time is up; `time_based=0` there ends it after one pass",
            section.name,
            printable(path, 80)
        );
        problems.note(node.span, note);
    }
    let size_bytes = if jobs.is_empty() { laid_out_by_all(&sections) } else { Some(data_bytes(&jobs)) };
    let sets_time = sections
        .iter()
        .flat_map(|section| &section.options)
        .any(|given| ["runtime", "ramp_time", "time_based"].contains(&given.name.as_str()));
    Some(JobFile { size_bytes, sets_time, engine, jobs, text })
}

fn by_libaio(section: &Section) -> bool {
    section.options.iter().any(|given| given.name == "ioengine" && given.value.as_deref() == Some("libaio"))
}

/// Refuses a job file for which `engine: native` is requested but impossible.
fn refuse(source: &Source, sections: &[Section], outside: &Outside<'_>, problems: &mut Problems<'_>) {
    let of_section = sections.iter().find(|section| section.name == outside.section);
    let span = outside.given.map(|given| given.span).or(of_section.map(|section| section.span));
    problems
        .add_in(
            source,
            span.unwrap_or_default(),
            format!("the native engine does not know {} (in [{}])", outside.what, outside.section),
        )
        .help("leave `engine` out or use `engine: fio`");
}

/// Returns the option that made fio the engine, in words.
fn why_fio(path: &str, source: &Source, outside: &Outside<'_>) -> String {
    let line = outside.given.map(|given| format!(", line {}", source.line(given.span.start)));
    format!(
        "`{}` is performed by fio: the native engine does not know {} ([{}]{})",
        printable(path, 80),
        outside.what,
        outside.section,
        line.unwrap_or_default()
    )
}

/// Returns the bytes that jobs lay out; a file of several jobs counts once, with the largest size.
fn data_bytes(jobs: &[NamedJob]) -> u64 {
    let mut shared: BTreeMap<&str, u64> = BTreeMap::new();
    let mut own = 0_u64;
    for NamedJob { options, .. } in jobs {
        match &options.filename {
            Some(name) => {
                let longest = shared.entry(name).or_default();
                *longest = options.data_bytes().max(*longest);
            }
            None => own = own.saturating_add(options.data_bytes()),
        }
    }
    shared.values().fold(own, |sum, bytes| sum.saturating_add(*bytes))
}

/// Returns the bytes that all jobs lay out, if every job says so.
fn laid_out_by_all(sections: &[Section]) -> Option<u64> {
    let mut total = 0_u64;
    for (_, options) in effective(sections) {
        total = total.checked_add(laid_out(&options)?)?;
    }
    Some(total)
}

/// Returns the bytes that one job with these options lays out.
fn laid_out(options: &BTreeMap<&str, &Given>) -> Option<u64> {
    let value = |name: &str| options.get(name).and_then(|given| given.value.as_deref());
    let bytes = amount(value("filesize").or_else(|| value("size"))?)?.ok()?.whole()?;
    let jobs = match value("numjobs") {
        Some(jobs) => amount(jobs)?.ok()?.whole()?,
        None => 1,
    };
    u64::try_from(bytes.checked_mul(jobs)?).ok()
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
        sections.push(Section { name: name.to_owned(), span, options: Vec::new() });
        return Some(());
    }
    if line == "include" || line.starts_with("include ") || line.starts_with("include\t") {
        problems
            .add_in(source, span, "`include` is refused")
            .help("copy the other file's content here, so that the record holds all that was run");
        return None;
    }
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (line, None),
    };
    let Some(section) = sections.last_mut() else {
        problems
            .add_in(source, span, "an option before the first section")
            .expected("[global] or [name] first");
        return None;
    };
    if let Err(refused) = check_in_job_file(name, value.unwrap_or("1")) {
        let diagnostic = problems.add_in(source, span, refused.message);
        diagnostic.help = Some(refused.help);
        diagnostic.did_you_mean = refused.near;
        return None;
    }
    section.options.push(Given::new(name, value, span));
    Some(())
}
