//! Reads a directory of the machine into memory as a tree.

use super::tree::{Entry, Kind, Meta, Tree};
use rustix::fs::{XattrFlags, lgetxattr, llistxattr};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Why a directory can't be used as a corpus.
#[derive(Debug)]
pub(crate) struct Unfit {
    pub(crate) path: PathBuf,
    pub(crate) why: io::Error,
}

/// Reads a whole directory into memory. Refuses anything but files, directories and symbolic links, and more than `most_bytes`.
pub(crate) fn directory(root: &Path, xattrs: bool, most_bytes: u64) -> Result<Tree, Unfit> {
    let mut entries = Vec::new();
    let mut content = Vec::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(below) = todo.pop() {
        let unfit = |why| Unfit { path: root.join(&below), why };
        for found in fs::read_dir(root.join(&below)).map_err(unfit)? {
            let path = below.join(found.map_err(unfit)?.file_name());
            let full = root.join(&path);
            let unfit = |why| Unfit { path: full.clone(), why };
            let metadata = fs::symlink_metadata(&full).map_err(unfit)?;
            let meta = meta(&full, &metadata, xattrs).map_err(unfit)?;
            let kind = if metadata.is_dir() {
                todo.push(path.clone());
                Kind::Directory
            } else if metadata.is_symlink() {
                Kind::Link(fs::read_link(&full).map_err(unfit)?)
            } else if metadata.is_file() {
                let offset = content.len() as u64;
                if offset.saturating_add(metadata.len()) > most_bytes {
                    return Err(unfit(too_large(most_bytes)));
                }
                let mut file = fs::File::open(&full).map_err(unfit)?;
                let bytes = file.read_to_end(&mut content).map_err(unfit)? as u64;
                Kind::File { offset, bytes }
            } else {
                let what =
                    "it is neither a file nor a directory nor a symbolic link: a corpus has only these";
                return Err(unfit(io::Error::other(what)));
            };
            entries.push(Entry { path, kind, meta });
        }
    }
    entries.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    Ok(Tree { entries, content: Box::new(content) })
}

fn too_large(most_bytes: u64) -> io::Error {
    let most = record::quantity::Bytes(most_bytes);
    io::Error::other(format!(
        "the corpus does not fit into {most}, half of the memory that is free: its source is kept in memory so that only the copy is \
         measured; use a smaller directory"
    ))
}

/// Half of the memory that is still available to programs.
pub(crate) fn room_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map_or(1 << 30, |kib| kib * 1024 / 2)
}

/// The metadata of a file, directory or link.
pub(crate) fn meta(path: &Path, metadata: &Metadata, xattrs: bool) -> io::Result<Meta> {
    Ok(Meta {
        mode: metadata.mode() & 0o7777,
        uid: metadata.uid(),
        gid: metadata.gid(),
        mtime_seconds: metadata.mtime(),
        mtime_ns: u32::try_from(metadata.mtime_nsec()).unwrap_or(0),
        xattrs: if xattrs { self::xattrs(path)? } else { Vec::new() },
    })
}

/// The extended attributes that a copy can preserve, sorted; without those that the file system reserves for itself.
pub(crate) fn xattrs(path: &Path) -> io::Result<Vec<(OsString, Vec<u8>)>> {
    let mut names = vec![0; 64 << 10];
    let length = match llistxattr(path, &mut names) {
        Err(rustix::io::Errno::NOTSUP) => return Ok(Vec::new()),
        listed => listed?,
    };
    names.truncate(length);
    let mut all = Vec::new();
    for name in names.split(|byte| *byte == 0).filter(|name| is_portable(name)) {
        let name = OsStr::from_bytes(name);
        let mut value = vec![0; 64 << 10];
        let length = lgetxattr(path, name, &mut value)?;
        value.truncate(length);
        all.push((name.to_owned(), value));
    }
    all.sort();
    Ok(all)
}

fn is_portable(name: &[u8]) -> bool {
    name.starts_with(b"user.")
        || name.starts_with(b"trusted.")
        || name.starts_with(b"security.")
        || name.starts_with(b"system.posix_acl")
}

/// The flags to set an attribute on a new file.
pub(crate) const NEW_XATTR: XattrFlags = XattrFlags::empty();
