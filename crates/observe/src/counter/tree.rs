//! The sum over the engine's processes: the first one and all its descendants.
//!
//! When a process ends, its counters are added to the parent that waits for it (cutime and cstime in stat; the kernel adds its
//! I/O to the parent's io as well). So a sum over the living counts everything once. Two cases need care: if a child ends between
//! the reading of its parent and its own, all are read again; if the parent of an ended process isn't in the tree, as for the
//! first one, its last seen counters are kept.

use crate::counter::process::{self, Io, Ticks};
use crate::error::ReadError;
use crate::kernel_file::{KernelFile, Shape};
use crate::text::{fields, number, required};
use record::counter::ProcessCounters;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How often one sample may read the tree again because a process ended meanwhile.
const PASSES: u32 = 4;

/// A process and all its descendants.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    proc: PathBuf,
    /// Living processes, parents before their children.
    living: Vec<Process>,
    /// Counters of ended processes without a parent in the tree.
    ended: Counted,
    busiest_thread_ticks: u64,
    /// Whether every io file was readable so far.
    io_complete: bool,
    /// Where the kernel doesn't list children: processes that are known not to be in the tree.
    foreign: BTreeSet<u32>,
}

#[derive(Debug)]
struct Process {
    pid: u32,
    parent: Option<u32>,
    stat: KernelFile,
    io: Option<KernelFile>,
    /// Where it waits in the kernel.
    wchan: Option<KernelFile>,
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
    /// Begins with one process, which may have ended already.
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

    /// Returns the sum of all counters up to now.
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

    /// Returns the processes that were stopped at their last reading.
    pub(crate) fn stopped(&self) -> Vec<u32> {
        self.living.iter().filter(|process| process.stopped).map(|process| process.pid).collect()
    }

    /// Returns the processes that the freezer of a cgroup holds now. The kernel shows such a process as sleeping (v2) or in an
    /// uninterruptible wait (v1), like one that waits for a disk. Only the place where it waits differs. If the kernel doesn't
    /// show that place, the result is empty.
    pub(crate) fn frozen(&self, buffer: &mut Vec<u8>) -> Vec<u32> {
        let frozen = self.living.iter().filter(|process| process.is_frozen(buffer));
        frozen.map(|process| process.pid).collect()
    }

    /// Reads every process, adds new children, and removes the ended ones. Returns whether any had ended.
    fn pass(&mut self, buffer: &mut Vec<u8>) -> Result<bool, ReadError> {
        let mut gone = BTreeSet::new();
        let mut index = 0;
        // `living` grows during the loop: new children are added behind their parents.
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
        // The io file of another user can't be opened or read. Then the tree's I/O is unknown, which is not an error.
        let io = KernelFile::open(directory.join("io"), Shape::OneRecord).unwrap_or(None);
        let wchan = KernelFile::open(directory.join("wchan"), Shape::OneRecord).unwrap_or(None);
        self.living.push(Process {
            pid,
            parent,
            stat,
            io,
            wchan,
            threads: 0,
            stopped: false,
            last: Counted::default(),
        });
        Ok(())
    }

    /// Returns children from the kernel's list per thread (CONFIG_PROC_CHILDREN), or else by their parent's number.
    fn children(&mut self, pid: u32, threads: u32) -> Result<Vec<u32>, ReadError> {
        let tasks = self.proc.join(pid.to_string()).join("task");
        let first = tasks.join(pid.to_string());
        let Some(text) = required(&first.join("children"))? else {
            // Either the process has ended meanwhile, or this kernel has no such lists.
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
        // All descendants are found when their parents are read; only the rest is permanently foreign.
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

/// Results of one reading of one process, besides its counters.
struct Reading {
    io: bool,
    single_thread_ticks: u64,
}

impl Process {
    /// Reads the process. `None` when it has ended and its parent has waited for it.
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Option<Reading>, ReadError> {
        let Some(text) = self.stat.read(buffer)? else { return Ok(None) };
        let stat = process::stat(self.stat.path(), text)?;
        self.threads = stat.threads;
        self.stopped = stat.stopped;
        let mut ticks = stat.own;
        ticks += stat.waited;
        let single_thread_ticks = if stat.threads <= 1 { stat.own.sum() } else { 0 };
        let io = match self.io.as_ref().map(|file| (file.path(), file.read(buffer))) {
            // The kernel checks permission at the reading; without it the sum is unknown.
            None | Some((_, Err(_))) => None,
            Some((path, Ok(Some(text)))) => Some(process::io(path, text)?),
            // The process ended after its stat was read; the next pass sees that.
            Some((_, Ok(None))) => Some(self.last.io),
        };
        self.last = Counted { ticks, io: io.unwrap_or(self.last.io) };
        Ok(Some(Reading { io: io.is_some(), single_thread_ticks }))
    }

    fn is_frozen(&self, buffer: &mut Vec<u8>) -> bool {
        let place = self.wchan.as_ref().and_then(|file| file.read(buffer).ok()?);
        place.is_some_and(|place| FREEZERS.contains(&place.trim_ascii()))
    }
}

/// Where a frozen process waits in the kernel: `__refrigerator` of v1, `do_freezer_trap` of v2 (kernel/freezer.c, kernel/signal.c).
const FREEZERS: [&[u8]; 2] = [b"__refrigerator", b"do_freezer_trap"];

/// Returns the CPU ticks of the busiest living thread of a process.
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

/// Returns the numeric entries of a directory: processes or threads.
pub(crate) fn numbered(directory: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn numbers(text: &[u8]) -> Vec<u32> {
    fields(text).filter_map(|field| number(field)?.try_into().ok()).collect()
}

#[cfg(test)]
mod tests;
