//! Detects when this process does not run: a thread only wakes and reads the clock. If it sleeps too long, the whole process did
//! not run, including the sampler, unless the thread waited for a CPU, which the kernel counts.

use crate::counter::collector::monotonic_ns;
use record::counter::Gap;
use record::roots::Roots;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Interval at which the thread wakes.
const TICK: Duration = Duration::from_millis(100);
/// Shortest sleep that is kept as a gap: five ticks.
const GAP_NS: u64 = 500_000_000;
/// Largest number of gaps that are kept.
const GAPS_KEPT: usize = 1000;

/// A running watchdog. It ends its thread when dropped.
#[derive(Debug)]
pub(crate) struct Watchdog {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<Vec<Gap>>>,
}

impl Watchdog {
    pub(crate) fn start(roots: &Roots) -> io::Result<Self> {
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&ended);
        let schedstat = roots.proc.join("thread-self/schedstat");
        let thread = thread::Builder::new()
            .name("diskproof-watchdog".to_owned())
            .spawn(move || watch(&theirs, schedstat))?;
        Ok(Self { ended, thread: Some(thread) })
    }

    /// Returns the times when the process did not run.
    pub(crate) fn stop(mut self) -> Vec<Gap> {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Vec<Gap>> {
        *self.ended.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.1.notify_all();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.end();
    }
}

fn watch((ended, changed): &(Mutex<bool>, Condvar), schedstat: PathBuf) -> Vec<Gap> {
    // opened by the same thread that it describes
    let schedstat = File::open(schedstat).ok();
    let waited = || schedstat.as_ref().and_then(cpu_wait_ns);
    let mut gaps = Vec::new();
    let (mut last_ns, mut last_wait) = (monotonic_ns(), waited());
    let mut over = ended.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        over = changed.wait_timeout(over, TICK).unwrap_or_else(PoisonError::into_inner).0;
        let (now_ns, now_wait) = (monotonic_ns(), waited());
        if now_ns - last_ns >= GAP_NS && gaps.len() < GAPS_KEPT {
            let cpu_wait_ns = now_wait.zip(last_wait).map(|(now, last)| now.saturating_sub(last));
            gaps.push(Gap { start_ns: last_ns, end_ns: now_ns, cpu_wait_ns });
        }
        (last_ns, last_wait) = (now_ns, now_wait);
        if *over {
            return gaps;
        }
    }
}

/// Returns the time that a thread was ready and waited for a CPU: the second number of its schedstat
/// (Documentation/scheduler/sched-stats.rst).
fn cpu_wait_ns(schedstat: &File) -> Option<u64> {
    let mut buffer = [0; 64];
    let length = schedstat.read_at(&mut buffer, 0).ok()?;
    parse(buffer.get(..length)?)
}

fn parse(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Watchdog, parse};
    use record::roots::Roots;
    use std::time::Duration;

    #[test]
    fn the_wait_for_a_cpu_is_the_second_number() {
        assert_eq!(parse(b"2356 98421 12\n"), Some(98_421));
        assert_eq!(parse(b"2356"), None);
    }

    #[test]
    fn a_process_that_runs_has_no_gap_and_ends_at_once() {
        let watchdog = Watchdog::start(&Roots::default()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let stopped = |gap: &record::counter::Gap| {
            gap.end_ns - gap.start_ns - gap.cpu_wait_ns.unwrap_or(0) > 400_000_000
        };
        assert!(!watchdog.stop().iter().any(stopped));
        drop(Watchdog::start(&Roots::default()).unwrap());
    }
}
