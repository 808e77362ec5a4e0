//! A tree of files with all their content: the source of copies and of their verification.

use std::ffi::OsString;
use std::path::PathBuf;

/// The memory with the content of all files.
pub(crate) trait Content: AsRef<[u8]> + Send + Sync {}

impl<T: AsRef<[u8]> + Send + Sync> Content for T {}

/// A tree of files in memory.
pub(crate) struct Tree {
    /// Sorted by the bytes of their paths, so that a directory comes before its contents.
    pub(crate) entries: Vec<Entry>,
    /// The content of all files.
    pub(crate) content: Box<dyn Content>,
}

/// A file, directory or symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The path below the tree's root.
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) meta: Meta,
}

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    File {
        /// The offset in the tree's content.
        offset: u64,
        bytes: u64,
    },
    Directory,
    Link(PathBuf),
}

/// The metadata of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Permission bits.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime_seconds: i64,
    pub(crate) mtime_ns: u32,
    pub(crate) xattrs: Vec<(OsString, Vec<u8>)>,
}

/// The amount of data in a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) files: u64,
    pub(crate) directories: u64,
    pub(crate) links: u64,
    pub(crate) bytes: u64,
}

impl Tree {
    /// The content of a file; empty for other kinds.
    pub(crate) fn content(&self, entry: &Entry) -> &[u8] {
        let Kind::File { offset, bytes } = entry.kind else { return &[] };
        let all = (*self.content).as_ref();
        let range = usize::try_from(offset).ok().zip(usize::try_from(offset + bytes).ok());
        range.and_then(|(from, to)| all.get(from..to)).unwrap_or(&[])
    }

    pub(crate) fn amount(&self) -> Amount {
        let mut amount = Amount::default();
        for entry in &self.entries {
            match &entry.kind {
                Kind::File { bytes, .. } => {
                    amount.files += 1;
                    amount.bytes += bytes;
                }
                Kind::Directory => amount.directories += 1,
                Kind::Link(_) => amount.links += 1,
            }
        }
        amount
    }
}
