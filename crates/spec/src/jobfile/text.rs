//! The text of a job file: with the files that it includes, and with the values of its variables.

use super::Asked;
use crate::beside;
use crate::diagnostic::printable;
use crate::limits::MAX_JOB_FILE_BYTES;
use crate::problems::Problems;
use crate::source::{Source, Span};
use record::job_file::{self, Wrong, expand, filled};
use record::printable::Shown as _;
use std::path::{Component, Path};

/// Reads the file and all that it includes, and fills in its variables.
pub(super) fn read(asked: &Asked<'_>, problems: &mut Problems<'_>) -> Option<Source> {
    let file = asked.base_dir.join(asked.path);
    let name = file.shown().to_string();
    let text = match beside::text(&file, MAX_JOB_FILE_BYTES) {
        Ok(text) => text,
        Err(why) => {
            problems
                .add(asked.node.span, format!("job file `{}`: {why}", printable(asked.path, 80)))
                .expected("a fio job file, its path relative to the experiment file");
            return None;
        }
    };
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut room = MAX_JOB_FILE_BYTES.saturating_sub(text.len() as u64);
    let whole = expand(&text, &mut |include| {
        let more = included(folder, include, room)?;
        room = room.saturating_sub(more.len() as u64);
        Ok(more)
    });
    let source = match whole {
        Ok(whole) => Source::new(&name, &whole),
        Err((line, why)) => {
            let source = Source::new(&name, &text);
            problems.add_in(&source, source.line_span(line), format!("`include`: {}", printable(&why, 200)));
            return None;
        }
    };
    if job_file::read(&source.text).wrong.iter().any(|(_, wrong)| *wrong == Wrong::NoSection) {
        // No job file, but perhaps a shell script: its variables are its own.
        return Some(source);
    }
    let value = |name: &str| asked.scope.find(name).map(crate::scope::Level::text);
    match filled(&source.text, &value) {
        Ok(text) => Some(Source::new(&name, &text)),
        Err(unfilled) => {
            let span = Span { start: unfilled.at.start, end: unfilled.at.end };
            let name = printable(&unfilled.name, 40);
            problems.add_in(&source, span, format!("`${{{name}}}` has no value")).help(format!(
                "fio takes it from the environment; here a parameter or a factor of the experiment gives it: \
                 `parameters: {{ {name}: 1 }}` or `with: {{ {name}: [1, 2] }}`; `diskproof run FILE.fio --on DIR` takes `--set {name}=...`"
            ));
            None
        }
    }
}

/// Reads an included file, which lies in the job file's own folder or below it.
fn included(folder: &Path, include: &str, room: u64) -> Result<String, String> {
    let path = Path::new(include);
    let below = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let real = |path: &Path| path.canonicalize().map_err(|error| format!("{include}: {error}"));
    let file = folder.join(path);
    if include.is_empty()
        || !below
        || !real(&file)?.starts_with(real(if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        })?)
    {
        return Err(format!("{include}: an included file lies in the folder of the job file or below it"));
    }
    beside::text(&file, room).map_err(|why| format!("{include}: {why}"))
}
