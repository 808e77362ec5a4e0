//! The native copier: one writer copies its files with plain system calls, relative to open directories.
//!
//! A file takes openat, write, futimens, close (and the calls for other attributes); a directory is created when its first file
//! comes. Files are copied in groups: the writer creates all files of a group, then writes all, then closes all, which costs the
//! file system less than one file after the other. bench/corpus measures this against programs and against the bare calls.

use super::flush;
use super::task::Failure;
use super::tree::{Entry, Kind, Meta, Tree};
use crate::errno;
use record::copy::{CopiedBy, CopySync, Preserve};
use record::printable::Shown as _;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid};
use rustix::fs::{
    chmodat, chownat, fchmod, fchown, fsetxattr, fsync, futimens, mkdirat, openat, symlinkat, utimensat,
};
use rustix::io::Errno;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The files of a group: larger groups were no faster on ext4 and xfs.
const GROUP: usize = 64;
/// The most directories that a writer keeps open.
const MOST_OPEN: usize = 400;

/// The index of each entry's directory in the tree, for all writers.
pub(crate) struct Layout<'t> {
    pub(crate) tree: &'t Tree,
    /// The index for each entry; `None` for the root.
    parents: Vec<Option<usize>>,
}

impl<'t> Layout<'t> {
    pub(crate) fn of(tree: &'t Tree) -> Self {
        let mut directories: HashMap<&Path, usize> = HashMap::new();
        let mut parents = Vec::with_capacity(tree.entries.len());
        for (place, entry) in tree.entries.iter().enumerate() {
            parents.push(entry.path.parent().and_then(|parent| directories.get(parent).copied()));
            if entry.kind == Kind::Directory {
                directories.insert(&entry.path, place);
            }
        }
        Self { tree, parents }
    }
}

/// The settings that all writers share.
pub(crate) struct Manner<'a> {
    pub(crate) preserve: Preserve,
    pub(crate) sync: CopySync,
    /// Set by the first writer that fails: the others then end too.
    pub(crate) stop: &'a AtomicBool,
    /// Bytes written by all.
    pub(crate) written: &'a AtomicU64,
    /// Whether other writers create the same directories.
    pub(crate) shared: bool,
    pub(crate) room: Room,
    /// The largest file in bytes that the writer itself writes back.
    pub(crate) begin_up_to: u64,
}

/// How many files and directories a writer may have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    files: usize,
    directories: usize,
}

impl Default for Room {
    /// For a single writer.
    fn default() -> Self {
        Self { files: GROUP, directories: MOST_OPEN }
    }
}

impl Room {
    /// For `writers` that share `descriptors`.
    pub(crate) fn of(descriptors: usize, writers: usize, sync: CopySync) -> Self {
        let each = descriptors / writers.max(1);
        // With a flush after each file, that file is complete before the next one begins.
        let group = if sync == CopySync::File { 1 } else { GROUP };
        Self { files: (each / 4).clamp(1, group), directories: (each / 2).clamp(1, MOST_OPEN) }
    }

    /// Grows the table of descriptors now to the size that these writers need: while several threads use it, each growth waits
    /// for all processors.
    pub(crate) fn reserve(self, any: impl AsFd, writers: usize) {
        let needed = (self.files + self.directories).saturating_mul(writers);
        // If this fails, the table grows later.
        let _ = i32::try_from(needed).map(|lowest| rustix::io::fcntl_dupfd_cloexec(any, lowest));
    }
}

/// A running writer.
pub(crate) struct Writer<'a, 't> {
    layout: &'a Layout<'t>,
    manner: &'a Manner<'a>,
    /// The path of the copy, for messages.
    root: PathBuf,
    root_fd: OwnedFd,
    /// The open directories, by index.
    open: HashMap<usize, OwnedFd>,
    /// Whether each directory was created, by index.
    made: Vec<bool>,
    /// The group: files that are created and not yet written.
    created: Vec<(OwnedFd, &'t Entry)>,
    own: (u32, u32),
}

type Done = Result<(), Failure>;

impl<'a, 't> Writer<'a, 't> {
    /// Creates a writer; `root` must exist.
    pub(crate) fn new(
        root: PathBuf,
        layout: &'a Layout<'t>,
        manner: &'a Manner<'a>,
    ) -> Result<Self, Failure> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root_fd =
            openat(CWD, &root, flags, Mode::empty()).map_err(|errno| failure("open", &root, errno, None))?;
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let made = vec![false; layout.tree.entries.len()];
        Ok(Self { layout, manner, root, root_fd, open: HashMap::new(), made, created: Vec::new(), own })
    }

    /// Copies these entries and returns their amount; with `all`, it also creates every directory, including empty ones.
    pub(crate) fn copy(&mut self, places: &[usize], all: bool) -> Result<CopiedBy, Failure> {
        let begun = std::time::Instant::now();
        let mut done = CopiedBy::default();
        let tree = self.layout.tree;
        for &place in places {
            if self.manner.stop.load(Ordering::Relaxed) {
                return Ok(done);
            }
            let entry = &tree.entries[place];
            if let Kind::File { bytes, .. } = entry.kind {
                done.files += 1;
                done.bytes += bytes;
            }
            self.entry(place, entry)?;
        }
        self.fill()?;
        if all {
            let directories: Vec<usize> = self.directories().filter(|place| !self.made[*place]).collect();
            directories.into_iter().try_for_each(|place| self.directory(place).map(drop))?;
        }
        done.seconds = begun.elapsed().as_secs_f64();
        Ok(done)
    }

    fn directories(&self) -> impl DoubleEndedIterator<Item = usize> + use<'_> {
        let entries = &self.layout.tree.entries;
        (0..entries.len()).filter(|place| entries[*place].kind == Kind::Directory)
    }

    /// Sets the directories' times, which new files changed, the deepest first.
    pub(crate) fn finish(&mut self) -> Done {
        let places: Vec<usize> = self.directories().rev().collect();
        for place in places {
            let entry = &self.layout.tree.entries[place];
            let path = self.root.join(&entry.path);
            self.meta_of_path(&path, &entry.meta, false)
                .map_err(|errno| failure("set the metadata of", &path, errno, None))?;
        }
        Ok(())
    }

    fn entry(&mut self, place: usize, entry: &'t Entry) -> Done {
        let Some(name) = entry.path.file_name() else { return Ok(()) };
        let parent = self.layout.parents[place];
        if let Some(parent) = parent {
            self.directory(parent)?;
        }
        let at = parent.and_then(|parent| self.open.get(&parent)).unwrap_or(&self.root_fd);
        match &entry.kind {
            Kind::File { .. } => {
                let file = self.create(at.as_fd(), Path::new(name), entry)?;
                self.created.push((file, entry));
                if self.created.len() < self.manner.room.files { Ok(()) } else { self.fill() }
            }
            Kind::Link(target) => self.link(at.as_fd(), Path::new(name), target, entry),
            Kind::Directory => Ok(()),
        }
    }

    fn create(&self, at: BorrowedFd<'_>, name: &Path, entry: &Entry) -> Result<OwnedFd, Failure> {
        let mode = if self.manner.preserve.mode { entry.meta.mode } else { 0o644 };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A mode without write permission still allows this open to write.
        openat(at, name, flags, Mode::from_raw_mode(mode)).map_err(self.failed("create", entry, None))
    }

    /// Writes and closes the files of the group.
    fn fill(&mut self) -> Done {
        let created = std::mem::take(&mut self.created);
        created.iter().try_for_each(|(file, entry)| self.write(file, entry))?;
        created.iter().try_for_each(|(file, entry)| self.begin(file, entry))?;
        created.into_iter().try_for_each(|(file, entry)| self.keep(&file, entry))
    }

    fn write(&self, file: &OwnedFd, entry: &Entry) -> Done {
        let content = self.layout.tree.content(entry);
        let mut done = 0;
        while done < content.len() {
            let fail = self.failed("write", entry, Some(done as u64));
            match rustix::io::write(file, &content[done..]) {
                Ok(0) => return Err(fail(Errno::IO)),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(fail(errno)),
            }
        }
        self.manner.written.fetch_add(content.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn begin(&self, file: &OwnedFd, entry: &Entry) -> Done {
        match entry.kind {
            Kind::File { bytes, .. } if (1..=self.manner.begin_up_to).contains(&bytes) => {
                flush::begin(file).map_err(self.failed("write back", entry, None))
            }
            _ => Ok(()),
        }
    }

    /// Sets the preserved attributes of a file after its content is written.
    fn keep(&self, file: &OwnedFd, entry: &Entry) -> Done {
        let (keep, meta) = (self.manner.preserve, &entry.meta);
        let given_away = keep.owner && (meta.uid, meta.gid) != self.own;
        let set = || -> Result<(), Errno> {
            if given_away {
                fchown(file, Some(Uid::from_raw(meta.uid)), Some(Gid::from_raw(meta.gid)))?;
            }
            // Both a write and a change of owner clear the set-id bits.
            if keep.mode && meta.mode & 0o6000 != 0 {
                fchmod(file, Mode::from_raw_mode(meta.mode))?;
            }
            if keep.xattrs {
                for (name, value) in &meta.xattrs {
                    fsetxattr(file, name.as_os_str(), value, super::load::NEW_XATTR)?;
                }
            }
            if keep.mtime { futimens(file, &times(meta)) } else { Ok(()) }
        };
        set().map_err(self.failed("set the metadata of", entry, None))?;
        if self.manner.sync == CopySync::File {
            fsync(file).map_err(self.failed("flush", entry, None))?;
        }
        Ok(())
    }

    fn failed<'s>(
        &'s self,
        action: &'s str,
        entry: &'s Entry,
        offset: Option<u64>,
    ) -> impl FnOnce(Errno) -> Failure + use<'s, 'a, 't> {
        move |errno| failure(action, &self.root.join(&entry.path), errno, offset)
    }

    fn link(&self, at: BorrowedFd<'_>, name: &Path, target: &Path, entry: &Entry) -> Done {
        let path = || self.root.join(&entry.path);
        symlinkat(target, at, name).map_err(|errno| failure("make the link", &path(), errno, None))?;
        self.meta_of_path(&path(), &entry.meta, true)
            .map_err(|errno| failure("set the metadata of", &path(), errno, None))
    }

    /// Sets the attributes of an entry that can't be opened for writing.
    fn meta_of_path(&self, path: &Path, meta: &Meta, link: bool) -> Result<(), Errno> {
        let keep = self.manner.preserve;
        if keep.owner && (meta.uid, meta.gid) != self.own {
            let (uid, gid) = (Uid::from_raw(meta.uid), Gid::from_raw(meta.gid));
            chownat(CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        if !link {
            let mode = if keep.mode { meta.mode } else { 0o755 };
            chmodat(CWD, path, Mode::from_raw_mode(mode), AtFlags::empty())?;
        }
        if keep.xattrs {
            for (name, value) in &meta.xattrs {
                rustix::fs::lsetxattr(path, name.as_os_str(), value, super::load::NEW_XATTR)?;
            }
        }
        if keep.mtime { utimensat(CWD, path, &times(meta), AtFlags::SYMLINK_NOFOLLOW) } else { Ok(()) }
    }

    /// Creates and opens a directory and those above it, if necessary.
    fn directory(&mut self, place: usize) -> Done {
        if self.open.contains_key(&place) {
            return Ok(());
        }
        let parent = self.layout.parents[place];
        if let Some(parent) = parent {
            self.directory(parent)?;
        }
        if self.open.len() >= self.manner.room.directories {
            self.open.retain(|kept, _| Some(*kept) == parent);
        }
        let entry = &self.layout.tree.entries[place];
        let Some(name) = entry.path.file_name() else { return Ok(()) };
        let root = &self.root;
        let fail = |action| move |errno| failure(action, &root.join(&entry.path), errno, None);
        let at = parent.and_then(|parent| self.open.get(&parent)).unwrap_or(&self.root_fd);
        if !self.made[place] {
            // The writer must be able to work in it; its own mode is set at the end.
            match mkdirat(at, Path::new(name), Mode::from_raw_mode(0o700)) {
                Ok(()) => {}
                Err(Errno::EXIST) if self.manner.shared => {}
                Err(errno) => return Err(fail("make the directory")(errno)),
            }
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(at, Path::new(name), flags, Mode::empty()).map_err(fail("open"))?;
        self.made[place] = true;
        self.open.insert(place, opened);
        Ok(())
    }
}

fn times(meta: &Meta) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: meta.mtime_seconds, tv_nsec: meta.mtime_ns.into() },
    }
}

/// A failure with its operation and place.
pub(crate) fn failure(action: &str, path: &Path, errno: Errno, offset: Option<u64>) -> Failure {
    let at = offset.map(|offset| format!(" at offset {offset}")).unwrap_or_default();
    let place = format!("{action} {}{at}", path.shown());
    Failure { errno: errno::name(i64::from(errno.raw_os_error())), place }
}
