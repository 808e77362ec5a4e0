//! Whether a thread hangs in the kernel, e.g. because a disk doesn't answer.
//!
//! The kernel's own detection of hung tasks asks for an uninterruptible sleep without a context switch for two minutes
//! (kernel/hung_task.c). A process that waits until gigabytes of the page cache are written to a slow disk sleeps like that too, so time in
//! which disks or an NFS server answer doesn't count, unless another disk answers nothing.

use crate::counter::block;
use crate::text::{number, whole};
use record::printable::printable;
use record::roots::Roots;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The longest time between two looks that counts: after a longer one, this process did not run.
const MOST: Duration = Duration::from_secs(5);

/// A thread that hangs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hang {
    /// The name of its program.
    pub program: String,
    /// Its number.
    pub thread: u32,
    /// The kernel's function in which it waits, if the kernel shows it.
    pub place: Option<String>,
    /// How long nothing has gone on.
    pub lasts: Duration,
    /// A disk that answers nothing, and the number of its requests.
    pub disk: Option<(String, u64)>,
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, thread, place, lasts, disk } = self;
        write!(f, "process {program} ({thread}) hangs in the kernel")?;
        if let Some(place) = place {
            write!(f, " (in {place})")?;
        }
        let seconds = lasts.as_secs();
        match disk {
            Some((name, requests)) => {
                write!(f, ": disk {name} has answered none of its {requests} requests for {seconds} s")
            }
            None => write!(f, ": for {seconds} s it waits for something that doesn't answer"),
        }
    }
}

/// Looks again and again for threads that hang.
#[derive(Debug)]
pub struct HangWatch {
    roots: Roots,
    patience: Duration,
    sleepers: BTreeMap<u32, Sleeper>,
    disks: BTreeMap<String, Disk>,
    nfs_calls: u64,
}

/// A thread in an uninterruptible sleep.
#[derive(Debug)]
struct Sleeper {
    switches: u64,
    lasts: Duration,
    /// The part of it in which nothing answered.
    in_silence: Duration,
}

/// A block device with requests.
#[derive(Debug)]
struct Disk {
    completed: u64,
    in_flight: u64,
    /// How long it has answered nothing.
    silent: Duration,
}

impl HangWatch {
    /// `patience`: how long a thread may sleep while nothing goes on.
    #[must_use]
    pub fn new(roots: Roots, patience: Duration) -> Self {
        Self { roots, patience, sleepers: BTreeMap::new(), disks: BTreeMap::new(), nfs_calls: 0 }
    }

    /// Looks at these threads, so long after the last look. Returns one that hangs.
    pub fn look(&mut self, threads: &[u32], since: Duration) -> Option<Hang> {
        let since = since.min(MOST);
        let answered = self.look_at_disks(since) | self.look_at_nfs();
        let (proc, patience) = (&self.roots.proc, self.patience);
        let known = std::mem::take(&mut self.sleepers);
        for &thread in threads {
            let Some(Status { switches, .. }) = asleep(proc, thread) else { continue };
            let new = Sleeper { switches, lasts: Duration::ZERO, in_silence: Duration::ZERO };
            let sleeper = match known.get(&thread) {
                Some(before) if before.switches == switches => {
                    let in_silence = if answered { Duration::ZERO } else { before.in_silence + since };
                    Sleeper { lasts: before.lasts + since, in_silence, ..new }
                }
                _ => new,
            };
            self.sleepers.insert(thread, sleeper);
        }
        let dead = self.disks.iter().find(|(_, disk)| disk.silent >= patience);
        let hangs = |sleeper: &Sleeper| {
            sleeper.in_silence >= patience || (dead.is_some() && sleeper.lasts >= patience)
        };
        let (&thread, sleeper) = self.sleepers.iter().find(|(_, sleeper)| hangs(sleeper))?;
        Some(Hang {
            program: asleep(proc, thread)?.program,
            thread,
            place: place(proc, thread),
            lasts: dead.map_or(sleeper.in_silence, |(_, disk)| disk.silent.min(sleeper.lasts)),
            disk: dead.map(|(name, disk)| (name.clone(), disk.in_flight)),
        })
    }

    /// Whether a disk that had requests at the last look has completed some and has requests again: it is at work.
    fn look_at_disks(&mut self, since: Duration) -> bool {
        let path = self.roots.proc.join("diskstats");
        let text = whole(&path).unwrap_or_default();
        let mut known = std::mem::take(&mut self.disks);
        let mut answered = false;
        for line in text.lines() {
            // Major and minor number, name, and the numbers of /sys/class/block/NAME/stat.
            let mut words = line.split_ascii_whitespace();
            let Some(name) = words.nth(2) else { continue };
            let counters = words.collect::<Vec<_>>().join(" ");
            let Ok(now) = block::parse(&path, counters.as_bytes()) else { continue };
            if now.in_flight == 0 {
                continue;
            }
            let completed = now.reads + now.writes + now.discards.unwrap_or(0) + now.flushes.unwrap_or(0);
            let mut disk = Disk { completed, in_flight: now.in_flight, silent: Duration::ZERO };
            if let Some(before) = known.remove(name) {
                match before.completed == completed {
                    true => disk.silent = before.silent + since,
                    false => answered = true,
                }
            }
            self.disks.insert(name.to_owned(), disk);
        }
        answered
    }

    /// Whether NFS calls were made since the last look. A client that waits for its server makes none.
    fn look_at_nfs(&mut self) -> bool {
        let calls = whole(&self.roots.proc.join("net/rpc/nfs")).and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("rpc "))?.to_owned();
            number(line.split_ascii_whitespace().next()?.as_bytes())
        });
        let calls = calls.unwrap_or(0);
        std::mem::replace(&mut self.nfs_calls, calls) != calls
    }
}

struct Status {
    program: String,
    switches: u64,
}

/// The state of a thread that is in an uninterruptible sleep.
fn asleep(proc: &Path, thread: u32) -> Option<Status> {
    let text = whole(&proc.join(thread.to_string()).join("status"))?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    if !value("State:")?.starts_with('D') {
        return None;
    }
    let count = |key: &str| number(value(key)?.as_bytes());
    let switches = count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?;
    // A process chooses its own name.
    Some(Status { program: printable(value("Name:")?).into_owned(), switches })
}

/// Where a thread waits in the kernel.
fn place(proc: &Path, thread: u32) -> Option<String> {
    let text = whole(&proc.join(thread.to_string()).join("wchan"))?;
    (!text.is_empty() && text != "0").then_some(text)
}

/// The processes below a process, and all threads of these, as far as the kernel lists children.
#[must_use]
pub fn threads_below(roots: &Roots, process: u32) -> Vec<u32> {
    let mut found: BTreeSet<u32> = BTreeSet::new();
    let mut open = vec![process];
    while let Some(process) = open.pop() {
        for thread in threads(&roots.proc, process) {
            let children = roots.proc.join(format!("{process}/task/{thread}/children"));
            let children = whole(&children).unwrap_or_default();
            for child in children.split_ascii_whitespace().filter_map(|word| word.parse().ok()) {
                open.push(child);
                found.extend(threads(&roots.proc, child));
            }
        }
    }
    found.into_iter().collect()
}

fn threads(proc: &Path, process: u32) -> BTreeSet<u32> {
    crate::counter::tree::numbered(&proc.join(format!("{process}/task"))).into_iter().collect()
}

#[cfg(test)]
mod tests;
