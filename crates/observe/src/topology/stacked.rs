//! File systems that keep their files in a directory of another one: overlay and eCryptfs.
//!
//! mountinfo has the directory as a path from the time of the mount. It may belong to another mount namespace, may be hidden by a
//! later mount, or may be relative to an unknown directory. So a path counts only if the directory there is the one that is
//! visible through the file system above.

use record::mountinfo::{Mount, unescape};
use std::ffi::{OsStr, OsString};
use std::fs::{Metadata, symlink_metadata};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How often two directories are compared, in case another process changes one of them meanwhile.
const LOOKS: u32 = 5;

/// Where a file system keeps a path's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lower {
    /// In itself: it has no directory below it.
    None,
    /// In this directory or file of another file system.
    At(PathBuf),
    /// In a directory of another file system that is not visible from here.
    Hidden,
}

/// Returns where the bytes of a path on this mount are; for a directory, those of new files in it.
pub(crate) fn lower(mount: &Mount, path: &Path) -> Lower {
    let inner = path.strip_prefix(&mount.point).unwrap_or(Path::new(""));
    // A path that doesn't exist yet will be in its nearest existing directory.
    let there = inner.ancestors().find(|part| symlink_metadata(mount.point.join(part)).is_ok());
    let view = View { mount, inner: there.unwrap_or(Path::new("")) };
    let found = match mount.fs_type.as_str() {
        "overlay" => overlay(&view),
        // File names may be encrypted and file sizes may differ, so mostly only the root can be compared.
        "ecryptfs" => both(mount.source.as_bytes()).iter().find_map(|lower| view.shown_in(lower, false)),
        _ => return Lower::None,
    };
    found.map_or(Lower::Hidden, |shown| Lower::At(shown.path))
}

/// Finds the directory of an overlay. Writes go to the upper layer, so a load's files are there. A file that was never written
/// through the overlay is in the first lower layer that has it. A directory that only lower layers have gets new files in the
/// upper one.
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

/// Returns the lower layers of an overlay, topmost first.
fn layers(mount: &Mount) -> Vec<PathBuf> {
    let options = mount.super_options.split(',').filter_map(|option| option.split_once('='));
    let lists = options.filter(|(key, _)| matches!(*key, "lowerdir" | "lowerdir+"));
    lists.flat_map(|(_, list)| split(&unescape(list.as_bytes()))).flat_map(|layer| both(&layer)).collect()
}

/// Splits at colons without a backslash before them.
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

/// Returns the possible paths of an option. Overlay shows some of its options with the backslash that the mount command had to
/// put before each `,`, `:` and `\`, so the path is tried without and with them. A relative path is meaningless here.
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
    /// The path below the mount point.
    inner: &'a Path,
}

/// The part of the path that exists in a directory of another file system.
struct Shown {
    /// The existing path.
    path: PathBuf,
    /// Whether it is the whole path, not only a directory above it.
    whole: bool,
}

impl View<'_> {
    /// Returns the path, or its nearest existing directory, within a directory of another file system; `None` if that is not what
    /// is visible through the mount.
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

/// Returns properties of a file that the file system above takes from the lower one, such as times and owner. Device and inode
/// numbers differ.
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
