//! File systems that keep their files in a directory of another one: overlay and eCryptfs.
//!
//! Which directory that is, mountinfo tells as a path, as it was when somebody mounted it: in another mount namespace, before
//! something was mounted over it, or relative to a directory that nobody knows any more. So a path is believed only where the
//! directory found there is the one that shows through the file system above.

use record::mountinfo::{Mount, unescape};
use std::ffi::{OsStr, OsString};
use std::fs::{Metadata, symlink_metadata};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How often two directories are compared that somebody may change meanwhile.
const LOOKS: u32 = 5;

/// What a file system keeps a path's bytes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lower {
    /// It has no directory below it: it keeps its files itself.
    None,
    /// This directory, or file, of another file system.
    At(PathBuf),
    /// A directory of another file system that can't be seen from here.
    Hidden,
}

/// Where the bytes of a path on this mount really are; of a directory, those of files that will be made in it.
pub(crate) fn lower(mount: &Mount, path: &Path) -> Lower {
    let inner = path.strip_prefix(&mount.point).unwrap_or(Path::new(""));
    // What isn't there yet will be in the nearest directory that is.
    let there = inner.ancestors().find(|part| symlink_metadata(mount.point.join(part)).is_ok());
    let view = View { mount, inner: there.unwrap_or(Path::new("")) };
    let found = match mount.fs_type.as_str() {
        "overlay" => overlay(&view),
        // The names of its files may be encrypted and their sizes differ, so mostly its root tells.
        "ecryptfs" => both(mount.source.as_bytes()).iter().find_map(|lower| view.shown_in(lower, false)),
        _ => return Lower::None,
    };
    found.map_or(Lower::Hidden, |shown| Lower::At(shown.path))
}

/// What is written goes to the upper layer, so that is where a load's files are. A file that nobody has written to through the
/// overlay is in the first of the lower layers that has it; a directory that only these have gets new files in the upper one.
fn overlay(view: &View<'_>) -> Option<Shown> {
    let lower =
        || layers(view.mount).iter().find_map(|dir| view.shown_in(dir, true).filter(|shown| shown.whole));
    let Some(option) = view.mount.super_option("upperdir") else { return lower() };
    let upper = both(&unescape(option.as_bytes())).iter().find_map(|dir| view.shown_in(dir, true))?;
    if upper.whole {
        return Some(upper);
    }
    let is_file = view.above(view.inner).is_some_and(|about| about.is_file());
    lower().map(|lower| if is_file { lower } else { upper })
}

/// The lower layers of an overlay, the uppermost first.
fn layers(mount: &Mount) -> Vec<PathBuf> {
    let options = mount.super_options.split(',').filter_map(|option| option.split_once('='));
    let lists = options.filter(|(key, _)| matches!(*key, "lowerdir" | "lowerdir+"));
    lists.flat_map(|(_, list)| split(&unescape(list.as_bytes()))).flat_map(|layer| both(&layer)).collect()
}

/// At colons that no backslash stands before.
fn split(list: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut bytes = list.iter();
    while let Some(&byte) = bytes.next() {
        if byte == b':' {
            parts.push(std::mem::take(&mut part));
            continue;
        }
        part.push(byte);
        if byte == b'\\' {
            part.extend(bytes.next());
        }
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

/// What a path of an option may mean. Overlay shows some of its options with a backslash before each `,`, `:` and `\` that
/// whoever mounted it had to write, so the path is read without and with these. A relative path means something only to whoever
/// mounted it.
fn both(value: &[u8]) -> Vec<PathBuf> {
    let mut plain = Vec::with_capacity(value.len());
    let mut bytes = value.iter();
    while let Some(&byte) = bytes.next() {
        plain.push(if byte == b'\\' { bytes.next().copied().unwrap_or(byte) } else { byte });
    }
    let mut found = vec![PathBuf::from(OsString::from_vec(plain))];
    let as_it_is = Path::new(OsStr::from_bytes(value));
    if found[0] != as_it_is {
        found.push(as_it_is.to_owned());
    }
    found.retain(|path| path.is_absolute());
    found
}

/// A path as the file system above shows it.
struct View<'a> {
    mount: &'a Mount,
    /// From the mount point on.
    inner: &'a Path,
}

/// What of it a directory of another file system has.
struct Shown {
    /// There.
    path: PathBuf,
    /// Whether it is the path itself, not only a directory above it.
    whole: bool,
}

impl View<'_> {
    /// The path, or the nearest directory above it, as it is in a directory of another file system; `None` where that isn't what
    /// shows through here.
    fn shown_in(&self, directory: &Path, with_size: bool) -> Option<Shown> {
        let root = directory.join(self.mount.root.strip_prefix("/").unwrap_or(&self.mount.root));
        let nearest = self.inner.ancestors().find(|part| symlink_metadata(root.join(part)).is_ok())?;
        let path = root.join(nearest);
        let same = || {
            let (above, below) = (self.above(nearest)?, symlink_metadata(&path).ok()?);
            (identity(&above, with_size) == identity(&below, with_size)).then_some(())
        };
        (0..LOOKS).find_map(|_| same())?;
        Some(Shown { path, whole: nearest == self.inner })
    }

    fn above(&self, part: &Path) -> Option<Metadata> {
        symlink_metadata(self.mount.point.join(part)).ok()
    }
}

/// Numbers of devices and inodes differ, but what a file system above shows of a file's age and owner is the lower one's.
fn identity(about: &Metadata, with_size: bool) -> (u32, u32, u32, i64, i64, Option<u64>) {
    let size = (with_size && about.is_file()).then(|| about.size());
    (about.mode(), about.uid(), about.gid(), about.mtime(), about.mtime_nsec(), size)
}

#[cfg(test)]
mod tests {
    use super::{both, split};
    use record::mountinfo::unescape;
    use std::path::{Path, PathBuf};

    #[test]
    fn what_a_path_in_an_option_may_mean() {
        let read = |text: &str| both(&unescape(text.as_bytes()));
        // as Linux 6.18 shows them
        assert_eq!(read(r"/t/a\040b/u\134\054p"), [Path::new("/t/a b/u,p"), Path::new(r"/t/a b/u\,p")]);
        assert_eq!(read(r"/t/c\134:d/u\134\134x")[0], Path::new(r"/t/c:d/u\x"));
        assert_eq!(read("/t/plain"), [Path::new("/t/plain")]);
        assert_eq!(read("rel/u"), Vec::<PathBuf>::new());
        assert_eq!(read(""), Vec::<PathBuf>::new());
    }

    #[test]
    fn layers_are_told_apart_at_colons() {
        let parts = |list: &str| -> Vec<String> {
            split(list.as_bytes()).into_iter().map(|part| String::from_utf8(part).unwrap()).collect()
        };
        assert_eq!(parts(r"/a:/b\:c::/d\\:/e"), ["/a", r"/b\:c", r"/d\\", "/e"]);
        assert_eq!(parts(""), Vec::<String>::new());
    }
}
