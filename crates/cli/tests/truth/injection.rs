//! Injections: what the harness does to a running trial, so that the scenario becomes true.

use super::outage::{self, Outage};
use super::site::Site;
use record::trial::TrialRecord;
use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use std::fs::{self, File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// An injection, with its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Injection {
    Nothing,
    /// Changes a limit of an emulated volume, this long after the engine's start.
    Limit {
        volume: &'static str,
        to: u64,
        after: Duration,
    },
    /// Sets another limit of an emulated volume in each round.
    LimitOfRound {
        volume: &'static str,
        limits: &'static [u64],
    },
    /// Makes this percentage of the laid-out file, from its beginning, a hole.
    Punch {
        percent: u64,
    },
    /// Makes this percentage of the first MiB of an emulated volume's backing file a hole, below its loop device.
    PunchBelow {
        volume: &'static str,
        mib: u64,
        percent: u64,
    },
    /// Makes the blocks of the file's first percentage holes of the image under an emulated volume.
    PunchUnder {
        volume: &'static str,
        percent: u64,
    },
    /// Drops all but this percentage of the file from the page cache before the measured time, by round.
    Cached {
        percent: &'static [u64],
    },
    /// Another process writes to an emulated volume's device, beyond its first MiB.
    Writer {
        volume: &'static str,
        from_mib: u64,
    },
    /// Threads read or write another file on the disk of an emulated volume's backing file, with direct I/O.
    Neighbour {
        volume: &'static str,
        threads: u64,
        writes: bool,
    },
    /// Another process uses all cores.
    Hog,
    /// Limits the engine to this many microseconds of CPU in each 50 ms.
    Quota {
        micros: u64,
    },
    /// Overwrites the backing file of an emulated volume below its loop device, up to this many MiB.
    Corrupt {
        volume: &'static str,
        mib: u64,
    },
    /// Fills the file system of the measured directory.
    Full,
    /// Makes outages: start after the engine's start and length, in milliseconds each.
    Outages {
        how: Outage,
        times: &'static [(u64, u64)],
    },
}

/// The phase of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Started,
    /// All data is written, but not yet flushed.
    LaidOut,
    Settling,
    Measuring,
    Undoing,
}

/// An active injection.
#[derive(Debug)]
pub(crate) struct Doing {
    injection: Injection,
    site: Site,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<Option<u64>, String>>>,
    /// The times of CLOCK_MONOTONIC at which it was done.
    done_ns: Vec<u64>,
    problems: Vec<String>,
    undo: Vec<Undo>,
}

#[derive(Debug)]
pub(super) enum Undo {
    Write(PathBuf, String),
    Remove(PathBuf),
    LeaveCgroup(PathBuf),
}

/// The block size of a neighbour's I/O; the next constant is the alignment for direct I/O.
const BLOCK: usize = 256 << 10;
const ALIGNED: usize = 4096;

/// The tolerance of the cached part of a file, in percent of the file: the kernel reclaims a folio of half a MiB, which is 3 % of 16 MiB,
/// only as a whole.
const MOST_OFF_PERCENT: f64 = 5.0;

/// The initial limit of emulated volumes, before injections change it.
pub(crate) const LIMIT: u64 = 500;

impl Doing {
    pub(crate) fn new(injection: Injection, site: Site) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut doing =
            Self { injection, site, stop, threads: vec![], done_ns: vec![], problems: vec![], undo: vec![] };
        doing.at(Phase::Started);
        doing
    }

    /// Does what is due in this phase. A failure is recorded and reported at the end.
    pub(crate) fn at(&mut self, phase: Phase) {
        let done = match (self.injection, phase) {
            (Injection::LimitOfRound { volume, limits }, Phase::Started) => {
                self.limit_of_round(volume, limits)
            }
            (Injection::Full, Phase::Started) => self.fill(),
            (Injection::Punch { percent }, Phase::LaidOut) => self.punch(percent),
            (Injection::Writer { volume, from_mib }, Phase::Settling) => self.write_beside(volume, from_mib),
            (Injection::Neighbour { volume, threads, writes }, Phase::Settling) => {
                self.load_beside(volume, threads, writes)
            }
            (Injection::PunchBelow { volume, mib, percent }, Phase::Settling) => {
                self.punch_below(volume, mib, percent)
            }
            (Injection::PunchUnder { volume, percent }, Phase::Settling) => self.punch_under(volume, percent),
            (Injection::Corrupt { volume, mib }, Phase::Settling) => self.corrupt(volume, mib),
            (Injection::Cached { percent }, Phase::Measuring) => self.uncache(percent),
            (Injection::Limit { volume, to, after }, Phase::Measuring) => self.limit_later(volume, to, after),
            (Injection::Hog, Phase::Measuring) => self.hog(),
            // as early as can be: what starts before the move stays outside, and diskproof looks at the cgroup that the engine starts in
            (Injection::Quota { .. } | Injection::Outages { how: Outage::Quota, .. }, Phase::Started) => {
                self.quota_group()
            }
            (Injection::Quota { micros }, Phase::Measuring) => self.quota(micros),
            (Injection::Outages { how, times }, Phase::Measuring) => self.outages(how, times),
            (_, Phase::Undoing) => {
                self.end();
                Ok(())
            }
            _ => Ok(()),
        };
        self.problems.extend(done.err());
    }

    /// Ends the injection, and returns the reasons why the scenario was not made, if any.
    pub(crate) fn finish(mut self, record: &TrialRecord) -> Vec<String> {
        self.end();
        let mut problems = std::mem::take(&mut self.problems);
        problems.extend(self.missed(record));
        problems
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok(done)) => self.done_ns.extend(done),
                Ok(Err(problem)) => self.problems.push(problem),
                Err(_) => self.problems.push("a thread panicked".to_owned()),
            }
        }
        for undo in self.undo.drain(..).rev() {
            self.problems.extend(undo.perform().err());
        }
    }

    /// Why its time was wrong for this trial, if it was.
    fn missed(&self, record: &TrialRecord) -> Option<String> {
        if self.injection == Injection::Full {
            let laid_out = record.files_before.iter().any(|f| f.written_bytes >= f.size_bytes);
            return laid_out.then(|| "the data was laid out before the file system was full".to_owned());
        }
        let window = record.engine.as_ref()?.window;
        let length = window.end_ns.saturating_sub(window.start_ns);
        let (earliest, latest) = match self.injection {
            Injection::Limit { .. } => (window.start_ns + length / 5, window.end_ns - length / 5),
            Injection::Outages { .. } => (window.start_ns, window.end_ns),
            Injection::Quota { .. } | Injection::Cached { .. } => (0, window.start_ns),
            Injection::Punch { percent } => {
                let file = record.files_before.first()?;
                let empty = (100 * file.hole_bytes).div_ceil(file.size_bytes.max(1));
                return (empty != percent)
                    .then(|| format!("{empty} % of the file are holes, not {percent} %"));
            }
            _ => return None,
        };
        let late = self.done_ns.iter().any(|at| *at < earliest || *at > latest) || self.done_ns.is_empty();
        late.then(|| format!("{:?} came at the wrong time", self.injection))
    }

    fn limit_of_round(&mut self, volume: &str, limits: &[u64]) -> Result<(), String> {
        let to = limits[self.site.round as usize % limits.len()];
        let restore = set_limit(&self.site, volume, to)?;
        self.undo.extend(restore);
        Ok(())
    }

    fn limit_later(&mut self, volume: &'static str, to: u64, after: Duration) -> Result<(), String> {
        let (site, stop) = (self.site.clone(), Arc::clone(&self.stop));
        self.undo.extend(limit_lines(&self.site, volume, LIMIT)?.into_iter().map(|(f, l)| Undo::Write(f, l)));
        self.threads.push(std::thread::spawn(move || {
            let mut begun = None;
            while begun.is_none_or(|begun: Instant| begun.elapsed() < after) {
                if begun.is_none() && !site.engine().is_empty() {
                    begun = Some(Instant::now());
                }
                if stop.load(Ordering::SeqCst) {
                    return Err("the trial ended before the limit changed".to_owned());
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            set_limit(&site, volume, to)?;
            Ok(Some(now_ns()))
        }));
        Ok(())
    }

    /// Starts a thread that makes and ends the outages.
    fn outages(&mut self, how: Outage, times: &'static [(u64, u64)]) -> Result<(), String> {
        if let Outage::Limit { volume, .. } = how {
            let lines = limit_lines(&self.site, volume, LIMIT)?;
            self.undo.extend(lines.into_iter().map(|(file, line)| Undo::Write(file, line)));
        }
        let (site, stop) = (self.site.clone(), Arc::clone(&self.stop));
        self.threads.push(std::thread::spawn(move || outage::make(how, times, &site, &stop)));
        Ok(())
    }

    /// Takes all free space at once, since the layout is about to begin.
    fn fill(&mut self) -> Result<(), String> {
        let lent = self.site.lent.clone().ok_or("nothing is lent")?;
        let path = lent.join("full");
        let mut file = File::create(&path).map_err(|e| format!("{}: {e}", path.to_string_lossy()))?;
        self.undo.push(Undo::Remove(path));
        let space = rustix::fs::statvfs(&lent).map_err(|e| e.to_string())?;
        let most = (space.f_bavail * space.f_frsize).saturating_sub(4 << 20);
        fallocate(&file, FallocateFlags::empty(), 0, most).map_err(|e| e.to_string())?;
        file.seek(SeekFrom::End(0)).map_err(|e| e.to_string())?;
        let block = vec![0xa5; 1 << 20];
        while file.write_all(&block).is_ok() {}
        Ok(())
    }

    fn punch(&mut self, percent: u64) -> Result<(), String> {
        let path = self.site.data_file()?;
        let file = OpenOptions::new()
            .write(true)
            .open(&path)
            .map_err(|e| format!("{}: {e}", path.to_string_lossy()))?;
        let size = file.metadata().map_err(|e| e.to_string())?.len();
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&file, mode, 0, size * percent / 100 / 4096 * 4096).map_err(|e| e.to_string())
    }

    fn punch_below(&self, volume: &str, mib: u64, percent: u64) -> Result<(), String> {
        let path = self.site.backing(volume)?;
        let file = OpenOptions::new().write(true).open(&path);
        let file = file.map_err(|e| format!("{}: {e}", path.to_string_lossy()))?;
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&file, mode, 0, (mib << 20) * percent / 100 / 4096 * 4096).map_err(|e| e.to_string())
    }

    /// Makes holes below the file system, which doesn't notice them.
    fn punch_under(&self, volume: &str, percent: u64) -> Result<(), String> {
        let backing = self.site.backing(volume)?;
        let file = OpenOptions::new().write(true).open(&backing);
        let file = file.map_err(|e| format!("{}: {e}", backing.to_string_lossy()))?;
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let extents = self.site.extents()?;
        let size: u64 = extents.iter().map(|(_, bytes)| bytes).sum();
        let mut left = size * percent / 100 / 4096 * 4096;
        for (start, bytes) in extents {
            let bytes = bytes.min(left);
            if bytes > 0 {
                fallocate(&file, mode, start, bytes).map_err(|e| e.to_string())?;
            }
            left -= bytes;
        }
        Ok(())
    }

    fn uncache(&mut self, percent: &[u64]) -> Result<(), String> {
        let path = self.site.data_file()?;
        let file = File::open(&path).map_err(|e| format!("{}: {e}", path.to_string_lossy()))?;
        let size = file.metadata().map_err(|e| e.to_string())?.len();
        let percent = percent[self.site.round as usize % percent.len()];
        fadvise(&file, size / 100 * percent, None, Advice::DontNeed).map_err(|e| e.to_string())?;
        let resident = 100.0 * self.site.resident()?;
        if (resident - percent as f64).abs() > MOST_OFF_PERCENT {
            return Err(format!(
                "memory holds {resident:.1} % of the file, not {percent} % (± {MOST_OFF_PERCENT})"
            ));
        }
        self.done_ns.push(now_ns());
        Ok(())
    }

    /// Opens the device before the agent process checks for other users, and writes from then on.
    fn write_beside(&mut self, volume: &str, from_mib: u64) -> Result<(), String> {
        let (device, _) = self.site.device(volume)?;
        let file = OpenOptions::new().write(true).open(&device).map_err(|e| e.to_string())?;
        let stop = Arc::clone(&self.stop);
        self.threads.push(std::thread::spawn(move || {
            let block = vec![0x5a; 256 << 10];
            while !stop.load(Ordering::SeqCst) {
                file.write_all_at(&block, from_mib << 20).map_err(|e| e.to_string())?;
                file.sync_data().map_err(|e| e.to_string())?;
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(None)
        }));
        Ok(())
    }

    /// Starts the neighbour's threads; each has its own part of the file and moves 256 KiB at a time.
    fn load_beside(&mut self, volume: &str, threads: u64, writes: bool) -> Result<(), String> {
        const EACH: u64 = 4 << 20;
        let path = self.site.backing(volume)?.with_extension("neighbour");
        fs::write(&path, vec![0x5a; usize::try_from(threads * EACH).map_err(|e| e.to_string())?])
            .map_err(|e| format!("{}: {e}", path.to_string_lossy()))?;
        self.undo.push(Undo::Remove(path.clone()));
        let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).map_err(|e| e.to_string())?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(direct)
            .open(&path)
            .map_err(|e| e.to_string())?;
        file.sync_all().map_err(|e| e.to_string())?;
        let file = Arc::new(file);
        for thread in 0..threads {
            let (file, stop) = (Arc::clone(&file), Arc::clone(&self.stop));
            self.threads.push(std::thread::spawn(move || {
                let mut memory = vec![0xa5_u8; BLOCK + ALIGNED];
                let start = memory.as_ptr().align_offset(ALIGNED);
                let block = &mut memory[start..start + BLOCK];
                let steps = EACH / BLOCK as u64;
                let mut step = 0;
                while !stop.load(Ordering::SeqCst) {
                    let at = thread * EACH + step % steps * BLOCK as u64;
                    let done =
                        if writes { file.write_all_at(block, at) } else { file.read_exact_at(block, at) };
                    done.map_err(|e| format!("beside the volume: {e}"))?;
                    step += 1;
                }
                Ok(None)
            }));
        }
        Ok(())
    }

    fn hog(&mut self) -> Result<(), String> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        for _ in 0..cores {
            let stop = Arc::clone(&self.stop);
            self.threads.push(std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                Ok(None)
            }));
        }
        Ok(())
    }

    /// Creates a cgroup and moves the agent process there before it starts the engine, so that the engine starts in it.
    fn quota_group(&mut self) -> Result<(), String> {
        let group = cpu_cgroup()?.join(outage::QUOTA_GROUP);
        let _ = fs::create_dir(&group);
        self.undo.push(Undo::LeaveCgroup(group.clone()));
        write(&group.join("cgroup.procs"), &self.site.node.to_string())
    }

    /// Moves the agent process out once the engine has started, and sets the quota.
    fn quota(&mut self, micros: u64) -> Result<(), String> {
        let group = cpu_cgroup()?.join(outage::QUOTA_GROUP);
        let (site, stop) = (self.site.clone(), Arc::clone(&self.stop));
        self.threads.push(std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                if !site.engine().is_empty() {
                    outage::only_engine_in_quota_group(&site)?;
                    write(&group.join("cpu.cfs_period_us"), "50000")?;
                    write(&group.join("cpu.cfs_quota_us"), &micros.to_string())?;
                    return Ok(Some(now_ns()));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            Err("the engine was never there".to_owned())
        }));
        Ok(())
    }

    fn corrupt(&mut self, volume: &str, mib: u64) -> Result<(), String> {
        let path = self.site.backing(volume)?;
        let file = OpenOptions::new()
            .write(true)
            .custom_flags(i32::try_from(rustix::fs::OFlags::DSYNC.bits()).unwrap_or(0))
            .open(&path)
            .map_err(|e| format!("{}: {e}", path.to_string_lossy()))?;
        let block = vec![0xee; 1 << 20];
        (0..mib).try_for_each(|i| file.write_all_at(&block, i << 20)).map_err(|e| e.to_string())
    }
}

impl Undo {
    fn perform(&self) -> Result<(), String> {
        match self {
            Self::Write(file, line) => write(file, line),
            Self::Remove(file) => {
                fs::remove_file(file).map_err(|e| format!("{}: {e}", file.to_string_lossy()))
            }
            Self::LeaveCgroup(group) => {
                let parent = group.parent().unwrap_or(Path::new("/")).join("cgroup.procs");
                for pid in fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default().lines() {
                    let _ = fs::write(&parent, pid);
                }
                fs::remove_dir(group).map_err(|e| format!("{}: {e}", group.to_string_lossy()))
            }
        }
    }
}

pub(super) fn write(file: &Path, line: &str) -> Result<(), String> {
    fs::write(file, line).map_err(|e| format!("{}: {e}", file.to_string_lossy()))
}

/// The files and lines to write for a limit of a volume's I/Os.
pub(super) fn limit_lines(site: &Site, volume: &str, iops: u64) -> Result<Vec<(PathBuf, String)>, String> {
    let (_, devno) = site.device(volume)?;
    let (group, v1) = site.cgroup()?;
    Ok(if v1 {
        ["read", "write"]
            .map(|way| (group.join(format!("blkio.throttle.{way}_iops_device")), format!("{devno} {iops}")))
            .to_vec()
    } else {
        vec![(group.join("io.max"), format!("{devno} riops={iops} wiops={iops}"))]
    })
}

/// Limits a volume's I/Os from now on, and returns the undo.
pub(super) fn set_limit(site: &Site, volume: &str, iops: u64) -> Result<Vec<Undo>, String> {
    limit_lines(site, volume, iops)?.iter().try_for_each(|(file, line)| write(file, line))?;
    Ok(limit_lines(site, volume, LIMIT)?.into_iter().map(|(f, l)| Undo::Write(f, l)).collect())
}

/// The mount point of the CPU controller of cgroup v1.
pub(super) fn cpu_cgroup() -> Result<PathBuf, String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|e| e.to_string())?;
    let is_cpu = |line: &&str| {
        line.contains(" - cgroup ")
            && line.rsplit(' ').next().is_some_and(|o| o.split(',').any(|w| w == "cpu"))
    };
    let target = mounts.lines().find(is_cpu).and_then(|line| line.split(' ').nth(4));
    target
        .map(PathBuf::from)
        .ok_or_else(|| "no cgroup controller for the CPU (version 1) is mounted".to_owned())
}

/// CLOCK_MONOTONIC in nanoseconds, which is also the clock of windows in records.
pub(crate) fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
