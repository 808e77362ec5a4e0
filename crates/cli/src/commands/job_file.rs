//! An experiment made of a fio job file and a place: `run my.fio --on DIR|DISK`, `new --from my.fio`.

use crate::exit::Failure;
use record::job_file::{JobFile, Placed, Wrong, effective, is_script, read, resolve, seconds, variables};
use record::printable::Shown as _;
use record::quantity::Bytes;
use rustix::fs::statvfs;
use spec::{LoadError, Loaded};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The room of the files of a job file that gives no sizes, in bytes.
const ROOM_BYTES: u64 = 1 << 30;
/// In a directory they get at most one part in this many of the free space.
const SHARE_OF_FREE: u64 = 4;

/// A queue shows itself in trials of so many times the limit of a latency.
const LIMITS_PER_TRIAL: f64 = 200.0;
/// The shortest and the longest trials of a search, in seconds.
const SHORTEST_SEARCHED: f64 = 10.0;
const LONGEST_SEARCHED: f64 = 3600.0;

/// The name of the experiment that nobody wrote, in messages.
const MADE: &str = "(made of the job file)";

/// Where a job file runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// An existing directory.
    Directory(PathBuf),
    /// A claimed disk, by its name in /dev/disk/by-id.
    Disk(String),
    /// A directory that `--set dir=...` names.
    Asked,
}

impl Place {
    /// Reads `--on`: a directory, or the name of a disk.
    ///
    /// # Errors
    /// It is neither.
    pub(super) fn read(on: &str) -> Result<Self, Failure> {
        let path = Path::new(on);
        if path.is_dir() {
            let real = path.canonicalize().map_err(|e| Failure::input(format!("{}: {e}", path.shown())))?;
            return Ok(Self::Directory(real));
        }
        let id = on.strip_prefix("/dev/disk/by-id/").unwrap_or(on);
        if id.contains('/') {
            return Err(Failure::input(format!(
                "--on {}: this is not a directory; a disk goes by its name in /dev/disk/by-id, which `diskproof devices` lists",
                path.shown()
            )));
        }
        Ok(Self::Disk(id.to_owned()))
    }
}

/// Whether a path looks like a job file, not like an experiment.
pub(super) fn is_job_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| ["fio", "job"].iter().any(|known| extension == *known))
}

/// Returns the plan of a job file on a place, and a sentence about the room that was chosen for files without a size.
///
/// # Errors
/// The job file is wrong or unreadable, or lacks values.
pub(super) fn load(
    file: &Path,
    place: &Place,
    size: Option<&str>,
    set: &BTreeMap<String, String>,
) -> Result<(Loaded, Option<String>), Refused> {
    let (loaded, note) = of_place(file, place, size, set)?;
    if let Place::Directory(path) = place {
        let needed = loaded.plan.cells.iter().map(|cell| cell.workload.data_bytes()).max().unwrap_or(0);
        let free = free_bytes(path)?;
        if needed > free {
            let (needed, free, path) = (Bytes(needed), Bytes(free), path.shown());
            let why = format!(
                "the files of the job file take {needed}, and {free} are free in {path}: make them smaller, or choose another place"
            );
            return Err(Failure::machine(why).into());
        }
    }
    Ok((loaded, note))
}

fn of_place(
    file: &Path,
    place: &Place,
    size: Option<&str>,
    set: &BTreeMap<String, String>,
) -> Result<(Loaded, Option<String>), Refused> {
    let folder = folder(file);
    let parse = |size: Option<&str>| -> Result<Result<Loaded, LoadError>, Failure> {
        Ok(spec::parse(&yaml(file, name_of(file)?, place, size)?, MADE, &folder, set))
    };
    if let Some(size) = size {
        return Ok((told(parse(Some(size))??), None));
    }
    match parse(None)? {
        Err(error) if error.lacks_size() => {}
        other => return Ok((told(other?), None)),
    }
    let room = room(place)?;
    let loaded = told(parse(Some(&room.to_string()))??);
    let note = format!(
        "{} leaves the size to the file or device: its files get {} together here; `--size` says otherwise",
        file.shown(),
        Bytes(room)
    );
    Ok((loaded, Some(note)))
}

/// The plan with its notes, which need no line of an experiment that nobody wrote.
fn told(mut loaded: Loaded) -> Loaded {
    for note in &mut loaded.notes {
        if let Some((_, rest)) = note.strip_prefix(MADE).and_then(|rest| rest.split_once(": ")) {
            *note = rest.to_owned();
        }
    }
    loaded
}

/// Why there is no plan.
#[derive(Debug)]
pub(super) enum Refused {
    /// The job file or its values.
    Load(LoadError),
    /// The arguments or the machine.
    Failure(Failure),
}

impl From<LoadError> for Refused {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// Returns the experiment as text. `fio` is the path of the job file as the experiment names it.
///
/// # Errors
/// A path can't stand in an experiment, or the job file can't be read.
pub(super) fn yaml(file: &Path, fio: &str, place: &Place, size: Option<&str>) -> Result<String, Failure> {
    let text = text(file)?;
    let name = name(file);
    let mut out = format!(
        "experiment: {name}\nquestion: What does the storage do for the job file {}?\n",
        quoted(fio)?
    );
    let mut parameters = String::new();
    if *place == Place::Asked {
        parameters.push_str("  dir: { help: \"a directory on the storage in question\" }\n");
    }
    for variable in needed_variables(&text) {
        // Writing to a String can't fail.
        let _ = writeln!(parameters, "  {variable}: {{ help: \"fills ${{{variable}}} in the job file\" }}");
    }
    if !parameters.is_empty() {
        let _ = write!(out, "\nparameters:\n{parameters}");
    }
    let (volume, stack) = match place {
        Place::Directory(path) => {
            let path = path
                .to_str()
                .ok_or_else(|| Failure::input(format!("{}: this path is not UTF-8", path.shown())))?;
            (format!("{{ directory: {} }}", quoted(path)?), "directory")
        }
        Place::Disk(id) => (format!("{{ disks: [{}] }}", quoted(id)?), "disk"),
        Place::Asked => ("{ directory: \"{dir}\" }".to_owned(), "directory"),
    };
    let size = size.map(|size| format!(", size: {size}")).unwrap_or_default();
    let measure = measure(&text);
    let _ = write!(
        out,
        "\nvolumes:\n  here: {volume}\n\n# Nothing is built: the job runs on the volume itself.\nstacks:\n  {stack}: {{ on: here }}\n\n\
         workloads:\n  {name}: {{ fio: {}{size} }}\n\n{measure}\n",
        quoted(fio)?
    );
    Ok(out)
}

/// The variables of a job file, or of the job file in a script, as arguments to be filled in: ` --set BS=VALUE`.
///
/// # Errors
/// The job file can't be read.
pub(super) fn variables_to_set(file: &Path) -> Result<String, Failure> {
    let names = needed_variables(&text(file)?);
    Ok(names.iter().map(|name| format!(" --set {name}=VALUE")).collect())
}

/// The variables of a job file, or of the job file in a script.
fn needed_variables(text: &str) -> BTreeSet<String> {
    // What is neither has none: its first line is refused when it is read.
    let neither = !is_script(text) && read(text).wrong.iter().any(|(_, wrong)| *wrong == Wrong::NoSection);
    if neither { BTreeSet::new() } else { variables(text) }
}

/// How long trials are and how many there are: one that asks for a search has as many as the search takes.
fn measure(text: &str) -> String {
    let limit = read(text).sections.iter().flat_map(|section| &section.options).find_map(|given| {
        let value =
            Some(given.value_or_set()).filter(|value| given.name == "latency_target" && *value != "0")?;
        // fio's number without a unit is in microseconds.
        value.parse::<f64>().map(|us| us / 1e6).ok().or_else(|| seconds(value))
    });
    match limit {
        None => "# The job file's own times count where it has them.\nmeasure: { trial: 10s, ramp: 0s, rounds: 3 }".to_owned(),
        Some(limit) => {
            let trial = (limit * LIMITS_PER_TRIAL).ceil().clamp(SHORTEST_SEARCHED, LONGEST_SEARCHED);
            format!(
                "# Trials of a search are at least {LIMITS_PER_TRIAL} times as long as the limit of the latency; it ends by itself.\n\
                 measure: {{ trial: {trial}s, ramp: 0s }}"
            )
        }
    }
}

/// Whether an experiment around a job file must say how much room its files get. `file` is the job file.
///
/// # Errors
/// The job file can't be read.
pub(super) fn needs_size(yaml: &str, folder: &Path, file: &Path) -> Result<bool, Failure> {
    let text = text(file)?;
    let JobFile { sections, wrong } = read(&text);
    if wrong.iter().any(|(_, wrong)| *wrong == Wrong::Include) {
        let mut any: BTreeMap<String, String> =
            needed_variables(&text).into_iter().map(|name| (name, "1".to_owned())).collect();
        // Some directory: the experiment is only read.
        any.insert("dir".to_owned(), "/srv".to_owned());
        return Ok(spec::parse(yaml, MADE, folder, &any).is_err_and(|error| error.lacks_size()));
    }
    // A size that a variable says is one.
    let placed: Vec<Placed> =
        effective(&sections).filter_map(|(section, options)| Placed::of(section, &options).ok()).collect();
    Ok(resolve(&placed, None).is_err())
}

fn text(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|e| Failure::input(format!("{}: {e}", file.shown())))
}

/// Returns a text as a YAML string in which nothing is filled in.
fn quoted(text: &str) -> Result<String, Failure> {
    match text.chars().find(|c| c.is_control() || matches!(c, '{' | '}' | '"' | '\\')) {
        Some(c) => Err(Failure::input(format!("{text:?} can't stand in an experiment: it holds {c:?}"))),
        None => Ok(format!("\"{text}\"")),
    }
}

/// Returns the name of an experiment: the file's, in letters, digits, `.`, `_` and `-`.
pub(super) fn name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name: String = stem.chars().map(kept).take(40).collect();
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if name.is_empty() { "job-file".to_owned() } else { name.to_owned() }
}

fn name_of(file: &Path) -> Result<&str, Failure> {
    file.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
        Failure::input(format!("{}: this is not the name of a file, or not UTF-8", file.shown()))
    })
}

/// Returns the folder of a file.
pub(super) fn folder(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Returns the room for files without a size, in bytes.
fn room(place: &Place) -> Result<u64, Failure> {
    match place {
        Place::Directory(path) => {
            let stat = statvfs(path).map_err(|e| {
                Failure::machine(format!("can't tell the free space of {}: {e}", path.shown()))
            })?;
            let share = stat.f_bavail.saturating_mul(stat.f_frsize) / SHARE_OF_FREE;
            Ok(share.min(ROOM_BYTES) >> 20 << 20)
        }
        Place::Disk(_) | Place::Asked => Ok(ROOM_BYTES),
    }
}

fn free_bytes(path: &Path) -> Result<u64, Failure> {
    let stat = statvfs(path)
        .map_err(|e| Failure::machine(format!("can't tell the free space of {}: {e}", path.shown())))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::{Place, is_job_file, load, name, yaml};
    use record::workload::Ask;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn job_file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("My Job.fio");
        std::fs::write(&file, text).unwrap();
        (dir, file)
    }

    fn here(dir: &tempfile::TempDir) -> Place {
        Place::read(dir.path().to_str().unwrap()).unwrap()
    }

    #[test]
    fn a_job_file_alone_makes_a_plan() {
        let (dir, file) = job_file("[a]\nrw=randread\nsize=8m\n");
        let (loaded, note) = load(&file, &here(&dir), None, &BTreeMap::new()).unwrap();
        assert_eq!((loaded.plan.cells.len(), note), (1, None));
        assert_eq!(loaded.plan.experiment, "my-job");
        let Ask::JobFile { size_bytes, path, .. } = &loaded.plan.cells[0].workload.ask else {
            panic!("no job file")
        };
        assert_eq!((*size_bytes, path.as_str()), (8 << 20, "My Job.fio"));
    }

    #[test]
    fn a_job_file_without_a_size_gets_some_room_and_says_so() {
        let (dir, file) = job_file("[a]\nfilename=/dev/nvme0n1\nrw=randread\n");
        let (_, note) = load(&file, &here(&dir), None, &BTreeMap::new()).unwrap();
        assert!(note.unwrap().contains("`--size` says otherwise"));
        let (loaded, note) = load(&file, &here(&dir), Some("64m"), &BTreeMap::new()).unwrap();
        let Ask::JobFile { size_bytes, .. } = loaded.plan.cells[0].workload.ask else {
            panic!("no job file")
        };
        assert_eq!((size_bytes, note), (64 << 20, None));
    }

    #[test]
    fn files_without_room_are_refused_by_the_plan() {
        let (dir, file) = job_file("[a]\nsize=1p\n");
        let Err(super::Refused::Failure(refused)) = load(&file, &here(&dir), None, &BTreeMap::new()) else {
            panic!("accepted")
        };
        assert!(
            refused.to_string().contains("take 1,024 TiB") || refused.to_string().contains("are free in"),
            "{refused}"
        );
    }

    #[test]
    fn variables_are_parameters() {
        let (dir, file) = job_file("[a]\nbs=${BS}\nsize=8m\n");
        let missing = load(&file, &here(&dir), None, &BTreeMap::new());
        assert!(matches!(missing, Err(super::Refused::Load(spec::LoadError::MissingParameters(_)))));
        let set = BTreeMap::from([("BS".to_owned(), "16k".to_owned())]);
        let (loaded, _) = load(&file, &here(&dir), None, &set).unwrap();
        let Ask::JobFile { text, .. } = &loaded.plan.cells[0].workload.ask else { panic!("no job file") };
        assert!(text.contains("bs=16k"), "{text}");
    }

    #[test]
    fn an_experiment_around_a_job_file_says_a_size_only_where_the_file_leaves_it_open() {
        for (text, needed) in [
            ("[a]\nsize=8m\n", false),
            ("[a]\nfilename=/dev/sda\n", true),
            ("[a]\nsize=${SIZE}\n", false),
            ("[a]\nbs=${BS}\n", true),
            ("[a]\nsize=50%\n", true),
            ("[a]\nsize=8m\nrw=rnadread\n", false),
            ("#!/bin/sh\nfio - <<E\n[a]\nsize=$((MEM/2))\nE\n", false),
        ] {
            let (dir, file) = job_file(text);
            let made = yaml(&file, "My Job.fio", &Place::Asked, None).unwrap();
            assert_eq!(super::needs_size(&made, dir.path(), &file).unwrap(), needed, "{text}");
        }
    }

    #[test]
    fn a_search_has_trials_as_long_as_its_limit_asks_for_and_no_number_of_rounds() {
        let measure = |text: &str| super::measure(text).lines().last().unwrap().to_owned();
        assert_eq!(
            measure("[a]\nsize=8m\nlatency_target=0\n"),
            "measure: { trial: 10s, ramp: 0s, rounds: 3 }"
        );
        assert_eq!(measure("[a]\nlatency_target=500000\n"), "measure: { trial: 100s, ramp: 0s }");
        assert_eq!(measure("[a]\nlatency_target=10ms\n"), "measure: { trial: 10s, ramp: 0s }");
    }

    #[test]
    fn names_and_places_are_told_apart() {
        assert!(
            is_job_file(Path::new("a/b.fio"))
                && is_job_file(Path::new("x.job"))
                && !is_job_file(Path::new("x.yaml"))
        );
        assert_eq!(
            [name(Path::new("/x/4K Rand_read.fio")), name(Path::new("--.fio"))],
            ["4k-rand_read", "job-file"]
        );
        assert_eq!(Place::read("/dev/disk/by-id/nvme-x").unwrap(), Place::Disk("nvme-x".to_owned()));
        assert!(Place::read("/dev/sdb").is_err());
        let (_dir, file) = job_file("[a]\nsize=1m\n");
        assert!(yaml(&file, "{x}.fio", &Place::Asked, None).is_err(), "nothing is filled into a path");
    }
}
