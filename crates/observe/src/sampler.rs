//! Takes samples on a schedule, in its own thread.

use crate::counter::collector::{Collector, Subjects};
use crate::error::ReadError;
use crate::open_files::{Lookout, OpenFiles};
use crate::others::{self, Census};
use crate::watchdog::Watchdog;
use record::counter::{BlockCounters, Evidence, Sample};
use record::roots::Roots;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What to sample, and how often.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Places of the kernel's files.
    pub roots: Roots,
    /// Samples per second; limited to between one per hour and 1000.
    pub hz: f64,
    /// What is observed besides the machine as a whole.
    pub subjects: Subjects,
    /// First process of the engine, if it already runs; otherwise use [`Sampler::engine_pid`].
    pub engine_pid: Option<u32>,
    /// Processes that serve the file system under test for the engine. They don't count as other processes.
    pub servers: Vec<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            roots: Roots::default(),
            hz: 10.0,
            subjects: Subjects::default(),
            engine_pid: None,
            servers: Vec::new(),
        }
    }
}

/// The thread of the sampler could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start a thread to sample kernel counters")]
pub struct Unobservable {
    source: io::Error,
}

/// Time of the first check of open files after the start. Each next one comes after four times as long: there are two in a trial
/// of twenty seconds, and four in one of ten minutes, besides the first and the last check.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// A running sampler. It ends its thread when dropped.
#[derive(Debug)]
pub struct Sampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Collected>>,
    before: Census,
    roots: Roots,
    watchdog: Option<Watchdog>,
}

#[derive(Debug, Default)]
struct Shared {
    orders: Mutex<Orders>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Orders {
    engine_pid: Option<u32>,
    /// Every process that was an engine's first one.
    engines: BTreeSet<u32>,
    stop: bool,
    /// Whether somebody reads `latest`.
    is_followed: bool,
    latest: Option<Latest>,
}

/// The counters of the block devices in the sampler's latest sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latest {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub monotonic_ns: u64,
    /// Block devices by kernel name.
    pub block: BTreeMap<String, BlockCounters>,
}

struct Collected {
    samples: Vec<Sample>,
    problems: Vec<ReadError>,
    found: Option<OpenFiles>,
}

impl Shared {
    fn orders(&self) -> MutexGuard<'_, Orders> {
        // A panic elsewhere can't leave these fields incomplete.
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Orders {
    fn show(&mut self, sample: &Sample) {
        if self.is_followed {
            let Sample { monotonic_ns, block, .. } = sample;
            self.latest = Some(Latest { monotonic_ns: *monotonic_ns, block: block.clone() });
        }
    }
}

impl Sampler {
    /// Takes the first sample, then continues in its own thread.
    ///
    /// # Errors
    /// If the thread can't be started.
    pub fn start(config: &Config) -> Result<Self, Unobservable> {
        let shared = Arc::new(Shared::default());
        let before = others::census(&config.roots);
        let mut collector = Collector::new(&config.roots, &config.subjects);
        shared.orders().engines.extend(&config.servers);
        if let Some(pid) = config.engine_pid {
            collector.engine(pid);
            shared.orders().engines.insert(pid);
        }
        let mut lookout =
            Lookout::new(&config.roots, config.subjects.exclusive.as_ref(), before.kernel_threads());
        if let Some(lookout) = &mut lookout {
            lookout.look();
        }
        let first = collector.sample();
        let period = period(config.hz);
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("diskproof-sampler".to_owned())
            .spawn(move || follow(collector, lookout, first, period, &theirs))
            .map_err(|source| Unobservable { source })?;
        let watchdog = Watchdog::start(&config.roots).map_err(|source| Unobservable { source })?;
        Ok(Self {
            shared,
            thread: Some(thread),
            before,
            roots: config.roots.clone(),
            watchdog: Some(watchdog),
        })
    }

    /// Sets the engine's first process, as soon as it runs.
    pub fn engine_pid(&self, pid: u32) {
        let mut orders = self.shared.orders();
        orders.engine_pid = Some(pid);
        orders.engines.insert(pid);
        drop(orders);
        self.shared.changed.notify_all();
    }

    /// The counters of the block devices in the latest sample. The first call only begins to keep them. Costs no sample of its own.
    #[must_use]
    pub fn latest(&self) -> Option<Latest> {
        let mut orders = self.shared.orders();
        orders.is_followed = true;
        orders.latest.clone()
    }

    /// Takes the last sample and ends.
    #[must_use]
    pub fn stop(self) -> Evidence {
        self.stop_with_problems().0
    }

    /// As [`Sampler::stop`], plus the files that could not be read or parsed: their counters are absent.
    #[must_use]
    pub fn stop_with_problems(mut self) -> (Evidence, Vec<ReadError>) {
        let nothing = || Collected { samples: Vec::new(), problems: Vec::new(), found: None };
        let collected = self.end().unwrap_or_else(nothing);
        let agent_gaps = self.watchdog.take().map(Watchdog::stop).unwrap_or_default();
        let after = others::census(&self.roots);
        let engines = std::mem::take(&mut self.shared.orders().engines);
        let others = others::between(&self.before, &after, &engines, collected.found.as_ref());
        let evidence = Evidence {
            host: Vec::new(),
            host_changes: Vec::new(),
            server_clock: None,
            agent_gaps,
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            samples: collected.samples,
            others: others.processes,
            others_complete: others.complete,
            others_cpu_ticks: others.cpu_ticks,
            kernel_cpu_ticks: others.kernel_cpu_ticks,
        };
        (evidence, collected.problems)
    }

    fn end(&mut self) -> Option<Collected> {
        self.shared.orders().stop = true;
        self.shared.changed.notify_all();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

fn period(hz: f64) -> Duration {
    let hz = if hz.is_finite() { hz.clamp(1.0 / 3600.0, 1000.0) } else { 10.0 };
    Duration::from_secs_f64(1.0 / hz)
}

fn follow(
    mut collector: Collector,
    mut lookout: Option<Lookout>,
    first: Sample,
    period: Duration,
    shared: &Shared,
) -> Collected {
    let mut samples = vec![first];
    let begun = Instant::now();
    let mut due = begun + period;
    let mut look_after = FIRST_LOOK;
    loop {
        // A check takes some milliseconds. Right after a sample it delays none, unless samples are as frequent.
        if let Some(lookout) = &mut lookout
            && begun.elapsed() >= look_after
        {
            lookout.look();
            look_after *= 4;
        }
        let stop = wait(shared, due, &mut collector);
        let sample = collector.sample();
        shared.orders().show(&sample);
        samples.push(sample);
        if stop {
            let found = lookout.map(|mut lookout| {
                lookout.look();
                lookout.into_found()
            });
            collector.settle(&mut samples);
            return Collected { samples, problems: collector.into_problems(), found };
        }
        // The schedule is absolute: one late sample doesn't move later ones. Missed samples are skipped, not taken in a burst.
        let now = Instant::now();
        while due <= now {
            due += period;
        }
    }
}

/// Sleeps until a sample is due; returns true if it is the last one.
fn wait(shared: &Shared, due: Instant, collector: &mut Collector) -> bool {
    let mut orders = shared.orders();
    loop {
        if let Some(pid) = orders.engine_pid.take() {
            collector.engine(pid);
        }
        if orders.stop {
            return true;
        }
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        orders = shared.changed.wait_timeout(orders, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}
