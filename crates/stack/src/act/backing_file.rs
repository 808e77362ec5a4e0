//! The file behind an emulated volume: written in full, since a read of a hole wouldn't reach the disk.

use super::doing::{Doing, Reversible, Undoing, Undone};
use super::loop_device;
use crate::error::ActError;
use crate::fill::Noise;
use crate::machine::Fill;
use crate::names;
use crate::sync::sync_dir;
use record::printable::Shown as _;
use record::quantity::Bytes;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Bytes written between two checks of the cancel flag: 20 ms on a disk of 50 MB/s.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks between two syncs where O_DIRECT isn't available: few enough dirty pages that a cancel still takes effect soon.
const SYNC_EVERY_CHUNKS: usize = 8;
/// Alignment of memory and sizes for O_DIRECT.
pub(crate) const ALIGN_BYTES: usize = 4096;

/// Creates a file in the volumes' directory and fills it with incompressible data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteBackingFile {
    /// The file's path; its name carries our prefix.
    pub path: PathBuf,
    /// Its size; a multiple of 4096.
    pub size_bytes: u64,
    /// The seed of the data.
    pub seed: u64,
}

impl fmt::Display for WriteBackingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write {} of {}", self.path.shown(), Bytes(self.size_bytes))
    }
}

impl Reversible for WriteBackingFile {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(&self.path).map_err(ActError::io("make", &self.path))?;
        match fallocate(&file, FallocateFlags::empty(), 0, self.size_bytes) {
            // Not supported here: writing reserves the space.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(error) => return Err(self.explain(error.into(), "reserve space for")),
        }
        if doing.machine.hooks.fill() == Fill::Random {
            self.fill(&file, doing)?;
        }
        file.sync_all().map_err(|error| self.explain(error, "write"))?;
        sync_dir(self.dir()).map_err(ActError::io("sync", self.dir()))
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let what = self.path.shown().to_string();
        if !names::is_ours_in(undoing.machine, &self.path, &undoing.machine.volumes_dir()) {
            let saw =
                "it is not in diskproof's directory, or doesn't have one of diskproof's names".to_owned();
            return Err(ActError::NotOurs { what, saw });
        }
        match std::fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Undone::Nothing),
            Err(error) => return Err(ActError::io("look at", &self.path)(error)),
            Ok(about) if !about.is_file() => {
                return Err(ActError::NotOurs { what, saw: "it is not a regular file".to_owned() });
            }
            Ok(_) => {}
        }
        if let Some(device) = loop_device::over(&undoing.machine.roots.sys, &self.path).first() {
            return Err(ActError::Busy { what: format!("{what} (under {device})"), holders: Vec::new() });
        }
        std::fs::remove_file(&self.path).map_err(ActError::io("remove", &self.path))?;
        sync_dir(self.dir()).map_err(ActError::io("sync", self.dir()))?;
        Ok(Undone::Done)
    }
}

impl WriteBackingFile {
    fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    fn fill(&self, plain: &File, doing: &mut Doing<'_>) -> Result<(), ActError> {
        // Opens the file that was created, whatever has its name by now.
        let itself = format!("/proc/self/fd/{}", plain.as_raw_fd());
        let direct = OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(itself).ok();
        let mut noise = Noise::new(self.seed);
        let mut memory = vec![0_u8; CHUNK_BYTES + ALIGN_BYTES];
        let begin = memory.as_ptr().align_offset(ALIGN_BYTES).min(ALIGN_BYTES);
        let buffer = &mut memory[begin..begin + CHUNK_BYTES];
        let mut out: &File = direct.as_ref().unwrap_or(plain);
        let mut is_direct = direct.is_some();
        let mut written = 0_u64;
        for chunk in 1_usize.. {
            let left = usize::try_from(self.size_bytes - written).unwrap_or(usize::MAX).min(CHUNK_BYTES);
            if left == 0 {
                break;
            }
            doing.check_cancel()?;
            noise.fill(&mut buffer[..left]);
            match out.write_all(&buffer[..left]) {
                // Some file systems accept O_DIRECT and then refuse the write.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput && is_direct && written == 0 => {
                    (out, is_direct) = (plain, false);
                    out.write_all(&buffer[..left]).map_err(|error| self.explain(error, "write"))?;
                }
                result => result.map_err(|error| self.explain(error, "write"))?,
            }
            if !is_direct && chunk % SYNC_EVERY_CHUNKS == 0 {
                out.sync_data().map_err(|error| self.explain(error, "write"))?;
            }
            written += left as u64;
            (doing.progress)(share(written, self.size_bytes));
        }
        Ok(())
    }

    /// Explains a full disk with figures; passes other errors on.
    fn explain(&self, error: io::Error, doing: &'static str) -> ActError {
        if error.kind() == io::ErrorKind::StorageFull {
            let free_bytes = free_bytes(self.dir()).unwrap_or(0);
            return ActError::NoSpace {
                dir: self.dir().to_owned(),
                need_bytes: self.size_bytes,
                free_bytes,
                reserve_bytes: 0,
            };
        }
        ActError::Io { doing, path: self.path.clone(), source: error }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share for a progress bar")]
fn share(done: u64, of: u64) -> f64 {
    done as f64 / of as f64
}

/// Bytes that we may use in a directory's file system.
pub(crate) fn free_bytes(dir: &Path) -> io::Result<u64> {
    let about = rustix::fs::statvfs(dir)?;
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}
