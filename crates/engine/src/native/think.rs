//! Pauses of a job: fio's `thinktime` and `thinktime_blocks`.
//!
//! As with fio, the pause begins when so many I/Os were completed and all that were issued meanwhile are, too.

use serde::{Deserialize, Serialize};

/// Pauses as asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pause {
    pub(crate) pause_ns: u64,
    /// I/Os between two pauses.
    pub(crate) blocks: u32,
}

/// Where a job is between two pauses.
#[derive(Debug, Clone)]
pub(crate) struct Think {
    pause: Pause,
    done: u32,
    in_flight: u32,
    until_ns: u64,
}

impl Think {
    pub(crate) fn new(pause: Pause) -> Self {
        Self { pause: Pause { blocks: pause.blocks.max(1), ..pause }, done: 0, in_flight: 0, until_ns: 0 }
    }

    /// Until when nothing may be issued; `u64::MAX`: until what is in flight completes.
    pub(crate) fn pauses(&self, now_ns: u64) -> Option<u64> {
        if self.done >= self.pause.blocks {
            return Some(u64::MAX);
        }
        (self.until_ns > now_ns).then_some(self.until_ns)
    }

    pub(crate) fn issued(&mut self) {
        self.in_flight += 1;
    }

    /// An I/O has ended, in whatever way.
    pub(crate) fn completed(&mut self, now_ns: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.done += 1;
        if self.done >= self.pause.blocks && self.in_flight == 0 {
            self.done = 0;
            self.until_ns = now_ns.saturating_add(self.pause.pause_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pause, Think};

    #[test]
    fn a_pause_begins_when_all_is_done() {
        let mut think = Think::new(Pause { pause_ns: 1000, blocks: 2 });
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
}
