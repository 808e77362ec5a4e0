//! The harness's own counters of processors and disks during a session. They are independent of diskproof.

use super::measured::Span;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the counters are read.
const EVERY: Duration = Duration::from_millis(100);
/// The flag `PF_KTHREAD` of a process.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// All counters at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    /// CLOCK_MONOTONIC.
    pub(crate) at_ns: u64,
    pub(crate) ticks: Ticks,
    pub(crate) disks: BTreeMap<String, Disk>,
}

/// CPU time in the kernel's ticks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ticks {
    /// All ticks, on all processors.
    pub(crate) all: u64,
    /// User, nice and system time of all processes.
    pub(crate) busy: u64,
    /// Time that the hypervisor gave to others.
    pub(crate) steal: u64,
    /// The processes that the harness started, and their children.
    pub(crate) run: u64,
    /// The harness itself.
    pub(crate) harness: u64,
    /// Each kernel thread by its id, since they come and go.
    pub(crate) kernel: BTreeMap<u32, u64>,
}

/// The counters of one block device since its creation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    pub(crate) writes: u64,
    pub(crate) write_bytes: u64,
    /// The backing file of a loop device.
    pub(crate) backing: Option<PathBuf>,
}

/// A thread that reads the counters until it is dropped.
#[derive(Debug)]
pub(crate) struct Gauge {
    samples: Arc<Mutex<Vec<Sample>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Gauge {
    pub(crate) fn new() -> Self {
        let samples = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (samples, stop) = (Arc::clone(&samples), Arc::clone(&stop));
            move || {
                while !stop.load(Ordering::SeqCst) {
                    let sample = sample();
                    samples.lock().unwrap().push(sample);
                    std::thread::sleep(EVERY);
                }
            }
        });
        Self { samples, stop, thread: Some(thread) }
    }

    /// The counts between two times of CLOCK_MONOTONIC. `Err` if the harness itself didn't get to run.
    pub(crate) fn between(&self, start_ns: u64, end_ns: u64) -> Result<Span, String> {
        let samples = self.samples.lock().unwrap();
        let within = |s: &&Sample| (start_ns..=end_ns).contains(&s.at_ns);
        let (first, last) = (samples.iter().find(within), samples.iter().rfind(within));
        let count = samples.iter().filter(within).count();
        match (first, last) {
            (Some(first), Some(last)) if 2 * (last.at_ns - first.at_ns) > end_ns - start_ns => {
                let all: Vec<&Sample> = samples.iter().filter(within).collect();
                Ok(Span::new(first, last, &all))
            }
            _ => Err(format!(
                "the harness read its counters {count} times within {:.1} s, which doesn't cover half of them",
                (end_ns - start_ns) as f64 / 1e9
            )),
        }
    }

    /// The counts from the last sample before a time that is too short for [`Self::between`] to the first one after it.
    pub(crate) fn around(&self, start_ns: u64, end_ns: u64) -> Option<Span> {
        let samples = self.samples.lock().unwrap();
        let first = samples.iter().rfind(|sample| sample.at_ns <= start_ns)?;
        let last = samples.iter().find(|sample| sample.at_ns >= end_ns)?;
        Some(Span::new(first, last, &[]))
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn sample() -> Sample {
    Sample { at_ns: super::injection::now_ns(), ticks: ticks(), disks: disks() }
}

/// One process, as `/proc/PID/stat` has it.
struct Process {
    parent: u32,
    is_kernel_thread: bool,
    own_ticks: u64,
    /// Ticks of its ended children.
    reaped_ticks: u64,
}

fn ticks() -> Ticks {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let cpu: Vec<u64> =
        stat.lines().next().unwrap_or_default().split_whitespace().filter_map(|w| w.parse().ok()).collect();
    let of = |index: usize| cpu.get(index).copied().unwrap_or(0);
    let mut ticks = Ticks {
        all: cpu.iter().take(8).sum(),
        busy: of(0) + of(1) + of(2),
        steal: of(7),
        ..Ticks::default()
    };
    let processes = processes();
    let me = std::process::id();
    for (pid, process) in &processes {
        if process.is_kernel_thread {
            ticks.kernel.insert(*pid, process.own_ticks);
        } else if *pid == me {
            ticks.harness += process.own_ticks;
        } else if descends(*pid, me, &processes) {
            ticks.run += process.own_ticks + process.reaped_ticks;
        }
    }
    ticks
}

fn processes() -> BTreeMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, process(&fs::read_to_string(entry.path().join("stat")).ok()?)?))
        })
        .collect()
}

/// Parses /proc/PID/stat. The name may contain anything, so the fields are counted after its last bracket.
fn process(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let of = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Process {
        parent: u32::try_from(of(1)?).ok()?,
        is_kernel_thread: of(6)? & KERNEL_THREAD != 0,
        own_ticks: of(11)? + of(12)?,
        reaped_ticks: of(13)? + of(14)?,
    })
}

fn descends(pid: u32, from: u32, processes: &BTreeMap<u32, Process>) -> bool {
    let mut at = pid;
    // a chain that changed during the reading must end too
    for _ in 0..processes.len() {
        match processes.get(&at).map(|process| process.parent) {
            Some(parent) if parent == from => return true,
            Some(parent) if parent > 1 => at = parent,
            _ => return false,
        }
    }
    false
}

fn disks() -> BTreeMap<String, Disk> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let figures: Vec<u64> = stat.split_whitespace().filter_map(|w| w.parse().ok()).collect();
            let of = |index: usize| figures.get(index).copied();
            let backing = fs::read_to_string(entry.path().join("loop/backing_file")).ok();
            let disk = Disk {
                reads: of(0)?,
                read_bytes: of(2)? * 512,
                writes: of(4)?,
                write_bytes: of(6)? * 512,
                backing: backing.map(|text| PathBuf::from(text.trim_end())),
            };
            Some((entry.file_name().into_string().ok()?, disk))
        })
        .collect()
}

#[test]
fn a_process_is_read_whatever_its_name_is() {
    let stat = "7 (a) 1 (b) S 5 7 7 0 -1 4194560 1 2 3 4 30 4 200 50 20 0 1 0 9 1 1";
    let process = process(stat).unwrap();
    assert_eq!((process.parent, process.own_ticks, process.reaped_ticks), (5, 34, 250));
    assert!(!process.is_kernel_thread);
}
