//! How much data `quick` uses: more than the memory of this machine, where time and free space allow that.

use crate::exit::Failure;
use record::quantity::{Bytes, Seconds};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The least data per trial, in bytes, unless there is little free space.
pub(super) const LEAST_BYTES: u64 = 256 << 20;
/// With less data, a figure says more about the device's cache than about the device.
pub(super) const MIN_SIZE_BYTES: u64 = 16 << 20;
/// At most one part in this many of the free space is used.
pub(super) const SHARE_OF_FREE: u64 = 4;
/// Data of this many times the memory can't be kept in it to any useful part.
const TIMES_MEMORY: u64 = 2;
/// Writing the data before a trial may take this part of the trial's measured time: with six workloads, three rounds and three seconds 18 s.
const SHARE_OF_TRIAL: f64 = 1.0 / 3.0;
/// The rate of writing is measured for this long, or with this much data.
const PROBE: Duration = Duration::from_millis(500);
const PROBE_BYTES: u64 = 512 << 20;
/// A write of the probe, in bytes, and the alignment that direct I/O needs at most.
const BLOCK: usize = 1 << 20;
const ALIGN: usize = 4096;

/// What limits the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Room {
    /// The free space, in bytes.
    pub(super) free: u64,
    /// The memory of this machine, in bytes, if known.
    pub(super) memory: Option<u64>,
    /// The rate of writing, in bytes per second, if it could be measured.
    pub(super) rate: Option<f64>,
    /// The measured time of a trial, in seconds.
    pub(super) trial_seconds: f64,
}

impl Room {
    /// The data per trial, in bytes; whole MiB, so that every block size divides it.
    ///
    /// # Errors
    /// There is too little free space.
    pub(super) fn size(&self) -> Result<u64, Failure> {
        let beyond = self.memory.map_or(LEAST_BYTES, |memory| memory.saturating_mul(TIMES_MEMORY));
        let in_time = self.rate.map_or(0, |rate| whole(rate * self.trial_seconds * SHARE_OF_TRIAL));
        // a power of two, so that two runs on the same storage use the same data and can be compared
        let in_time = in_time.checked_ilog2().map_or(0, |power| 1 << power);
        of_free(self.free, beyond.min(in_time).max(LEAST_BYTES))
    }

    /// Why the data are no larger, if they fit into the memory.
    pub(super) fn why_no_larger(&self, size: u64, trials: usize) -> Option<String> {
        let memory = self.memory.filter(|memory| size <= *memory)?;
        let (data, more) = (Bytes(size), Bytes(memory));
        let is_space = self.free / SHARE_OF_FREE <= size + (1 << 20);
        Some(match self.rate {
            _ if is_space => format!(
                "each trial uses {data} of data, a quarter of the {} that are free; this machine has {more} of memory",
                Bytes(self.free)
            ),
            None => {
                format!("each trial uses {data} of data; this machine has {more} of memory (--size chooses)")
            }
            #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
            Some(rate) => format!(
                "each trial uses {data} of data: to write more than the {more} of memory before each of {trials} trials would take \
                 {} each time at the measured {} (--size chooses)",
                Seconds(memory as f64 / rate),
                report::single(rate, "B/s")
            ),
        })
    }
}

/// The wanted size or a part of the free space, in whole MiB.
///
/// # Errors
/// There is too little free space.
pub(super) fn of_free(free: u64, wanted: u64) -> Result<u64, Failure> {
    let size = (free / SHARE_OF_FREE).min(wanted) >> 20 << 20;
    if size < MIN_SIZE_BYTES {
        return Err(Failure::machine(format!(
            "only {} are free here; {} are needed, since quick uses a quarter of the free space",
            Bytes(free),
            Bytes(MIN_SIZE_BYTES * SHARE_OF_FREE)
        )));
    }
    Ok(size)
}

/// Measures the rate of writing in a directory, in bytes per second, with an unnamed file that is gone afterwards. `None` if it can't be
/// measured.
pub(super) fn write_rate(dir: &Path, direct: bool, free: u64) -> Option<f64> {
    let file = open(dir, if direct { OFlags::DIRECT } else { OFlags::empty() }).ok()?;
    let most = PROBE_BYTES.min(free / SHARE_OF_FREE / 2);
    let mut memory = vec![0_u8; BLOCK + ALIGN];
    let from = memory.as_ptr().align_offset(ALIGN);
    let block = memory.get_mut(from..from + BLOCK)?;
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    let (begun, mut written) = (Instant::now(), 0_u64);
    while written < most && begun.elapsed() < PROBE {
        word = fill(block, word);
        written += rustix::io::pwrite(&file, block, written).ok()? as u64;
    }
    rustix::fs::fdatasync(&file).ok()?;
    let seconds = begun.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate needs two good digits")]
    let rate = written as f64 / seconds;
    (written > 0 && rate.is_finite()).then_some(rate)
}

/// Opens a new file without a name in the directory; where the file system has no such files, one that loses its name at once.
fn open(dir: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let (how, mode) = (OFlags::RDWR | OFlags::CLOEXEC | flags, Mode::RUSR | Mode::WUSR);
    match rustix::fs::open(dir, OFlags::TMPFILE | how, mode) {
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => {
            let path = dir.join(format!("diskproof-rate-{}", std::process::id()));
            let opened = rustix::fs::open(&path, OFlags::CREATE | OFlags::EXCL | how, mode);
            // The file may exist although opening it with these flags failed; somebody else's is not removed.
            if !matches!(opened, Err(Errno::EXIST)) {
                let _ = fs::remove_file(&path);
            }
            opened
        }
        other => other,
    }
}

/// Fills a block with numbers that don't compress (xorshift), and returns the last one.
fn fill(block: &mut [u8], mut word: u64) -> u64 {
    for part in block.chunks_exact_mut(8) {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        part.copy_from_slice(&word.to_ne_bytes());
    }
    word
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates; a size needs two good digits"
)]
fn whole(bytes: f64) -> u64 {
    bytes as u64
}

#[cfg(test)]
mod tests {
    use super::{LEAST_BYTES, MIN_SIZE_BYTES, Room, fill, of_free, open, write_rate};
    use rustix::fs::OFlags;

    const GIB: u64 = 1 << 30;
    const ROOM: Room = Room { free: 1 << 40, memory: Some(GIB), rate: Some(3e9), trial_seconds: 3.0 };

    #[test]
    fn data_exceed_the_memory_where_a_third_of_the_trial_suffices_to_write_them() {
        assert_eq!(ROOM.size().unwrap(), 2 * GIB);
        assert_eq!(ROOM.why_no_larger(2 * GIB, 18), None);
        let slow = Room { memory: Some(24 * GIB), rate: Some(620e6), ..ROOM };
        let size = slow.size().unwrap();
        assert_eq!(size, 512 << 20, "what is written in a second, 591 MiB, rounded to a power of two");
        assert_eq!(
            slow.why_no_larger(size, 18).unwrap(),
            "each trial uses 512 MiB of data: to write more than the 24 GiB of memory before each of 18 trials would take 42 s each \
             time at the measured 620 MB/s (--size chooses)"
        );
        let long = Room { trial_seconds: 300.0, ..slow };
        assert_eq!(long.size().unwrap(), 32 * GIB, "a long trial gives time for more");
        assert_eq!(long.why_no_larger(32 * GIB, 18), None, "more than the memory");
        let slower = Room { rate: Some(50e6), ..slow };
        assert_eq!(slower.size().unwrap(), LEAST_BYTES, "never less than before");
        let unknown = Room { rate: None, ..slow };
        assert_eq!(unknown.size().unwrap(), LEAST_BYTES);
        assert!(unknown.why_no_larger(LEAST_BYTES, 18).unwrap().contains("24 GiB of memory"));
        assert_eq!(Room { memory: None, ..ROOM }.size().unwrap(), LEAST_BYTES);
    }

    #[test]
    fn a_quarter_of_the_free_space_at_most() {
        let scarce = Room { free: 4 * GIB, ..ROOM };
        assert_eq!(scarce.size().unwrap(), GIB);
        let why = scarce.why_no_larger(GIB, 18).unwrap();
        assert!(why.contains("1 GiB of data, a quarter of the 4 GiB that are free"), "{why}");
        assert_eq!(of_free(100 << 20, u64::MAX).unwrap(), 25 << 20);
        assert_eq!(of_free(MIN_SIZE_BYTES * 4 + 12345, u64::MAX).unwrap(), MIN_SIZE_BYTES);
        let refused = of_free(MIN_SIZE_BYTES * 4 - 1, u64::MAX).unwrap_err();
        assert_eq!(
            (refused.exit.code(), refused.to_string().contains("64 MiB are needed")),
            (3, true),
            "{refused}"
        );
    }

    #[test]
    fn the_rate_is_measured_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let rate = write_rate(dir.path(), false, 64 << 20).unwrap();
        assert!(rate > 0.0, "{rate}");
        drop(open(dir.path(), OFlags::empty()).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(write_rate(std::path::Path::new("/proc"), false, 1 << 30), None);
    }

    #[test]
    fn the_blocks_differ_and_hold_no_run_of_zeros() {
        let (mut one, mut two) = (vec![0; 4096], vec![0; 4096]);
        let word = fill(&mut one, 7);
        fill(&mut two, word);
        assert_ne!(one, two);
        assert!(one.windows(16).all(|bytes| bytes.iter().any(|byte| *byte != 0)));
    }
}
