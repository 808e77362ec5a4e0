//! Workloads as declared, and one workload per combination of their levels.

use crate::diagnostic::printable;
use crate::fields::Fields;
use crate::jobfile::{self, JobFile};
use crate::loading;
use crate::problems::Problems;
use crate::scope::{Level, Scope};
use crate::template::{Instance, Template};
use crate::tree::Node;
use crate::value;
use crate::vocabulary::{CACHES, ENGINES, LAYOUTS};
use record::quantity::Bytes;
use record::workload::{Ask, CacheStart, EngineKind, Layout, Workload};
use std::path::Path;

/// The message about a job file without sizes.
pub(crate) const NO_SIZE: &str = "the job file does not say how much data its jobs need";

/// The workload of one combination.
pub(crate) fn instance(
    template: &Template<'_>,
    levels: Vec<(String, Level)>,
    parameters: &Scope<'_>,
    base_dir: &Path,
    problems: &mut Problems<'_>,
) -> Option<Instance<Workload>> {
    let scope = Scope { parent: Some(parameters), names: levels };
    let name = template.name(&scope, problems);
    let fields = &template.fields;
    let layout = pick(fields, "layout", LAYOUTS, &scope, problems).map(|word| match word {
        "unwritten" => Layout::Unwritten,
        "hole" => Layout::Hole,
        _ => Layout::Written,
    });
    let cache = pick(fields, "cache", CACHES, &scope, problems).map(|word| match word {
        "warm" => CacheStart::Warm,
        "keep" => CacheStart::Keep,
        _ => CacheStart::Cold,
    });
    let engine = match fields.get("engine") {
        Some(node) => Some(match value::choice(node, ENGINES, &scope, problems)? {
            "fio" => EngineKind::Fio,
            "corpus" => EngineKind::Corpus,
            "bonnie" => EngineKind::Bonnie,
            _ => EngineKind::Native,
        }),
        None => None,
    };
    if engine != Some(EngineKind::Corpus) {
        let name = match engine {
            Some(EngineKind::Fio) => "fio",
            Some(EngineKind::Bonnie) => "Bonnie++",
            _ => "the native engine",
        };
        crate::copy::refuse(fields, name, problems)?;
    }
    match (engine, fields.get("fio")) {
        (Some(EngineKind::Corpus), _) => crate::find::refuse(fields, "`engine: corpus`", problems)?,
        (Some(EngineKind::Bonnie), _) => crate::find::refuse(fields, "`engine: bonnie`", problems)?,
        (_, Some(_)) => crate::find::refuse(fields, "a job file", problems)?,
        _ => {}
    }
    let (engine, ask) = match fields.get("fio") {
        _ if engine == Some(EngineKind::Corpus) => {
            let ask = crate::copy::read(fields, template.key.span, &scope, problems)?;
            (EngineKind::Corpus, Ask::Copy(ask))
        }
        _ if engine == Some(EngineKind::Bonnie) => {
            let ask = crate::bonnie::read(fields, template.key.span, &scope, problems)?;
            (EngineKind::Bonnie, Ask::Bonnie(ask))
        }
        Some(node) => {
            job_file(node, fields, base_dir, engine, layout.unwrap_or(Layout::Written), &scope, problems)?
        }
        None => {
            let engine = engine.unwrap_or(EngineKind::Native);
            (engine, Ask::Options(crate::options::read(template, engine, layout, &scope, problems)?))
        }
    };
    let on = match fields.get("on") {
        Some(node) => loading::read(node, &scope, problems)?,
        None => Vec::new(),
    };
    let workload = Workload { name: name?, engine, ask, layout: layout?, cache: cache?, on };
    Some(Instance { levels: scope.names, thing: workload })
}

/// Reads one of some words; the default is the first.
fn pick(
    fields: &Fields<'_>,
    name: &str,
    words: &'static [&'static str],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<&'static str> {
    match fields.get(name) {
        Some(node) => value::choice(node, words, scope, problems),
        None => words.first().copied(),
    }
}

fn job_file(
    node: &Node,
    fields: &Fields<'_>,
    base_dir: &Path,
    engine: Option<EngineKind>,
    layout: Layout,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<(EngineKind, Ask)> {
    const BESIDE: &[&str] = &["fio", "with", "size", "layout", "cache", "engine", "on"];
    for (key, _) in fields.entries() {
        if !BESIDE.contains(&key.text.as_str()) {
            problems
                .add(key.span, format!("`{}` and `fio` cannot both be given", printable(&key.text, 40)))
                .help("a job file says everything itself: write the option there");
            return None;
        }
    }
    let path = value::text(node, "path of a fio job file", scope, problems)?;
    let room = match fields.get("size") {
        Some(size) => Some(value::size(size, scope, problems)?),
        None => None,
    };
    let asked = jobfile::Asked { node, path: &path, base_dir, engine, layout, scope, room };
    let file = jobfile::read(&asked, problems)?;
    let JobFile { text, size_bytes, sets_time, engine, jobs, search } = file;
    if sets_time && jobs.is_empty() {
        problems.note(
            node.span,
            "the job file's own times count where it has them; the forecast knows only `measure`",
        );
    }
    let size_bytes = match (room, size_bytes) {
        (room, Some(bytes)) if bytes > 0 => {
            if room.is_some_and(|room| room != bytes) {
                problems.note(
                    node.span,
                    format!(
                        "the job file says all its sizes, {} together: `size` beside it has no effect",
                        Bytes(bytes)
                    ),
                );
            }
            bytes
        }
        (Some(room), _) => room,
        (None, _) => {
            problems
                .add_missing(node.span, NO_SIZE)
                .expected(
                    "`size=...` (a size, no percentage) in every job, or `size: ...` here: the room of all its files together",
                );
            return None;
        }
    };
    match search {
        Some(options) => Some((engine, Ask::Options(options))),
        None => Some((engine, Ask::JobFile { path, text, size_bytes, jobs })),
    }
}
