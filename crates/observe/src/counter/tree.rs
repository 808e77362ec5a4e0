//! The engine's processes, summed: the one that was started, its children and theirs.
//!
//! A process that ends hands its counters to the parent that waits for it (cutime and cstime in stat; the kernel adds
//! its I/O to the parent's io as well), so a sum over the living counts everything once. Two things can spoil that, and
//! are dealt with: a child that ends between the reading of its parent and its own (all are read again), and a process
//! whose parent isn't in the tree, such as the first one (what was last seen of it is kept).

use crate::counter::process::{self, Io, Ticks};
use crate::error::ReadError;
use crate::kernel_file::{KernelFile, Shape};
use crate::text::{fields, number, required};
use record::counter::ProcessCounters;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How often one sample reads the tree again because a process ended meanwhile.
const PASSES: u32 = 4;

/// A process and all that descends from it.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    proc: PathBuf,
    /// Parents before their children.
    living: Vec<Process>,
    /// What ended without handing its counters to a parent in the tree.
    ended: Counted,
    busiest_thread_ticks: u64,
    /// Whether every io file could be read so far.
    io_complete: bool,
    /// Where the kernel doesn't list children: processes that are known not to be ours.
    foreign: BTreeSet<u32>,
}

#[derive(Debug)]
struct Process {
    pid: u32,
    parent: Option<u32>,
    stat: KernelFile,
    io: Option<KernelFile>,
    threads: u32,
    stopped: bool,
    last: Counted,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    ticks: Ticks,
    io: Io,
}

impl ProcessTree {
    /// Begins with one process; it may be gone already.
    pub(crate) fn new(proc: &Path, root: u32) -> Result<Self, ReadError> {
        let mut tree = Self {
            proc: proc.to_owned(),
            living: Vec::new(),
            ended: Counted::default(),
            busiest_thread_ticks: 0,
            io_complete: true,
            foreign: BTreeSet::new(),
        };
        tree.admit(root, None)?;
        Ok(tree)
    }

    /// Everything counted up to now.
    pub(crate) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<ProcessCounters, ReadError> {
        for _ in 0..PASSES {
            let ended = self.pass(buffer)?;
            if !ended {
                break;
            }
        }
        let mut sum = self.ended;
        let mut tasks = 0;
        for process in &self.living {
            sum.ticks += process.last.ticks;
            sum.io += process.last.io;
            tasks += process.threads;
        }
        let io = self.io_complete.then_some(sum.io);
        Ok(ProcessCounters {
            tasks,
            user_ticks: sum.ticks.user,
            system_ticks: sum.ticks.system,
            busiest_thread_ticks: Some(self.busiest_thread_ticks),
            read_chars: io.map(|io| io.read_chars),
            write_chars: io.map(|io| io.write_chars),
            read_bytes: io.map(|io| io.read_bytes),
            write_bytes: io.map(|io| io.write_bytes),
        })
    }

    /// Those of its processes that were stopped when they were read last.
    pub(crate) fn stopped(&self) -> Vec<u32> {
        self.living.iter().filter(|process| process.stopped).map(|process| process.pid).collect()
    }

    /// Those of its processes that the freezer of a cgroup holds now. The kernel shows such a process asleep (v2) or in an
    /// uninterruptible wait (v1), as it shows one that waits for a disk; only the place where it waits tells them apart. Where the
    /// kernel doesn't show that place, none is told.
    pub(crate) fn frozen(&self) -> Vec<u32> {
        self.living.iter().map(|process| process.pid).filter(|pid| is_frozen(&self.proc, *pid)).collect()
    }

    /// Reads every process, finds new children, lets go of the ended. Says whether any had ended.
    fn pass(&mut self, buffer: &mut Vec<u8>) -> Result<bool, ReadError> {
        let mut gone = BTreeSet::new();
        let mut index = 0;
        // `living` grows while its new children are found behind their parents.
        while let Some(process) = self.living.get_mut(index) {
            index += 1;
            let pid = process.pid;
            match process.read(buffer)? {
                Some(read) => {
                    self.io_complete &= read.io;
                    self.busiest_thread_ticks = self.busiest_thread_ticks.max(read.single_thread_ticks);
                    let threads = process.threads;
                    if threads > 1 {
                        let busiest = busiest_thread(&self.proc, pid)?;
                        self.busiest_thread_ticks = self.busiest_thread_ticks.max(busiest);
                    }
                    for child in self.children(pid, threads)? {
                        self.admit(child, Some(pid))?;
                    }
                }
                None => {
                    gone.insert(pid);
                }
            }
        }
        self.let_go(&gone);
        Ok(!gone.is_empty())
    }

    fn let_go(&mut self, gone: &BTreeSet<u32>) {
        if gone.is_empty() {
            return;
        }
        let handed_on: BTreeSet<u32> =
            self.living.iter().map(|process| process.pid).filter(|pid| !gone.contains(pid)).collect();
        for process in self.living.extract_if(.., |process| gone.contains(&process.pid)) {
            if !process.parent.is_some_and(|parent| handed_on.contains(&parent)) {
                self.ended.ticks += process.last.ticks;
                self.ended.io += process.last.io;
            }
        }
    }

    fn admit(&mut self, pid: u32, parent: Option<u32>) -> Result<(), ReadError> {
        if self.living.iter().any(|process| process.pid == pid) {
            return Ok(());
        }
        let directory = self.proc.join(pid.to_string());
        let Some(stat) = KernelFile::open(directory.join("stat"), Shape::OneRecord)? else { return Ok(()) };
        // Another user's io can't be opened or read: then the tree's I/O is unknown, not an error.
        let io = KernelFile::open(directory.join("io"), Shape::OneRecord).unwrap_or(None);
        self.living.push(Process {
            pid,
            parent,
            stat,
            io,
            threads: 0,
            stopped: false,
            last: Counted::default(),
        });
        Ok(())
    }

    /// Children as the kernel lists them per thread (CONFIG_PROC_CHILDREN), else found by their parent's number.
    fn children(&mut self, pid: u32, threads: u32) -> Result<Vec<u32>, ReadError> {
        let tasks = self.proc.join(pid.to_string()).join("task");
        let first = tasks.join(pid.to_string());
        let Some(text) = required(&first.join("children"))? else {
            // Either it has ended meanwhile, or this kernel keeps no such lists.
            return if first.exists() { self.children_by_parent(pid) } else { Ok(Vec::new()) };
        };
        let mut found = numbers(&text);
        if threads > 1 {
            for thread in numbered(&tasks).into_iter().filter(|&thread| thread != pid) {
                let listed = required(&tasks.join(thread.to_string()).join("children"))?;
                found.extend(listed.map(|text| numbers(&text)).unwrap_or_default());
            }
        }
        Ok(found)
    }

    fn children_by_parent(&mut self, pid: u32) -> Result<Vec<u32>, ReadError> {
        let listed: BTreeSet<u32> = numbered(&self.proc).into_iter().collect();
        self.foreign.retain(|known| listed.contains(known));
        let mut kin: BTreeSet<u32> = self.living.iter().map(|process| process.pid).collect();
        let mut parents = Vec::new();
        for candidate in listed.into_iter().filter(|pid| !kin.contains(pid) && !self.foreign.contains(pid)) {
            let path = self.proc.join(candidate.to_string()).join("stat");
            if let Some(text) = required(&path)? {
                parents.push((candidate, process::stat(&path, &text)?.parent));
            }
        }
        // Who descends from us, however far, is met again when its parent is read; only the rest is foreign for good.
        loop {
            let known = kin.len();
            kin.extend(
                parents
                    .iter()
                    .filter(|(_, parent)| kin.contains(parent))
                    .map(|(pid, _)| *pid)
                    .collect::<Vec<_>>(),
            );
            if kin.len() == known {
                break;
            }
        }
        self.foreign.extend(parents.iter().map(|(pid, _)| *pid).filter(|pid| !kin.contains(pid)));
        Ok(parents.into_iter().filter(|(_, parent)| *parent == pid).map(|(pid, _)| pid).collect())
    }
}

/// What one reading of one process gave beside its counters.
struct Reading {
    io: bool,
    single_thread_ticks: u64,
}

impl Process {
    /// `None` when it has ended and been waited for.
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Option<Reading>, ReadError> {
        let Some(text) = self.stat.read(buffer)? else { return Ok(None) };
        let stat = process::stat(self.stat.path(), text)?;
        self.threads = stat.threads;
        self.stopped = stat.stopped;
        let mut ticks = stat.own;
        ticks += stat.waited;
        let single_thread_ticks = if stat.threads <= 1 { stat.own.sum() } else { 0 };
        let io = match self.io.as_ref().map(|file| (file.path(), file.read(buffer))) {
            // Permission is checked at reading; without it the sum is unknown.
            None | Some((_, Err(_))) => None,
            Some((path, Ok(Some(text)))) => Some(process::io(path, text)?),
            // It ended after stat was read; the next pass sees that.
            Some((_, Ok(None))) => Some(self.last.io),
        };
        self.last = Counted { ticks, io: io.unwrap_or(self.last.io) };
        Ok(Some(Reading { io: io.is_some(), single_thread_ticks }))
    }
}

/// Where the kernel keeps what a freezer holds: `__refrigerator` of v1, `do_freezer_trap` of v2 (kernel/freezer.c, kernel/signal.c).
const FREEZERS: [&[u8]; 2] = [b"__refrigerator", b"do_freezer_trap"];

fn is_frozen(proc: &Path, pid: u32) -> bool {
    let place = fs::read(proc.join(pid.to_string()).join("wchan"));
    place.is_ok_and(|place| FREEZERS.contains(&place.trim_ascii()))
}

/// CPU ticks of the busiest living thread of a process.
fn busiest_thread(proc: &Path, pid: u32) -> Result<u64, ReadError> {
    let tasks = proc.join(pid.to_string()).join("task");
    let mut busiest = 0;
    for thread in numbered(&tasks) {
        let path = tasks.join(thread.to_string()).join("stat");
        if let Some(text) = required(&path)? {
            busiest = busiest.max(process::stat(&path, &text)?.own.sum());
        }
    }
    Ok(busiest)
}

/// Entries of a directory that are numbers: processes or threads.
pub(crate) fn numbered(directory: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn numbers(text: &[u8]) -> Vec<u32> {
    fields(text).filter_map(|field| number(field)?.try_into().ok()).collect()
}

#[cfg(test)]
mod tests;
