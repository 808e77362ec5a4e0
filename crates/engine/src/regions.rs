//! The place of each job: its own files in a directory, its own span of a block device, or files or spans that jobs share.

use crate::fio::forbidden::unsafe_text;
use device::Place;
use record::printable::Shown as _;
use record::workload::Options;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The beginning of the name of every data file.
pub(crate) const DATA_PREFIX: &str = "diskproof-data.";

/// The alignment of spans on a block device, in bytes.
const ALIGN_BYTES: u64 = 1 << 20;

/// Why a job gets no place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlaceError {
    /// A job with a named file has several.
    #[error("nrfiles: {files} with filename: a job that names its file has one")]
    FilesOfOneName {
        /// The number of files.
        files: u32,
    },
    /// Several files of a job on a block device.
    #[error("nrfiles: {files} needs a directory; here the load goes to a block device")]
    NeedsDirectory {
        /// The number of files.
        files: u32,
    },
    /// Files without a whole block.
    #[error("size: {size_bytes} bytes in {files} files are less than one block each")]
    LessThanABlock {
        /// The size of the job.
        size_bytes: u64,
        /// The number of its files.
        files: u32,
    },
    /// A name of a file that could lead elsewhere.
    #[error(
        "filename: {filename:?} must be a name of letters, digits, '.', '_' and '-'; diskproof makes the file on the storage under test"
    )]
    Name {
        /// The name.
        filename: String,
    },
    /// Jobs that share a file use different parts of it.
    #[error("filename: jobs that share {filename} must have the same offset and size")]
    SharersDiffer {
        /// The name of the file.
        filename: String,
    },
    /// Sizes beyond all devices.
    #[error("the sizes of its jobs add up to more than 2^64 bytes")]
    TooLarge,
    /// A path that fio can't be given.
    #[error("fio can't be given the path {}: it isn't UTF-8; use another directory", .path.shown())]
    NotUtf8 {
        /// The path.
        path: PathBuf,
    },
    /// A path that fio would expand or cut.
    #[error("fio can't be given the path {path:?}: its job files can't hold {c:?}; use another directory")]
    Unsafe {
        /// The path.
        path: String,
        /// The character.
        c: char,
    },
    /// fio would cut a space from this path.
    #[error("fio can't be given the path {path:?}: it begins or ends with a space; use another directory")]
    Blank {
        /// The path.
        path: String,
    },
}

/// A place of I/O: a whole file or a part of it, or a span of a block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    /// A file, or the block device.
    pub(crate) path: PathBuf,
    /// The bytes before it in the same file or span: laid out, but not used (fio's `offset`).
    pub(crate) skipped_bytes: u64,
    /// Its offset from the beginning of the file or device.
    pub(crate) offset_bytes: u64,
    /// Its length.
    pub(crate) size_bytes: u64,
    /// Whether the path is a block device.
    pub(crate) block: bool,
}

impl Region {
    /// The offset of the beginning of its file or span.
    pub(crate) fn begin_bytes(&self) -> u64 {
        self.offset_bytes.saturating_sub(self.skipped_bytes)
    }

    /// The offset of its end.
    pub(crate) fn end_bytes(&self) -> u64 {
        self.offset_bytes.saturating_add(self.size_bytes)
    }

    /// The bytes to lay out.
    pub(crate) fn laid_out_bytes(&self) -> u64 {
        self.skipped_bytes.saturating_add(self.size_bytes)
    }
}

/// Assigns places to jobs, one after the other.
pub(crate) struct Spans<'a> {
    place: &'a Place,
    /// The offset of the next span on a block device.
    next: u64,
    /// The regions that several jobs share, by name.
    shared: BTreeMap<String, Region>,
}

impl<'a> Spans<'a> {
    pub(crate) fn new(place: &'a Place) -> Self {
        Self { place, next: 0, shared: BTreeMap::new() }
    }

    /// The files of a job: `nrfiles` of its own, or the shared one.
    ///
    /// # Errors
    /// An invalid name or number, or an overflow of sizes.
    pub(crate) fn job(&mut self, name: &str, options: &Options) -> Result<Vec<Region>, PlaceError> {
        match (&options.filename, options.nrfiles) {
            (Some(filename), 0 | 1) => Ok(vec![self.shared(filename, options)?]),
            (Some(_), files) => Err(PlaceError::FilesOfOneName { files }),
            (None, 0 | 1) => Ok(vec![self.region(name, options.offset_bytes, options.size_bytes)?]),
            (None, files) => self.several(name, files, options),
        }
    }

    fn several(&mut self, name: &str, files: u32, options: &Options) -> Result<Vec<Region>, PlaceError> {
        if matches!(self.place, Place::Block(_)) {
            return Err(PlaceError::NeedsDirectory { files });
        }
        let block = options.bs_bytes.max(1);
        let each = options.size_bytes / u64::from(files) / block * block;
        if each == 0 {
            return Err(PlaceError::LessThanABlock { size_bytes: options.size_bytes, files });
        }
        (0..files).map(|file| self.region(&format!("{name}.{file}"), options.offset_bytes, each)).collect()
    }

    fn shared(&mut self, filename: &str, options: &Options) -> Result<Region, PlaceError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if filename.is_empty() || !filename.chars().all(plain) {
            return Err(PlaceError::Name { filename: filename.to_owned() });
        }
        let (skipped, size) = (options.offset_bytes, options.size_bytes);
        if let Some(known) = self.shared.get(filename) {
            let same = known.skipped_bytes == skipped && known.size_bytes == size;
            let differ = || PlaceError::SharersDiffer { filename: filename.to_owned() };
            return same.then(|| known.clone()).ok_or_else(differ);
        }
        let region = self.region(filename, skipped, size)?;
        self.shared.insert(filename.to_owned(), region.clone());
        Ok(region)
    }

    fn region(&mut self, name: &str, skipped_bytes: u64, size_bytes: u64) -> Result<Region, PlaceError> {
        let (path, begin, block) = match self.place {
            Place::Directory(directory) => (directory.join(format!("{DATA_PREFIX}{name}")), 0, false),
            Place::Block(device) => (device.clone(), self.next, true),
        };
        writable(&path)?;
        let end = begin.checked_add(skipped_bytes).and_then(|at| at.checked_add(size_bytes));
        self.next = end.and_then(|e| e.checked_next_multiple_of(ALIGN_BYTES)).ok_or(PlaceError::TooLarge)?;
        Ok(Region { path, skipped_bytes, offset_bytes: begin + skipped_bytes, size_bytes, block })
    }
}

/// The files of a workload's identical jobs, job by job.
///
/// # Errors
/// See [`Spans::job`].
pub(crate) fn of_options(place: &Place, options: &Options) -> Result<Vec<Vec<Region>>, PlaceError> {
    let mut spans = Spans::new(place);
    (0..options.numjobs.max(1)).map(|job| spans.job(&job.to_string(), options)).collect()
}

/// Every region once, in order, for the layout.
pub(crate) fn distinct(jobs: &[Vec<Region>]) -> Vec<Region> {
    let mut all: Vec<Region> = Vec::new();
    let mut seen = BTreeSet::new();
    for region in jobs.iter().flatten() {
        if seen.insert((&region.path, region.offset_bytes)) {
            all.push(region.clone());
        }
    }
    all
}

/// Whether fio's job file parser takes a path as it is.
pub(crate) fn writable(path: &Path) -> Result<(), PlaceError> {
    let Some(text) = path.to_str() else {
        return Err(PlaceError::NotUtf8 { path: path.to_owned() });
    };
    if let Some(c) = unsafe_text(text) {
        return Err(PlaceError::Unsafe { path: text.to_owned(), c });
    }
    if text.trim() != text {
        return Err(PlaceError::Blank { path: text.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
