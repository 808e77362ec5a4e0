//! `diskproof import FILE|DIR...`: stores results of other tools as a run.

use super::experiment::run_id;
use super::{job_file, judged};
use crate::args::Import;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use import::{About, Assembled, Found, Source};
use record::environment::Environment;
use record::event::Stopped;
use record::id::RunId;
use record::job_file::Size;
use record::printable::Shown as _;
use serde::Serialize;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;
use store::Store;

/// The largest file that is read, in bytes: far beyond any result.
const MOST_BYTES: u64 = 512 << 20;
/// Ends of the names of results. A file with one of them that can't be read is an error, also in a folder.
const RESULTS: [&str; 3] = ["json", "csv", "log"];
/// Ends of names under which results are kept, too.
const PERHAPS: [&str; 3] = ["", "out", "txt"];
/// The most names in a sentence.
const NAMED: usize = 5;
/// Format of the JSON document; docs/formats.md.
const FORMAT: &str = "diskproof.import/1.0";

pub(crate) fn import(args: &Import, settings: &Settings) -> Result<Exit, Failure> {
    let about = about(args)?;
    let mut files = Files::default();
    args.paths.iter().for_each(|path| files.find(path));
    let (found, unreadable) = read_all(&files.found)?;
    let mut all = files.wrong;
    all.extend(unreadable);
    let (mut unread, skipped): (Vec<Unread>, Vec<Unread>) = all.into_iter().partition(|file| !file.is_other);
    let mut skipped: Vec<String> = skipped.into_iter().map(|file| file.path).collect();
    skipped.extend(files.other);
    let run = import::assemble(found, &about);
    unread.extend(run.left.iter().map(|(path, why)| Unread::new(path.clone(), why.to_string())));
    if run.trials.is_empty() {
        return Err(Failure::input(nothing(&unread, &skipped)));
    }
    let id = run_id();
    let environment = Environment {
        diskproof: env!("CARGO_PKG_VERSION").to_owned(),
        memory_bytes: about.memory_bytes,
        ..Environment::default()
    };
    let store = Store::open(&settings.store.value).map_err(judged::unreadable)?;
    let stopped = Stopped::Imported { files: run.files };
    store.import_run(&id, &run.plan, &environment, &run.trials, &stopped).map_err(judged::unreadable)?;
    let done = Done { id: &id, run: &run, unread: &unread, skipped: &skipped };
    if args.json {
        output::json(&done.json()?)?
    } else {
        output::answer(&done.text())?
    }
    for file in &unread {
        output::aside(&format!("not imported: {}: {}", file.path, file.why));
    }
    Ok(if unread.is_empty() { Exit::Fine } else { Exit::Input })
}

fn about(args: &Import) -> Result<About, Failure> {
    let named = args.paths.first().map_or_else(String::new, |path| {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        job_file::name(&real)
    });
    let experiment = args.name.clone().unwrap_or(named);
    if experiment.is_empty() || experiment.contains('@') {
        return Err(Failure::input(format!(
            "--name {}: a name holds no @ and isn't empty",
            experiment.shown()
        )));
    }
    let memory_bytes = args.memory.as_deref().map(memory).transpose()?;
    Ok(About { experiment, stack: args.stack.clone(), filesystem: args.filesystem.clone(), memory_bytes })
}

fn memory(text: &str) -> Result<u64, Failure> {
    match Size::parse(text, None) {
        Some(Size::Bytes(bytes)) if bytes > 0 => Ok(bytes),
        _ => Err(Failure::input(format!(
            "--memory {}: expected a size, e.g. 64g (powers of 1024)",
            text.shown()
        ))),
    }
}

/// A file that was not imported.
#[derive(Debug, Clone, Serialize)]
struct Unread {
    path: String,
    why: String,
    /// Whether it was found in a folder and is no result.
    #[serde(skip)]
    is_other: bool,
}

impl Unread {
    fn new(path: String, why: String) -> Self {
        Self { path, why, is_other: false }
    }
}

/// A file to read.
#[derive(Debug)]
struct Candidate {
    path: PathBuf,
    /// Whether it was named, not found in a folder.
    is_named: bool,
}

/// The files that the command line means.
#[derive(Debug, Default)]
struct Files {
    found: Vec<Candidate>,
    /// Files and folders that can't be read.
    wrong: Vec<Unread>,
    /// Files of folders whose names are not those of results.
    other: Vec<String>,
}

impl Files {
    fn find(&mut self, path: &Path) {
        match fs::metadata(path) {
            Ok(about) if about.is_dir() => self.walk(path),
            Ok(about) if about.is_file() => {
                self.found.push(Candidate { path: path.to_owned(), is_named: true })
            }
            Ok(_) => self.wrong.push(Unread::new(path.shown().to_string(), "it is not a file".to_owned())),
            Err(error) => self.wrong.push(Unread::new(path.shown().to_string(), error.to_string())),
        }
    }

    /// Finds the files below a folder in the order of their names. Links to folders are not followed, hidden files are left out.
    fn walk(&mut self, folder: &Path) {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                self.wrong.push(Unread::new(folder.shown().to_string(), error.to_string()));
                return;
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder {
                self.walk(&path);
            } else if !fs::metadata(&path).is_ok_and(|about| about.is_file()) || !may_hold_a_result(&path) {
                self.other.push(path.shown().to_string());
            } else {
                self.found.push(Candidate { path, is_named: false });
            }
        }
    }
}

fn ending(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

fn may_hold_a_result(path: &Path) -> bool {
    let ending = ending(path);
    RESULTS.contains(&ending.as_str()) || PERHAPS.contains(&ending.as_str())
}

/// Reads all files, on all processors, and returns what they hold in their order.
fn read_all(files: &[Candidate]) -> Result<(Vec<Found>, Vec<Unread>), Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let each = files.len().div_ceil(threads).max(1);
    let read = std::thread::scope(|scope| {
        let read_part = |part: &[Candidate]| part.iter().map(read).collect::<Vec<_>>();
        let parts: Vec<_> = files.chunks(each).map(|part| scope.spawn(move || read_part(part))).collect();
        parts.into_iter().map(|part| part.join()).collect::<Result<Vec<_>, _>>()
    });
    let read = read.map_err(|_| Failure::ours("a panic while files were read, described above"))?;
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for result in read.into_iter().flatten() {
        match result {
            Ok(result) => found.push(result),
            Err(file) => unread.push(file),
        }
    }
    Ok((found, unread))
}

fn read(file: &Candidate) -> Result<Found, Unread> {
    let path = file.path.shown().to_string();
    let failed = |why: String| Unread::new(path.clone(), why);
    let about = fs::metadata(&file.path).map_err(|error| failed(error.to_string()))?;
    if about.len() > MOST_BYTES {
        return Err(failed(format!("it has more than {} MiB", MOST_BYTES >> 20)));
    }
    let bytes = fs::read(&file.path).map_err(|error| failed(error.to_string()))?;
    let modified = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let source = Source {
        path: path.clone(),
        folders: folders(&file.path),
        modified_unix_ms: modified.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
        text: String::from_utf8_lossy(&bytes).into_owned(),
    };
    import::read(&source).map_err(|why| {
        let is_other =
            why.is_no_result() && !file.is_named && !RESULTS.contains(&ending(&file.path).as_str());
        Unread { is_other, ..failed(why.to_string()) }
    })
}

/// The folders of a path as it was given.
fn folders(path: &Path) -> Vec<String> {
    let parent = path.parent().into_iter().flat_map(Path::components);
    let named = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.shown().to_string()),
        _ => None,
    };
    parent.filter_map(named).collect()
}

/// Why nothing was imported.
fn nothing(unread: &[Unread], skipped: &[String]) -> String {
    let mut lines: Vec<String> = unread.iter().map(|file| format!("  {}: {}", file.path, file.why)).collect();
    if lines.is_empty() {
        lines.push(match skipped.len() {
            0 => "  there are no files".to_owned(),
            count => format!("  none of {count} files is a result: {}", listed(skipped)),
        });
    }
    format!("nothing was imported:\n{}", lines.join("\n"))
}

fn listed(names: &[String]) -> String {
    let mut list: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = format!("and {} more", names.len().saturating_sub(NAMED));
    if names.len() > NAMED {
        list.push(&more);
    }
    list.join(", ")
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What was done.
struct Done<'a> {
    id: &'a RunId,
    run: &'a Assembled,
    unread: &'a [Unread],
    skipped: &'a [String],
}

impl Done<'_> {
    fn text(&self) -> String {
        let Assembled { plan, trials, files, .. } = self.run;
        let files = counted(usize::try_from(*files).unwrap_or(usize::MAX), "file");
        let mut text = format!(
            "run {}, experiment {}: {} of {} from {files}\n",
            self.id,
            plan.experiment.shown(),
            counted(trials.len(), "trial"),
            counted(plan.cells.len(), "cell"),
        );
        if plan.measure.rounds > 1 {
            text.push_str(&format!(
                "  the same job again is another round: up to {} of a cell\n",
                plan.measure.rounds
            ));
        }
        if !self.skipped.is_empty() {
            text.push_str(&format!("  no results, left out: {}\n", listed(self.skipped)));
        }
        text.push_str(&format!("`diskproof show {}` shows it\n", self.id));
        text
    }

    fn json(&self) -> Result<String, Failure> {
        let document = serde_json::json!({
            "format": FORMAT,
            "run": self.id,
            "experiment": self.run.plan.experiment,
            "files": self.run.files,
            "cells": self.run.plan.cells.len(),
            "trials": self.run.trials.len(),
            "unreadable": self.unread,
            "skipped": self.skipped,
        });
        serde_json::to_string_pretty(&document).map_err(Failure::ours)
    }
}

#[cfg(test)]
mod tests {
    use super::{Files, folders, read_all};
    use std::fs;
    use std::path::Path;

    #[test]
    fn folders_are_those_of_the_path_as_given() {
        assert_eq!(folders(Path::new("a/b/c.json")), ["a", "b"]);
        assert_eq!(folders(Path::new("/x/../y/c.json")), ["x", "y"]);
        assert!(folders(Path::new("c.json")).is_empty() && folders(Path::new("./c.json")).is_empty());
    }

    #[test]
    fn a_folder_is_searched_in_order_and_what_is_no_result_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(
            "b/one.json",
            "{ \"jobs\" : [ { \"jobname\" : \"a\", \"read\" : { \"iops\" : 5, \"total_ios\" : 5 } } ] }",
        );
        put("a.json", "{ broken");
        put("notes.txt", "hello");
        put("plot.png", "\u{0}");
        put(".hidden.json", "x");
        let mut files = Files::default();
        files.find(dir.path());
        files.find(&dir.path().join("absent.json"));
        let names: Vec<_> =
            files.found.iter().map(|file| file.path.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["a.json", "one.json", "notes.txt"]);
        assert_eq!((files.other.len(), files.wrong.len()), (1, 1));
        let (found, unread) = read_all(&files.found).unwrap();
        assert_eq!((found.len(), unread.len()), (1, 2));
        assert!(unread.iter().any(|file| file.is_other && file.path.ends_with("notes.txt")), "{unread:?}");
        assert!(unread.iter().any(|file| !file.is_other && file.path.ends_with("a.json")), "{unread:?}");
    }
}
