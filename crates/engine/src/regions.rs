//! Where each job works: its own file in a directory, or its own span of a block device.

use crate::fio::unsafe_text;
use device::Place;
use std::path::{Path, PathBuf};

/// Every file we lay out begins with this.
pub(crate) const DATA_PREFIX: &str = "diskproof-data.";

/// Spans of a block device begin at multiples of this.
const ALIGN_BYTES: u64 = 1 << 20;

/// One job's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    /// A file, or the block device.
    pub(crate) path: PathBuf,
    /// Where it begins; 0 in files.
    pub(crate) offset_bytes: u64,
    /// How long it is.
    pub(crate) size_bytes: u64,
    /// Whether the path is a block device.
    pub(crate) block: bool,
}

impl Region {
    /// Where it ends.
    pub(crate) fn end_bytes(&self) -> u64 {
        self.offset_bytes.saturating_add(self.size_bytes)
    }
}

/// A place for each of the named jobs.
///
/// # Errors
/// In words, when the place can't be written in a job file or the sizes overflow.
pub(crate) fn assign(place: &Place, jobs: &[(String, u64)]) -> Result<Vec<Region>, String> {
    let mut regions = Vec::with_capacity(jobs.len());
    let mut next = 0_u64;
    for (name, size_bytes) in jobs {
        let (path, offset_bytes, block) = match place {
            Place::Directory(directory) => (directory.join(format!("{DATA_PREFIX}{name}")), 0, false),
            Place::Block(device) => (device.clone(), next, true),
        };
        writable(&path)?;
        let region = Region { path, offset_bytes, size_bytes: *size_bytes, block };
        let end = region.offset_bytes.checked_add(region.size_bytes);
        next = end
            .and_then(|e| e.checked_next_multiple_of(ALIGN_BYTES))
            .ok_or_else(|| "the sizes of its jobs add up to more than 2^64 bytes".to_owned())?;
        regions.push(region);
    }
    Ok(regions)
}

/// Whether fio's job file parser takes a path as it is.
pub(crate) fn writable(path: &Path) -> Result<(), String> {
    let Some(text) = path.to_str() else {
        return Err(format!(
            "fio can't be given the path {}: it isn't UTF-8; use another directory",
            path.display()
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
mod tests {
    use super::assign;
    use device::Place;
    use std::path::PathBuf;

    fn jobs(sizes: &[u64]) -> Vec<(String, u64)> {
        sizes.iter().enumerate().map(|(i, s)| (i.to_string(), *s)).collect()
    }

    #[test]
    fn each_job_has_its_own_file() {
        let r = assign(&Place::Directory(PathBuf::from("/m")), &jobs(&[5, 7])).unwrap();
        assert_eq!(r[0].path, PathBuf::from("/m/diskproof-data.0"));
        assert_eq!(r[1].path, PathBuf::from("/m/diskproof-data.1"));
        assert_eq!((r[1].offset_bytes, r[1].size_bytes), (0, 7));
    }

    #[test]
    fn each_job_has_its_own_aligned_span() {
        let r = assign(&Place::Block(PathBuf::from("/dev/x")), &jobs(&[1 << 20, 5, 4096])).unwrap();
        assert_eq!(r.iter().map(|r| r.offset_bytes).collect::<Vec<_>>(), [0, 1 << 20, 2 << 20]);
        for pair in r.windows(2) {
            assert!(pair[0].end_bytes() <= pair[1].offset_bytes);
        }
        assert!(assign(&Place::Block(PathBuf::from("/dev/x")), &jobs(&[u64::MAX])).is_err());
    }

    #[test]
    fn paths_that_a_job_file_cannot_hold_are_refused() {
        for dir in ["/a#b", "/a;b", "/$ncpus", "/a\nb"] {
            assert!(assign(&Place::Directory(PathBuf::from(dir)), &jobs(&[1])).is_err(), "{dir}");
        }
        assert!(assign(&Place::Directory(PathBuf::from("/a b:c\\d")), &jobs(&[1])).is_ok());
    }
}
