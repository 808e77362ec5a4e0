//! Pauses of a job: fio's `thinktime`, `thinktime_spin` and `thinktime_blocks`.
//!
//! As in fio, the pause begins when that many I/Os are completed and all that were issued meanwhile are completed too.

use serde::{Deserialize, Serialize};

/// The pauses of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pause {
    pub(crate) pause_ns: u64,
    /// The first part of a pause, in which the job keeps its processor busy. A longer one makes the pause longer, as in fio.
    pub(crate) spin_ns: u64,
    /// I/Os between two pauses.
    pub(crate) blocks: u32,
}

/// The state of a job between two pauses.
#[derive(Debug, Clone)]
pub(crate) struct Think {
    pause: Pause,
    done: u32,
    in_flight: u32,
    spin_until_ns: u64,
    until_ns: u64,
}

impl Think {
    pub(crate) fn new(pause: Pause) -> Self {
        let pause = Pause { blocks: pause.blocks.max(1), ..pause };
        Self { pause, done: 0, in_flight: 0, spin_until_ns: 0, until_ns: 0 }
    }

    /// The time until which nothing may be issued; `u64::MAX`: until the I/Os in flight complete; now: the job asks again at once,
    /// and so keeps its processor busy.
    pub(crate) fn pauses(&self, now_ns: u64) -> Option<u64> {
        if self.done >= self.pause.blocks {
            return Some(u64::MAX);
        }
        if self.spin_until_ns > now_ns {
            return Some(now_ns);
        }
        (self.until_ns > now_ns).then_some(self.until_ns)
    }

    pub(crate) fn issued(&mut self) {
        self.in_flight += 1;
    }

    /// Records that an I/O has ended, successful or not.
    pub(crate) fn completed(&mut self, now_ns: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.done += 1;
        if self.done >= self.pause.blocks && self.in_flight == 0 {
            self.done = 0;
            self.spin_until_ns = now_ns.saturating_add(self.pause.spin_ns);
            self.until_ns = now_ns.saturating_add(self.pause.pause_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pause, Think};

    #[test]
    fn a_pause_begins_when_all_is_done() {
        let mut think = Think::new(Pause { pause_ns: 1000, spin_ns: 0, blocks: 2 });
        assert_eq!(think.pauses(0), None);
        (0..3).for_each(|_| think.issued());
        think.completed(10);
        assert_eq!(think.pauses(10), None, "one more is to be done");
        think.completed(20);
        assert_eq!(think.pauses(20), Some(u64::MAX), "one is still in flight");
        think.completed(30);
        assert_eq!((think.pauses(30), think.pauses(1029)), (Some(1030), Some(1030)));
        assert_eq!(think.pauses(1030), None);
        think.issued();
        think.completed(1040);
        assert_eq!(think.pauses(1040), None, "counting begins again");
    }

    #[test]
    fn a_pause_begins_busy() {
        let mut think = Think::new(Pause { pause_ns: 1000, spin_ns: 300, blocks: 1 });
        think.issued();
        think.completed(10);
        assert_eq!((think.pauses(10), think.pauses(309)), (Some(10), Some(309)), "asked again at once");
        assert_eq!((think.pauses(310), think.pauses(1010)), (Some(1010), None));
        let mut longer = Think::new(Pause { pause_ns: 100, spin_ns: 300, blocks: 1 });
        longer.issued();
        longer.completed(10);
        assert_eq!((longer.pauses(200), longer.pauses(310)), (Some(200), None));
    }
}
