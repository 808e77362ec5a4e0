//! How the data of a job file are laid out before the trial.

use super::UserJob;
use crate::fio::ini::Section;
use crate::fio::jobfile::CONTENT;

/// Options that decide which files there are, and how long they are. All others would only change how long the layout takes, or hang it.
const FILES: &[&str] = &[
    "bs",
    "bsrange",
    "bssplit",
    "directory",
    "filename",
    "filename_format",
    "filesize",
    "nrfiles",
    "numjobs",
    "offset",
    "offset_align",
    "offset_increment",
    "refill_buffers",
    "size",
];

/// Options that decide what a reader expects in a block.
const CHECKED: &[&str] = &["verify", "verify_interval", "verify_offset", "verify_pattern"];

/// Whether a job only reads, and checks what it reads: then the layout must hold what it expects.
pub(super) fn is_checked(job: &UserJob) -> bool {
    let rw = job.effective.get("rw").unwrap_or("read");
    let reads = matches!(rw.split(':').next(), Some("read" | "randread"));
    let checks = job.effective.get("verify").is_some_and(|method| !matches!(method, "0" | "none"));
    let skipped = job.effective.get("do_verify") == Some("0");
    reads && checks && !skipped
}

/// Whether a section of the layout writes what a reader checks.
pub(super) fn is_expected(section: &Section) -> bool {
    section.get("verify").is_some()
}

/// The section that lays out a job's files. `run` is the job's own section with the places replaced.
pub(super) fn in_files(job: &UserJob, run: &Section) -> Section {
    let mut section = Section::new(format!("layout-{}", job.section.name));
    let kept = |name: &str| FILES.contains(&name) || CONTENT.contains(&name);
    section.options = run.options.iter().filter(|(name, _)| kept(name)).cloned().collect();
    section.set("rw", "write");
    section.flag("overwrite", true);
    if is_checked(job) {
        section.flag("create_only", false);
        expected(job, &mut section);
    }
    section
}

/// Writes what a reader expects, once.
pub(super) fn expected(job: &UserJob, section: &mut Section) {
    for name in CHECKED {
        if let Some(value) = job.effective.get(name) {
            section.set(name, value);
        }
    }
    if let Some(bs) = job.effective.get("bs") {
        section.set("bs", bs);
    }
    section.flag("do_verify", false);
    section.flag("verify_state_save", false);
    section.flag("stonewall", true);
    section.flag("end_fsync", true);
}
