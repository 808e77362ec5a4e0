//! The text of a job file: with the files that it includes, and with the values of its variables.

use super::Asked;
use crate::beside::{self, NoText};
use crate::diagnostic::printable;
use crate::limits::MAX_JOB_FILE_BYTES;
use crate::problems::Problems;
use crate::source::{Source, Span};
use record::job_file::{
    NotIncluded, ScriptTrouble, Wrong, expand, filled, from_script, is_script, read as sections,
};
use record::printable::Shown as _;
use std::path::{Component, Path};
use thiserror::Error;

/// A job file as it is read.
pub(super) struct Text {
    /// Its text, with the places that messages name.
    pub(super) source: Source,
    /// Whether it stands in a shell script: then it begins with the empty lines of the script.
    in_script: bool,
}

impl Text {
    /// The text for the record.
    pub(super) fn recorded(self) -> String {
        match self.in_script {
            true => format!("{}\n", self.source.text.trim_matches('\n')),
            false => self.source.text,
        }
    }
}

/// Reads the file and all that it includes, and fills in its variables.
pub(super) fn read(asked: &Asked<'_>, problems: &mut Problems<'_>) -> Option<Text> {
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
    let in_script = is_script(&text);
    let text = match in_script {
        true => of_script(asked, &Source::new(&name, &text), problems)?,
        false => text,
    };
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut room = MAX_JOB_FILE_BYTES.saturating_sub(text.len() as u64);
    let whole = expand::<Unincluded>(&text, &mut |include| {
        let more = included(folder, include, room)?;
        room = room.saturating_sub(more.len() as u64);
        Ok(more)
    });
    let source = match whole {
        Ok(whole) => Source::new(&name, &whole),
        Err(NotIncluded { line, why }) => {
            let source = Source::new(&name, &text);
            let why = printable(&why.to_string(), 200);
            problems.add_in(&source, source.line_span(line), format!("`include`: {why}"));
            return None;
        }
    };
    if sections(&source.text).wrong.iter().any(|(_, wrong)| *wrong == Wrong::NoSection) {
        // No job file: what looks like a variable may be anything.
        return Some(Text { source, in_script });
    }
    let value = |name: &str| asked.scope.find(name).map(crate::scope::Level::text);
    match filled(&source.text, &value) {
        Ok(text) => Some(Text { source: Source::new(&name, &text), in_script }),
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

/// Reads the job file in a shell script. It has the script's lines, so that messages name those.
fn of_script(asked: &Asked<'_>, script: &Source, problems: &mut Problems<'_>) -> Option<String> {
    let mut value = |name: &str| asked.scope.find(name).map(crate::scope::Level::text);
    let found = match from_script(&script.text, &mut value) {
        Ok(found) => found,
        Err(refused) => {
            let help = help(&refused.why);
            problems
                .add_in(script, script.line_span(refused.line), printable(&refused.why.to_string(), 200))
                .help(help);
            return None;
        }
    };
    let shown = super::shown(asked.path);
    let beside = match found.options.as_slice() {
        [] => String::new(),
        options => format!(
            ", with `{}` of the script's command line as defaults",
            printable(&options.join(" "), 200)
        ),
    };
    let set: Vec<String> = found.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let set = match set.as_slice() {
        [] => String::new(),
        set => format!(", with {} as the script sets it", printable(&set.join(" "), 200)),
    };
    let note = format!(
        "`{shown}` is a shell script: its job file, from line {} on, is read{beside}{set}; the script itself is not run",
        found.line
    );
    problems.note(asked.node.span, note);
    Some(found.text)
}

/// The way out where no job file can be read from a script.
fn help(why: &ScriptTrouble) -> String {
    match why {
        ScriptTrouble::None => {
            "write fio's options into a job file: `[NAME]` for `--name=NAME`, and below it `rw=read` for \
                                `--rw=read`; diskproof reads scripts, but never runs them"
                .to_owned()
        }
        ScriptTrouble::Several(_) => {
            "save the one in question as a file, from the line after `<<END` to the line before `END`"
                .to_owned()
        }
        ScriptTrouble::Pieces | ScriptTrouble::Shell(_) => {
            "let the script write its job file (put `cat` in the place of `fio`), and use that file"
                .to_owned()
        }
        ScriptTrouble::Unset(name) => {
            let name = printable(name, 40);
            format!(
                "`diskproof run FILE --on DIR` takes `--set {name}=...`; an experiment gives it as a parameter or a factor"
            )
        }
        ScriptTrouble::Argument(_) => "write it into the job file, in `[global]` or in a section".to_owned(),
    }
}

/// Why a file is not included.
#[derive(Debug, Error)]
enum Unincluded {
    #[error("{file}: {why}")]
    Unread { file: String, why: NoText },
    #[error("{file}: an included file lies in the folder of the job file or below it")]
    Elsewhere { file: String },
}

/// Reads an included file, which lies in the job file's own folder or below it.
fn included(folder: &Path, include: &str, room: u64) -> Result<String, Unincluded> {
    let path = Path::new(include);
    let below = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let unread = |why: NoText| Unincluded::Unread { file: include.to_owned(), why };
    let real = |path: &Path| path.canonicalize().map_err(|error| unread(error.into()));
    let file = folder.join(path);
    if include.is_empty()
        || !below
        || !real(&file)?.starts_with(real(if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        })?)
    {
        return Err(Unincluded::Elsewhere { file: include.to_owned() });
    }
    beside::text(&file, room).map_err(unread)
}
