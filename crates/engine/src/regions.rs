//! The place of each job: its own files in a directory, its own span of a block device, or files or spans that jobs share.

use crate::fio::forbidden::unsafe_text;
use device::Place;
use record::printable::Shown as _;
use record::workload::Options;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The beginning of the name of every data file.
pub(crate) const DATA_PREFIX: &str = "diskproof-data.";

/// The alignment of spans on a block device, in bytes.
const ALIGN_BYTES: u64 = 1 << 20;

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
    /// The reason as text: an invalid name or number, or an overflow of sizes.
    pub(crate) fn job(&mut self, name: &str, options: &Options) -> Result<Vec<Region>, String> {
        match (&options.filename, options.nrfiles) {
            (Some(filename), 0 | 1) => Ok(vec![self.shared(filename, options)?]),
            (Some(_), files) => {
                Err(format!("nrfiles: {files} with filename: a job that names its file has one"))
            }
            (None, 0 | 1) => Ok(vec![self.region(name, options.offset_bytes, options.size_bytes)?]),
            (None, files) => self.several(name, files, options),
        }
    }

    fn several(&mut self, name: &str, files: u32, options: &Options) -> Result<Vec<Region>, String> {
        if matches!(self.place, Place::Block(_)) {
            return Err(format!("nrfiles: {files} needs a directory; here the load goes to a block device"));
        }
        let block = options.bs_bytes.max(1);
        let each = options.size_bytes / u64::from(files) / block * block;
        if each == 0 {
            let size = options.size_bytes;
            return Err(format!("size: {size} bytes in {files} files are less than one block each"));
        }
        (0..files).map(|file| self.region(&format!("{name}.{file}"), options.offset_bytes, each)).collect()
    }

    fn shared(&mut self, filename: &str, options: &Options) -> Result<Region, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if filename.is_empty() || !filename.chars().all(plain) {
            return Err(format!(
                "filename: {filename:?} must be a name of letters, digits, '.', '_' and '-'; diskproof makes the file on the storage under test"
            ));
        }
        let (skipped, size) = (options.offset_bytes, options.size_bytes);
        if let Some(known) = self.shared.get(filename) {
            let same = known.skipped_bytes == skipped && known.size_bytes == size;
            return same.then(|| known.clone()).ok_or_else(|| {
                format!("filename: jobs that share {filename} must have the same offset and size")
            });
        }
        let region = self.region(filename, skipped, size)?;
        self.shared.insert(filename.to_owned(), region.clone());
        Ok(region)
    }

    fn region(&mut self, name: &str, skipped_bytes: u64, size_bytes: u64) -> Result<Region, String> {
        let (path, begin, block) = match self.place {
            Place::Directory(directory) => (directory.join(format!("{DATA_PREFIX}{name}")), 0, false),
            Place::Block(device) => (device.clone(), self.next, true),
        };
        writable(&path)?;
        let end = begin.checked_add(skipped_bytes).and_then(|at| at.checked_add(size_bytes));
        self.next = end
            .and_then(|e| e.checked_next_multiple_of(ALIGN_BYTES))
            .ok_or_else(|| "the sizes of its jobs add up to more than 2^64 bytes".to_owned())?;
        Ok(Region { path, skipped_bytes, offset_bytes: begin + skipped_bytes, size_bytes, block })
    }
}

/// The files of a workload's identical jobs, job by job.
///
/// # Errors
/// See [`Spans::job`].
pub(crate) fn of_options(place: &Place, options: &Options) -> Result<Vec<Vec<Region>>, String> {
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
pub(crate) fn writable(path: &Path) -> Result<(), String> {
    let Some(text) = path.to_str() else {
        return Err(format!(
            "fio can't be given the path {}: it isn't UTF-8; use another directory",
            path.shown()
        ));
    };
    if let Some(c) = unsafe_text(text) {
        return Err(format!(
            "fio can't be given the path {text:?}: its job files can't hold {c:?}; use another directory"
        ));
    }
    if text.trim() != text {
        return Err(format!(
            "fio can't be given the path {text:?}: it begins or ends with a space; use another directory"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
