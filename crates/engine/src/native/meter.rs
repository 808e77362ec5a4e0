//! The cost of a lane within the measured time.

use super::instructions::{Count, Counter, Uncounted};
use super::tally::Span;
use super::usage::Usage;

/// The CPU time that a lane reads besides its own thread's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Helpers {
    /// That of the whole process, which includes the kernel's helper threads of a ring.
    OfTheProcess,
    /// None.
    None,
}

/// Reads the usage at both ends of the measured time, on the lane's own thread; in between it costs nothing.
pub(crate) struct Meter {
    start_ns: u64,
    /// The end of the measured time; `u64::MAX` when the time after the load belongs to it too.
    end_ns: u64,
    helpers: Helpers,
    counter: Result<Counter, Uncounted>,
    first: Option<Look>,
    last: Option<Look>,
}

#[derive(Debug, Clone, Copy)]
struct Look {
    thread: Usage,
    process: Option<Usage>,
    instructions: Option<Count>,
}

/// The usage of a lane in the measured time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Used {
    pub(crate) thread: Usage,
    /// The usage of the process at the lane's first and last reading.
    pub(crate) process: Option<(Usage, Usage)>,
    /// In user mode; or why they weren't counted.
    pub(crate) instructions: Option<Result<f64, Uncounted>>,
}

impl Meter {
    /// Creates a meter for the calling thread, before its load.
    pub(crate) fn new(span: Span, helpers: Helpers) -> Self {
        let end_ns = if span.open_end { u64::MAX } else { span.end_ns };
        let counter = Counter::instructions();
        Self { start_ns: span.start_ns, end_ns, helpers, counter, first: None, last: None }
    }

    /// Starts now, for work that belongs to the measured time as a whole.
    pub(crate) fn at_once(helpers: Helpers) -> Self {
        let mut meter = Self::new(Span { start_ns: 0, end_ns: 0, interval_ns: 0, open_end: true }, helpers);
        meter.look(0);
        meter
    }

    /// Receives the present time, at least once after each end of the measured time.
    pub(crate) fn look(&mut self, now_ns: u64) {
        if self.first.is_none() && now_ns >= self.start_ns {
            self.first = Some(self.now());
        }
        if self.last.is_none() && now_ns >= self.end_ns {
            self.last = Some(self.now());
        }
    }

    /// Ends the metering; the load may have ended early.
    pub(crate) fn close(mut self, now_ns: u64) -> Used {
        self.look(now_ns);
        let Some(first) = self.first else { return Used::default() };
        let last = self.last.unwrap_or_else(|| self.now());
        let counted = || last.instructions?.since(first.instructions?);
        let instructions = match &self.counter {
            Ok(_) => counted().ok_or(Uncounted::InUse),
            Err(why) => Err(*why),
        };
        Used {
            thread: last.thread - first.thread,
            process: first.process.zip(last.process),
            instructions: Some(instructions),
        }
    }

    fn now(&self) -> Look {
        Look {
            thread: Usage::of_thread(),
            process: (self.helpers == Helpers::OfTheProcess).then(Usage::of_process),
            instructions: self.counter.as_ref().ok().and_then(Counter::read),
        }
    }
}

impl Used {
    /// The usage of a thread that did two things in sequence.
    pub(crate) fn and_then(self, later: Self) -> Self {
        let (a, b) = (self.instructions, later.instructions);
        Self {
            thread: self.thread.and(later.thread),
            process: match (self.process, later.process) {
                (Some((first, _)), Some((_, last))) => Some((first, last)),
                (one, other) => one.or(other),
            },
            instructions: match (a, b) {
                (Some(Ok(a)), Some(Ok(b))) => Some(Ok(a + b)),
                (Some(Err(why)), _) | (_, Some(Err(why))) => Some(Err(why)),
                (one, other) => one.or(other),
            },
        }
    }
}

/// The usage of all lanes together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sum {
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    /// `None` when no lane reached the measured time.
    pub(crate) busiest_thread_seconds: Option<f64>,
    /// In user mode; or why they weren't counted, if any lane's weren't.
    pub(crate) instructions: Option<Result<f64, Uncounted>>,
}

/// Adds up the usage of lanes. Where they read that of the process, it is the difference between the first and the last reading.
pub(crate) fn sum(lanes: &[Used]) -> Sum {
    let threads = lanes.iter().map(|lane| lane.thread).fold(Usage::default(), Usage::and);
    let earlier = |a: Usage, b: Usage| if a.cpu_seconds() <= b.cpu_seconds() { a } else { b };
    let later = |a: Usage, b: Usage| if a.cpu_seconds() > b.cpu_seconds() { a } else { b };
    let first = lanes.iter().filter_map(|lane| Some(lane.process?.0)).reduce(earlier);
    let last = lanes.iter().filter_map(|lane| Some(lane.process?.1)).reduce(later);
    let process = first.zip(last).map(|(first, last)| last - first);
    // Never less than the lanes' own: they are read at other instants than the process.
    let all = process.filter(|p| p.cpu_seconds() >= threads.cpu_seconds()).unwrap_or(threads);
    let measured = lanes.iter().filter(|lane| lane.instructions.is_some());
    let instructions = measured.clone().filter_map(|lane| lane.instructions);
    Sum {
        user_seconds: all.user_seconds,
        system_seconds: all.system_seconds,
        busiest_thread_seconds: measured.map(|lane| lane.thread.cpu_seconds()).reduce(f64::max),
        instructions: instructions.reduce(|a, b| Ok(a? + b?)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Helpers, Meter, Used, sum};
    use crate::native::instructions::Uncounted;
    use crate::native::tally::Span;
    use crate::native::usage::Usage;

    fn span(open_end: bool) -> Span {
        Span { start_ns: 1000, end_ns: 2000, interval_ns: 100, open_end }
    }

    fn used(user_seconds: f64, system_seconds: f64) -> Usage {
        Usage { user_seconds, system_seconds, peak_memory_bytes: 0 }
    }

    /// Uses the CPU until this thread's time has grown.
    fn work() {
        let first = Usage::of_thread();
        let mut x = 1_u64;
        while (Usage::of_thread() - first).cpu_seconds() < 0.005 {
            (0..1000).for_each(|i| x = std::hint::black_box(x.wrapping_mul(3) + i));
        }
    }

    #[test]
    fn only_the_measured_time_counts() {
        let mut meter = Meter::new(span(false), Helpers::None);
        work();
        meter.look(999);
        meter.look(1000);
        meter.look(2000);
        work();
        let used = meter.close(3000);
        assert!(used.thread.cpu_seconds() < 0.005, "{used:?}");
        assert!(used.process.is_none() && used.instructions.is_some());
    }

    #[test]
    fn what_belongs_to_the_measured_time_counts() {
        let mut meter = Meter::new(span(true), Helpers::OfTheProcess);
        meter.look(1500);
        work();
        meter.look(2500);
        work();
        let used = meter.close(3000);
        assert!(used.thread.cpu_seconds() >= 0.01, "a flush after the end: {used:?}");
        let (first, last) = used.process.unwrap();
        assert!((last - first).cpu_seconds() >= 0.005, "{used:?}");
    }

    #[test]
    fn a_lane_that_ended_in_the_ramp_used_nothing_of_it() {
        let mut meter = Meter::new(span(false), Helpers::None);
        meter.look(500);
        assert_eq!(meter.close(600), Used::default());
        assert_eq!(sum(&[Used::default()]).busiest_thread_seconds, None);
    }

    #[test]
    fn a_lane_that_ended_early_counts_until_then() {
        let mut meter = Meter::new(span(false), Helpers::None);
        meter.look(1000);
        work();
        assert!(meter.close(1500).thread.cpu_seconds() >= 0.005);
    }

    #[test]
    fn lanes_add_up_and_the_process_counts_its_helpers() {
        let lane = |thread: Usage, first: Usage, last: Usage, instructions| Used {
            thread,
            process: Some((first, last)),
            instructions: Some(instructions),
        };
        let a = lane(used(1.0, 2.0), used(10.0, 10.0), used(14.0, 16.0), Ok(1e6));
        let b = lane(used(0.5, 0.5), used(10.5, 10.0), used(14.5, 16.5), Ok(2e6));
        let all = sum(&[a.clone(), b.clone()]);
        assert_eq!((all.user_seconds, all.system_seconds), (4.5, 6.5), "from the first look to the last");
        assert_eq!(all.busiest_thread_seconds, Some(3.0));
        assert_eq!(all.instructions, Some(Ok(3e6)));
        let uncounted = Used { instructions: Some(Err(Uncounted::Forbidden)), ..b };
        assert_eq!(
            sum(&[a.clone(), uncounted]).instructions,
            Some(Err(Uncounted::Forbidden)),
            "no half sums"
        );
        let threads = [Used { process: None, ..a }, Used { thread: used(0.5, 0.5), ..Used::default() }];
        assert_eq!(sum(&threads).user_seconds, 1.5);
    }

    #[test]
    fn a_flush_after_the_load_is_the_same_threads() {
        let load = Used { thread: used(1.0, 1.0), process: None, instructions: Some(Ok(5.0)) };
        let flush = Used { thread: used(0.0, 0.5), process: None, instructions: Some(Ok(2.0)) };
        let both = load.clone().and_then(flush);
        assert_eq!((both.thread.cpu_seconds(), both.instructions), (2.5, Some(Ok(7.0))));
        assert_eq!(load.clone().and_then(Used::default()), load);
    }
}
