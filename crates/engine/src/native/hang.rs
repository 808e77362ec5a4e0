//! The system calls in which threads wait: the worker watches them, since a waiting thread can't report itself.

use super::kind::Kind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The time in nanoseconds after which a pending I/O is reported.
pub(crate) const HUNG_NS: u64 = 5_000_000_000;

/// One thread's system call; costs at most two stores per I/O.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// The time at which it began; 0: there is none.
    since_ns: AtomicU64,
    /// Its kind in the upper two bits, and its offset; offsets are far below 2^62.
    what: AtomicU64,
}

const KIND_SHIFT: u32 = 62;

impl Waiting {
    #[inline]
    pub(crate) fn begin(&self, kind: Kind, offset_bytes: u64, now_ns: u64) {
        self.what.store(((kind as u64) << KIND_SHIFT) | offset_bytes, Ordering::Relaxed);
        self.since_ns.store(now_ns, Ordering::Release);
    }

    #[inline]
    pub(crate) fn end(&self) {
        self.since_ns.store(0, Ordering::Relaxed);
    }
}

/// The system calls of all threads.
#[derive(Debug, Default)]
pub(crate) struct Watch(Mutex<Vec<Watched>>);

#[derive(Debug)]
struct Watched {
    job: u32,
    waiting: Arc<Waiting>,
    told_ns: u64,
}

impl Watch {
    /// The slot for a thread that begins.
    pub(crate) fn thread(&self, job: u32) -> Arc<Waiting> {
        let waiting = Arc::new(Waiting::default());
        let watched = Watched { job, waiting: Arc::clone(&waiting), told_ns: 0 };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
        waiting
    }

    /// Messages for the calls that wait too long; each is repeated after twice that time.
    pub(crate) fn hangs(&self, now_ns: u64) -> Vec<String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().filter_map(|watched| watched.hang(now_ns)).collect()
    }
}

impl Watched {
    fn hang(&mut self, now_ns: u64) -> Option<String> {
        let since_ns = self.waiting.since_ns.load(Ordering::Acquire);
        let age_ns = now_ns.saturating_sub(since_ns);
        let lately = self.told_ns > 0 && now_ns.saturating_sub(self.told_ns) < 2 * HUNG_NS;
        if since_ns == 0 || age_ns < HUNG_NS || lately {
            return None;
        }
        self.told_ns = now_ns;
        let what = self.waiting.what.load(Ordering::Relaxed);
        let kind = match what >> KIND_SHIFT {
            0 => Kind::Read,
            1 => Kind::Write,
            2 => Kind::Trim,
            _ => Kind::Sync,
        };
        Some(message(self.job, kind, what & ((1 << KIND_SHIFT) - 1), age_ns))
    }
}

/// The message for an I/O that hangs.
pub(crate) fn message(job: u32, kind: Kind, offset_bytes: u64, age_ns: u64) -> String {
    let seconds = age_ns / 1_000_000_000;
    format!("job{job}: a {kind:?} at offset {offset_bytes} has been in flight for {seconds} s")
}

#[cfg(test)]
mod tests {
    use super::{HUNG_NS, Watch};
    use crate::native::kind::{KINDS, Kind};

    #[test]
    fn a_call_that_takes_too_long_is_told_while_it_does() {
        let watch = Watch::default();
        let (first, second) = (watch.thread(0), watch.thread(3));
        first.begin(Kind::Read, 7, 1000);
        second.begin(Kind::Write, 1 << 40, 2_000_000_000);
        assert!(watch.hangs(HUNG_NS).is_empty());
        first.end();
        let said = watch.hangs(2_000_000_000 + HUNG_NS);
        assert_eq!(said, ["job3: a Write at offset 1099511627776 has been in flight for 5 s"]);
        assert!(watch.hangs(3_000_000_000 + HUNG_NS).is_empty(), "not again at once");
        assert_eq!(watch.hangs(2_000_000_000 + 3 * HUNG_NS).len(), 1);
        second.end();
        assert!(watch.hangs(9 * HUNG_NS).is_empty());
    }

    #[test]
    fn every_kind_is_told_by_its_name() {
        for kind in KINDS {
            let watch = Watch::default();
            watch.thread(0).begin(kind, 4096, 1);
            let said = watch.hangs(HUNG_NS + 1).join("");
            assert!(said.contains(&format!("{kind:?} at offset 4096")), "{said}");
        }
    }
}
