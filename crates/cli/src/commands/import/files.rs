//! The files that an import means, and what they hold.

use crate::exit::Failure;
use import::{Found, Source};
use record::printable::Shown as _;
use serde::Serialize;
use std::any::Any;
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::UNIX_EPOCH;

/// A file that was not imported.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Unread {
    pub(super) path: String,
    pub(super) why: String,
    /// Whether it was found in a folder and is no result.
    #[serde(skip)]
    pub(super) is_other: bool,
}

impl Unread {
    pub(super) fn new(path: String, why: String) -> Self {
        Self { path, why, is_other: false }
    }
}

/// The largest file that is read, in bytes: far beyond any result.
const MOST_BYTES: u64 = 512 << 20;
/// Ends of the names of results. A file with one of them that can't be read is an error, also in a folder.
const RESULTS: [&str; 3] = ["json", "csv", "log"];
/// Ends of names under which results are kept, too.
const PERHAPS: [&str; 3] = ["", "out", "txt"];
/// A file to read.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// Whether it was named, not found in a folder.
    is_named: bool,
}

/// The files that the command line means.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) found: Vec<Candidate>,
    /// Files and folders that can't be read.
    pub(super) wrong: Vec<Unread>,
    /// Files of folders whose names are not those of results.
    pub(super) other: Vec<String>,
}

impl Files {
    pub(super) fn find(&mut self, path: &Path) {
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
            let kind = entry.file_type().ok();
            // Only a link must be asked what it leads to.
            let is_file = || {
                kind.is_some_and(|kind| kind.is_file())
                    || fs::metadata(&path).is_ok_and(|about| about.is_file())
            };
            if kind.is_some_and(|kind| kind.is_dir()) {
                self.walk(&path);
            } else if !may_hold_a_result(&path) || !is_file() {
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

/// What was read of files, in their order, and what `first` returned.
#[derive(Debug)]
pub(super) struct Read<R> {
    pub(super) found: Vec<Found>,
    pub(super) unread: Vec<Unread>,
    /// `None`: no file holds a result.
    pub(super) first: Option<R>,
}

/// Reads all files, on all processors. As soon as one of them holds a result, `first` is called beside the reading.
pub(super) fn read_all<R: Send>(
    files: &[Candidate],
    first: impl FnOnce() -> R + Send,
) -> Result<Read<R>, Failure> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let each = files.len().div_ceil(threads).max(1);
    let begin = Mutex::new(Some(first));
    let returned = Mutex::new(None);
    let read = thread::scope(|scope| {
        let (begin, returned) = (&begin, &returned);
        let read_one = move |file: &Candidate| {
            let result = read(file);
            if let Some(first) = result.as_ref().ok().and_then(|_| lock(begin).take()) {
                scope.spawn(move || *lock(returned) = Some(first()));
            }
            result
        };
        let read_part = move |part: &[Candidate]| part.iter().map(read_one).collect::<Vec<_>>();
        let mut parts = files.chunks(each);
        let own = parts.next().unwrap_or_default();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || read_part(part))).collect();
        let mut read = read_part(own);
        for part in others {
            read.extend(part.join()?);
        }
        Ok::<_, Box<dyn Any + Send>>(read)
    });
    let read = read.map_err(|_| Failure::ours("a panic while files were read, described above"))?;
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for result in read {
        match result {
            Ok(result) => found.push(result),
            Err(file) => unread.push(file),
        }
    }
    Ok(Read { found, unread, first: returned.into_inner().unwrap_or_else(PoisonError::into_inner) })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(file: &Candidate) -> Result<Found, Unread> {
    let path = file.path.shown().to_string();
    let failed = |why: String| Unread::new(path.clone(), why);
    let unreadable = |error: std::io::Error| failed(error.to_string());
    let mut open = fs::File::open(&file.path).map_err(unreadable)?;
    let about = open.metadata().map_err(unreadable)?;
    if about.len() > MOST_BYTES {
        return Err(failed(format!("it has more than {} MiB", MOST_BYTES >> 20)));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default() + 1);
    open.read_to_end(&mut bytes).map_err(unreadable)?;
    let modified = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let source = Source {
        path: path.clone(),
        folders: folders(&file.path),
        modified_unix_ms: modified.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
        text: String::from_utf8(bytes)
            .unwrap_or_else(|damaged| String::from_utf8_lossy(damaged.as_bytes()).into_owned()),
    };
    import::read(source).map_err(|why| {
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

#[cfg(test)]
mod tests {
    use super::{Files, Read, folders, read_all};
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
        let Read { found, unread, first } = read_all(&files.found, || 7).unwrap();
        assert_eq!((found.len(), unread.len(), first), (1, 2, Some(7)));
        let other: Vec<_> = files.found.drain(..).filter(|file| !file.path.ends_with("b/one.json")).collect();
        assert_eq!(read_all(&other, || 7).unwrap().first, None, "nothing to store");
        assert!(unread.iter().any(|file| file.is_other && file.path.ends_with("notes.txt")), "{unread:?}");
        assert!(unread.iter().any(|file| !file.is_other && file.path.ends_with("a.json")), "{unread:?}");
    }
}
