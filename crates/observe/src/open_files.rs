//! Finds processes that have files of the file system under test, or its devices, open: /proc/PID/fd.
//!
//! The kernel doesn't report which process's bytes went to which device. But where only the engine should be at work, an open
//! file shows that another process works there too.

use crate::counter::process;
use crate::counter::tree::numbered;
use crate::text::required;
use record::roots::Roots;
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Most open files of a process that are checked; with more, it is unknown what the process has open.
const MOST_FILES: usize = 4096;

/// Number of parents of a process that are recorded, in case the process ends before the trial does.
const MOST_PARENTS: usize = 16;

/// The places that only the engine should use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclusive {
    /// Mount point of the file system under test, if it is a directory.
    pub directory: Option<PathBuf>,
    /// Block devices that no other process should have open.
    pub devices: Vec<PathBuf>,
}

/// The properties that identify an open file.
#[derive(Debug, Default)]
struct Marks {
    /// st_dev of the files under test; several, since each btrfs subvolume has its own.
    file_systems: Vec<(u32, u32)>,
    /// The id of the mount, which also identifies subvolumes (kernel 5.8).
    mount: Option<u64>,
    devices: Vec<(u32, u32)>,
}

impl Marks {
    /// Returns the properties. `None` when one of the places can't be read: then no process can be ruled out.
    fn of(exclusive: &Exclusive) -> Option<Self> {
        let mut marks = Self::default();
        if let Some(directory) = &exclusive.directory {
            let found = look_at(directory).ok()?;
            marks.file_systems.push((found.stx_dev_major, found.stx_dev_minor));
            marks.mount = mount_of(&found);
        }
        for device in &exclusive.devices {
            let found = look_at(device).ok()?;
            marks.devices.push((found.stx_rdev_major, found.stx_rdev_minor));
        }
        Some(marks)
    }

    fn fit(&self, file: &Statx) -> bool {
        let is_device = FileType::from_raw_mode(file.stx_mode.into()) == FileType::BlockDevice;
        self.file_systems.contains(&(file.stx_dev_major, file.stx_dev_minor))
            || (self.mount.is_some() && self.mount == mount_of(file))
            || (is_device && self.devices.contains(&(file.stx_rdev_major, file.stx_rdev_minor)))
    }
}

/// Reads what the kernel has cached about a file: asking the file system's server could hang.
fn look_at(path: &Path) -> Result<Statx, Errno> {
    let flags = AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    statx(CWD, path, flags, StatxFlags::TYPE | StatxFlags::MNT_ID)
}

fn mount_of(file: &Statx) -> Option<u64> {
    StatxFlags::from_bits_retain(file.stx_mask).contains(StatxFlags::MNT_ID).then_some(file.stx_mnt_id)
}

/// Checks what processes have open, a few times per trial.
#[derive(Debug)]
pub(crate) struct Lookout {
    proc: PathBuf,
    marks: Marks,
    /// Kernel threads have no files; skipped for speed.
    skipped: BTreeSet<u32>,
    found: OpenFiles,
}

/// Results of all checks together.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    /// Processes with open files under test, and their parents at that time, nearest first.
    on_ground: BTreeMap<u32, Vec<u32>>,
    /// Processes with all files visible at every check while they existed.
    seen_through: BTreeSet<u32>,
    /// Processes with files that were not visible at least once.
    hidden: BTreeSet<u32>,
}

impl Lookout {
    /// Creates the checker. `None` when there are no exclusive places, or they can't be read.
    pub(crate) fn new(
        roots: &Roots,
        exclusive: Option<&Exclusive>,
        kernel_threads: BTreeSet<u32>,
    ) -> Option<Self> {
        let marks = Marks::of(exclusive?)?;
        Some(Self { proc: roots.proc.clone(), marks, skipped: kernel_threads, found: OpenFiles::default() })
    }

    /// Checks all processes once.
    pub(crate) fn look(&mut self) {
        for pid in numbered(&self.proc).into_iter().filter(|pid| !self.skipped.contains(pid)) {
            match self.has_open(pid) {
                Some(true) => {
                    let parents = self.parents(pid);
                    self.found.on_ground.entry(pid).or_insert(parents);
                }
                Some(false) => {
                    self.found.seen_through.insert(pid);
                }
                None => {
                    self.found.hidden.insert(pid);
                }
            }
        }
    }

    pub(crate) fn into_found(self) -> OpenFiles {
        self.found
    }

    fn has_open(&self, pid: u32) -> Option<bool> {
        let files = fs::read_dir(self.proc.join(pid.to_string()).join("fd")).ok()?;
        let mut hidden = false;
        for (count, file) in files.enumerate() {
            if count == MOST_FILES {
                return None;
            }
            match look_at(&file.ok()?.path()) {
                Ok(file) if self.marks.fit(&file) => return Some(true),
                // The file was closed meanwhile, or the process has ended.
                Ok(_) | Err(Errno::NOENT | Errno::SRCH) => {}
                // The list may be readable while the files are not: root without CAP_SYS_PTRACE.
                Err(_) => hidden = true,
            }
        }
        (!hidden).then_some(false)
    }

    fn parents(&self, pid: u32) -> Vec<u32> {
        let parent = |pid: &u32| {
            let path = self.proc.join(pid.to_string()).join("stat");
            let text = required(&path).ok()??;
            process::stat(&path, &text).ok().map(|stat| stat.parent).filter(|parent| *parent > 0)
        };
        std::iter::successors(parent(&pid), parent).take(MOST_PARENTS).collect()
    }
}

impl OpenFiles {
    /// Returns the living processes that account for open files: the process itself, or the nearest living parent of an ended
    /// one, since that parent's counters include the child's. Init never accounts for another process.
    pub(crate) fn answerable(&self, alive: impl Fn(u32) -> bool, ours: &BTreeSet<u32>) -> BTreeSet<u32> {
        let line = |(pid, parents): (&u32, &Vec<u32>)| {
            let mut line = std::iter::once(*pid).chain(parents.iter().copied());
            let first = line.find(|pid| ours.contains(pid) || alive(*pid))?;
            (first > 1 && !ours.contains(&first)).then_some(first)
        };
        self.on_ground.iter().filter_map(line).collect()
    }

    /// Whether all open files of a process were visible.
    pub(crate) fn saw_through(&self, pid: u32) -> bool {
        self.seen_through.contains(&pid) && !self.hidden.contains(&pid)
    }
}

#[cfg(test)]
mod tests {
    use super::{Exclusive, Lookout, OpenFiles};
    use record::roots::Roots;
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    /// Creates a process with one open file; its parent is always 7.
    fn process(root: &Path, pid: u32, open: &Path) {
        let directory = root.join(format!("proc/{pid}/fd"));
        fs::create_dir_all(&directory).unwrap();
        symlink(open, directory.join("3")).unwrap();
        let stat = format!("{pid} (x) S 7 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
        fs::write(root.join(format!("proc/{pid}/stat")), stat).unwrap();
    }

    #[test]
    fn files_are_told_by_their_file_system_and_unreadable_processes_stay_unknown() {
        let dir = tempfile::tempdir().unwrap();
        // The kernel's own file system differs from that of the test's files.
        process(dir.path(), 10, Path::new("/proc/self/stat"));
        process(dir.path(), 11, dir.path());
        process(dir.path(), 12, Path::new("/nowhere/at/all"));
        fs::create_dir_all(dir.path().join("proc/13")).unwrap();
        // Any error except "not found" works: here, a link to itself.
        process(dir.path(), 15, &dir.path().join("proc/15/fd/3"));
        let exclusive = Exclusive { directory: Some("/proc".into()), devices: vec![] };
        let roots = Roots::under(dir.path());
        let mut lookout = Lookout::new(&roots, Some(&exclusive), BTreeSet::new()).unwrap();
        lookout.look();
        let found = lookout.into_found();
        assert_eq!(found.on_ground, BTreeMap::from([(10, vec![7])]));
        assert_eq!(
            [10, 11, 12, 13, 14, 15].map(|pid| found.saw_through(pid)),
            [false, true, true, false, false, false]
        );
    }

    #[test]
    fn nothing_is_told_where_a_place_can_t_be_looked_at() {
        let exclusive = Exclusive { directory: None, devices: vec!["/nowhere/at/all".into()] };
        assert!(Lookout::new(&Roots::default(), Some(&exclusive), BTreeSet::new()).is_none());
        assert!(Lookout::new(&Roots::default(), None, BTreeSet::new()).is_none());
    }

    #[test]
    fn who_has_ended_is_its_living_parents_affair_but_never_inits_nor_ours() {
        let found = OpenFiles {
            on_ground: BTreeMap::from([
                (20, vec![9, 1]),
                (30, vec![31, 32, 1]),
                (40, vec![1]),
                (50, vec![51, 1]),
                (60, vec![61, 62]),
            ]),
            ..OpenFiles::default()
        };
        let alive = |pid: u32| [1, 9, 20, 32, 51, 62].contains(&pid);
        // 51 and its children belong to diskproof; 61, the engine, has ended too.
        let ours = BTreeSet::from([51, 61]);
        assert_eq!(found.answerable(alive, &ours), BTreeSet::from([20, 32]));
    }
}
