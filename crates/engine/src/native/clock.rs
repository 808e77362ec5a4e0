//! The clock for latencies: the CPU's time-stamp counter where the kernel itself uses it, else `clock_gettime`.
//!
//! The counter is calibrated against `CLOCK_MONOTONIC` over a baseline that grows with the trial: a pair of readings is taken at
//! the start and then every tenth of a second, so the error never exceeds that of one tenth.

/// The fraction bits of the number of nanoseconds per tick.
const FRACTION: u32 = 32;

/// The readings for one pair; the quickest one counts.
const TRIES: usize = 5;

/// The file with the kernel's clock source.
const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The readings of both clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    ticks: u64,
    ns: u64,
}

/// A clock that returns `CLOCK_MONOTONIC` in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    counter: bool,
    first: Pair,
    last: Pair,
    ns_per_tick: u64,
}

impl Clock {
    /// Uses the counter where the kernel trusts it. The rate is known only after [`Clock::adjust`].
    pub(crate) fn new() -> Self {
        let trusted = std::fs::read_to_string(CLOCKSOURCE).is_ok_and(|source| source.trim() == "tsc");
        Self::with(cfg!(target_arch = "x86_64") && trusted)
    }

    fn with(counter: bool) -> Self {
        let first = pair(counter);
        Self { counter, first, last: first, ns_per_tick: 1 << FRACTION }
    }

    /// Its name for the record.
    pub(crate) fn name(&self) -> &'static str {
        if self.counter { "tsc" } else { "clock_gettime" }
    }

    /// The time since the baseline began, in ns.
    pub(crate) fn baseline_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.first.ns)
    }

    /// The present time.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds since boot fit")]
    pub(crate) fn now_ns(&self) -> u64 {
        if !self.counter {
            return monotonic_ns();
        }
        let ticks = counter().wrapping_sub(self.last.ticks);
        self.last.ns + ((u128::from(ticks) * u128::from(self.ns_per_tick)) >> FRACTION) as u64
    }

    /// Calibrates the counter again, over the whole baseline.
    pub(crate) fn adjust(&mut self) {
        if self.counter {
            self.adjust_to(pair(true));
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a tick is shorter than 2^32 ns")]
    fn adjust_to(&mut self, pair: Pair) {
        let ticks = pair.ticks.wrapping_sub(self.first.ticks).max(1);
        let ns = pair.ns.saturating_sub(self.first.ns);
        self.ns_per_tick = ((u128::from(ns) << FRACTION) / u128::from(ticks)) as u64;
        self.last = pair;
    }
}

/// The pair of readings that are closest together.
fn pair(with_counter: bool) -> Pair {
    if !with_counter {
        return Pair { ticks: 0, ns: monotonic_ns() };
    }
    let one = || {
        let before = counter();
        let ns = monotonic_ns();
        let took = counter().wrapping_sub(before);
        (took, Pair { ticks: before.wrapping_add(took / 2), ns })
    };
    let mut best = one();
    for _ in 1..TRIES {
        let next = one();
        if next.0 < best.0 {
            best = next;
        }
    }
    best.1
}

/// The CPU's counter.
#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "the counter is read by an instruction")]
fn counter() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 CPU, accesses no memory, and user space may execute it: if the kernel forbade it, the
    // counter wouldn't be its clock source for processes.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// No reliable counter on this architecture.
#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

/// `CLOCK_MONOTONIC`, in ns.
#[expect(
    unsafe_code,
    reason = "rustix's way into the vDSO doesn't work under valgrind, which counts our instructions"
)]
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live struct of the type that the call fills; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}

/// The seconds between two times in nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "spans are far below 2^52 ns")]
pub(crate) fn seconds(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::{Clock, FRACTION, Pair, monotonic_ns};

    #[test]
    fn the_rate_is_that_of_the_whole_baseline() {
        let first = Pair { ticks: 1_000, ns: 5_000_000_000 };
        let mut clock = Clock { counter: true, first, last: first, ns_per_tick: 1 << FRACTION };
        // 2.5 GHz for 4 s.
        clock.adjust_to(Pair { ticks: 10_000_001_000, ns: 9_000_000_000 });
        let expected = 4 * (1_u64 << FRACTION) / 10;
        assert!(clock.ns_per_tick.abs_diff(expected) <= 1, "{}", clock.ns_per_tick);
        assert_eq!(clock.last.ns, 9_000_000_000);
    }

    #[test]
    fn both_kinds_follow_the_kernels_clock() {
        for counter in [false, Clock::new().counter] {
            let mut clock = Clock::with(counter);
            std::thread::sleep(std::time::Duration::from_millis(5));
            clock.adjust();
            let before = monotonic_ns();
            let between = clock.now_ns();
            let after = monotonic_ns();
            // 10 us for readings that were interrupted.
            assert!(between + 10_000 >= before && between <= after + 10_000, "{before} {between} {after}");
        }
    }
}
