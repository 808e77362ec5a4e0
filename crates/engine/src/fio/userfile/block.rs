//! A job file on a block device: each file that the user names, or that fio would generate, becomes a span of the device.

use super::draft::Draft;
use super::{Rewritten, Sized, UserFileError, UserJob, fits, laid_out};
use crate::fio::ini::{Section, escape};
use crate::fio::jobfile;
use crate::regions::writable;
use record::job_file::On;
use std::collections::BTreeMap;
use std::path::Path;

const ALIGN_BYTES: u64 = 1 << 20;

/// The place of a job.
struct Extent {
    /// The span's key: the user's file name, or the job's name.
    key: String,
    /// The offset in the span.
    offset: u64,
    /// The length of one clone's piece.
    size: u64,
    /// The distance between clones.
    step: u64,
    /// The bytes that the span needs.
    needs: u64,
}

pub(super) fn on_device(jobs: &[Sized<'_>], device: &Path, seed: u64) -> Result<Rewritten, UserFileError> {
    writable(device)?;
    let extents =
        jobs.iter().enumerate().map(|(index, sized)| extent(index, sized)).collect::<Result<Vec<_>, _>>()?;
    let mut spans: BTreeMap<&str, u64> = BTreeMap::new();
    let mut draft = Draft::new(layout_head(seed));
    for (Sized { job, .. }, extent) in jobs.iter().zip(&extents) {
        let needs = spans.entry(&extent.key).or_default();
        *needs = (*needs).max(extent.needs);
        let shared_by = if extent.step < extent.size { job.placed.clones } else { 1 };
        draft.used(job.phase, &extent.key, shared_by);
    }
    let (starts, end) = starts(&spans)?;
    for (Sized { job, .. }, extent) in jobs.iter().zip(&extents) {
        let start = starts.get(extent.key.as_str()).copied().unwrap_or(0);
        let mut section = job.section.clone();
        section.set("filename", escape(&device.to_string_lossy()));
        section.set("offset", start + extent.offset);
        section.set("offset_increment", extent.step);
        section.set("size", extent.size);
        draft.add(section, fill(job, device, start, extent));
    }
    Ok(draft.finish(end))
}

fn extent(index: usize, Sized { job, room }: &Sized<'_>) -> Result<Extent, UserFileError> {
    fits(job, On::Device)?;
    let (size, offset, increment) = (room.size_bytes, room.offset_bytes, room.increment_bytes);
    let too_large = || UserFileError::TooLarge { section: Some(job.section.name.clone()) };
    let (key, step) = match job.placed.files.first() {
        Some(file) => (format!("file {file}"), increment),
        // In fio, clones without a file name have a file each; here each has its own piece.
        None => {
            let own = size.checked_next_multiple_of(ALIGN_BYTES).and_then(|s| s.checked_add(increment));
            (format!("job {index}"), own.ok_or_else(too_large)?)
        }
    };
    let clones = job.placed.clones;
    let last = step.checked_mul(clones - 1).and_then(|d| d.checked_add(offset)?.checked_add(size));
    Ok(Extent { key, offset, size, step, needs: last.ok_or_else(too_large)? })
}

fn starts<'a>(spans: &BTreeMap<&'a str, u64>) -> Result<(BTreeMap<&'a str, u64>, u64), UserFileError> {
    let mut starts = BTreeMap::new();
    let mut next = 0_u64;
    let mut end = 0;
    for (key, needs) in spans {
        starts.insert(*key, next);
        let too_large = || UserFileError::TooLarge { section: None };
        end = next.checked_add(*needs).ok_or_else(too_large)?;
        next = end.checked_next_multiple_of(ALIGN_BYTES).ok_or_else(too_large)?;
    }
    Ok((starts, end))
}

fn layout_head(seed: u64) -> Section {
    let mut head = Section::new("global");
    head.set("ioengine", "libaio");
    head.set("iodepth", 8);
    head.flag("direct", true);
    head.set("rw", "write");
    head.flag("randrepeat", false);
    head.set("randseed", jobfile::fio_seed(seed ^ jobfile::LAYOUT_SEED));
    head.flag("refill_buffers", true);
    head.flag("end_fsync", true);
    jobfile::nothing_laid_out_by_fio(&mut head);
    jobfile::reporting(&mut head);
    head
}

/// Lays out all pieces of one section.
fn fill(job: &UserJob, device: &Path, start: u64, extent: &Extent) -> Section {
    let mut section = Section::new(format!("layout-{}", job.section.name));
    section.flag("stonewall", true);
    section.set("filename", escape(&device.to_string_lossy()));
    section.set("offset", start + extent.offset);
    let length = extent.needs - extent.offset;
    section.set("size", length);
    let block = [1_u64 << 20, 65536, 4096]
        .into_iter()
        .find(|b| length.is_multiple_of(*b) && extent.offset.is_multiple_of(*b));
    section.set("bs", block.unwrap_or(512));
    for name in jobfile::CONTENT {
        if let Some(value) = job.effective.get(name) {
            section.set(name, value);
        }
    }
    if laid_out::is_checked(job) {
        laid_out::expected(job, &mut section);
    }
    section
}
