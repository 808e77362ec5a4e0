//! Lays data out before a trial: written in order, with the declared compressibility, and flushed.
//!
//! Files are written through the page cache, like those of most programs: direct writes would bypass btrfs's compression. Block
//! devices are written directly.

use super::buffer::Generator;
use super::buffers::{BufferError, Buffers};
use super::jobs::{Member, files};
use super::proof::{Original, Spot, Stamper};
use super::sizes::Sizes;
use crate::contract::Job;
use crate::data::{UNIT_BYTES, check_device, check_in_place, clear, create, io_error, whole_blocks};
use crate::error::EngineError;
use crate::regions::Region;
use device::Place;
use record::workload::{Layout, Options};
use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// The bytes per write.
const PIECE_BYTES: usize = 1 << 20;

/// Makes the layout's data different from what the trial writes.
const LAYOUT_SEED: u64 = 0x6c61_796f_7574;

/// Lays the data out and returns the files, or the device. `proof` is the trial's number in blocks under `verify`.
pub(crate) fn prepare(
    job: &Job<'_>,
    members: &[Member<'_>],
    proof: Option<u64>,
) -> Result<Vec<PathBuf>, EngineError> {
    if let Place::Directory(directory) = job.ground.place() {
        clear(directory)?;
    }
    let files = files(members);
    let regions: Vec<Region> = files.iter().map(|(region, _)| region.clone()).collect();
    let block = regions.first().is_some_and(|r| r.block);
    check_device(&regions)?;
    if !block {
        create(&regions, job.workload.layout)?;
    }
    // A block device has no holes: blocks that aren't written keep their earlier content.
    if block || job.workload.layout == Layout::Written {
        let total = regions.iter().map(|r| whole_blocks(r.laid_out_bytes(), UNIT_BYTES)).sum();
        let mut progress = Progress { job, done: 0, total };
        for ((region, options), number) in files.iter().zip(0..) {
            let proof = proof.filter(|_| options.verify.is_some());
            let stamper = proof.map(|trial| Stamper::new(trial, options.buffer_compress_percentage));
            let spot = Spot { file: number, offset_bytes: region.offset_bytes };
            let original = stamper
                .as_ref()
                .map(|stamper| Original::new(stamper, spot, region.size_bytes, unit_bytes(options)));
            write(&mut progress, options, region, number.into(), original)?;
        }
    }
    check_in_place(&regions)?;
    let mut paths: Vec<_> = regions.into_iter().map(|r| r.path).collect();
    paths.dedup();
    (job.progress)(1.0);
    Ok(paths)
}

/// The unit of `verify` in bytes.
fn unit_bytes(options: &Options) -> u64 {
    Sizes::new(options).map_or(options.bs_bytes, |sizes| sizes.smallest())
}

struct Progress<'a> {
    job: &'a Job<'a>,
    done: u64,
    total: u64,
}

impl Progress<'_> {
    #[expect(clippy::cast_precision_loss, reason = "a share for a progress display")]
    fn add(&mut self, bytes: u64) -> Result<(), EngineError> {
        if self.job.cancel.load(Ordering::SeqCst) {
            return Err(EngineError::Cancelled);
        }
        self.done += bytes;
        (self.job.progress)((self.done as f64 / self.total.max(1) as f64).min(0.999));
        Ok(())
    }
}

fn write(
    progress: &mut Progress<'_>,
    options: &Options,
    region: &Region,
    stream: u64,
    mut original: Option<Original<'_>>,
) -> Result<(), EngineError> {
    let path = &region.path;
    let flags = if region.block { OFlags::DIRECT } else { OFlags::empty() } | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file =
        OpenOptions::new().write(true).custom_flags(flags).open(path).map_err(io_error("open", path))?;
    let (compress, dedupe) = (options.buffer_compress_percentage, options.dedupe_percentage);
    let mut generator = Generator::new(progress.job.seed ^ LAYOUT_SEED, stream, compress, dedupe);
    // Duplicates are whole blocks of the workload's size.
    let unit = usize::try_from(options.bs_bytes).unwrap_or(PIECE_BYTES).clamp(1, PIECE_BYTES);
    let refused = |error: BufferError| EngineError::Refused {
        workload: progress.job.workload.name.clone(),
        reason: error.to_string(),
    };
    let mut buffer = Buffers::new(1, PIECE_BYTES).map_err(refused)?;
    let mut offset = region.begin_bytes();
    let end = offset.saturating_add(whole_blocks(region.laid_out_bytes(), UNIT_BYTES));
    while offset < end {
        let length = usize::try_from(end - offset).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let piece = buffer.block(0, u32::try_from(length).unwrap_or(0));
        piece.chunks_mut(unit).for_each(|block| generator.fill(block));
        if let Some(original) = &mut original {
            original.fill(offset, piece);
        }
        file.write_all_at(piece, offset).map_err(io_error("write", path))?;
        offset += length as u64;
        progress.add(length as u64)?;
    }
    file.sync_all().map_err(io_error("flush", path))
}
