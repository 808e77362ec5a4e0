//! The work of other processes during a trial, from /proc/PID/stat and /proc/PID/io at its beginning and its end.
//!
//! Excluded are: this process and its descendants (including the engine), the engine's descendants, and ancestors of this process
//! that are diskproof or the sudo that started it. Kernel threads are marked, and their bytes are not read: they work on behalf
//! of others, and the workers of a loop device or file system would count as foreign I/O.
//!
//! A process that begins and ends in between is seen only through a living parent that waited for it.

use crate::counter::process::{self, Io};
use crate::counter::tree::numbered;
use crate::open_files::OpenFiles;
use crate::text::{is_gone, required};
use record::counter::OtherProcess;
use record::printable::Printable;
use record::roots::Roots;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Number of processes listed by I/O, by CPU, and of kernel threads by CPU; more would be noise.
const LISTED: usize = 20;

/// All processes of the machine at one instant.
#[derive(Debug, Default)]
pub(crate) struct Census {
    processes: BTreeMap<u32, Entry>,
    /// Whether every process's I/O could be read.
    complete: bool,
    own_pid: u32,
}

#[derive(Debug, Clone)]
struct Entry {
    parent: u32,
    comm: String,
    kernel_thread: bool,
    /// Ticks of the process and of the children that it waited for.
    ticks: u64,
    io: Option<Io>,
}

impl Census {
    pub(crate) fn kernel_threads(&self) -> BTreeSet<u32> {
        self.processes.iter().filter(|(_, entry)| entry.kernel_thread).map(|(pid, _)| *pid).collect()
    }
}

/// Reads all of /proc/PID/{stat,io}. Processes that end meanwhile are absent.
pub(crate) fn census(roots: &Roots) -> Census {
    let mut census = Census { complete: true, own_pid: std::process::id(), ..Census::default() };
    for pid in numbered(&roots.proc) {
        let directory = roots.proc.join(pid.to_string());
        let path = directory.join("stat");
        let Ok(Some(text)) = required(&path) else { continue };
        let Ok(stat) = process::stat(&path, &text) else { continue };
        let io = if stat.kernel_thread {
            None
        } else {
            let path = directory.join("io");
            match fs::read(&path) {
                Ok(text) => process::io(&path, &text).ok(),
                Err(error) if is_gone(&error) => continue,
                Err(_) => None,
            }
        };
        census.complete &= io.is_some() || stat.kernel_thread;
        // a process chooses its own name
        let comm = Printable(stat.comm).to_string();
        let ticks = stat.own.sum() + stat.waited.sum();
        let entry = Entry { parent: stat.parent, comm, kernel_thread: stat.kernel_thread, ticks, io };
        census.processes.insert(pid, entry);
    }
    census
}

/// The work of other processes between two censuses.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// The processes, sorted by bytes, then by CPU, largest first.
    pub(crate) processes: Vec<OtherProcess>,
    /// Whether every process's I/O could be read.
    pub(crate) complete: bool,
    /// CPU of user processes; `None` when the list of processes can't be trusted.
    pub(crate) cpu_ticks: Option<u64>,
    /// CPU of kernel threads.
    pub(crate) kernel_cpu_ticks: Option<u64>,
}

/// Returns the processes that did I/O, used CPU or had files under test open between two censuses. `found`: results of checking
/// open files, if this was done.
pub(crate) fn between(
    before: &Census,
    after: &Census,
    engines: &BTreeSet<u32>,
    found: Option<&OpenFiles>,
) -> Others {
    let ours = ours(before, after, engines);
    let answerable = found.map(|f| f.answerable(|pid| after.processes.contains_key(&pid), &ours));
    let on_ground = |pid: u32| {
        let known = answerable.as_ref()?.contains(&pid);
        (known || found?.saw_through(pid)).then_some(known)
    };
    let ended: Vec<(u32, &Entry)> = before
        .processes
        .iter()
        .filter(|(pid, _)| !after.processes.contains_key(pid))
        .map(|(pid, entry)| (*pid, entry))
        .collect();
    let mut grown = Vec::new();
    let (mut user, mut kernel) = (0, 0);
    for (&pid, now) in after.processes.iter().filter(|(pid, _)| !ours.contains(pid)) {
        let mut process = growth(pid, now, before.processes.get(&pid), &ended);
        let ticks = process.cpu_ticks.unwrap_or(0);
        if now.kernel_thread {
            kernel += ticks;
        } else {
            process.on_ground = on_ground(pid);
            user += ticks;
        }
        grown.push(process);
    }
    // If this process is missing in the list, the list is from another process namespace, or there is none.
    let counted = [before, after].iter().all(|census| census.processes.contains_key(&census.own_pid));
    Others {
        processes: listed(grown),
        complete: before.complete && after.complete,
        cpu_ticks: counted.then_some(user),
        kernel_cpu_ticks: counted.then_some(kernel),
    }
}

/// Returns the work of one process between two censuses.
fn growth(pid: u32, now: &Entry, then: Option<&Entry>, ended: &[(u32, &Entry)]) -> OtherProcess {
    // A reused process number can make these counters fall; the difference is 0 then, not a wrong number.
    let grown = |now: u64, then: u64, inherited: u64| now.saturating_sub(then).saturating_sub(inherited);
    let (io_inherited, ticks_inherited) = inherited(pid, ended);
    let io_then = then.and_then(|then| then.io).unwrap_or_default();
    let io = now.io.unwrap_or(io_then);
    OtherProcess {
        pid,
        comm: now.comm.clone(),
        read_bytes: grown(io.read_bytes, io_then.read_bytes, io_inherited.read_bytes),
        write_bytes: grown(io.write_bytes, io_then.write_bytes, io_inherited.write_bytes),
        cpu_ticks: Some(grown(now.ticks, then.map_or(0, |then| then.ticks), ticks_inherited)),
        on_ground: None,
        kernel: Some(now.kernel_thread),
    }
}

/// Returns the processes to list, in order.
fn listed(mut all: Vec<OtherProcess>) -> Vec<OtherProcess> {
    let bytes = |p: &OtherProcess| p.read_bytes.saturating_add(p.write_bytes);
    let ticks = |p: &OtherProcess| p.cpu_ticks.unwrap_or(0);
    let first = |of: &dyn Fn(&OtherProcess) -> u64| {
        let mut ranked: Vec<(u64, u32)> =
            all.iter().map(|p| (of(p), p.pid)).filter(|(n, _)| *n > 0).collect();
        ranked.sort_unstable_by_key(|(n, pid)| (Reverse(*n), *pid));
        ranked.into_iter().take(LISTED).map(|(_, pid)| pid).collect::<Vec<_>>()
    };
    let is_kernel = |p: &OtherProcess| p.kernel == Some(true);
    let mut kept: BTreeSet<u32> = first(&bytes).into_iter().collect();
    kept.extend(first(&|p| if is_kernel(p) { 0 } else { ticks(p) }));
    kept.extend(first(&|p| if is_kernel(p) { ticks(p) } else { 0 }));
    all.retain(|p| kept.contains(&p.pid) || p.on_ground == Some(true));
    all.sort_by_key(|p| (Reverse(bytes(p)), Reverse(ticks(p)), p.pid));
    all
}

/// Returns the work that ended children had done before the first census: their parent's counters include it, although it was earlier.
fn inherited(pid: u32, ended: &[(u32, &Entry)]) -> (Io, u64) {
    let (mut io, mut ticks) = (Io::default(), 0);
    let mut parents = vec![pid];
    let mut seen = BTreeSet::new();
    while let Some(parent) = parents.pop() {
        if !seen.insert(parent) {
            continue;
        }
        for (child, entry) in ended.iter().filter(|(_, entry)| entry.parent == parent) {
            io += entry.io.unwrap_or_default();
            ticks += entry.ticks;
            parents.push(*child);
        }
    }
    (io, ticks)
}

/// Returns diskproof's own processes in either census.
fn ours(before: &Census, after: &Census, engines: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut ours = engines.clone();
    ours.insert(after.own_pid);
    for census in [before, after] {
        ours.extend(kin_above(census));
    }
    // Children may have lower numbers than their parents, so the loop goes on until nothing is added.
    loop {
        let known = ours.len();
        for census in [before, after] {
            for (&pid, entry) in &census.processes {
                if entry.parent == after.own_pid
                    || engines.contains(&entry.parent)
                    || is_below(&ours, census, entry)
                {
                    ours.insert(pid);
                }
            }
        }
        if ours.len() == known {
            return ours;
        }
    }
}

fn is_below(ours: &BTreeSet<u32>, census: &Census, entry: &Entry) -> bool {
    // Own ancestors (the controller, sudo) count as diskproof's, but not all of their descendants.
    ours.contains(&entry.parent) && !kin_above(census).contains(&entry.parent)
}

/// Returns the ancestors of this process, as long as they are diskproof itself or sudo.
fn kin_above(census: &Census) -> BTreeSet<u32> {
    let mut kin = BTreeSet::new();
    let Some(own) = census.processes.get(&census.own_pid) else { return kin };
    let mut parent = own.parent;
    while let Some(entry) = census.processes.get(&parent) {
        if (entry.comm != own.comm && entry.comm != "sudo") || !kin.insert(parent) {
            break;
        }
        parent = entry.parent;
    }
    kin
}

#[cfg(test)]
mod tests;
