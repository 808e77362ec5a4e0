//! What the load completes while it runs: the worker's first thread writes the counts of the last half second into memory that the agent
//! process reads.

use super::board::Board;
use super::tally::Span;
use crate::contract::Progress;
use rustix::fd::AsFd;
use rustix::fs::MemfdFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// The least time between two writes, in nanoseconds.
const EACH_NS: u64 = 500_000_000;

/// The longest time after an interval's end that the lanes get to add it, in nanoseconds.
const LAG_NS: u64 = 50_000_000;

/// The numbers of a written state: a count of writes, the fields of [`Progress`], and the count again.
const WORDS: usize = 7;

/// Writes the state of a board, each time that some intervals have ended.
pub(crate) struct Teller<'a, F> {
    board: &'a Board,
    memory: F,
    /// The time of the last state, and the end of the measured time.
    told_ns: u64,
    end_ns: u64,
    each_ns: u64,
    lag_ns: u64,
    count: u64,
}

impl<'a, F: AsFd> Teller<'a, F> {
    /// Creates one that writes to `memory` in the measured time.
    pub(crate) fn new(board: &'a Board, memory: F, span: Span) -> Self {
        let interval = span.interval_ns.max(1);
        Self {
            board,
            memory,
            told_ns: span.start_ns,
            end_ns: span.end_ns,
            each_ns: interval * EACH_NS.div_ceil(interval),
            lag_ns: LAG_NS.min(interval / 2),
            count: 0,
        }
    }

    /// The time of the next write; `None` after the measured time.
    fn due_ns(&self) -> Option<u64> {
        let next = self.told_ns.checked_add(self.each_ns).filter(|next| *next <= self.end_ns)?;
        Some(next + self.lag_ns)
    }

    /// How long it has nothing to do, in nanoseconds.
    pub(crate) fn idle_ns(&self, now_ns: u64) -> u64 {
        self.due_ns().map_or(u64::MAX, |due| due.saturating_sub(now_ns))
    }

    /// Writes the state if it is time.
    pub(crate) fn tell(&mut self, now_ns: u64) {
        let Some(due) = self.due_ns().filter(|due| *due <= now_ns) else { return };
        // A late thread writes the state of all intervals that have ended meanwhile.
        let late = now_ns.min(self.end_ns.saturating_add(self.lag_ns)).saturating_sub(due) / self.each_ns;
        let to_ns = self.told_ns + self.each_ns * (late + 1);
        let Progress { from_ns, to_ns, ios, bytes, p99_ns } = self.board.take(self.told_ns, to_ns);
        (self.told_ns, self.count) = (to_ns, self.count + 1);
        let words = [self.count, from_ns, to_ns, ios, bytes, p99_ns.unwrap_or(0), self.count];
        // Nobody may be there to read it, and the load doesn't depend on it.
        let _ = rustix::io::pwrite(&self.memory, words.map(u64::to_ne_bytes).as_flattened(), 0);
    }
}

/// The memory that a worker writes its states to.
///
/// # Errors
/// The kernel refuses it.
pub(crate) fn memory() -> io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create("diskproof-live", MemfdFlags::CLOEXEC)?))
}

/// The latest state; `None`: there is none yet, or it is being written.
pub(crate) fn latest(memory: &File) -> Option<Progress> {
    let mut bytes = [0; WORDS * 8];
    memory.read_exact_at(&mut bytes, 0).ok()?;
    let (words, _) = bytes.as_chunks();
    let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    let [count, from_ns, to_ns, ios, bytes, p99_ns, again] = words[..] else { return None };
    let p99_ns = Some(p99_ns).filter(|ns| *ns > 0);
    (count == again && count > 0).then_some(Progress { from_ns, to_ns, ios, bytes, p99_ns })
}

#[cfg(test)]
mod tests {
    use super::{Teller, latest, memory};
    use crate::contract::Progress;
    use crate::native::board::Board;
    use crate::native::kind::Kind;
    use crate::native::tally::{Span, Tally};
    use std::sync::Arc;

    const MS: u64 = 1_000_000;
    const SPAN: Span =
        Span { start_ns: 1000 * MS, end_ns: 2200 * MS, interval_ns: 100 * MS, open_end: false };

    /// Two lanes that complete a read each millisecond from the first to the second time; one in fifty takes longer.
    fn load(lanes: &mut [Tally], from_ms: u64, to_ms: u64) {
        for ms in from_ms..to_ms {
            for lane in lanes.iter_mut() {
                if lane.is_over(ms * MS) {
                    lane.roll(ms * MS);
                }
                let latency = if ms.is_multiple_of(50) { 900_000 } else { 100 };
                lane.add(Kind::Read, latency, 4096);
                lane.add(Kind::Sync, 7_000_000, 0);
            }
        }
    }

    #[test]
    fn the_state_is_what_completed_in_the_last_half_second() {
        let board = Arc::new(Board::new());
        let memory = memory().unwrap();
        let mut teller = Teller::new(&board, &memory, SPAN);
        let mut lanes = [0, 1].map(|_| Tally::new(SPAN).with_board(Some(Arc::clone(&board))));
        teller.tell(900 * MS);
        assert_eq!(latest(&memory), None, "the ramp has no state");
        load(&mut lanes, 900, 1520);
        assert_eq!(teller.idle_ns(1520 * MS), 30 * MS, "the lanes get some time to add the last interval");
        teller.tell(1520 * MS);
        assert_eq!(latest(&memory), None);
        load(&mut lanes, 1520, 1550);
        teller.tell(1550 * MS);
        let found = latest(&memory).unwrap();
        assert_eq!((found.from_ns, found.to_ns), (1000 * MS, 1500 * MS));
        assert_eq!((found.ios, found.bytes), (1000, 1000 * 4096), "reads of both lanes, and no syncs");
        assert!(found.p99_ns.unwrap().abs_diff(900_000) < 8000, "{found:?}");
        // Until 2050 ms few I/Os complete.
        load(&mut lanes, 1550, 1601);
        load(&mut lanes[..1], 2000, 2002);
        teller.tell(2050 * MS);
        let few = Progress { from_ns: 1500 * MS, to_ns: 2000 * MS, ios: 201, bytes: 201 * 4096, ..found };
        assert_eq!(latest(&memory), Some(few));
        assert_eq!(teller.idle_ns(2050 * MS), u64::MAX, "the next half second ends after the measured time");
    }

    #[test]
    fn too_few_ios_have_no_p99_and_a_late_state_covers_all_its_time() {
        let board = Arc::new(Board::new());
        let memory = memory().unwrap();
        let mut teller = Teller::new(&board, &memory, SPAN);
        let mut lanes = [Tally::new(SPAN).with_board(Some(Arc::clone(&board)))];
        load(&mut lanes, 1000, 1099);
        load(&mut lanes, 2010, 2011);
        teller.tell(2180 * MS);
        let all = Progress { from_ns: 1000 * MS, to_ns: 2000 * MS, ios: 99, bytes: 99 * 4096, p99_ns: None };
        assert_eq!(latest(&memory), Some(all));
    }
}
