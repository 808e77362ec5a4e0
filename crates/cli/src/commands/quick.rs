//! `diskproof quick [DIR]`: measures the storage under a directory, without root and without an experiment file.

use super::experiment;
use super::session::{Session, answer};
use crate::args::Quick;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::printable::Shown as _;
use record::quantity::Bytes;
use rustix::fs::{Mode, OFlags, statvfs};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const EXPERIMENT: &str = include_str!("../../../../experiments/quick.yaml");
/// Data per trial, in bytes, unless there is little free space.
const SIZE_BYTES: u64 = 256 << 20;
/// With less data, a figure says more about the device's cache than about the device.
const MIN_SIZE_BYTES: u64 = 16 << 20;
/// At most one part in this many of the free space is used.
const SHARE_OF_FREE: u64 = 4;

pub(crate) fn quick(args: &Quick, settings: &Settings) -> Result<Exit, Failure> {
    let dir = args.dir.canonicalize().map_err(|e| Failure::input(format!("{}: {e}", args.dir.shown())))?;
    if !dir.is_dir() {
        return Err(Failure::input(format!("{} is not a directory", dir.shown())));
    }
    let direct = takes_direct(&dir)?;
    let size = match &args.size {
        Some(size) => size.clone(),
        None => size_for(free_bytes(&dir)?)?.to_string(),
    };
    for remark in remarks(&dir, direct, args.size.is_none().then(|| size.parse().ok()).flatten()) {
        output::aside(&format!("note: {remark}"));
    }
    let set = BTreeMap::from([
        ("dir".to_owned(), dir.to_string_lossy().into_owned()),
        ("size".to_owned(), size),
        ("direct".to_owned(), u8::from(direct).to_string()),
        ("trial".to_owned(), format!("{}s", args.seconds)),
        ("rounds".to_owned(), args.rounds.to_string()),
    ]);
    let mut plan = spec::parse(EXPERIMENT, "quick.yaml", &dir, &set).map_err(experiment::failure)?.plan;
    plan.seed = experiment::seed_of_the_clock();
    let run = experiment::run_id();
    answer(Session { run, plan: &plan, earlier: None, provision_anew: false, settings })
}

/// Whether files here can be opened with O_DIRECT; tries it with an unnamed file (O_TMPFILE).
///
/// # Errors
/// No file can be created there.
pub(super) fn takes_direct(dir: &Path) -> Result<bool, Failure> {
    let refuses =
        |e: rustix::io::Errno| Failure::machine(format!("no file can be made in {}: {e}", dir.shown()));
    let open = |flags: OFlags| -> Result<(), rustix::io::Errno> {
        match rustix::fs::open(
            dir,
            OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC | flags,
            Mode::RUSR | Mode::WUSR,
        ) {
            // Some network and FUSE file systems don't have O_TMPFILE.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR) => open_named(dir, flags),
            other => other.map(drop),
        }
    };
    open(OFlags::empty()).map_err(refuses)?;
    match open(OFlags::DIRECT) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::INVAL) => Ok(false),
        Err(error) => Err(refuses(error)),
    }
}

fn open_named(dir: &Path, flags: OFlags) -> Result<(), rustix::io::Errno> {
    let path = dir.join(format!("diskproof-probe-{}", std::process::id()));
    let create = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let opened = rustix::fs::open(&path, create | flags, Mode::RUSR | Mode::WUSR);
    // The file may exist although opening it with these flags failed.
    let _ = fs::remove_file(&path);
    opened.map(drop)
}

/// The free space of a directory's file system, in bytes.
///
/// # Errors
/// statvfs(2) fails.
pub(super) fn free_bytes(dir: &Path) -> Result<u64, Failure> {
    let stat = statvfs(dir)
        .map_err(|e| Failure::machine(format!("can't tell the free space of {}: {e}", dir.shown())))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The data per trial, in bytes; whole MiB, so that every block size divides it.
///
/// # Errors
/// There is too little free space.
pub(super) fn size_for(free_bytes: u64) -> Result<u64, Failure> {
    let size = (free_bytes / SHARE_OF_FREE).min(SIZE_BYTES) >> 20 << 20;
    if size < MIN_SIZE_BYTES {
        return Err(Failure::machine(format!(
            "only {} are free here; {} are needed, a quarter of which is used",
            Bytes(free_bytes),
            Bytes(MIN_SIZE_BYTES * SHARE_OF_FREE)
        )));
    }
    Ok(size)
}

/// What the user should know before reading the figures.
fn remarks(dir: &Path, direct: bool, size_bytes: Option<u64>) -> Vec<String> {
    let mut remarks = Vec::new();
    if !direct {
        remarks.push(format!(
            "{} can't be read or written past the page cache, so I/O is buffered; reads start with dropped caches",
            dir.shown()
        ));
    }
    if let (Some(size), Some(memory)) = (size_bytes, memory_bytes())
        && size < memory
    {
        let remark = if direct {
            format!(
                "each trial uses {} of data: a device's own cache may hold all of it (--size 8g is a harder test)",
                Bytes(size)
            )
        } else {
            format!(
                "each trial uses {} of data, which fits into the {} of memory",
                Bytes(size),
                Bytes(memory)
            )
        };
        remarks.push(remark);
    }
    remarks
}

fn memory_bytes() -> Option<u64> {
    let path = PathBuf::from("/proc/meminfo");
    let text = fs::read_to_string(path).ok()?;
    let kib = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?.trim().strip_suffix("kB")?.trim();
    Some(kib.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::{EXPERIMENT, MIN_SIZE_BYTES, SIZE_BYTES, free_bytes, size_for, takes_direct};
    use std::collections::BTreeMap;
    use std::path::Path;

    #[test]
    fn a_quarter_of_the_free_space_at_most() {
        assert_eq!(size_for(u64::MAX).unwrap(), SIZE_BYTES);
        assert_eq!(size_for(100 << 20).unwrap(), 25 << 20);
        assert_eq!(size_for((MIN_SIZE_BYTES * 4) + 12345).unwrap(), MIN_SIZE_BYTES);
        let refused = size_for(MIN_SIZE_BYTES * 4 - 1).unwrap_err();
        assert_eq!(
            (refused.exit.code(), refused.to_string().contains("64 MiB are needed")),
            (3, true),
            "{refused}"
        );
    }

    #[test]
    fn probing_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        takes_direct(dir.path()).unwrap();
        super::open_named(dir.path(), rustix::fs::OFlags::empty()).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(free_bytes(dir.path()).unwrap() > 0);
    }

    #[test]
    fn proc_takes_no_files_and_is_refused() {
        assert_eq!(takes_direct(Path::new("/proc")).unwrap_err().exit.code(), 3);
    }

    #[test]
    fn the_experiment_is_valid_and_needs_no_root() {
        let set = BTreeMap::from([("dir".to_owned(), "/tmp".to_owned())]);
        let plan = spec::parse(EXPERIMENT, "quick.yaml", Path::new("/"), &set).unwrap().plan;
        assert_eq!((plan.cells.len(), spec::forecast(&plan).needs_root), (6, false));
    }
}
