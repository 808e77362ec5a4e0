//! A user's own fio job file: a plain ini file, read from the experiment's directory and checked option by option.

use self::jobs::Outside;
use crate::diagnostic::printable;
use crate::fio_option::check_in_job_file;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::source::{Source, Span};
use crate::tree::Node;
use record::fio_option::{is_own, refused_value};
use record::job_file::{self, At, Given, Placed, Section, Wrong, effective, is_untimed};
use record::workload::{EngineKind, Layout, NamedJob, Options};
use std::collections::BTreeMap;
use std::path::Path;

mod jobs;
mod notes;
mod places;
mod search;
mod text;
mod value;

/// A checked job file.
pub(crate) struct JobFile {
    /// Its text, with other files that it includes and with the values of its variables.
    pub(crate) text: String,
    /// Bytes that its jobs lay out, where the file says so.
    pub(crate) size_bytes: Option<u64>,
    pub(crate) sets_time: bool,
    /// The engine that runs it.
    pub(crate) engine: EngineKind,
    /// Its jobs, if the native engine knows all their options.
    pub(crate) jobs: Vec<NamedJob>,
    /// The options of the search that it asks for.
    pub(crate) search: Option<Options>,
}

/// Where a job file stands in the experiment, and what the experiment says about it.
pub(crate) struct Asked<'a> {
    pub(crate) node: &'a Node,
    pub(crate) path: &'a str,
    pub(crate) base_dir: &'a Path,
    /// The experiment's choice; `None`: native where it can.
    pub(crate) engine: Option<EngineKind>,
    pub(crate) layout: Layout,
    /// The values of its variables.
    pub(crate) scope: &'a Scope<'a>,
    /// Bytes for the files without a size in the job file.
    pub(crate) room: Option<u64>,
}

/// Reads and checks a job file.
pub(crate) fn read(asked: &Asked<'_>, problems: &mut Problems<'_>) -> Option<JobFile> {
    let Asked { node, path, engine, .. } = *asked;
    let text = text::read(asked, problems)?;
    let source = &text.source;
    let sections = sections(source, problems)?;
    if sections.iter().all(Section::is_global) {
        let span = Span { start: 0, end: 0 };
        problems
            .add_in(source, span, "the job file has no job")
            .expected("at least one section beside [global]");
        return None;
    }
    let placed = places::read(source, &sections, problems)?;
    if search::asks(&sections).is_some() {
        return searching(asked, &text, &sections, &placed, problems);
    }
    let (engine, jobs) = match jobs::jobs(&sections, &placed, asked.layout) {
        Ok(jobs) => (engine.unwrap_or(EngineKind::Native), jobs),
        Err(outside) if engine == Some(EngineKind::Native) => {
            refuse(source, &sections, &outside, problems);
            return None;
        }
        Err(outside) => {
            if engine.is_none() {
                problems.note(node.span, why_fio(path, source, &outside));
            }
            (EngineKind::Fio, Vec::new())
        }
    };
    if engine == EngineKind::Native && sections.iter().any(by_libaio) {
        let shown = shown(path);
        let note = format!("`{shown}` asks for libaio: the native engine issues its I/O by io_uring");
        problems.note(node.span, note);
    }
    if engine == EngineKind::Native && own(&sections).is_some() {
        let note = format!(
            "`io_submit_mode=offload` of `{}`: the native engine issues the I/Os of a rate when they are due, whether earlier ones are done or \
             not, as this option asks",
            shown(path)
        );
        problems.note(node.span, note);
    }
    if let Some((section, _)) = effective(&sections).find(|(_, given)| is_untimed(given)) {
        let note = format!(
            "[{}] of `{}` says no `runtime`: it repeats until the trial's time is up; `time_based=0` there ends it after one pass",
            section.name,
            shown(path)
        );
        problems.note(node.span, note);
    }
    for note in notes::notes(path, &sections, &placed) {
        problems.note(node.span, note);
    }
    if engine == EngineKind::Fio {
        refuse_own(source, &sections, problems)?;
    }
    let size_bytes =
        if jobs.is_empty() { places::total(asked, &placed, problems)? } else { Some(data_bytes(&jobs)) };
    let sets_time = sections
        .iter()
        .flat_map(|section| &section.options)
        .any(|given| ["runtime", "ramp_time", "time_based"].contains(&given.name.as_str()));
    Some(JobFile { size_bytes, sets_time, engine, jobs, text: text.recorded(), search: None })
}

/// A job file that asks for a search, as one. Without a size it has no options yet.
fn searching(
    asked: &Asked<'_>,
    text: &text::Text,
    sections: &[Section],
    placed: &[Placed],
    problems: &mut Problems<'_>,
) -> Option<JobFile> {
    let found = search::read(asked, &text.source, sections, placed, problems)?;
    if let Some(search) = &found {
        problems.note(asked.node.span, &search.note);
    }
    for note in notes::notes(asked.path, sections, placed) {
        problems.note(asked.node.span, note);
    }
    let (engine, options) =
        found.map_or((EngineKind::Native, None), |found| (found.engine, Some(found.options)));
    let size_bytes =
        options.as_ref().filter(|_| !placed.iter().any(Placed::is_relative)).map(Options::data_bytes);
    Some(JobFile {
        size_bytes,
        sets_time: false,
        engine,
        jobs: Vec::new(),
        text: String::new(),
        search: options,
    })
}

/// The first option that fio does not get, since diskproof performs it itself.
fn own(sections: &[Section]) -> Option<&Given> {
    let mut all = sections.iter().flat_map(|section| &section.options);
    all.find(|given| is_own(&given.name, given.value_or_set()))
}

/// Refuses what fio would not perform as the job file means it, and native would.
fn refuse_own(source: &Source, sections: &[Section], problems: &mut Problems<'_>) -> Option<()> {
    let Some(given) = own(sections) else { return Some(()) };
    let why = refused_value(&given.name, given.value_or_set()).unwrap_or_default();
    problems
        .add_in(source, span(&given.at), format!("fio option `{}` is refused", printable(&given.written, 60)))
        .help(why);
    None
}

/// A job file in notes: as the experiment names it, without the folders of an absolute path.
fn shown(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    printable(if path.starts_with('/') { name } else { path }, 80)
}

fn by_libaio(section: &Section) -> bool {
    section.options.iter().any(|given| given.name == "ioengine" && given.value.as_deref() == Some("libaio"))
}

/// Refuses a job file for which `engine: native` is requested but impossible.
fn refuse(source: &Source, sections: &[Section], outside: &Outside<'_>, problems: &mut Problems<'_>) {
    let of_section = sections.iter().find(|section| section.name == outside.section);
    let at = outside.given.map(|given| &given.at).or(of_section.map(|section| &section.at));
    problems
        .add_in(
            source,
            at.map(span).unwrap_or_default(),
            format!("the native engine does not know {} (in [{}])", outside.what, outside.section),
        )
        .help("leave `engine` out or use `engine: fio`");
}

/// Returns the option that made fio the engine, in words.
fn why_fio(path: &str, source: &Source, outside: &Outside<'_>) -> String {
    let line = outside.given.map(|given| format!(", line {}", source.line(given.at.start)));
    format!(
        "`{}` is performed by fio: the native engine does not know {} ([{}]{})",
        shown(path),
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

fn span(at: &At) -> Span {
    Span { start: at.start, end: at.end }
}

/// Reads the sections, and checks each line.
fn sections(source: &Source, problems: &mut Problems<'_>) -> Option<Vec<Section>> {
    let file = job_file::read(&source.text);
    if let Some((at, wrong)) = file.wrong.first() {
        // The other lines are no options either.
        refuse_line(source, at, *wrong, problems);
        if *wrong == Wrong::NoSection {
            return None;
        }
    }
    for (at, wrong) in file.wrong.iter().skip(1) {
        refuse_line(source, at, *wrong, problems);
    }
    let mut sound = file.wrong.is_empty();
    for section in &file.sections {
        if section.name.contains(['$', '`']) || section.name.chars().any(char::is_control) {
            refuse_line(source, &section.at, Wrong::Head, problems);
            sound = false;
        }
        for given in &section.options {
            if problems.full() {
                return None;
            }
            let Err(refused) = check_in_job_file(&given.name, given.value.as_deref()) else { continue };
            let diagnostic = problems.add_in(source, span(&given.at), refused.message);
            diagnostic.help = Some(refused.help);
            diagnostic.did_you_mean = refused.near;
            sound = false;
        }
    }
    sound.then_some(file.sections)
}

fn refuse_line(source: &Source, at: &At, wrong: Wrong, problems: &mut Problems<'_>) {
    let diagnostic = problems.add_in(source, span(at), wrong.to_string());
    match wrong {
        Wrong::Head => diagnostic
            .expected("[name], or [global]; a name has no `$`, no backtick and no control character"),
        Wrong::NoSection => diagnostic.expected("[global] or [name] first"),
        Wrong::Include => diagnostic.help("`include FILE`, with a file beside or below the job file"),
    };
}
