//! Other processes that did I/O during a trial, from /proc/PID/io at its beginning and its end.
//!
//! Left out: we ourselves, our descendants (the engine among them), the engine's descendants, and those of our ancestors
//! that are diskproof or the sudo that started it. Kernel threads are left out too: they work on behalf of others, and
//! a loop device's or a file system's workers would be taken for strangers.
//!
//! A process that began and ended in between is seen only through a living parent that waited for it.

use crate::counter::process::{self, Io};
use crate::counter::tree::numbered;
use crate::roots::Roots;
use crate::text::{is_gone, required};
use record::counter::OtherProcess;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

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
    io: Option<Io>,
}

/// Reads all of /proc/PID/{stat,io}. Processes that end meanwhile are simply not in it.
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
        let comm = String::from_utf8_lossy(stat.comm).into_owned();
        let entry = Entry { parent: stat.parent, comm, kernel_thread: stat.kernel_thread, io };
        census.processes.insert(pid, entry);
    }
    census
}

/// Who did I/O between two censuses, largest first, and whether all could be seen.
pub(crate) fn between(before: &Census, after: &Census, engines: &BTreeSet<u32>) -> (Vec<OtherProcess>, bool) {
    let ours = ours(before, after, engines);
    let mut others = Vec::new();
    for (&pid, now) in &after.processes {
        if now.kernel_thread || ours.contains(&pid) {
            continue;
        }
        let Some(io) = now.io else { continue };
        let at_first = before.processes.get(&pid).and_then(|then| then.io).unwrap_or_default();
        let inherited = inherited(pid, before, after);
        // A process number used again can make these fall; then nothing is said rather than something wrong.
        let grown = |now: u64, then: u64, inherited: u64| now.saturating_sub(then).saturating_sub(inherited);
        let read_bytes = grown(io.read_bytes, at_first.read_bytes, inherited.read_bytes);
        let write_bytes = grown(io.write_bytes, at_first.write_bytes, inherited.write_bytes);
        if read_bytes > 0 || write_bytes > 0 {
            others.push(OtherProcess { pid, comm: now.comm.clone(), read_bytes, write_bytes });
        }
    }
    others.sort_by_key(|other| (std::cmp::Reverse(other.read_bytes + other.write_bytes), other.pid));
    (others, before.complete && after.complete)
}

/// What children that ended in between had done before it: their parent's counters took it over, though it was earlier.
fn inherited(pid: u32, before: &Census, after: &Census) -> Io {
    let mut sum = Io::default();
    let mut parents = vec![pid];
    let mut seen = BTreeSet::new();
    while let Some(parent) = parents.pop() {
        if !seen.insert(parent) {
            continue;
        }
        for (&child, entry) in before.processes.iter().filter(|(_, entry)| entry.parent == parent) {
            if !after.processes.contains_key(&child) {
                sum += entry.io.unwrap_or_default();
                parents.push(child);
            }
        }
    }
    sum
}

/// Our own processes in either census.
fn ours(before: &Census, after: &Census, engines: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut ours = engines.clone();
    ours.insert(after.own_pid);
    for census in [before, after] {
        ours.extend(kin_above(census));
    }
    // Children may come before their parents in the order of numbers, so go on until nothing is added.
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
    // Ancestors of ours (the controller, sudo) count as ours, but not all that descends from them.
    ours.contains(&entry.parent) && !kin_above(census).contains(&entry.parent)
}

/// Our ancestors, as long as they are diskproof itself or sudo.
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
mod tests {
    use super::{Census, Entry, between};
    use crate::counter::process::Io;
    use std::collections::BTreeSet;

    fn census(rows: &[(u32, u32, &str, u64, u64)]) -> Census {
        let entry = |&(pid, parent, comm, read, write): &(u32, u32, &str, u64, u64)| {
            let io = Io { read_bytes: read, write_bytes: write, ..Io::default() };
            (pid, Entry { parent, comm: comm.to_owned(), kernel_thread: comm.starts_with('k'), io: Some(io) })
        };
        Census { processes: rows.iter().map(entry).collect(), complete: true, own_pid: 50 }
    }

    fn seen(before: &Census, after: &Census, engines: &[u32]) -> Vec<(u32, u64, u64)> {
        let engines: BTreeSet<u32> = engines.iter().copied().collect();
        let (others, complete) = between(before, after, &engines);
        assert!(complete);
        others.into_iter().map(|other| (other.pid, other.read_bytes, other.write_bytes)).collect()
    }

    #[test]
    fn strangers_are_listed_by_size_and_ours_are_not() {
        let before = census(&[
            (1, 0, "init", 0, 0),
            (10, 1, "diskproof", 5, 5),
            (11, 10, "sudo", 0, 0),
            (50, 11, "diskproof", 0, 0),
            (60, 50, "fio", 0, 0),
            (70, 1, "backup", 100, 0),
            (71, 1, "idle", 9, 9),
            (80, 2, "kworker/0:1", 0, 0),
        ]);
        let after = census(&[
            (1, 0, "init", 0, 0),
            (10, 1, "diskproof", 50, 50),
            (11, 10, "sudo", 7, 0),
            (12, 10, "other child", 1, 0),
            (50, 11, "diskproof", 99, 0),
            (60, 50, "fio", 1_000, 0),
            (40, 60, "fio", 1_000, 0),
            (70, 1, "backup", 160, 5),
            (71, 1, "idle", 9, 9),
            (72, 1, "new", 0, 300),
            (80, 2, "kworker/0:1", 4_096, 0),
        ]);
        assert_eq!(seen(&before, &after, &[60]), [(72, 0, 300), (70, 60, 5), (12, 1, 0)]);
    }

    #[test]
    fn what_an_ended_child_had_done_before_is_not_its_parents() {
        let before = census(&[
            (1, 0, "init", 0, 0),
            (20, 1, "sh", 10, 0),
            (21, 20, "job", 500, 0),
            (22, 21, "sub", 30, 0),
        ]);
        let after = census(&[(1, 0, "init", 0, 0), (20, 1, "sh", 10 + 500 + 30 + 8, 0)]);
        assert_eq!(seen(&before, &after, &[]), [(20, 8, 0)]);
    }

    #[test]
    fn an_engine_not_below_us_is_ours_with_its_children() {
        let before = census(&[(1, 0, "init", 0, 0)]);
        let after =
            census(&[(1, 0, "init", 0, 0), (60, 1, "fio", 5, 0), (61, 60, "fio", 5, 0), (62, 1, "dd", 5, 0)]);
        assert_eq!(seen(&before, &after, &[60]), [(62, 5, 0)]);
    }

    #[test]
    fn what_could_not_be_read_is_said() {
        let mut after = census(&[(1, 0, "init", 0, 0)]);
        after.complete = false;
        let (others, complete) = between(&census(&[]), &after, &BTreeSet::new());
        assert_eq!((others.len(), complete), (0, false));
    }
}
