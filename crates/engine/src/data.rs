//! The data files of a trial: creates, sizes, finds and removes them.

use crate::error::EngineError;
use crate::regions::{DATA_PREFIX, Region};
use record::workload::Layout;
use rustix::fs::{FallocateFlags, fallocate, ftruncate, statvfs};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Lengths are rounded up to a multiple of this, so that direct I/O reaches the last block.
pub(crate) const UNIT_BYTES: u64 = 4096;

/// Whether a file is one of our data files, by its name.
pub(crate) fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(DATA_PREFIX))
}

/// Our data files in a directory.
pub(crate) fn data_files(directory: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(io_error("list", directory))? {
        let entry = entry.map_err(io_error("list", directory))?;
        if is_ours(&entry.path()) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Removes the files of an earlier trial, so that every trial allocates its own.
pub(crate) fn clear(directory: &Path) -> Result<(), EngineError> {
    data_files(directory)?.iter().try_for_each(|path| fs::remove_file(path).map_err(io_error("remove", path)))
}

/// Checks that all data are there: with less, fio would lay out the rest itself.
pub(crate) fn check_in_place(regions: &[Region]) -> Result<(), EngineError> {
    for region in regions.iter().filter(|r| !r.block) {
        let found_bytes = fs::metadata(&region.path).map_err(io_error("examine", &region.path))?.len();
        if found_bytes < region.end_bytes() {
            let wanted_bytes = region.end_bytes();
            return Err(EngineError::LaidOutShort { path: region.path.clone(), found_bytes, wanted_bytes });
        }
    }
    check_device(regions)
}

pub(crate) fn check_device(regions: &[Region]) -> Result<(), EngineError> {
    let last = regions.iter().filter(|r| r.block).max_by_key(|r| r.end_bytes());
    last.map_or(Ok(()), |region| check_device_size(&region.path, region.end_bytes()))
}

pub(crate) fn check_device_size(path: &Path, needed_bytes: u64) -> Result<(), EngineError> {
    let found_bytes = device_bytes(path)?;
    if needed_bytes > found_bytes {
        return Err(EngineError::TooSmall { path: path.to_owned(), found_bytes, needed_bytes });
    }
    Ok(())
}

/// The size of a block device.
pub(crate) fn device_bytes(path: &Path) -> Result<u64, EngineError> {
    let mut device = File::open(path).map_err(io_error("open", path))?;
    device.seek(SeekFrom::End(0)).map_err(io_error("seek in", path))
}

/// The free space of a directory's file system for users without privileges.
pub(crate) fn free_bytes(directory: &Path) -> Result<u64, EngineError> {
    let stat = statvfs(directory).map_err(|e| io_error("examine", directory)(e.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

pub(crate) fn create(regions: &[Region], layout: Layout) -> Result<(), EngineError> {
    for region in regions {
        let file = OpenOptions::new().write(true).create_new(true).open(&region.path);
        let file = file.map_err(io_error("create", &region.path))?;
        size(&file, &region.path, whole_blocks(region.laid_out_bytes(), UNIT_BYTES), layout)?;
    }
    Ok(())
}

/// Gives an empty file its length. Files to be written get it at the beginning too, since fio would extend them in its own way.
pub(crate) fn size(file: &File, path: &Path, length: u64, layout: Layout) -> Result<(), EngineError> {
    let sized = match layout {
        Layout::Written | Layout::Hole => ftruncate(file, length),
        Layout::Unwritten => fallocate(file, FallocateFlags::empty(), 0, length),
    };
    sized.map_err(|e| io_error("give its length to", path)(e.into()))?;
    file.sync_all().map_err(io_error("flush", path))
}

/// The bytes of a layout with whole blocks: fio leaves out an incomplete last block.
pub(crate) fn whole_blocks(size_bytes: u64, block_bytes: u64) -> u64 {
    size_bytes.checked_next_multiple_of(block_bytes.max(1)).unwrap_or(size_bytes)
}

pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EngineError + use<> {
    let path = path.to_owned();
    move |source| EngineError::Io { action, path, source }
}
