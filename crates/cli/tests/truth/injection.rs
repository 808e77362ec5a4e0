//! What is done to a trial while it runs, so that something is true of it.

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

/// What is done, and when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Injection {
    Nothing,
    /// A limit of an emulated volume becomes another one, so long after the engine was started.
    Limit {
        volume: &'static str,
        to: u64,
        after: Duration,
    },
    /// A limit of an emulated volume that differs from round to round.
    LimitOfRound {
        volume: &'static str,
        limits: &'static [u64],
    },
    /// The first percent of the laid-out file become a hole.
    Punch {
        percent: u64,
    },
    /// The first percent of so many MiB of an emulated volume's backing file become a hole behind its device's back.
    PunchBelow {
        volume: &'static str,
        mib: u64,
        percent: u64,
    },
    /// The blocks of the file's first percent become holes of the image that an emulated volume rests on.
    PunchUnder {
        volume: &'static str,
        percent: u64,
    },
    /// All but so many percent of the file leave the page cache before measuring begins, round by round.
    Cached {
        percent: &'static [u64],
    },
    /// Somebody writes to an emulated volume's device, beyond its first MiB.
    Writer {
        volume: &'static str,
        from_mib: u64,
    },
    /// So many threads read, or write, another file beside an emulated volume's backing file, directly.
    Neighbour {
        volume: &'static str,
        threads: u64,
        writes: bool,
    },
    /// Somebody computes on all cores.
    Hog,
    /// The engine may use so many microseconds of CPU in each 50 ms.
    Quota {
        micros: u64,
    },
    /// The backing file of an emulated volume is overwritten behind its back, up to so many MiB.
    Corrupt {
        volume: &'static str,
        mib: u64,
    },
    /// The lent file system is full.
    Full,
    /// Outages, each from so many milliseconds after the engine was there, for so many.
    Outages {
        how: Outage,
        times: &'static [(u64, u64)],
    },
}

/// Where a trial stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Started,
    /// All data is written, but not yet flushed.
    LaidOut,
    Settling,
    Measuring,
    Undoing,
}

/// An injection under way.
#[derive(Debug)]
pub(crate) struct Doing {
    injection: Injection,
    site: Site,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<Option<u64>, String>>>,
    /// CLOCK_MONOTONIC of when it was done.
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

/// What a neighbour moves at a time, and how direct I/O wants it aligned.
const BLOCK: usize = 256 << 10;
const ALIGNED: usize = 4096;

/// How far off the part of a file may be that memory holds, in percent of the file: a folio of half a MiB, which is 3 % of 16 MiB, leaves memory only as a whole.
const MOST_OFF_PERCENT: f64 = 5.0;

/// What all limits of emulated volumes that injections change are at first.
pub(crate) const LIMIT: u64 = 500;

impl Doing {
    pub(crate) fn new(injection: Injection, site: Site) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut doing =
            Self { injection, site, stop, threads: vec![], done_ns: vec![], problems: vec![], undo: vec![] };
        doing.at(Phase::Started);
        doing
    }

    /// Does what is due. What can't be done is a problem, told at the end.
    pub(crate) fn at(&mut self, phase: Phase) {
        let done = match (self.injection, phase) {
            (Injection::LimitOfRound { volume, limits }, Phase::Started) => self.limit_of_round(volume, limits),
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
            (Injection::Quota { .. }, Phase::Settling) => self.quota_group(),
            (Injection::Quota { micros }, Phase::Measuring) => self.quota(micros),
            (Injection::Outages { how: Outage::Quota, .. }, Phase::Settling) => self.quota_group(),
            (Injection::Outages { how, times }, Phase::Measuring) => self.outages(how, times),
            (_, Phase::Undoing) => {
                self.end();
                Ok(())
            }
            _ => Ok(()),
        };
        self.problems.extend(done.err());
    }

    /// Ends it, and says why the truth was not made, if it wasn't.
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

    /// Whether it came at the wrong time for this trial.
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

    /// A thread of its own makes and ends them.
    fn outages(&mut self, how: Outage, times: &'static [(u64, u64)]) -> Result<(), String> {
        if let Outage::Limit { volume, .. } = how {
            let lines = limit_lines(&self.site, volume, LIMIT)?;
            self.undo.extend(lines.into_iter().map(|(file, line)| Undo::Write(file, line)));
        }
        let (site, stop) = (self.site.clone(), Arc::clone(&self.stop));
        self.threads.push(std::thread::spawn(move || outage::make(how, times, &site, &stop)));
        Ok(())
    }

    /// Takes all the space there is, at once: the layout is about to begin.
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

    /// The file system goes on believing that its file is whole.
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

    /// Opens the device before the node looks who is there, and writes from then on.
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

    /// Each thread has a part of the file to itself; 256 KiB at a time.
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

    /// A cgroup for the engine to be born into: the node is moved there before it starts one.
    fn quota_group(&mut self) -> Result<(), String> {
        let group = cpu_cgroup()?.join(outage::QUOTA_GROUP);
        let _ = fs::create_dir(&group);
        self.undo.push(Undo::LeaveCgroup(group.clone()));
        write(&group.join("cgroup.procs"), &self.site.node.to_string())
    }

    /// Once the engine is there, the node leaves and the quota is set.
    fn quota(&mut self, micros: u64) -> Result<(), String> {
        let group = cpu_cgroup()?.join(outage::QUOTA_GROUP);
        let (site, stop) = (self.site.clone(), Arc::clone(&self.stop));
        self.threads.push(std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                if !site.engine().is_empty() {
                    outage::into_quota_group(&site)?;
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

/// What to write where, so that a volume's I/Os are limited.
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

/// Limits a volume's I/Os from now on; gives what restores it.
pub(super) fn set_limit(site: &Site, volume: &str, iops: u64) -> Result<Vec<Undo>, String> {
    limit_lines(site, volume, iops)?.iter().try_for_each(|(file, line)| write(file, line))?;
    Ok(limit_lines(site, volume, LIMIT)?.into_iter().map(|(f, l)| Undo::Write(f, l)).collect())
}

/// The mount of the CPU controller of version 1.
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

/// CLOCK_MONOTONIC in nanoseconds, the clock of the windows in records.
pub(crate) fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
