//! A kernel file that is read repeatedly.

use crate::error::ReadError;
use crate::text::is_gone;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How the kernel returns a file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One record: a read that doesn't fill the buffer returns all of it (sysfs attributes, `single_open` files).
    OneRecord,
    /// Many records: a short read may be the end of a page (/proc/vmstat), so reading continues until nothing is left.
    Records,
}

/// A file that is kept open and read from its start with pread; the kernel generates the text each time. An open file of
/// `/proc/PID` belongs to its process, so a reused process number can't be mistaken for the old process.
#[derive(Debug)]
pub(crate) struct KernelFile {
    path: PathBuf,
    file: File,
    shape: Shape,
}

impl KernelFile {
    /// Opens a file. `None` when there is no such file.
    pub(crate) fn open(path: PathBuf, shape: Shape) -> Result<Option<Self>, ReadError> {
        match File::open(&path) {
            Ok(file) => Ok(Some(Self { path, file, shape })),
            Err(error) if is_gone(&error) => Ok(None),
            Err(source) => Err(ReadError::Io { path, source }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the current text; `None` when the subject of the file is gone.
    pub(crate) fn read<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>, ReadError> {
        if buffer.is_empty() {
            buffer.resize(16 << 10, 0);
        }
        let mut filled = 0;
        loop {
            if filled == buffer.len() {
                buffer.resize(buffer.len() * 2, 0);
            }
            let offset = u64::try_from(filled).unwrap_or(u64::MAX);
            match self.file.read_at(&mut buffer[filled..], offset) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) if is_gone(&error) => return Ok(None),
                Err(source) => return Err(ReadError::Io { path: self.path.clone(), source }),
            }
            if self.shape == Shape::OneRecord && filled < buffer.len() {
                break;
            }
        }
        Ok(Some(&buffer[..filled]))
    }
}
