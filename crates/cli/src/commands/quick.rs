//! `diskproof quick [DIR]`: measures the storage under a directory, without root and without an experiment file.

mod size;

use super::experiment;
use super::session::{Session, answer};
use crate::args::Quick;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::printable::Shown as _;
use rustix::fs::{Mode, OFlags, statvfs};
use size::Room;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const EXPERIMENT: &str = include_str!("../../../../experiments/quick.yaml");

pub(crate) fn quick(args: &Quick, settings: &Settings) -> Result<Exit, Failure> {
    let dir = args.dir.canonicalize().map_err(|e| Failure::input(format!("{}: {e}", args.dir.shown())))?;
    if !dir.is_dir() {
        return Err(Failure::input(format!("{} is not a directory", dir.shown())));
    }
    let direct = takes_direct(&dir)?;
    let (size, room) = match &args.size {
        Some(size) => (size.clone(), None),
        None => {
            let room = room(&dir, direct, args.seconds)?;
            (room.size()?.to_string(), Some(room))
        }
    };
    let set = BTreeMap::from([
        ("dir".to_owned(), dir.to_string_lossy().into_owned()),
        ("size".to_owned(), size.clone()),
        ("direct".to_owned(), u8::from(direct).to_string()),
        ("trial".to_owned(), format!("{}s", args.seconds)),
        ("rounds".to_owned(), args.rounds.to_string()),
    ]);
    let mut plan = spec::parse(EXPERIMENT, "quick.yaml", &dir, &set).map_err(experiment::failure)?.plan;
    plan.seed = experiment::seed_of_the_clock();
    if !direct {
        output::aside(&format!(
            "note: {} can't be read or written past the page cache, so I/O is buffered; reads start with dropped caches",
            dir.shown()
        ));
    }
    let trials = plan.cells.len().saturating_mul(usize::try_from(args.rounds).unwrap_or(usize::MAX));
    let why = room.zip(size.parse().ok()).and_then(|(room, size)| room.why_no_larger(size, trials));
    if let Some(why) = why {
        output::aside(&format!("note: {why}"));
    }
    let run = experiment::run_id();
    answer(Session {
        run,
        plan: &plan,
        earlier: None,
        provision_anew: false,
        machines: None,
        copying: None,
        settings,
    })
}

/// What limits the data: free space, memory, and the rate of writing, which is measured.
fn room(dir: &Path, direct: bool, trial_seconds: u32) -> Result<Room, Failure> {
    let free = free_bytes(dir)?;
    // refuses too little space before anything is written
    size_for(free)?;
    let rate = size::write_rate(dir, direct, free);
    Ok(Room { free, memory: memory_bytes(), rate, trial_seconds: f64::from(trial_seconds) })
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

/// The least data per trial, in bytes; whole MiB, so that every block size divides it.
///
/// # Errors
/// There is too little free space.
pub(super) fn size_for(free_bytes: u64) -> Result<u64, Failure> {
    size::of_free(free_bytes, size::LEAST_BYTES)
}

fn memory_bytes() -> Option<u64> {
    let path = PathBuf::from("/proc/meminfo");
    let text = fs::read_to_string(path).ok()?;
    let kib = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?.trim().strip_suffix("kB")?.trim();
    Some(kib.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::{EXPERIMENT, free_bytes, takes_direct};
    use std::collections::BTreeMap;
    use std::path::Path;

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
