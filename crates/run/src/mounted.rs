//! The client's end of a file system that another node serves.

use crate::context::{Server, TurnError};
use crate::protocol::Turn;
use crate::settle::{SettleError, page_cache};
use host::Runner;
use record::counter::ServerClock;
use record::printable::chain;
use record::stack::{Layer, Stack};
use record::workload::CacheStart;
use stack::{ActError, Built, Journal, Machine, NfsSource, Remounted};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How many times the server is asked for its clock: the quickest answer is the most exact.
pub(crate) const CLOCKS: u32 = 5;

/// How often a cancelled trial checks whether its server is still there.
const ASKED_EVERY: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);

/// Runs `act` on a file system that another node serves. If the trial is cancelled and that node is gone, I/O on the mount would
/// wait for ever: then the kernel is made to give it up.
pub(crate) fn guarded<T>(
    source: Option<&NfsSource>,
    mounted: Option<Remounted>,
    runner: &dyn Runner,
    cancel: &AtomicBool,
    act: impl FnOnce() -> T,
) -> T {
    let (Some(source), Some(mounted)) = (source, mounted) else { return act() };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut asked = None::<Instant>;
            while !done.load(Ordering::Relaxed) {
                let due = asked.is_none_or(|at| at.elapsed() >= ASKED_EVERY);
                if cancel.load(Ordering::Relaxed) && due {
                    if !source.answers() && !done.load(Ordering::Relaxed) {
                        mounted.give_up(runner);
                    }
                    asked = Some(Instant::now());
                }
                std::thread::sleep(PAUSE);
            }
        });
        // Also on a panic: else the other thread would never end.
        let _ended = Ended(&done);
        act()
    })
}

struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A file system under test that another node serves.
pub(crate) struct ServedGround<'a> {
    server: &'a dyn Server,
    built: &'a Built,
    /// The data files, relative to the mount point.
    files: Vec<PathBuf>,
}

impl<'a> ServedGround<'a> {
    /// `None` where the device or file system under test is on this node.
    pub(crate) fn of(server: Option<&'a dyn Server>, built: &'a Built, files: &[PathBuf]) -> Option<Self> {
        let nfs = built.nfs.as_ref().filter(|nfs| nfs.directory.is_none())?;
        let target = nfs.target.as_ref()?;
        let below = |file: &PathBuf| file.strip_prefix(target).map(Path::to_path_buf).ok();
        Some(Self { server: server?, built, files: files.iter().filter_map(below).collect() })
    }

    /// Brings the caches of client and server to the state that the workload asks for.
    pub(crate) fn settle(
        &self,
        machine: &Machine<'_>,
        journal: &mut Journal,
        stack: &Stack,
        files: &[PathBuf],
        cache: CacheStart,
    ) -> Result<(), SettleError> {
        // Reading through the mount warms both caches.
        page_cache(machine, files, cache)?;
        let theirs = || self.server.turn(Turn::Settle { files: self.files.clone(), cache });
        let on_pool = stack.layers.iter().any(|layer| matches!(layer, Layer::Zfs(_)));
        match &self.built.nfs {
            // ZFS exports the pool to empty its cache, and for that the NFS export must be down.
            Some(nfs) if on_pool && cache == CacheStart::Cold => {
                nfs.while_down(machine, journal, || {
                    theirs().map(|_| ()).map_err(|error| ActError::Unverified {
                        what: "the server".to_owned(),
                        expected: "a pool without its cache".to_owned(),
                        saw: chain(&error),
                    })
                })?;
            }
            _ => {
                theirs()?;
            }
        }
        Ok(())
    }

    /// Starts the server's sampling, and compares the clocks.
    pub(crate) fn begin(&self) -> Result<ServerClock, TurnError> {
        self.server.turn(Turn::Begin { files: self.files.clone() })?;
        let mut best = self.clock()?;
        for _ in 1..CLOCKS {
            let clock = self.clock()?;
            if clock.uncertain_ns < best.uncertain_ns {
                best = clock;
            }
        }
        Ok(best)
    }

    fn clock(&self) -> Result<ServerClock, TurnError> {
        let before = observe::monotonic_ns();
        let theirs = self.server.turn(Turn::Clock)?;
        Ok(beside(theirs, before, observe::monotonic_ns()))
    }

    /// Ends the server's sampling.
    pub(crate) fn end(&self) -> Result<(), TurnError> {
        self.server.turn(Turn::End).map(|_| ())
    }
}

/// The offset of the server's clock, from its answer between two readings of ours.
pub(crate) fn beside(theirs: u64, before: u64, after: u64) -> ServerClock {
    let uncertain_ns = after.saturating_sub(before) / 2;
    let middle = before.saturating_add(uncertain_ns);
    // Both clocks count from a boot, so they differ by years at most.
    let ahead = i128::from(theirs) - i128::from(middle);
    ServerClock { ahead_ns: i64::try_from(ahead).unwrap_or(i64::MAX), uncertain_ns }
}

#[cfg(test)]
mod tests {
    use super::beside;
    use record::counter::ServerClock;

    #[test]
    fn a_clock_is_as_sure_as_its_answer_was_quick() {
        assert_eq!(beside(500, 100, 140), ServerClock { ahead_ns: 380, uncertain_ns: 20 });
        assert_eq!(beside(50, 100, 140), ServerClock { ahead_ns: -70, uncertain_ns: 20 });
    }
}
