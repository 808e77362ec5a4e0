//! Compares a copy with its source: every byte, and the attributes that the copy should preserve.

use super::load;
use super::tree::{Entry, Kind, Meta, Tree};
use record::copy::Preserve;
use record::printable::Shown as _;
use record::trial::{FaultKind, Verified, VerifyFault};
use rustix::fs::{Advice, fadvise};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The most faults that are listed one by one.
const MOST_TOLD: usize = 100;

/// The result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct CopyComparison {
    /// Bytes that were read and compared.
    pub(crate) bytes: u64,
    /// The differences, in the order of paths.
    pub(crate) wrong: Vec<Wrong>,
}

/// The attributes that a copy should preserve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PreservedAttributes {
    pub(crate) preserve: Preserve,
    /// Whether directories keep their times: false when a copier writes into them afterwards.
    pub(crate) directory_times: bool,
}

/// An entry of a copy that differs from its source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wrong {
    pub(crate) path: PathBuf,
    pub(crate) kind: FaultKind,
    /// The offset of the first byte that differs.
    pub(crate) offset: Option<u64>,
    pub(crate) what: String,
}

/// Compares a whole copy in several threads. Ends early when it is cancelled.
pub(crate) fn compare(
    tree: &Tree,
    root: &Path,
    keep: PreservedAttributes,
    cancel: &AtomicBool,
) -> CopyComparison {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(CopyComparison::default());
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let (mut own, mut buffer) = (CopyComparison::default(), Vec::new());
                while let Some(entry) = tree.entries.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if cancel.load(Ordering::Relaxed) {
                        break;
                    }
                    own.wrong.extend(differs(tree, entry, root, keep, &mut buffer, &mut own.bytes));
                }
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.bytes += own.bytes;
                all.wrong.append(&mut own.wrong);
            });
        }
    });
    let mut found = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.wrong.extend(surplus(tree, root));
    found.wrong.sort();
    found
}

/// The first difference of an entry.
fn differs(
    tree: &Tree,
    entry: &Entry,
    root: &Path,
    kept: PreservedAttributes,
    buffer: &mut Vec<u8>,
    bytes: &mut u64,
) -> Option<Wrong> {
    let keep = match entry.kind {
        Kind::Directory => Preserve { mtime: kept.preserve.mtime && kept.directory_times, ..kept.preserve },
        _ => kept.preserve,
    };
    let path = root.join(&entry.path);
    let wrong = |kind, offset, what: String| Some(Wrong { path: path.clone(), kind, offset, what });
    let found = match fs::symlink_metadata(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return wrong(FaultKind::Lost, None, "it is not there".to_owned());
        }
        Err(error) => return wrong(FaultKind::Lost, None, format!("it cannot be looked at: {error}")),
    };
    match &entry.kind {
        Kind::Directory if !found.is_dir() => {
            return wrong(FaultKind::Corrupt, None, "it is not a directory".to_owned());
        }
        Kind::Directory => {}
        Kind::Link(target) => match fs::read_link(&path) {
            Ok(there) if there == *target => {}
            Ok(there) => {
                let what = format!("the link leads to {} instead of {}", there.shown(), target.shown());
                return wrong(FaultKind::Corrupt, None, what);
            }
            Err(error) => return wrong(FaultKind::Corrupt, None, format!("it is not a link: {error}")),
        },
        Kind::File { .. } => match content(&path, tree.content(entry), buffer, bytes) {
            Ok(None) => {}
            Ok(Some((offset, what))) => return wrong(FaultKind::Corrupt, Some(offset), what),
            Err(error) => return wrong(FaultKind::Lost, None, format!("it cannot be read: {error}")),
        },
    }
    let there = match load::meta(&path, &found, keep.xattrs) {
        Ok(there) => there,
        Err(error) => return wrong(FaultKind::Lost, None, format!("its attributes cannot be read: {error}")),
    };
    let is_link = matches!(entry.kind, Kind::Link(_));
    meta(&entry.meta, &there, keep, is_link).and_then(|what| wrong(FaultKind::Corrupt, None, what))
}

/// The first byte that differs, and how. It drops the file from the page cache first.
fn content(
    path: &Path,
    source: &[u8],
    buffer: &mut Vec<u8>,
    bytes: &mut u64,
) -> io::Result<Option<(u64, String)>> {
    let mut file = File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NOATIME).open(path);
    if file.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EPERM)) {
        file = File::options().read(true).custom_flags(libc::O_NOFOLLOW).open(path);
    }
    let mut file = file?;
    // Only pages that are on the device can be dropped, and the copy was flushed. If dropping fails, the comparison goes on.
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    buffer.resize(256 << 10, 0);
    let mut place = 0;
    loop {
        let count = match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if count == 0 {
            let short = place < source.len();
            return Ok(short.then(|| {
                (place as u64, format!("it ends after {place} bytes instead of {}", source.len()))
            }));
        }
        *bytes += count as u64;
        let (there, rest) = (&buffer[..count], source.get(place..).unwrap_or(&[]));
        if let Some(at) = there.iter().zip(rest).position(|(a, b)| a != b) {
            let what = format!("byte {} is {:#04x} instead of {:#04x}", place + at, there[at], rest[at]);
            return Ok(Some(((place + at) as u64, what)));
        }
        if count > rest.len() {
            return Ok(Some((source.len() as u64, format!("it is longer than {} bytes", source.len()))));
        }
        place += count;
    }
}

/// The differences in attributes. Some file systems and programs keep only whole seconds; links have no permissions of their own.
fn meta(source: &Meta, there: &Meta, keep: Preserve, is_link: bool) -> Option<String> {
    let time = |meta: &Meta| (meta.mtime_seconds, meta.mtime_ns);
    let whole_seconds = there.mtime_ns == 0 && there.mtime_seconds == source.mtime_seconds;
    if keep.mode && !is_link && there.mode != source.mode {
        Some(format!("its mode is {:o} instead of {:o}", there.mode, source.mode))
    } else if keep.owner && (there.uid, there.gid) != (source.uid, source.gid) {
        Some(format!("its owner is {}:{} instead of {}:{}", there.uid, there.gid, source.uid, source.gid))
    } else if keep.mtime && time(there) != time(source) && !whole_seconds {
        let words = |meta: &Meta| format!("{}.{:09}", meta.mtime_seconds, meta.mtime_ns);
        Some(format!("its time is {} instead of {}", words(there), words(source)))
    } else if keep.xattrs && source.xattrs.iter().any(|attribute| !there.xattrs.contains(attribute)) {
        Some("an extended attribute is missing or different".to_owned())
    } else {
        None
    }
}

/// Entries that are in the copy and not in the source.
fn surplus(tree: &Tree, root: &Path) -> Vec<Wrong> {
    let known: HashSet<&Path> = tree.entries.iter().map(|entry| entry.path.as_path()).collect();
    let (mut wrong, mut todo) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = todo.pop() {
        for found in fs::read_dir(root.join(&below)).into_iter().flatten().flatten() {
            let path = below.join(found.file_name());
            if !known.contains(path.as_path()) {
                let what = "the source has nothing of this name".to_owned();
                wrong.push(Wrong {
                    path: root.join(&path),
                    kind: FaultKind::Misdirected,
                    offset: None,
                    what,
                });
            } else if found.file_type().is_ok_and(|kind| kind.is_dir()) {
                todo.push(path);
            }
        }
    }
    wrong
}

/// The result for the record; the first difference is the example.
pub(crate) fn verified(found: &CopyComparison) -> Verified {
    let fault = |wrong: &Wrong| VerifyFault {
        kind: wrong.kind,
        count: 1,
        path: wrong.path.to_string_lossy().into_owned(),
        offsets_bytes: wrong.offset.into_iter().collect(),
        example: wrong.what.clone(),
    };
    let mut faults: Vec<VerifyFault> = found.wrong.iter().take(MOST_TOLD).map(fault).collect();
    let rest = found.wrong.len().saturating_sub(MOST_TOLD) as u64;
    if let Some(last) = faults.last_mut().filter(|_| rest > 0) {
        last.count += rest;
        last.example = format!("{}; and {rest} more files", last.example);
    }
    Verified { bytes: found.bytes, faults }
}

#[cfg(test)]
mod tests {
    use super::{Wrong, compare, meta, verified};
    use crate::corpus::generated::write_tree;
    use crate::corpus::tree::{Entry, Kind, Meta, Tree};
    use record::copy::Preserve;
    use record::trial::FaultKind;
    use std::fs;
    use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::AtomicBool;

    fn tree() -> Tree {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let meta = |mode| Meta { mode, uid, gid, mtime_seconds: 1_000_000_000, mtime_ns: 7, xattrs: vec![] };
        let file = |offset, bytes| Kind::File { offset, bytes };
        let entry = |path: &str, kind, mode| Entry { path: path.into(), kind, meta: meta(mode) };
        let entries = vec![
            entry("d", Kind::Directory, 0o750),
            entry("d/a", file(0, 300_000), 0o640),
            entry("d/b", file(300_000, 5), 0o4755),
            entry("d/l", Kind::Link("a".into()), 0o777),
        ];
        Tree { entries, content: Box::new((0..300_005_u32).map(|n| n.to_le_bytes()[0]).collect::<Vec<u8>>()) }
    }

    fn after(change: impl FnOnce(&Path)) -> Vec<(PathBuf, FaultKind, Option<u64>, String)> {
        let dir = tempfile::tempdir().unwrap();
        write_tree(&tree(), dir.path()).unwrap();
        change(dir.path());
        let kept = super::PreservedAttributes { preserve: Preserve::default(), directory_times: true };
        let found = compare(&tree(), dir.path(), kept, &AtomicBool::new(false));
        let told = |w: Wrong| (w.path.strip_prefix(dir.path()).unwrap().to_owned(), w.kind, w.offset, w.what);
        found.wrong.into_iter().map(told).collect()
    }

    #[test]
    fn a_faithful_copy_is_found_faithful() {
        assert_eq!(after(|_| {}), []);
    }

    #[test]
    fn each_kind_of_difference_is_told_with_its_place() {
        let keep_time = |path: &Path, act: &dyn Fn()| {
            let time = fs::metadata(path).unwrap().modified().unwrap();
            act();
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        let flip = |root: &Path| {
            let path = root.join("d/a");
            keep_time(&path, &|| {
                fs::File::options().write(true).open(&path).unwrap().write_all_at(b"!", 270_000).unwrap();
            });
        };
        let of = |found: Vec<(PathBuf, FaultKind, Option<u64>, String)>| {
            assert_eq!(found.len(), 1, "{found:?}");
            found.into_iter().next().unwrap()
        };
        let (path, kind, offset, what) = of(after(flip));
        assert_eq!((path, kind, offset), ("d/a".into(), FaultKind::Corrupt, Some(270_000)));
        assert!(what.starts_with("byte 270000 is 0x21 instead of"), "{what}");
        let cut = |root: &Path| {
            let path = root.join("d/b");
            fs::File::options().write(true).open(path).unwrap().set_len(3).unwrap();
        };
        assert_eq!(of(after(cut)).3, "it ends after 3 bytes instead of 5");
        let gone = |root: &Path| fs::remove_file(root.join("d/l")).unwrap();
        assert!(
            after(gone).iter().any(|(path, kind, ..)| path == Path::new("d/l") && *kind == FaultKind::Lost)
        );
        let mode = |root: &Path| {
            fs::set_permissions(root.join("d/b"), fs::Permissions::from_mode(0o755)).unwrap();
        };
        assert_eq!(of(after(mode)).3, "its mode is 755 instead of 4755");
        let time = |root: &Path| {
            let file = fs::File::open(root.join("d/a")).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        };
        assert!(of(after(time)).3.contains("instead of 1000000000.000000007"));
        let more = |root: &Path| fs::write(root.join("d/more"), "x").unwrap();
        assert!(
            after(more)
                .iter()
                .any(|(path, kind, ..)| path == Path::new("d/more") && *kind == FaultKind::Misdirected)
        );
    }

    /// The differences of a copy of `tree()` from a changed source.
    fn against(change: impl FnOnce(&mut Entry)) -> Vec<(PathBuf, FaultKind, String)> {
        let dir = tempfile::tempdir().unwrap();
        write_tree(&tree(), dir.path()).unwrap();
        let mut source = tree();
        change(source.entries.last_mut().unwrap());
        let preserve = Preserve { xattrs: true, ..Preserve::default() };
        let kept = super::PreservedAttributes { preserve, directory_times: true };
        let found = compare(&source, dir.path(), kept, &AtomicBool::new(false));
        let told = |w: Wrong| (w.path.strip_prefix(dir.path()).unwrap().to_owned(), w.kind, w.what);
        found.wrong.into_iter().map(told).collect()
    }

    #[test]
    fn a_link_elsewhere_another_owner_and_a_missing_attribute_are_told() {
        let corrupt = |what: &str| vec![(PathBuf::from("d/l"), FaultKind::Corrupt, what.to_owned())];
        assert_eq!(against(|_| {}), []);
        let elsewhere = against(|link| link.kind = Kind::Link("b".into()));
        assert_eq!(elsewhere, corrupt("the link leads to a instead of b"));
        let no_link = against(|link| (link.path, link.kind) = ("d/a".into(), Kind::Link("b".into())));
        assert!(no_link.iter().any(|(.., what)| what.starts_with("it is not a link")), "{no_link:?}");
        let owner = against(|link| link.meta.uid += 1);
        assert!(owner[0].2.starts_with("its owner is ") && owner.len() == 1, "{owner:?}");
        let missing = against(|link| link.meta.xattrs = vec![("user.a".into(), vec![1])]);
        assert_eq!(missing, corrupt("an extended attribute is missing or different"));
    }

    #[test]
    fn owner_and_attributes_are_held_against_the_source_where_they_are_kept() {
        let of = |uid, gid, xattrs: &[(&str, u8)]| Meta {
            mode: 0o640,
            uid,
            gid,
            mtime_seconds: 1,
            mtime_ns: 0,
            xattrs: xattrs.iter().map(|(name, value)| (name.into(), vec![*value])).collect(),
        };
        let source = of(1000, 100, &[("user.a", 1), ("user.b", 2)]);
        let all = Preserve { mode: true, owner: true, mtime: true, xattrs: true };
        let told = |there: &Meta, keep| meta(&source, there, keep, false);
        assert_eq!(told(&source, all), None);
        let user = of(0, 100, &[("user.a", 1), ("user.b", 2)]);
        assert_eq!(told(&user, all).unwrap(), "its owner is 0:100 instead of 1000:100");
        let group = of(1000, 0, &[("user.a", 1), ("user.b", 2)]);
        assert_eq!(told(&group, all).unwrap(), "its owner is 1000:0 instead of 1000:100");
        assert_eq!(told(&group, Preserve { owner: false, ..all }), None, "not asked to be kept");
        let different = of(1000, 100, &[("user.a", 1), ("user.b", 3)]);
        let fewer = of(1000, 100, &[("user.a", 1)]);
        for there in [&different, &fewer] {
            assert_eq!(told(there, all).unwrap(), "an extended attribute is missing or different");
            assert_eq!(told(there, Preserve { xattrs: false, ..all }), None);
        }
        let more = of(1000, 100, &[("user.a", 1), ("user.b", 2), ("security.selinux", 9)]);
        assert_eq!(told(&more, all), None, "what the system adds is no fault");
    }

    #[test]
    fn of_many_faults_the_first_are_told_and_all_are_counted() {
        let wrong = (0..150).map(|n| Wrong {
            path: format!("f{n:03}").into(),
            kind: FaultKind::Lost,
            offset: None,
            what: "gone".into(),
        });
        let told = verified(&super::CopyComparison { bytes: 9, wrong: wrong.collect() });
        assert_eq!((told.faults.len(), told.faults.iter().map(|f| f.count).sum::<u64>()), (100, 150));
    }
}
